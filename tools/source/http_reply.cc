#include <algorithm>
#include <cctype>

#include "tools/source/http_request.h"

namespace fatctx::tools {
namespace {

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && static_cast<unsigned char>(text.front()) <= ' ') text.remove_prefix(1);
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  const auto found = std::find_if(head.begin(), head.end(), [&](const auto& one) { return one.first == name; });
  return found == head.end() ? std::string_view() : std::string_view(found->second);
}

void HttpReply::take_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    head.clear();
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  std::string name(without_blanks(line.substr(0, colon)));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  head.emplace_back(std::move(name), std::string(without_blanks(line.substr(colon + 1))));
}

}  // namespace fatctx::tools
