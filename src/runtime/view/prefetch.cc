// Prefetches exactly the chosen records. It works in steps, so that a budget, a cancel and a progress line are
// meaningful.
#include <algorithm>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "container/read/open.h"
#include "container/read/pieces.h"
#include "mapping/background_thread.h"
#include "mapping/page_advice.h"
#include "runtime/observe/observe.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/composed_view.h"
#include "runtime/view/prefetch.h"
#include "runtime/view/record_memory.h"
#include "runtime/view/stitched_view.h"

namespace fatctx {
namespace {

// The longest delay of a cancel: some milliseconds on a slow disk.
constexpr std::uint64_t kStep = std::uint64_t{4} << 20;

// A prefetch of a list of records, all of which are known to be prefetchable.
class Prefetch {
 public:
  Prefetch(const Container& container, std::span<const std::uint32_t> record_ids, const PrefetchOptions& options,
           std::atomic<std::uint64_t>* done_bytes = nullptr)
      : container_(container), record_ids_(record_ids), options_(options), done_bytes_(done_bytes) {
    for (const std::uint32_t id : record_ids_) report_.asked_bytes += bytes_of(mapped().known(id));
  }

  Result<PrefetchReport> run(const std::atomic<bool>* cancel) {
    cancel_ = cancel;
    const mapping::MappedRegion* region = mapped().region();
    if (container_.impl().copies() || region == nullptr) return report_;
    FATCTX_TRY(mapped().recheck());
    for (const std::uint32_t id : record_ids_) {
      const RecordInfo& record = mapped().known(id);
      observe::Span span(ProfileEventKind::kPrefetch, container_.path());
      span.about(record);
      const std::uint64_t before = report_.done_bytes;
      auto done = bring_in(record, *region);
      if (!done.ok()) {
        return in_context(container::in_record(std::move(done).error(), record), container_.path());
      }
      span.succeeded(report_.done_bytes - before);
      if (!done.value()) return report_;
    }
    return report_;
  }

 private:
  [[nodiscard]] const MappedContainer& mapped() const noexcept { return *mapped_of(container_); }

  // Returns the size of the record. For a recipe without a live view, returns the size of its sources instead.
  [[nodiscard]] std::uint64_t bytes_of(const RecordInfo& record) const {
    return record.recipe && !live_composed(mapped(), record.id) ? record.stored_bytes : record.size_bytes;
  }

  [[nodiscard]] bool stopped() {
    for (const std::atomic<bool>* cancel : {options_.cancel, cancel_}) {
      if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) report_.cancelled = true;
    }
    return report_.cancelled || report_.done_bytes >= options_.max_bytes;
  }

  // Returns false if the remaining bytes are not wanted.
  Result<bool> bring_in(const RecordInfo& record, const mapping::MappedRegion& whole) {
    if (const auto composed = live_composed(mapped(), record.id)) return bring_in(*composed);
    if (record.recipe) return bring_in_sources(record, whole);
    // If there is no stitched view, no page table can be filled. The pages can still be brought into the page cache.
    const auto stitched = live_stitched(mapped(), record.id);
    for (const container::Piece& piece : container::pieces_of(mapped().toc(), record)) {
      const auto size = static_cast<std::size_t>(piece.in_file.size);
      const ByteView bytes = stitched
                                 ? stitched->bytes().subspan(static_cast<std::size_t>(piece.offset_in_record), size)
                                 : whole.bytes().subspan(static_cast<std::size_t>(piece.in_file.offset), size);
      FATCTX_ASSIGN(const bool wanted, bring_in(bytes, piece.in_file.offset));
      if (!wanted) return false;
    }
    return true;
  }

  // Built pieces count as done, because they are in memory already.
  Result<bool> bring_in(const ComposedRecord& composed) {
    std::size_t at = 0;
    for (const mapping::MixedPiece& piece : composed.pieces()) {
      const auto size = static_cast<std::size_t>(piece.size);
      if (!piece.built) {
        FATCTX_ASSIGN(const bool wanted, bring_in(composed.region().bytes().subspan(at, size), piece.offset));
        if (!wanted) return false;
      } else {
        report_.done_bytes += std::min(piece.size, options_.max_bytes - report_.done_bytes);
      }
      at += size;
    }
    return true;
  }

  // Brings in the program of a recipe and the slices it may copy from, so that composing the view does not wait for a
  // disk.
  Result<bool> bring_in_sources(const RecordInfo& record, const mapping::MappedRegion& whole) {
    for (const ByteRange& range : container::slices_in_file(mapped().toc(), record)) {
      const ByteView bytes =
          whole.bytes().subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
      FATCTX_ASSIGN(const bool wanted, bring_in(bytes, range.offset));
      if (!wanted) return false;
    }
    return true;
  }

