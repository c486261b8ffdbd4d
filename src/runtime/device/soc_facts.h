// What a machine says about its SoC, as captured texts. Reading them is the work of soc_files.cc and probe_*.cc; what
// follows from them is in soc_rules.cc and pure, so that the texts of any machine can be tested on any host.
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
  std::string text = {};  // as read; of kUnreadable, why
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
  CapturedText compatible;    // of the device tree
  std::vector<WindowsDisplay> displays;
  CapturedText processor;  // ProcessorNameString
  std::vector<NpuDevice> npu_devices;
  std::string cpu_arch;  // "x86_64", "aarch64"; empty if not even that is known
};

// The files under `root` ("" for those of the system): soc0, the legacy path, the device tree, the NPUs. A path without
// a value is kAbsent. Reads at most 4 KiB of each and never blocks.
void read_soc_files(const std::string& root, SocFacts& facts);

// What a folder says that stands for a machine which has no such files: getprop.txt (lines "[name]: [value]") and
// windows.txt (lines "ProcessorNameString=...", and "MatchingDeviceId=..." followed by "DriverDesc=...").
void read_captured_texts(const std::string& root, SocFacts& facts);

// Lines of `getprop`, and of windows.txt.
void take_getprop(std::string_view text, SocFacts& facts);
void take_windows(std::string_view text, SocFacts& facts);

// This machine's own, where there are such things; else nothing.
void read_android_properties(SocFacts& facts);
void read_windows_registry(SocFacts& facts);

// "x86_64", "aarch64" or "" of the machine that this was built for.
[[nodiscard]] std::string_view built_for() noexcept;

}  // namespace fatctx::runtime
