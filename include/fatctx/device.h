// Detects the device of this machine, and records the source of each fact.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/select.h"
#include "fatctx/soc_table.h"

namespace fatctx {

struct DetectionSource {
  // "option", "backend", "ro.soc.model", "soc0.soc_id", "legacy.soc_id", "soc0.machine", "device_tree", "windows.gpu",
  // "windows.cpu", "generic"; of the processor "cpuid", "xgetbv", "hwcap", "hwcap2".
  std::string id;
  std::string raw;  // the value as read, as printable ASCII: other bytes are written as \x0a
  // "used": it decided. "agrees", "disagrees" with the deciding one. "absent", "unreadable": no value. "unparsable":
  // the value means nothing; `note` says why.
  std::string state;
  std::string note = {};
};

// The source of a fact about the NPU.
struct FactOrigin {
  std::string fact;         // "part", "variant", "qnn_soc", "arch", "vtcm_mb"
  std::string source;       // id of the source
  bool from_table = false;  // the source named the SoC, and the table knows the fact
};

// A backend's description of its device, such as QnnDevice_getPlatformInfo. Empty: it does not say.
struct BackendPlatform {
  std::optional<std::uint32_t> qnn_soc = {};
  std::string arch = {};                      // "v79"
  std::optional<std::uint32_t> vtcm_mb = {};  // the only source of the memory that really exists
};

struct DetectOptions {
  // Replace the facts of the machine, and are not compared with them. `soc` in the form that device_from_text() takes:
  // "SM8750", "69", "kernel:639", "v79"; `arch` if only that is known. If both are set, `soc` wins. Empty: the machine
  // is asked.
  std::string soc = {};
  std::string arch = {};
  std::optional<std::uint32_t> vtcm_mb = {};  // alone: instead of the detected one
  std::optional<BackendPlatform> backend = {};
  // A folder with the files of another machine, instead of this one's: sys/, proc/, and the output of `getprop` in
  // getprop.txt. The processor of this machine is not asked then. Empty: this machine.
  std::string root = {};
  std::optional<SocTable> soc_table = {};  // nothing: the built-in one
  // Asks FATCTX_SOC, FATCTX_ARCH, FATCTX_VTCM_MB and FATCTX_SOC_TABLE (the path of a table) for facts that the fields
  // above do not give. No other thread may change the environment meanwhile.
  bool environment = false;
};

// One of the NPUs of a machine. Some SoCs for cars and industry have two; a phone has one.
struct NpuDevice {
  std::uint32_t device_id = 0;  // as the QNN provider's option device_id counts them: 0, 1
  std::string node;             // the device file that reaches it: "/dev/fastrpc-cdsp1"
};

struct Detection {
  Device device = {};              // its processor; with DetectOptions::soc or arch, what they say
  std::optional<Device> npu = {};  // its NPU, if a SoC was found
  // Its processor as fatctx's provider for ONNX Runtime uses it, if the machine was asked. The version of the runtime
  // is not known here.
  std::optional<Device> onnxruntime = {};
  // Those that the kernel knows by name, in order of their ids, even if the SoC was not found. Empty on most phones,
  // whose kernels do not tell; one of several is the same `npu`.
  std::vector<NpuDevice> npu_devices = {};
  std::vector<DetectionSource> sources = {};
  std::string decided_by = "none";         // id of the source; "generic": only the processor is known
  std::vector<FactOrigin> origins = {};    // one for each known fact of the NPU
  std::string vendor = {};                 // of the SoC
  std::string variant = {};                // the part as the machine calls it, if that is a variant: "SM8750P"
  std::optional<PartRule> rule = {};       // the rule by which its part name was understood, if it came as a name
  std::vector<std::string> warnings = {};  // "sources_disagree", "options_disagree"
  std::string soc_table_version = {};
};

// Asks the processor (cpuid on x86-64, the auxiliary vector on aarch64) and everything that may name the SoC, in the
// order of docs/selection.md, section 9. The first usable answer wins; later ones are compared with it. A missing
// source is not an error: an unknown machine is a Device whose fields are empty. Detection is advice; the load is the
// proof.
//
// Threads: from any thread.
// Cost: some microseconds, and the opening of nine small files; nothing blocks. The answer is not cached.
// Errors: invalid_config (an option or a variable of the environment that cannot be understood); those of
//         SocTable::read for the table that the environment names.
[[nodiscard]] Result<Detection> detect_device(const DetectOptions& options);
// Does the same without options. Never fails.
[[nodiscard]] Detection detect_device();

// Returns the description of the machine that the records need: its NPU if a context binary among `candidates` is for
// the NPU's backend. Else `onnxruntime`, if they are for ONNX Runtime and none is for the processor's own backend. Else
// its processor. Lifetime: borrows from `detection`.
[[nodiscard]] const Device& device_for(const Detection& detection, std::span<const Candidate> candidates) noexcept;

// Returns the parts of a target of backend "cpu" or "htp" that no device has. These are an arch that neither
// detect_device() finds nor device_from_text() takes ("x86_64-v3"), and a feature word that detect_device() does not
// look for ("dotpord"). Gives a sentence for each, with the nearest names. A record for such a target is chosen only
// for a device that is described with the same text: by device_from_json(), or a Device filled in by hand. An empty
// arch says nothing.
//
// Returns nothing if all of it is known, or if the backend is another one, whose archs are unknown here.
[[nodiscard]] std::vector<std::string> unknown_target_words(std::string_view backend, std::string_view arch,
                                                            std::span<const std::string> features);

// Returns JSON of schema "fatctx.detection/1": both devices, the NPUs by their ids, sources, origins, warnings and the
// version of the SoC table, and how this process maps files.
[[nodiscard]] std::string detection_to_json(const Detection& detection);

}  // namespace fatctx
