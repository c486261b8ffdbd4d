// A view of any record, provided in the way that its form and the options of the handle allow.
#pragma once

#include <cstdint>

#include "fatctx/container.h"

namespace fatctx {

// Does what Container::acquire does, but does not report to profile or trace. Errors: those of Container::acquire.
[[nodiscard]] Result<RecordView> view_of(const Container& container, std::uint32_t record_id);

// Checks a record that is about to be shown where it is mapped, as the policy of the handle says: now, or beside the
// load. Errors: those of MappedContainer::verify_record, naming the record.
[[nodiscard]] Status check_shown(const Container& container, const RecordInfo& record);

}  // namespace fatctx
