// The known facts of one SoC. They come from a row of the table, from a QNN number that several rows share, or from a
// text that a person wrote.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fatctx/select.h"
#include "fatctx/soc_table.h"

namespace fatctx::runtime {

// The identity of a SoC. An empty field means "not known", as in the table.
struct SocIdentity {
  std::string vendor;
  std::string part;
  std::string variant;
  std::optional<std::uint32_t> qnn_soc;
  std::string arch;
  std::optional<std::uint32_t> vtcm_mb;
  std::string runtime;           // as written in the table
  std::optional<PartRule> rule;  // set if a part name was normalised
  [[nodiscard]] bool empty() const noexcept { return part.empty() && !qnn_soc && arch.empty(); }
};

[[nodiscard]] SocIdentity identity_of(const Soc& soc);
// Returns the row of the number, with the variant that the number identifies. Returns nothing if the table does not
// know it.
[[nodiscard]] std::optional<SocIdentity> identity_of_kernel_id(const SocTable& table, std::uint32_t kernel_id);
// Returns the facts that all parts of that number have in common; if several parts share it, the part is empty. A
// number that the table does not know is kept as the only fact.
[[nodiscard]] SocIdentity identity_of_qnn_soc(const SocTable& table, std::uint32_t qnn_soc);
// Returns the facts of a part. A name that the table does not know is kept as the only fact.
[[nodiscard]] SocIdentity identity_of_part(const SocTable& table, std::string_view name);

// Parses a SoC as people write it: a part ("SM8750"), a QNN number ("69"), a kernel number ("kernel:639"), a Hexagon
// arch ("v79"), a name as sold ("Snapdragon 8 Elite").
// Errors: invalid_config. The message says how `text` was understood instead, or which known text is similar. The
// caller adds the name of the setting and the list of accepted forms.
[[nodiscard]] Result<SocIdentity> identity_from_text(const SocTable& table, std::string_view text);

// Returns the device that selection sees. The backend follows from the table's runtime; it is "htp" if that is not
// known.
[[nodiscard]] Device device_of(const SocIdentity& identity);
// Returns true for a known backend whose archs are words that fatctx does not interpret: "openvino".
[[nodiscard]] bool has_free_archs(std::string_view backend) noexcept;
// Returns the processor as fatctx's provider for ONNX Runtime uses it. The version of the runtime is not known here.
[[nodiscard]] Device onnxruntime_device();

// Parses a decimal number without sign that fills `text`. Blanks and line ends around it are ignored.
[[nodiscard]] std::optional<std::uint32_t> decimal_in(std::string_view text) noexcept;

}  // namespace fatctx::runtime
