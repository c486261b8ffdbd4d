// What is known of one SoC, wherever it comes from: a row of the table, a QNN number that several rows share, or words
// of a person.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fatctx/select.h"
#include "fatctx/soc_table.h"

namespace fatctx::runtime {

// Empty means "not known", as in the table.
struct SocIdentity {
  std::string vendor;
  std::string part;
  std::string variant;
  std::optional<std::uint32_t> qnn_soc;
  std::string arch;
  std::optional<std::uint32_t> vtcm_mb;
  std::string runtime;           // as the table says it
  std::optional<PartRule> rule;  // if a part name was normalised
  [[nodiscard]] bool empty() const noexcept { return part.empty() && !qnn_soc && arch.empty(); }
};

[[nodiscard]] SocIdentity identity_of(const Soc& soc);
// By the row that the number leads to; the variant is the one it stands for. Nothing if the table does not know it.
[[nodiscard]] std::optional<SocIdentity> identity_of_kernel_id(const SocTable& table, std::uint32_t kernel_id);
// What all parts of that number have in common: of a shared one the part stays empty. A number that the table does not
// know is kept, alone.
[[nodiscard]] SocIdentity identity_of_qnn_soc(const SocTable& table, std::uint32_t qnn_soc);
// A name that the table does not know is kept, alone.
[[nodiscard]] SocIdentity identity_of_part(const SocTable& table, std::string_view name);

// A SoC as people write it: a part ("SM8750"), a QNN number ("69"), a kernel number ("kernel:639"), a Hexagon arch
// ("v79"). Errors: invalid_config; the message says what `text` is instead or what it is near to, and leaves it to the
// caller to name it and to list what is understood.
[[nodiscard]] Result<SocIdentity> identity_from_text(const SocTable& table, std::string_view text);

// As selection sees it. The backend is the one that the table's runtime goes with; "htp" if that is not known.
[[nodiscard]] Device device_of(const SocIdentity& identity);

// A decimal number that fills `text`, without sign; blanks and line ends around it do not count.
[[nodiscard]] std::optional<std::uint32_t> decimal_in(std::string_view text) noexcept;

}  // namespace fatctx::runtime
