#include "tools/compile/compile_log.h"

#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "tools/cli/print.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kEnding = ".compile.log";

}  // namespace

FailureLog::FailureLog(const std::string& output) {
  const fs::path path(output);
  path_ = (path.has_filename() ? path : path.parent_path()).string() + kEnding;
}

void FailureLog::remove() const {
  std::error_code error;
  if (fs::is_regular_file(path_, error)) fs::remove(path_, error);
}

void FailureLog::add(std::string_view title, std::string_view said) {
  if (said.find_first_not_of(" \t\r\n") == std::string_view::npos) return;
  text_ += fmt::format("== {}\n{}{}", title, said, said.ends_with('\n') ? "" : "\n");
}

std::string FailureLog::write() const {
  if (text_.empty()) return {};
  std::error_code error;
  const fs::file_status there = fs::status(path_, error);
  if (fs::exists(there) && !fs::is_regular_file(there)) {
    print_note(escaped(fmt::format("note: {}: is not a file, so that what the compilers said is not kept", path_)));
    return {};
  }
  std::ofstream out(path_, std::ios::binary | std::ios::trunc);
  out << text_;
  out.close();
  if (out) return path_;
  print_note(escaped(fmt::format("note: {}: cannot be written, so that what the compilers said is not kept", path_)));
  return {};
}

}  // namespace fatctx::tools
