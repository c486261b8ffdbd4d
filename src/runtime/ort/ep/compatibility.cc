#include "runtime/ort/ep/compatibility.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <tuple>

namespace fatctx::ort {
namespace {

constexpr std::string_view kLinePrefix = "fatctx/";
constexpr std::string_view kVersion = "1";

using Words = std::map<std::string_view, std::string_view>;

Words words_of(std::string_view text) {
  Words words;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos) words[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return words;
}

bool parse(std::string_view text, RuntimeVersion& version) {
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, version.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return false;
  const auto minor = std::from_chars(major.ptr + 1, end, version.minor);
  return minor.ec == std::errc() && minor.ptr == end;
}

Compatibility unsupported(std::string why) {
  return {.level = OrtCompiledModelCompatibility_EP_UNSUPPORTED, .why = std::move(why)};
}

}  // namespace

std::string compatibility_key() { return fmt::format("ep_compatibility_info.{}", kProviderName); }

std::string compatibility_text() {
  const RuntimeVersion version = runtime_version();
  return fmt::format("{}{} backend={} runtime={}.{}", kLinePrefix, kVersion, kBackend, version.major, version.minor);
}

Compatibility judge_compatibility(std::string_view text) {
  if (!text.starts_with(kLinePrefix)) return {};
  const std::string_view version = text.substr(0, text.find(' ')).substr(kLinePrefix.size());
  if (version != kVersion) {
    return unsupported(
        fmt::format("the model says \"{}\", which a newer fatctx has written: update fatctx, or compile "
                    "the model again",
                    text));
  }
  const Words words = words_of(text);
  const auto word = [&](std::string_view name) {
    const auto found = words.find(name);
    return found == words.end() ? std::string_view() : found->second;
  };
  if (word("backend") != kBackend) {
    return unsupported(fmt::format("the model is for the backend \"{}\", and this library has {}: compile it again",
                                   word("backend"), kBackend));
  }
  RuntimeVersion compiled;
  if (!parse(word("runtime"), compiled))
    return unsupported(
        fmt::format("the model says \"{}\", without the version of ONNX Runtime: compile it again", text));
  const RuntimeVersion own = runtime_version();
  const auto order = [](RuntimeVersion v) { return std::tuple(v.major, v.minor); };
  if (order(compiled) > order(own)) {
    return unsupported(
        fmt::format("the model was compiled with ONNX Runtime {}.{}, and this is {}.{}: use a runtime that "
                    "is at least as new, or compile it again",
                    compiled.major, compiled.minor, own.major, own.minor));
  }
  if (order(compiled) == order(own)) return {.level = OrtCompiledModelCompatibility_EP_SUPPORTED_OPTIMAL, .why = {}};
  return {.level = OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION,
          .why = fmt::format("the model was compiled with ONNX Runtime {}.{}, and this is {}.{}: it runs, and may run "
                             "better if it is compiled again",
                             compiled.major, compiled.minor, own.major, own.minor)};
}

}  // namespace fatctx::ort
