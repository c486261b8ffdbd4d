// Brings the records of a session into memory, and gives their memory back.
#include <utility>

#include "fatctx/model.h"
#include "runtime/facade/model_impl.h"
#include "runtime/facade/plain_model.h"
#include "runtime/view/prefetch.h"
#include "runtime/view/record_memory.h"

namespace fatctx {

Result<PrefetchReport> Session::prefetch(const PrefetchOptions& options) const {
  const Model::Impl& model = impl_->model.impl();
  if (!model.plain) return prefetch_records(*model.container, impl_->record_ids, options);
  if (impl_->binaries.empty()) return PrefetchReport{};
  return model.plain->bytes()->prefetch(model.plain->ranges(), options, nullptr, nullptr);
}

Result<PrefetchHandle> Session::prefetch_in_background(PrefetchOptions options) const {
  const Model::Impl& model = impl_->model.impl();
  if (!model.plain) return prefetch_records_in_background(*model.container, impl_->record_ids, std::move(options));
  return start_prefetch([kept = impl_, options = std::move(options)](const std::atomic<bool>& cancel,
                                                                     std::atomic<std::uint64_t>& done_bytes) {
    const PlainModel& plain = *kept->model.impl().plain;
    if (kept->binaries.empty()) return Result<PrefetchReport>(PrefetchReport{});
    return plain.bytes()->prefetch(plain.ranges(), options, &cancel, &done_bytes);
  });
}

Result<ReleaseReport> Session::release(const ReleaseOptions& options) const {
  const Model::Impl& model = impl_->model.impl();
  if (!model.plain) return release_records(*model.container, impl_->record_ids, options);
  if (impl_->binaries.empty()) return ReleaseReport{};
  return model.plain->bytes()->release(model.plain->ranges(), options);
}

}  // namespace fatctx
