// Identifies the SoC from captured facts: decides which source counts, and compares the other sources with it.
#pragma once

#include <optional>
#include <string>

#include "fatctx/device.h"
#include "runtime/device/soc_facts.h"
#include "runtime/device/soc_identity.h"

namespace fatctx::runtime {

// The parsed options of the caller, which replace the machine's facts or add to them.
struct AskedSoc {
  std::optional<SocIdentity> instead;    // replaces the facts of the machine
  std::string raw;                       // as it was written
  std::string note;                      // where it came from, unless that is an option of the call
  std::optional<std::uint32_t> vtcm_mb;  // replaces the detected one
  bool disagree = false;                 // arch and SoC contradict each other
};

// Fills the whole Detection except the part of the processor. Ignores the facts if `asked.instead` is set.
[[nodiscard]] Detection judge_soc(const SocFacts& facts, const SocTable& table, const AskedSoc& asked,
                                  const std::optional<BackendPlatform>& backend);

// Returns "X1" for "Qualcomm(R) Adreno(TM) X1-85 GPU"; empty if there is none.
[[nodiscard]] std::string adreno_generation(std::string_view description);
// Returns "X1E80100" for "Snapdragon(R) X 12-core X1E80100 @ 3.40 GHz"; empty if there is none.
[[nodiscard]] std::string snapdragon_x_part(std::string_view processor);

// Keeps printable ASCII and escapes all other bytes as \x0a. Drops line ends and NULs at the end.
[[nodiscard]] std::string printable(std::string_view raw);

}  // namespace fatctx::runtime
