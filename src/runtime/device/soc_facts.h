// The captured texts by which a machine describes its SoC. soc_files.cc and probe_*.cc read them. soc_rules.cc draws
// the conclusions; it is pure, so that texts captured on any machine can be tested on any host.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/device.h"

namespace fatctx::runtime {

enum class ReadState : std::uint8_t { kAbsent, kUnreadable, kRead };

struct CapturedText {
  ReadState state = ReadState::kAbsent;
  std::string text = {};  // as read; for kUnreadable the reason
};

// A display adapter of Windows.
struct WindowsDisplay {
  std::string device_id;    // MatchingDeviceId: "PCI\\VEN_QCOM&DEV_0C36"
  std::string description;  // DriverDesc: "Qualcomm(R) Adreno(TM) X1-85 GPU"
};

struct SocFacts {
  CapturedText manufacturer;  // ro.soc.manufacturer
  CapturedText model;         // ro.soc.model
  CapturedText family;        // soc0/family
  CapturedText soc_id;        // soc0/soc_id
  CapturedText machine;       // soc0/machine
  CapturedText legacy_id;     // system/soc/soc0/id
  CapturedText compatible;    // from the device tree
  std::vector<WindowsDisplay> displays;
  CapturedText processor;  // ProcessorNameString
  std::vector<NpuDevice> npu_devices;
  std::string cpu_arch;  // "x86_64", "aarch64"; empty if unknown
};

// Reads the files under `root` ("" for those of the system): soc0, the legacy path, the device tree, the NPUs. A path
// without a value is kAbsent. Reads at most 4 KiB of each file and never blocks.
void read_soc_files(const std::string& root, SocFacts& facts);

// Reads the captured texts of a machine that has no such files. They are stored in a folder as getprop.txt (lines
// "[name]: [value]") and windows.txt (lines "ProcessorNameString=...", and "MatchingDeviceId=..." followed by
// "DriverDesc=...").
void read_captured_texts(const std::string& root, SocFacts& facts);

// Parses lines of `getprop` or of windows.txt.
void take_getprop(std::string_view text, SocFacts& facts);
void take_windows(std::string_view text, SocFacts& facts);

// Reads the values of this machine; does nothing where they do not exist.
void read_android_properties(SocFacts& facts);
void read_windows_registry(SocFacts& facts);

// Returns "x86_64", "aarch64" or "", for the machine that this library was built for.
[[nodiscard]] std::string_view built_for() noexcept;

}  // namespace fatctx::runtime
