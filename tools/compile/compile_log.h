// Keeps what compilers said about targets that failed in a file beside the output: it fills screens.
#pragma once

#include <string>
#include <string_view>

namespace fatctx::tools {

class FailureLog {
 public:
  // `output` is the path of the output that failures keep from being written.
  explicit FailureLog(const std::string& output);

  // Removes the file of an earlier run.
  void remove() const;
  // Adds all that a tool said. Nothing if it said nothing.
  void add(std::string_view title, std::string_view said);
  // Writes the file. Returns its path; empty if there is nothing to write, or if
  // it cannot be written, which a note then says.
  [[nodiscard]] std::string write() const;

 private:
  std::string path_;
  std::string text_;
};

}  // namespace fatctx::tools
