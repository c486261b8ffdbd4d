// Binds devices, policies and verdicts.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <variant>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/model.h"
#include "fatctx/select.h"

namespace fatctx::python {

namespace nb = nanobind;

// The keywords as a signature, and an error about an unknown one, list them.
#define FATCTX_POLICY_KEYWORDS                                                                              \
  "group: str = \"\", strict: bool = False, allow_lower_arch: bool = False, "                               \
  "allow_generic: bool = True, mix_targets: bool = False, boundaries: typing.Sequence[int] | None = None, " \
  "record_override: str | None = None, force: bool = False, prepare_hook: bool = False, "                   \
  "soc_table: SocTable | None = None, max_sdk: str | None = None"
inline constexpr const char* kPolicyKeywords =
    "group, strict, allow_lower_arch, allow_generic, mix_targets, boundaries, record_override, force, "
    "prepare_hook, soc_table, max_sdk";

// A selection with everything that explains it.
struct BoundSelection {
  std::variant<Container, Model> owner;  // the candidates borrow from it
  std::vector<Candidate> candidates;
  Device device;
  SelectPolicy policy;
  Selection selection;
};

// Takes its keywords out of `keywords`. Raises TypeError for a wrong type.
[[nodiscard]] SelectPolicy take_policy(nb::dict& keywords);
// Converts a device. None becomes nothing, which means this machine; text goes to device_from_text(). Raises
// InvalidArgument, TypeError.
[[nodiscard]] std::optional<Device> device_from(nb::handle device);

void bind_select(nb::module_& module);

}  // namespace fatctx::python
