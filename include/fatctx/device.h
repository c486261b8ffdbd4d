// What this machine is, and how that is known.
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
  std::string raw;  // the value as read, as printable ASCII: other bytes stand as \x0a
  // "used": it decided. "agrees", "disagrees" with what did. "absent", "unreadable": there is no value. "unparsable":
  // the value says nothing; `note` tells why.
  std::string state;
  std::string note = {};
};

// Where a fact of the NPU comes from.
struct FactOrigin {
  std::string fact;         // "part", "variant", "qnn_soc", "arch", "vtcm_mb"
  std::string source;       // id of the source
  bool from_table = false;  // the source named the SoC, and the table knows the fact
};

// What a backend says of the device that it runs on, such as QnnDevice_getPlatformInfo. Empty: it does not say.
struct BackendPlatform {
  std::optional<std::uint32_t> qnn_soc = {};
  std::string arch = {};                      // "v79"
  std::optional<std::uint32_t> vtcm_mb = {};  // the only source of what there really is
};

struct DetectOptions {
  // Take the machine's place, and are not compared with it. `soc` as device_from_text() takes it: "SM8750", "69",
  // "kernel:639", "v79"; `arch` where only that is known; of the two, `soc` wins. Empty: the machine is asked.
  std::string soc = {};
  std::string arch = {};
  std::optional<std::uint32_t> vtcm_mb = {};  // alone: in place of the detected one
  std::optional<BackendPlatform> backend = {};
  // A folder with the files of another machine, in place of this one's: sys/, proc/, and what `getprop` prints there
  // in getprop.txt. The processor of this machine is not asked then. Empty: this machine.
  std::string root = {};
  std::optional<SocTable> soc_table = {};  // nothing: the built-in one
  // Where the fields above say nothing, ask FATCTX_SOC, FATCTX_ARCH, FATCTX_VTCM_MB and FATCTX_SOC_TABLE (the path of
  // a table). No other thread may change the environment meanwhile.
  bool environment = false;
};

// One of the NPUs of a machine. Some SoCs for cars and industry have two; a phone has one.
struct NpuDevice {
  std::uint32_t device_id = 0;  // as the QNN provider's option device_id counts them: 0, 1
  std::string node;             // what reaches it: "/dev/fastrpc-cdsp1"
};

struct Detection {
  Device device = {};              // its processor; with DetectOptions::soc or arch, what they say
  std::optional<Device> npu = {};  // its NPU, if a SoC was found
  // Those that the kernel knows by name, in order of their ids, whether or not the SoC was found. Empty on most
  // phones, whose kernels do not tell; one of several is the same `npu`.
  std::vector<NpuDevice> npu_devices = {};
  std::vector<DetectionSource> sources = {};
  std::string decided_by = "none";         // id of the source; "generic": only the processor is known
  std::vector<FactOrigin> origins = {};    // one for each known fact of the NPU
  std::string vendor = {};                 // of the SoC
  std::string variant = {};                // the part as the machine calls it, if that is a variant: "SM8750P"
  std::optional<PartRule> rule = {};       // how its part name was understood, if it came as a name
  std::vector<std::string> warnings = {};  // "sources_disagree", "options_disagree"
  std::string soc_table_version = {};
};

// Asks the processor (cpuid on x86-64, the auxiliary vector on aarch64) and everything that may name the SoC, in the
// order of docs/selection.md, section 9; the first usable answer wins, later ones are compared with it. A source that
// is not there is no error: an unknown machine is a Device whose fields are empty. Detection is advice; the load is
// the proof.
//
// Threads: from any thread. Cost: some microseconds, and the opening of nine small files; nothing blocks. The answer
// is not cached.
// Errors: invalid_config (an option or a variable of the environment that cannot be understood); of the table that the
// environment names, those of SocTable::read.
[[nodiscard]] Result<Detection> detect_device(const DetectOptions& options);
// The same without options. Never fails.
[[nodiscard]] Detection detect_device();

// The machine as records need it described: its NPU if a context binary among `candidates` is for the NPU's backend,
// else its processor. Lifetime: borrows from `detection`.
[[nodiscard]] const Device& device_for(const Detection& detection, std::span<const Candidate> candidates) noexcept;

// What a target of backend "cpu" or "htp" names that no device has: an arch that neither detect_device() finds nor
// device_from_text() takes ("x86_64-v3"), a feature word that detect_device() does not look for ("dotpord"). A sentence
// for each, with what is near. A record for such a target is chosen only for a device that is described with the same
// text: by device_from_json(), or a Device filled in by hand. An empty arch says nothing.
//
// Empty: all of it is known, or the backend is another one, of whose archs nothing is known here.
[[nodiscard]] std::vector<std::string> unknown_target_words(std::string_view backend, std::string_view arch,
                                                            std::span<const std::string> features);

// Schema "fatctx.detection/1": both devices, the NPUs by their ids, sources, origins, warnings, version of the table.
[[nodiscard]] std::string detection_to_json(const Detection& detection);

}  // namespace fatctx
