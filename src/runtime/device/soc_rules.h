// From captured facts to the SoC: which source decides, and what each of the others says to that.
#pragma once

#include <optional>
#include <string>

#include "fatctx/device.h"
#include "runtime/device/soc_facts.h"
#include "runtime/device/soc_identity.h"

namespace fatctx::runtime {

// What takes the machine's place or adds to it, already understood.
struct AskedSoc {
  std::optional<SocIdentity> instead;    // of the machine
  std::string raw;                       // as it was written
  std::string note;                      // where, if that is not an option of the call
  std::optional<std::uint32_t> vtcm_mb;  // in place of the detected one
  bool disagree = false;                 // arch and SoC said different things
};

// Fills everything of a Detection but the processor's part. With `asked.instead`, facts are not looked at.
[[nodiscard]] Detection judge_soc(const SocFacts& facts, const SocTable& table, const AskedSoc& asked,
                                  const std::optional<BackendPlatform>& backend);

// "X1" of "Qualcomm(R) Adreno(TM) X1-85 GPU"; empty if there is none.
[[nodiscard]] std::string adreno_generation(std::string_view description);
// "X1E80100" of "Snapdragon(R) X 12-core X1E80100 @ 3.40 GHz"; empty if there is none.
[[nodiscard]] std::string snapdragon_x_part(std::string_view processor);

// Printable ASCII stays, everything else is spelled out as \x0a; line ends and NULs at the end are dropped.
[[nodiscard]] std::string printable(std::string_view raw);

}  // namespace fatctx::runtime