  Result<bool> bring_in(ByteView bytes, std::uint64_t file_offset) {
    for (std::uint64_t at = 0; at < bytes.size();) {
      if (stopped()) return false;
      const std::uint64_t size = std::min({kStep, bytes.size() - at, options_.max_bytes - report_.done_bytes});
      FATCTX_ASSIGN(const mapping::PopulateMethod method,
                    mapping::populate_at(mapped().file(),
                                         bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size)),
                                         file_offset + at));
      at += size;
      report_.done_bytes += size;
      report_.method =
          method == mapping::PopulateMethod::kPopulate ? PrefetchMethod::kPopulate : PrefetchMethod::kReadAhead;
      if (done_bytes_ != nullptr) done_bytes_->store(report_.done_bytes, std::memory_order_relaxed);
      if (options_.progress) options_.progress(report_.done_bytes, report_.asked_bytes);
    }
    return true;
  }

  const Container& container_;
  std::span<const std::uint32_t> record_ids_;
  const PrefetchOptions& options_;
  std::atomic<std::uint64_t>* done_bytes_;
  const std::atomic<bool>* cancel_ = nullptr;
  PrefetchReport report_;
};

}  // namespace

std::string_view prefetch_method_name(PrefetchMethod method) noexcept {
  switch (method) {
    case PrefetchMethod::kNone:
      return "none";
    case PrefetchMethod::kPopulate:
      return "populate";
    case PrefetchMethod::kReadAhead:
      return "read_ahead";
  }
  return "unknown";
}

// The thread only borrows. A forked child has no such thread, so nothing there keeps the mapping alive.
struct PrefetchHandle::Impl {
  explicit Impl(PrefetchWork what) : run(std::move(what)) {}

  void work() {
    try {
      result.emplace(run(cancel, done_bytes));
    } catch (const std::bad_alloc&) {
      result.emplace(Error{ErrorCode::kOutOfMemory, "no memory for the prefetch"});
    }
    done.store(true, std::memory_order_release);
  }

  PrefetchWork run;
  std::atomic<bool> cancel{false};
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> done_bytes{0};
  std::optional<Result<PrefetchReport>> result;       // written by the thread before `done`
  std::unique_ptr<mapping::BackgroundThread> thread;  // the last member, so joined before the others go
};

Result<PrefetchHandle> start_prefetch(PrefetchWork work) {
  auto impl = std::make_unique<PrefetchHandle::Impl>(std::move(work));
  FATCTX_ASSIGN(impl->thread, mapping::BackgroundThread::start([state = impl.get()] { state->work(); }));
  return PrefetchHandle(std::move(impl));
}

Result<PrefetchReport> prefetch_records(const Container& container, std::span<const std::uint32_t> record_ids,
                                        const PrefetchOptions& options) {
  for (const std::uint32_t id : record_ids) FATCTX_TRY(check_has_view(container, id));
  return Prefetch(container, record_ids, options).run(nullptr);
}

Result<PrefetchHandle> prefetch_records_in_background(const Container& container, std::vector<std::uint32_t> record_ids,
                                                      PrefetchOptions options) {
  for (const std::uint32_t id : record_ids) FATCTX_TRY(check_has_view(container, id));
  return start_prefetch([container, record_ids = std::move(record_ids), options = std::move(options)](
                            const std::atomic<bool>& cancel, std::atomic<std::uint64_t>& done_bytes) {
    return Prefetch(container, record_ids, options, &done_bytes).run(&cancel);
  });
}

PrefetchHandle::PrefetchHandle(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
PrefetchHandle::PrefetchHandle(PrefetchHandle&&) noexcept = default;
PrefetchHandle& PrefetchHandle::operator=(PrefetchHandle&& other) noexcept {
  cancel();
  impl_ = std::move(other.impl_);
  return *this;
}
PrefetchHandle::~PrefetchHandle() { cancel(); }

void PrefetchHandle::cancel() noexcept {
  if (impl_) impl_->cancel.store(true, std::memory_order_relaxed);
}

bool PrefetchHandle::done() const noexcept { return impl_->done.load(std::memory_order_acquire); }

std::uint64_t PrefetchHandle::done_bytes() const noexcept { return impl_->done_bytes.load(std::memory_order_relaxed); }

Result<PrefetchReport> PrefetchHandle::wait() {
  if (!impl_->thread->join() && !done()) {
    return Error{ErrorCode::kCancelled, "the prefetch went on in the parent process only: a fork copies no threads"};
  }
  return *impl_->result;
}

Result<PrefetchReport> Container::prefetch(std::uint32_t record_id, const PrefetchOptions& options) const {
  return prefetch_records(*this, {&record_id, 1}, options);
}

Result<PrefetchHandle> Container::prefetch_in_background(std::uint32_t record_id, PrefetchOptions options) const {
  return prefetch_records_in_background(*this, {record_id}, std::move(options));
}

}  // namespace fatctx
