// Writes pictures as SVG: shapes, texts, and colours for light and dark backgrounds.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tools/picture/treemap.h"

namespace fatctx::tools {

// The width of a text in the letters of the pictures, and the letters that fit into a width. Estimates: the fonts of a
// reader are not known.
[[nodiscard]] double width_of(std::size_t letters);
[[nodiscard]] std::size_t letters_in(double width);

// A picture that grows by shapes. All texts may be foreign: marks of markup, control and direction are harmless in it.
class Svg {
 public:
  enum class Anchor { kStart, kMiddle, kEnd };
  struct Text {
    double x = 0;
    double y = 0;
    std::string_view colour = "ink";
    Anchor anchor = Anchor::kStart;
    bool bold = false;
    bool upwards = false;  // from bottom to top
  };

  // Begins what belongs together; readers tell `title`. Each begin() needs an end().
  void begin(std::string_view title);
  void end();
  // Colours are names of the style sheet of the report, without "--".
  void rectangle(const Rectangle& place, std::string_view colour, double opacity = 1, double radius = 0);
  void circle(double x, double y, double radius, std::string_view colour);
  void line(double x0, double y0, double x1, double y1, std::string_view colour);
  // Cuts the text to `width`, in the middle; leaves it out if almost nothing fits.
  void text(const Text& place, std::string_view text, double width);

  // Returns the file. `title` says what the picture shows.
  [[nodiscard]] std::string document(std::string_view title, double width, double height) const;

 private:
  std::string body_;
};

}  // namespace fatctx::tools
