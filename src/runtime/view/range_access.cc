#include "fatctx/range_access.h"

#include <algorithm>
#include <map>
#include <mutex>

#include <fmt/format.h>

namespace fatctx {
namespace {

constexpr std::uint64_t kPage = 4096;

}  // namespace

struct RangeAccess::Impl {
  Impl(RecordView whole, RangeHooks range_hooks) : view(std::move(whole)), hooks(std::move(range_hooks)) {}
  ~Impl() {
    for (const auto& [id, aligned] : live) {
      if (hooks.released) hooks.released(aligned);
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const RecordView view;
  const RangeHooks hooks;
  mutable std::mutex mutex;
  std::map<std::uint64_t, ByteView> live;  // id -> aligned
  std::uint64_t last_id = 0;
};

RangeAccess::RangeAccess(RecordView view, RangeHooks hooks)
    : impl_(std::make_shared<Impl>(std::move(view), std::move(hooks))) {}

std::uint64_t RangeAccess::size_bytes() const noexcept { return impl_->view.size_bytes(); }

Result<ProvidedRange> RangeAccess::provide(std::uint64_t offset, std::uint64_t size_bytes) const {
  const ByteView whole = impl_->view.bytes();
  if (size_bytes == 0) return Error{ErrorCode::kInvalidArgument, "a range of 0 bytes was requested"};
  if (!within({offset, size_bytes}, whole.size())) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{} bytes from byte {:#x} leave the record, which has {}", size_bytes, offset, whole.size()),
        {.record_id = impl_->view.record_id()}};
  }
  const std::uint64_t first = offset / kPage * kPage;
  const std::uint64_t end = offset + size_bytes;
  const std::uint64_t last = std::min<std::uint64_t>(end + (kPage - end % kPage) % kPage, whole.size());
  ProvidedRange range;
  range.aligned = whole.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
  range.data_start = offset - first;
  range.data = range.aligned.data() + range.data_start;
  range.size_bytes = size_bytes;
  {
    const std::lock_guard lock(impl_->mutex);
    range.id = ++impl_->last_id;
    impl_->live.emplace(range.id, range.aligned);  // before the hook, so that nothing can fail after the hook
  }
  if (!impl_->hooks.provided) return range;
  auto registered = impl_->hooks.provided(range.aligned);
  if (registered.ok()) return range;
  const std::lock_guard lock(impl_->mutex);
  impl_->live.erase(range.id);
  return std::move(registered).error();
}

Status RangeAccess::release(std::uint64_t id) const {
  ByteView aligned;
  {
    const std::lock_guard lock(impl_->mutex);
    const auto found = impl_->live.find(id);
    if (found == impl_->live.end()) {
      return Error{
          ErrorCode::kStaleHandle,
          fmt::format("range {} was {}", id, id == 0 || id > impl_->last_id ? "never provided" : "released already")};
    }
    aligned = found->second;
    impl_->live.erase(found);
  }
  if (impl_->hooks.released) impl_->hooks.released(aligned);
  return Done{};
}

std::size_t RangeAccess::outstanding() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->live.size();
}

}  // namespace fatctx
