#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "mapping/small_file.h"
#include "runtime/device/soc_facts.h"

namespace fatctx::runtime {
namespace {

constexpr std::size_t kMostBytes = 4096;

// The names of the NPUs in the order of their QNN ids. The kernel has a device "fastrpc-NAME" for each.
constexpr std::array kNpuNames = {"cdsp", "cdsp1"};

CapturedText read_text(const std::string& path) {
  auto text = mapping::read_small_file(path, kMostBytes);
  if (text.ok()) return {ReadState::kRead, std::move(text).value()};
  if (text.error().code == ErrorCode::kNotFound) return {};
  return {ReadState::kUnreadable, text.error().message};
}

// Reads the first of several places that exists. If none has a value, a place that could not be read is reported before
// one that does not exist.
template <std::size_t Count>
CapturedText read_first(const std::string& root, const std::array<const char*, Count>& paths) {
  CapturedText best;
  for (const char* path : paths) {
    CapturedText text = read_text(root + path);
    if (text.state == ReadState::kRead) return text;
    if (best.state == ReadState::kAbsent) best = std::move(text);
  }
  return best;
}

// Returns the text between `open` and `close`, searching from `at`; moves `at` behind it.
std::string_view between(std::string_view line, std::size_t& at, char open, char close) {
  const auto from = line.find(open, at);
  if (from == std::string_view::npos) return {};
  const auto to = line.find(close, from);
  if (to == std::string_view::npos) return {};
  at = to + 1;
  return line.substr(from + 1, to - from - 1);
}

template <typename Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    take(line);
  }
}

}  // namespace

void read_soc_files(const std::string& root, SocFacts& facts) {
  facts.family = read_text(root + "/sys/devices/soc0/family");
  facts.soc_id = read_text(root + "/sys/devices/soc0/soc_id");
  facts.machine = read_text(root + "/sys/devices/soc0/machine");
  facts.legacy_id = read_text(root + "/sys/devices/system/soc/soc0/id");
  facts.compatible =
      read_first(root, std::array{"/proc/device-tree/compatible", "/sys/firmware/devicetree/base/compatible"});
  for (std::uint32_t id = 0; id < kNpuNames.size(); ++id) {
    if (read_text(fmt::format("{}/sys/class/misc/fastrpc-{}/dev", root, kNpuNames[id])).state == ReadState::kAbsent) {
      continue;
    }
    facts.npu_devices.push_back({.device_id = id, .node = fmt::format("/dev/fastrpc-{}", kNpuNames[id])});
  }
}

void take_getprop(std::string_view text, SocFacts& facts) {
  for_each_line(text, [&](std::string_view line) {
    std::size_t at = 0;
    const std::string_view name = between(line, at, '[', ']');
    const std::string_view value = between(line, at, '[', ']');
    if (name == "ro.soc.manufacturer") facts.manufacturer = {ReadState::kRead, std::string(value)};
    if (name == "ro.soc.model") facts.model = {ReadState::kRead, std::string(value)};
  });
}

void take_windows(std::string_view text, SocFacts& facts) {
  for_each_line(text, [&](std::string_view line) {
    const auto equals = std::min(line.find('='), line.size());
    const std::string_view name = line.substr(0, equals);
    const std::string value(line.substr(std::min(equals + 1, line.size())));
    if (name == "ProcessorNameString") facts.processor = {ReadState::kRead, value};
    if (name == "MatchingDeviceId") facts.displays.push_back({value, {}});
    if (name == "DriverDesc" && !facts.displays.empty()) facts.displays.back().description = value;
  });
}

void read_captured_texts(const std::string& root, SocFacts& facts) {
  constexpr std::size_t kMostListed = 1 << 20;  // getprop lists several thousand properties
  if (const auto listed = mapping::read_small_file(root + "/getprop.txt", kMostListed); listed.ok()) {
    take_getprop(listed.value(), facts);
  }
  if (const auto listed = mapping::read_small_file(root + "/windows.txt", kMostBytes); listed.ok()) {
    take_windows(listed.value(), facts);
  }
}

std::string_view built_for() noexcept {
#if defined(__x86_64__)
  return "x86_64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "";
#endif
}

}  // namespace fatctx::runtime
