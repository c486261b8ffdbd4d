// Notes of evidence: what a caller may write, and where it goes in a description.
#pragma once

#include <cstdint>

#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx::container {

// Errors: invalid_argument, naming the text, what was found and what is allowed.
[[nodiscard]] Status check_note(const EvidenceNote& note);

// Errors: exists (the record has the very same note).
[[nodiscard]] Status add_note(ContainerDescription& description, std::uint32_t record_id, EvidenceNote note);

}  // namespace fatctx::container
