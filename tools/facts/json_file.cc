#include "tools/facts/json_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace fatctx::tools {

namespace {

// Returns the position of a byte as "line 3, column 7", both counted from 1.
std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto line_start = before.rfind('\n');
  const std::size_t column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

// Returns the reason why the reader refused a byte: the usual mistakes by name.
std::string refused(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "the text ends in the middle of a value";
  const char byte = text[offset];
  if (text.substr(offset, 2) == "/*") return "the comment that begins here has no end";
  const auto before = text.substr(0, offset).find_last_not_of(" \t\r\n");
  const char previous = before == std::string_view::npos ? '\0' : text[before];
  const bool printable = byte > 0x20 && byte < 0x7f;
  std::string found =
      printable ? fmt::format("found {}", byte) : fmt::format("found byte 0x{:02x}", static_cast<unsigned char>(byte));
  if (previous == ',' && (byte == '}' || byte == ']')) return found + " behind a comma; take the comma out";
  const bool begins = byte == '"' || byte == '[' || byte == '{';
  const bool ended = previous == '"' || previous == ']' || previous == '}';
  if (begins && ended) return found + ", and a comma or a colon is missing before it";
  return found + " where it is not allowed";
}

// Returns the text with blanks instead of // and /* */ comments, so that every other byte keeps its position.
std::string without_comments(std::string_view text) {
  std::string blanked(text);
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (quoted || text[at] != '/') {
      if (quoted && text[at] == '\\') {
        ++at;  // an escaped quote does not end the string
      } else if (text[at] == '"') {
        quoted = !quoted;
      }
      continue;
    }
    const std::string_view opening = text.substr(at, 2);
    const bool block = opening == "/*";
    if (!block && opening != "//") continue;
    std::size_t end = block ? text.find("*/", at + 2) : std::min(text.find_first_of("\r\n", at), text.size());
    if (end == std::string_view::npos) return blanked;  // the reader refuses a comment without an end
    if (block) end += 2;
    for (; at < end; ++at) {
      if (text[at] != '\n') blanked[at] = ' ';
    }
    --at;
  }
  return blanked;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  std::error_code status;
  const std::filesystem::file_status kind = std::filesystem::status(path, status);
  if (!std::filesystem::exists(kind)) return Error{ErrorCode::kNotFound, fmt::format("{}: not there", path)};
  if (!std::filesystem::is_regular_file(kind)) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  }
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::vector<char> piece(std::size_t{1} << 16);
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxJsonFileSize) {
      return Error{ErrorCode::kLimitExceeded, fmt::format("{}: more than {} bytes", path, kMaxJsonFileSize)};
    }
  }
  if (!in.eof()) return Error{ErrorCode::kIo, fmt::format("{}: cannot be read", path)};
  return text;
}

Status write_text_file(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return Error{ErrorCode::kIo, fmt::format("{}: cannot be written", path)};
  return Done{};
}

Result<Json> parse_json(std::string_view text, const std::string& file) {
  const std::string blanked = without_comments(text);
  JsonFault fault;
  if (auto document = read_json(blanked, kMaxJsonDepth, fault)) return *std::move(document);
  switch (fault.kind) {
    case JsonFault::Kind::kKeyTwice:
      return invalid_argument(fmt::format("{}: {}: the key appears twice in one object", file, fault.pointer));
    case JsonFault::Kind::kTooDeep:
      return invalid_argument(fmt::format("{}: arrays and objects are nested more than {} deep", file, kMaxJsonDepth));
    case JsonFault::Kind::kNotJson:
      break;
  }
  const std::size_t offset = fault.position - 1;
  return invalid_argument(fmt::format("{}: {}: not JSON: {}", file, place_of(text, offset), refused(blanked, offset)));
}

std::optional<std::string> scalar_text(const Json& value) {
  if (value.text() != nullptr) return *value.text();
  if (value.number() != nullptr || value.whole() || value.boolean() != nullptr) return json_line(value);
  if (const auto real = value.real()) return json_line(*real);
  return std::nullopt;
}

bool is_utf8(std::string_view text) {
  // Quotes and backslashes would need escapes, and like all ASCII they do not matter here.
  std::string quoted = "\"";
  std::copy_if(text.begin(), text.end(), std::back_inserter(quoted),
               [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  JsonFault fault;
  return read_json(quoted + '"', 0, fault).has_value();
}

Result<DType> dtype_at(const JsonPlace& cursor) {
  FATCTX_ASSIGN(const std::string name, cursor.text());
  if (const auto dtype = dtype_from_name(name)) return *dtype;
  std::vector<std::string> allowed;
  for (std::uint16_t number = 1; dtype_bits(static_cast<DType>(number)) != 0; ++number) {
    allowed.emplace_back(dtype_name(static_cast<DType>(number)));
  }
  return cursor.wrong_word(name, allowed);
}

}  // namespace fatctx::tools
