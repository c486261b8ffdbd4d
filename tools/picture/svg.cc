#include "tools/picture/svg.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "tools/cli/print.h"

namespace fatctx::tools {

namespace {

constexpr double kLetter = 6.7;
constexpr std::size_t kFewLetters = 4;
constexpr double kWithoutLimit = 1e9;

struct Colour {
  std::string_view name;
  std::string_view light;
  std::string_view dark;
};

// Those of the report's page (js/page/src/style.css). A test compares them.
constexpr Colour kColours[] = {
    {"paper", "#ffffff", "#12161b"},   {"ink", "#1b1f24", "#e4e8ec"},     {"soft", "#57606a", "#9aa4ae"},
    {"line", "#d0d7de", "#38414b"},    {"group", "#eef1f4", "#1e252c"},   {"shared", "#1a7f5a", "#1f8a63"},
    {"binary", "#2f6fb5", "#3473b8"},  {"weights", "#8250a8", "#8a58b0"}, {"model", "#9a6a00", "#96690a"},
    {"other", "#5f6b76", "#5d6974"},   {"tables", "#7d8590", "#55606b"},  {"dead", "#b4402f", "#b04a3a"},
    {"padding", "#c3cad1", "#2b333b"}, {"on-tile", "#ffffff", "#ffffff"}, {"good", "#d5f0e1", "#14402d"},
    {"middle", "#fbeecb", "#463911"},  {"weak", "#e4e0f5", "#312a54"},    {"bad", "#fbe0dc", "#4c211b"},
    {"plain", "#f3f5f7", "#1b2128"},
};

// Programs that know no style sheets take the attribute: the colour on light backgrounds.
std::string painted(std::string_view property, std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kColours), std::end(kColours), [&](const Colour& colour) { return colour.name == name; });
  return fmt::format(R"( class="{}-{}" {}="{}")", property, name, property, found->light);
}

std::string style_sheet() {
  std::string text = "<style>@media (prefers-color-scheme: dark) {";
  for (const Colour& colour : kColours) {
    text += fmt::format(" .fill-{0} {{ fill: {1} }} .stroke-{0} {{ stroke: {1} }}", colour.name, colour.dark);
  }
  return text + " }</style>";
}

// Requires: escaped text. Returns it without signs of markup.
std::string without_markup(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&':
        safe += "&amp;";
        break;
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

// Returns the text without marks of markup, and without those that hide or turn text.
std::string harmless(std::string_view text) { return without_markup(escaped(text)); }

std::string_view anchor_name(Svg::Anchor anchor) {
  switch (anchor) {
    case Svg::Anchor::kStart:
      return "start";
    case Svg::Anchor::kMiddle:
      return "middle";
    case Svg::Anchor::kEnd:
      break;
  }
  return "end";
}

// Returns a number with at most two digits behind the point.
std::string number(double value) {
  std::string text = fmt::format("{:.2f}", value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace

double width_of(std::size_t letters) { return kLetter * static_cast<double>(letters); }

std::size_t letters_in(double width) { return width <= 0 ? 0 : static_cast<std::size_t>(width / kLetter); }

void Svg::begin(std::string_view title) { body_ += fmt::format("<g><title>{}</title>", harmless(title)); }

void Svg::end() { body_ += "</g>\n"; }

void Svg::rectangle(const Rectangle& place, std::string_view colour, double opacity, double radius) {
  body_ += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}"{}{}{}/>)", number(place.x0), number(place.y0),
                       number(place.width()), number(place.height()),
                       radius > 0 ? fmt::format(R"( rx="{}")", number(radius)) : "", painted("fill", colour),
                       opacity < 1 ? fmt::format(R"( fill-opacity="{}")", number(opacity)) : "");
}

void Svg::circle(double x, double y, double radius, std::string_view colour) {
  body_ += fmt::format(R"(<circle cx="{}" cy="{}" r="{}"{}/>)", number(x), number(y), number(radius),
                       painted("fill", colour));
}

void Svg::line(double x0, double y0, double x1, double y1, std::string_view colour) {
  body_ += fmt::format(R"(<line x1="{}" y1="{}" x2="{}" y2="{}" stroke-width="2"{}/>)", number(x0), number(y0),
                       number(x1), number(y1), painted("stroke", colour));
}

void Svg::text(const Text& place, std::string_view text, double width) {
  const std::size_t letters = letters_in(std::min(width, kWithoutLimit));
  const std::string whole = escaped(text);
  if (whole.size() > letters && letters < kFewLetters) return;
  body_ += fmt::format(R"(<text x="{}" y="{}")", number(place.x), number(place.y));
  if (place.anchor != Anchor::kStart) body_ += fmt::format(R"( text-anchor="{}")", anchor_name(place.anchor));
  if (place.bold) body_ += R"( font-weight="600")";
  if (place.upwards) body_ += fmt::format(" transform=\"rotate(-90 {} {})\"", number(place.x), number(place.y));
  body_ += fmt::format("{}>{}</text>", painted("fill", place.colour), without_markup(shortened(whole, letters)));
}

std::string Svg::document(std::string_view title, double width, double height) const {
  const std::string w = number(width);
  const std::string h = number(height);
  return fmt::format(
      R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" )"
      R"(font-family="system-ui, sans-serif" font-size="12">)"
      "\n<title>{2}</title>\n{3}\n<rect width=\"{0}\" height=\"{1}\"{4}/>\n{5}</svg>\n",
      w, h, harmless(title), style_sheet(), painted("fill", "paper"), body_);
}

}  // namespace fatctx::tools
