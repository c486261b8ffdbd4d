// Reads the name of the processor and the display adapters from the Windows registry. Other systems have none.
#include "runtime/device/soc_facts.h"

#if defined(_WIN32)

#include <fmt/format.h>
#include <windows.h>

namespace fatctx::runtime {
namespace {

constexpr char kProcessor[] = "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0";
constexpr char kDisplays[] = "SYSTEM\\CurrentControlSet\\Control\\Class\\{4d36e968-e325-11ce-bfc1-08002be10318}";
constexpr unsigned kMostDisplays = 16;

CapturedText read_value(const std::string& key, const char* name) {
  char value[512] = {};
  DWORD size = sizeof value - 1;
  const LSTATUS status = ::RegGetValueA(HKEY_LOCAL_MACHINE, key.c_str(), name, RRF_RT_REG_SZ, nullptr, value, &size);
  if (status == ERROR_FILE_NOT_FOUND) return {};
  if (status != ERROR_SUCCESS) return {ReadState::kUnreadable, fmt::format("registry error {}", status)};
  return {ReadState::kRead, value};
}

}  // namespace

void read_windows_registry(SocFacts& facts) {
  facts.processor = read_value(kProcessor, "ProcessorNameString");
  for (unsigned slot = 0; slot < kMostDisplays; ++slot) {
    const std::string key = fmt::format("{}\\{:04}", kDisplays, slot);
    const CapturedText id = read_value(key, "MatchingDeviceId");
    if (id.state == ReadState::kRead) facts.displays.push_back({id.text, read_value(key, "DriverDesc").text});
  }
}

}  // namespace fatctx::runtime

#else

namespace fatctx::runtime {

void read_windows_registry(SocFacts& /*facts*/) {}

}  // namespace fatctx::runtime

#endif
