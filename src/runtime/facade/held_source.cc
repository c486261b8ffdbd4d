#include "runtime/facade/held_source.h"

#include <utility>

namespace fatctx {

Result<HeldSource> HeldSource::hold(const Source& source) {
  HeldSource held(source);
  if (source.kind() != Source::Kind::kDescriptor) return held;
  auto duplicate = mapping::duplicate_for_reading(source.descriptor());
  if (!duplicate.ok()) return in_context(std::move(duplicate).error(), source.name());
  held.held_ = std::move(duplicate).value();
  held.source_ = Source::of_descriptor(held.held_->descriptor(), source.window()).named(source.name());
  return held;
}

}  // namespace fatctx
