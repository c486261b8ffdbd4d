// Checks notes of evidence and adds them to a description.
#pragma once

#include <cstdint>

#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx::container {

// Errors: invalid_argument, naming the text, the value and the allowed ones.
[[nodiscard]] Status check_note(const EvidenceNote& note);

// Errors: exists (the record has an identical note).
[[nodiscard]] Status add_note(ContainerDescription& description, std::uint32_t record_id, EvidenceNote note);

}  // namespace fatctx::container
