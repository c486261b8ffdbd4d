// Chooses the record for a device: a pure function over keys, with a reason for every record that it did not choose.
//
// The facts (axes, tiers, ties) are those of docs/selection.md. Nothing here reads a file or asks the machine;
// `detect_device()` in fatctx/device.h asks it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/record.h"
#include "fatctx/soc_table.h"

namespace fatctx {

// A description of the caller's machine. An empty optional means "unknown", which is never the same as zero.
struct Device {
  std::string backend = "cpu";
  std::optional<std::string> part = {};       // normalised part name
  std::optional<std::uint32_t> qnn_soc = {};  // vendor number
  std::optional<std::string> arch = {};       // CPU: highest level ("x86-64-v4") or "aarch64"; Hexagon: "v75"
  std::vector<std::string> features = {};     // sorted, unique: "amx", "dotprod", ...
  std::optional<std::uint32_t> vtcm_mb = {};
  std::optional<Version> sdk = {};
  std::optional<Version> api = {};
  std::optional<Version> blob = {};
};

enum class RecordState : std::uint8_t { kUnknown, kOk, kBad };  // known result of the record's checksum

// A row that selection judges.
struct Candidate {
  std::uint32_t record_id = 0;
  std::string_view name = {};
  SelectionKey key = {};
  RecordState state = RecordState::kUnknown;
  bool weights_ok = true;  // every weight blob it refers to exists and is bound by the right hash
};

struct SelectPolicy {
  std::string group = {};         // empty: the only group of the container; ambiguous if there are several
  bool strict = false;            // only records that fully use the device
  bool allow_lower_arch = false;  // lower Hexagon arch of the same generation; CPU levels need no opt-in
  bool allow_generic = true;      // a generic record as FALLBACK, with a warning
  bool mix_targets = false;       // take units from different targets when no target has them all
  bool prepare_hook = false;      // a stored source model can be compiled here: it is taken if nothing else fits
  std::optional<std::vector<std::uint32_t>> boundaries = {};  // Hexagon generation boundaries; nothing: the table's
  std::optional<SocTable> soc_table = {};  // tells spellings of one part and quirks; nothing: the built-in one
  std::optional<Version> max_sdk = {};  // refuse records of a newer SDK, whatever the device reads: goes back to older
  std::optional<std::string> record_override = {};  // name of the context binary to take (tier T0)
  bool force = false;                               // with record_override: skip the axes
};

enum class Level : std::uint8_t { kOptimal = 1, kPreferRecompilation = 2, kFallback = 3, kUnsupported = 4 };

enum class Axis : std::uint8_t {
  kNone,         // not rejected
  kBackend,      // A1
  kDamaged,      // A2
  kVersion,      // A3: blob, api or sdk newer than the device's
  kArchNewer,    // A4
  kBoundary,     // A5: another generation
  kVtcm,         // A6
  kQuirk,        // A8: the table of SoCs says that this part's binaries do not work on the device's part
  kWeights,      // A7: weight blob missing or bound to another hash
  kIsa,          // C1: another instruction set
  kFeature,      // C2: a required CPU level or feature is missing
  kNoTier,       // compatible as far as known, but nothing says that it fits
  kStrict,       // would run, but does not fully use the device
  kStrictLower,  // would run on a lower arch or as a fallback
  kNoHook,       // a source model, and nobody to compile it
  kOverride,     // another record was named
  kGroup,        // belongs to another group
  kIncomplete,   // its target lacks a unit of the group
  kOutranked,    // fits, but another record fits better
};
[[nodiscard]] std::string_view axis_id(Axis axis) noexcept;       // "A1", "C2", "no_tier", ...
[[nodiscard]] std::string_view level_name(Level level) noexcept;  // "OPTIMAL", "PREFER_RECOMPILATION", ...

struct Verdict {
  std::uint32_t record_id = 0;
  Level level = Level::kUnsupported;
  int tier = -1;            // 0..7 for a record that fits (7: a source model to compile); -1 for a rejected one
  Axis axis = Axis::kNone;  // why it was not chosen; kNone for chosen records
  bool chosen = false;
};

// A record that was found damaged when its bytes were acquired.
struct DamagedRecord {
  std::uint32_t record_id = 0;  // a context binary, or a weight blob that context binaries refer to
  std::string name;
  Error error;  // the error of its acquire: the message names file and record, `where` the byte of the file
};

struct Selection {
  std::vector<Verdict> verdicts;      // one per context binary and source model, in the order of the candidates
  std::vector<std::uint32_t> chosen;  // record ids, one per unit, in unit order; empty: nothing matches; at T7 of
                                      // source models, each once
  Level level = Level::kUnsupported;  // the lowest level among the chosen
  int tier = -1;
  int vendor_code = 0;                // documented vendor code when nothing matches (1008, 5004, 5005, 5008, 5011)
  std::vector<std::string> warnings;  // "vtcm_unverified", ...
  std::string group;                  // the group that was judged
  // Records that would have been chosen but are damaged, in the order in which they were found. Only a Model that was
  // opened with OnDamage::kNext fills it; `warnings` then has "damaged_choice".
  std::vector<DamagedRecord> damaged;
};

// Judges every context binary and source model among `candidates` and picks the best target that has every unit of the
// group; if there is none and policy.prepare_hook is set, the source models of the group.
// Deterministic: permuting the candidates permutes the verdicts and changes nothing else.
//
// Errors: invalid_argument (the group does not exist, or several groups and none named; override names no record).
// A selection without a match is not an error here: `chosen` is empty and every verdict has the reason.
[[nodiscard]] Result<Selection> select(std::span<const Candidate> candidates, const Device& device,
                                       const SelectPolicy& policy = {});

// Returns one sentence for one verdict, with both values: "needs x86-64-v4, device has x86-64-v3 [C2]".
[[nodiscard]] std::string explain_verdict(const Verdict& verdict, const Candidate& candidate, const Device& device,
                                          const SelectPolicy& policy = {});

// Explain the whole selection as text (several lines) or JSON (schema "fatctx.selection/1"); the same structure feeds
// both.
[[nodiscard]] std::string explain_text(const Selection& selection, std::span<const Candidate> candidates,
                                       const Device& device, const SelectPolicy& policy = {});
[[nodiscard]] std::string explain_json(const Selection& selection, std::span<const Candidate> candidates,
                                       const Device& device, const SelectPolicy& policy = {});

// Write and read device descriptions as JSON (schema "fatctx.device/1"), for dry runs and bug reports.
// Errors of parsing: invalid_argument, naming the JSON pointer, the value found and the values allowed.
[[nodiscard]] std::string device_to_json(const Device& device);
[[nodiscard]] Result<Device> device_from_json(std::string_view json);
// Reads a device given by hand. Accepts "x86-64-v3", "aarch64+dotprod+i8mm", "cpu:aarch64", "v75", and a SoC: its part
// ("SM8750"), QNN number ("69") or kernel number ("kernel:639"). A device of a backend without a table is its backend
// and an arch ("openvino:NPU"), or the backend alone; "ort-cpu" is fatctx's provider for ONNX Runtime. Does not read a
// path to a JSON file. `table` supplies the other facts of a SoC; by default it is the built-in one. If several parts
// share a QNN number, the part stays unknown. Errors: invalid_argument, listing the accepted forms and the nearest
// names.
[[nodiscard]] Result<Device> device_from_text(std::string_view text);
[[nodiscard]] Result<Device> device_from_text(std::string_view text, const SocTable& table);

}  // namespace fatctx
