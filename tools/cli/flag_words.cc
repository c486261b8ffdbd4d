#include "tools/cli/flag_words.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/base/nearest.h"

namespace fatctx::tools {

Result<std::map<std::string, std::string>> flag_words(std::string_view flag, std::string_view text,
                                                      const std::vector<std::string>& allowed) {
  std::map<std::string, std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = word.find('=');
    const std::string key(word.substr(0, equals));
    const bool complete = equals != std::string_view::npos && equals + 1 != word.size();
    if (!complete && allowed.empty()) {
      return invalid_argument(fmt::format("{}: found \"{}\"; write KEY=VALUE[,KEY=VALUE...]", flag, word));
    }
    if (!complete || (!allowed.empty() && std::find(allowed.begin(), allowed.end(), key) == allowed.end())) {
      const auto near = nearest(key, allowed);
      return invalid_argument(fmt::format("{}: found \"{}\"; {}allowed: {}=...", flag, word,
                                          near ? fmt::format("did you mean {}=? ", *near) : std::string(),
                                          fmt::join(allowed, "=..., ")));
    }
    if (!words.emplace(key, std::string(word.substr(equals + 1))).second) {
      return invalid_argument(fmt::format("{}: \"{}\" is given twice", flag, key));
    }
  }
  return words;
}

}  // namespace fatctx::tools
