#include "runtime/view/record_read.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/exceptions.h"
#include "base/named_values.h"
#include "container/format/copy_out.h"
#include "container/read/leaves.h"
#include "container/read/open.h"
#include "container/read/record_hasher.h"
#include "container/read/record_stream.h"
#include "mapping/background_thread.h"
#include "mapping/page_advice.h"
#include "runtime/observe/observe.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/step_watch.h"

namespace fatctx {
namespace {

constexpr NamedValue<ReadMethod> kMethods[] = {{ReadMethod::kAuto, "auto"},
                                               {ReadMethod::kDirect, "direct"},
                                               {ReadMethod::kCached, "cached"},
                                               {ReadMethod::kStreamed, "streamed"}};

constexpr std::uint64_t kPiece = std::uint64_t{2} << 20;        // a multiple of a leaf
constexpr std::uint64_t kLeastPieced = std::uint64_t{4} << 20;  // below that, threads cost more than they gain
constexpr std::uint64_t kLeastDirect = std::uint64_t{16} << 20;
constexpr std::uint64_t kBlock = container::kLeafSize;  // unit in which the page cache is asked what to keep
constexpr std::uint64_t kMostThreads = 4;
constexpr std::chrono::milliseconds kBetweenLooks{20};  // how soon a request to stop is seen

// A record that is one segment, read piece by piece. Threads take pieces; the calling thread hashes them in order.
class PiecedRead {
 public:
  PiecedRead(const MappedContainer& mapped, const container::Segment& segment, std::span<std::byte> out,
             const ReadOptions& options, const ReadHost& host)
      : file_(mapped.file()),
        segment_(segment),
        out_(out),
        options_(options),
        host_(host),
        pieces_(static_cast<std::size_t>((out.size() + kPiece - 1) / kPiece)) {
    if (options.method == ReadMethod::kCached) {
      why_not_direct_ = "the caller wants it through the page cache";
    } else if (mapped.filesystem().remote && options.method == ReadMethod::kAuto) {
      why_not_direct_ = fmt::format("the filesystem is {}", mapped.filesystem().name);
    } else if (out.size() < kLeastDirect && options.method == ReadMethod::kAuto) {
      why_not_direct_ = fmt::format("{} bytes are too few for direct reads", out.size());
    } else {
      direct_ = host.direct(file_);
      if (!direct_) why_not_direct_ = "the file cannot be opened for direct reads";
    }
    // Pages that the system is still reading ahead could not be dropped at the end.
    if (!options.keep_cached) without_read_ahead_ = mapping::open_without_read_ahead(file_);
  }

  // Returns no report if the system starts no thread.
  Result<std::optional<ReadReport>> run(const container::Toc& toc, const RecordInfo& record) {
    look_at_cache();  // before any read, which may make the system read ahead
    FATCTX_ASSIGN(leaves_, container::read_leaves(file_, toc, segment_, container::leaf_hash_of(toc)));
    if (!start_threads()) return std::optional<ReadReport>();
    container::RecordHasher hasher(toc, container::LeafHash::kXxh3);
    Status done = Done{};
    for (std::size_t i = 0; i < pieces_.size() && done.ok(); ++i) {
      done = wait_for(i);
      if (!done.ok()) break;
      const ByteRange range = range_of(i);
      hasher.update(
          ByteView(out_).subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size)));
      done = StepWatch::step(range.size);
      if (done.ok() && options_.progress) options_.progress(range.offset + range.size, out_.size());
    }
    stop_.store(true, std::memory_order_relaxed);
    const std::size_t count = threads_.size();
    threads_.clear();  // waits for them
    forget({0, out_.size()});
    FATCTX_TRY(std::move(done));
    if (!hasher.matches(record)) return container::not_its_hash(record);
    return std::optional(report(count));
  }

 private:
  enum class State : std::uint8_t { kOpen, kDone, kFailed };
  enum class Cached : std::uint8_t { kNothing, kPart, kAll };  // of a block, before the first read

  // Ends the threads however the call ends, also by an exception of `progress`.
  struct StopAtEnd {
    std::atomic<bool>& stop;
    ~StopAtEnd() { stop.store(true, std::memory_order_relaxed); }
  };

  [[nodiscard]] ByteRange range_of(std::size_t piece) const noexcept {
    const std::uint64_t at = piece * kPiece;
    return {at, std::min(kPiece, out_.size() - at)};
  }

  // Returns false if not even one thread starts. Fewer threads than wanted read everything, too.
  [[nodiscard]] bool start_threads() {
    const std::uint64_t asked = options_.threads != 0 ? options_.threads : kMostThreads;
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(asked, pieces_.size()); ++i) {
      auto thread = mapping::BackgroundThread::start([this] { work(); });
      if (!thread.ok()) break;
      threads_.push_back(std::move(thread).value());
    }
    return !threads_.empty();
  }

  // Reads pieces until none is left.
  void work() {
    std::unique_ptr<std::byte[]> aside;
    for (;;) {
      const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
      if (piece >= pieces_.size() || stop_.load(std::memory_order_relaxed)) return;
      Status read = out_of_memory_as_error([&] { return read_piece(piece, aside); });
      const std::lock_guard lock(mutex_);
      pieces_[piece] = read.ok() ? State::kDone : State::kFailed;
      if (!read.ok() && (!failed_ || failed_->first > piece)) failed_.emplace(piece, std::move(read).error());
      changed_.notify_all();
    }
  }

  Status wait_for(std::size_t piece) {
    std::unique_lock lock(mutex_);
    while (pieces_[piece] == State::kOpen) {
      changed_.wait_for(lock, kBetweenLooks);
      const std::atomic<bool>* const stopped = StepWatch::stop();
      if (stopped != nullptr && stopped->load(std::memory_order_relaxed)) return StepWatch::step(0);
    }
    // The lowest piece that failed is the first that the caller waits for.
    return pieces_[piece] == State::kDone ? Status(Done{}) : failed_->second;
  }

  Status read_piece(std::size_t piece, std::unique_ptr<std::byte[]>& aside) {
    const ByteRange range = range_of(piece);
    const ByteRange in_file{segment_.offset + range.offset, range.size};
    const std::span<std::byte> to =
        out_.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
    const auto first = cache_.begin() + static_cast<std::ptrdiff_t>(range.offset / kBlock);
    const auto last = first + static_cast<std::ptrdiff_t>((range.size + kBlock - 1) / kBlock);
    const bool all_there = std::all_of(first, last, [](Cached block) { return block == Cached::kAll; });
    bool read = false;
    if (direct_ && !refused_.load(std::memory_order_relaxed) &&
        (!all_there || options_.method == ReadMethod::kDirect)) {
      FATCTX_ASSIGN(read, read_directly(in_file, to, aside));
    }
    if (!read) {
      FATCTX_TRY(read_cached(in_file.offset, to));
      forget(range);
    }
    for (ByteView rest = to; !rest.empty();) {
      const std::uint64_t at = range.offset + (to.size() - rest.size());
      const ByteView bytes = rest.first(std::min<std::size_t>(rest.size(), container::kLeafSize));
      if (!leaves_.match(at / container::kLeafSize, bytes)) {
        return container::leaf_error({segment_.offset + at, bytes.size()}, container::all_zero(bytes));
      }
      rest = rest.subspan(bytes.size());
    }
    return Done{};
  }

  Status read_cached(std::uint64_t offset, std::span<std::byte> to) const {
    if (without_read_ahead_ && without_read_ahead_->read_at(file_.base() + offset, to).ok()) return Done{};
    return file_.read_at(offset, to);  // its error has the offset that the caller knows
  }

  // Notes what the page cache has of the record.
  void look_at_cache() {
    cache_.assign(static_cast<std::size_t>((out_.size() + kBlock - 1) / kBlock), Cached::kNothing);
    const auto of_record = host_.cached(file_, {segment_.offset, out_.size()});
    known_ = of_record.has_value();
    if (!known_) return;
    cached_ = std::min<std::uint64_t>(*of_record, out_.size());
    for (std::uint64_t at = 0; at < out_.size(); at += kPiece) note({at, std::min(kPiece, out_.size() - at)});
  }
  void note(ByteRange range) {
    const std::uint64_t cached = host_.cached(file_, {segment_.offset + range.offset, range.size}).value_or(0);
    if (cached != 0 && cached < range.size && range.size > kBlock) {
      for (std::uint64_t at = 0; at < range.size; at += kBlock) {
        note({range.offset + at, std::min(kBlock, range.size - at)});
      }
      return;
    }
    const Cached state = cached == 0 ? Cached::kNothing : cached >= range.size ? Cached::kAll : Cached::kPart;
    for (std::uint64_t at = range.offset; at < range.offset + range.size; at += kBlock) {
      cache_[static_cast<std::size_t>(at / kBlock)] = state;
    }
  }

  // Drops blocks of a range that were not in the page cache before, unless the caller or the system's silence keeps
  // them.
  void forget(ByteRange range) const noexcept {
    if (!known_ || options_.keep_cached) return;
    const auto end = static_cast<std::size_t>((range.offset + range.size + kBlock - 1) / kBlock);
    for (auto i = static_cast<std::size_t>(range.offset / kBlock); i < end; ++i) {
      const std::size_t first = i;
      while (i < end && cache_[i] == Cached::kNothing) ++i;
      if (i != first) mapping::drop_cache(file_, {segment_.offset + first * kBlock, (i - first) * kBlock});
    }
  }

  // Returns false if the bytes cannot be read directly.
  Result<bool> read_directly(ByteRange in_file, std::span<std::byte> to, std::unique_ptr<std::byte[]>& aside) {
    const std::uint64_t unit = direct_->alignment();
    const std::uint64_t size = (in_file.size + unit - 1) / unit * unit;
    const bool fits = reinterpret_cast<std::uintptr_t>(to.data()) % unit == 0 && size == to.size() &&
                      !aside_only_.load(std::memory_order_relaxed);
    if (fits) {
      Status read = direct_->read_at(in_file.offset, to, in_file.size);
      if (read.ok()) return counted(in_file.size);
      if (read.error().code != ErrorCode::kUnsupported) return std::move(read).error();
      aside_only_.store(true, std::memory_order_relaxed);  // memory that a disk cannot write to
    }
    if (!aside) aside = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(kPiece + 2 * unit));
    const std::uint64_t start = (unit - reinterpret_cast<std::uintptr_t>(aside.get()) % unit) % unit;
    const std::span<std::byte> buffer(aside.get() + start, static_cast<std::size_t>(size));
    Status read = direct_->read_at(in_file.offset, buffer, in_file.size);
    if (read.ok()) {
      std::copy_n(buffer.begin(), to.size(), to.begin());
      return counted(in_file.size);
    }
    if (read.error().code != ErrorCode::kUnsupported) return std::move(read).error();
    refused_.store(true, std::memory_order_relaxed);
    return false;
  }
  bool counted(std::uint64_t size) noexcept {
    direct_bytes_.fetch_add(size, std::memory_order_relaxed);
    return true;
  }

  ReadReport report(std::size_t threads) const {
    ReadReport report;
    report.size_bytes = out_.size();
    report.direct_bytes = direct_bytes_.load(std::memory_order_relaxed);
    report.cached_bytes = cached_;
    report.threads = static_cast<std::uint32_t>(threads);
    report.method = report.direct_bytes * 2 > report.size_bytes ? ReadMethod::kDirect : ReadMethod::kCached;
    const std::string facts =
        known_ ? fmt::format("{} of {} bytes were in the page cache", report.cached_bytes, report.size_bytes)
               : fmt::format("{} bytes; the system does not report what the page cache has", report.size_bytes);
    const std::string_view why_not = refused_.load(std::memory_order_relaxed) ? "the filesystem refuses direct reads"
                                                                              : std::string_view(why_not_direct_);
    report.reason =
        report.method == ReadMethod::kDirect || why_not.empty() ? facts : fmt::format("{}; {}", facts, why_not);
    return report;
  }

  const mapping::OsFile& file_;
  const container::Segment& segment_;
  const std::span<std::byte> out_;
  const ReadOptions& options_;
  const ReadHost& host_;
  std::unique_ptr<mapping::DirectFile> direct_;          // null: not used
  std::unique_ptr<mapping::OsFile> without_read_ahead_;  // null: not used
  std::string why_not_direct_;
  container::Leaves leaves_;
  std::vector<Cached> cache_;  // of each block from the first byte of the segment on
  std::uint64_t cached_ = 0;   // bytes of the record
  bool known_ = false;         // the system reports what the page cache has
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint64_t> direct_bytes_{0};
  std::atomic<bool> aside_only_{false};  // `out` cannot be a target of direct reads
  std::atomic<bool> refused_{false};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<State> pieces_;  // guarded by the lock, like the next member
  std::optional<std::pair<std::size_t, Error>> failed_;
  std::vector<std::unique_ptr<mapping::BackgroundThread>> threads_;
  StopAtEnd stop_at_end_{stop_};  // the last member: threads are told to stop before they are waited for
};

// Returns the segment that the record is, or null.
const container::Segment* own_segment(const container::Toc& toc, const RecordInfo& record) {
  if (!record.supported || record.recipe || record.codec != Codec::kNone || record.slice_count != 1) return nullptr;
  const container::Slice& slice = toc.slices[toc.forms[toc.index_of(record)].first_slice];
  const container::Segment& segment = toc.segments[slice.segment];
  return slice.range == ByteRange{0, segment.size} ? &segment : nullptr;
}

Result<ReadReport> read_streamed(const MappedContainer& mapped, const RecordInfo& record, std::span<std::byte> out,
                                 const ReadOptions& options, const container::WorkBudget& budget,
                                 std::string_view reason) {
  auto at = out.begin();
  FATCTX_TRY(container::stream_logical(mapped.file(), mapped.toc(), record, budget, [&](ByteView bytes) -> Status {
    at = std::copy(bytes.begin(), bytes.end(), at);
    FATCTX_TRY(StepWatch::step(bytes.size()));
    if (options.progress) options.progress(static_cast<std::uint64_t>(at - out.begin()), out.size());
    return Done{};
  }));
  return ReadReport{.method = ReadMethod::kStreamed, .reason = std::string(reason), .size_bytes = out.size()};
}

}  // namespace

std::string_view read_method_name(ReadMethod method) noexcept { return name_in(kMethods, method); }
std::optional<ReadMethod> read_method_from_name(std::string_view name) noexcept { return value_in(kMethods, name); }

Result<ReadReport> read_into(const MappedContainer& mapped, const RecordInfo& record, std::span<std::byte> out,
                             const ReadOptions& options, std::uint64_t max_made_bytes, const ReadHost& host) {
  if (options.method == ReadMethod::kStreamed) {
    return Error{ErrorCode::kInvalidArgument, "a read cannot ask for the method \"streamed\"; leave it \"auto\""};
  }
  if (out.size() != record.size_bytes) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("the memory has {} bytes and the record {}; let them be equal", out.size(), record.size_bytes)};
  }
  const container::WorkBudget budget(mapped.toc(), max_made_bytes);
  const container::Segment* const segment = own_segment(mapped.toc(), record);
  if (segment == nullptr) {
    return read_streamed(mapped, record, out, options, budget, "it is made from parts or shares its segment");
  }
  if (out.size() < kLeastPieced) {
    return read_streamed(mapped, record, out, options, budget,
                         fmt::format("{} bytes are too few for several threads", out.size()));
  }
  FATCTX_TRY(budget.make(record.size_bytes));
  FATCTX_ASSIGN(auto report, PiecedRead(mapped, *segment, out, options, host).run(mapped.toc(), record));
  if (report) return std::move(*report);
  return read_streamed(mapped, record, out, options, budget, "the system starts no thread");
}

Result<ReadReport> read_record(const Container& container, std::uint32_t record_id, std::span<std::byte> out,
                               const ReadOptions& options) {
  FATCTX_ASSIGN(const RecordInfo found, container.record(record_id));
  const MappedContainer& mapped = *mapped_of(container);
  const RecordInfo& record = mapped.known(found.id);
  observe::Span span(ProfileEventKind::kVerify, container.path());
  span.about(record);
  FATCTX_TRY(mapped.recheck());
  auto read = read_into(mapped, record, out, options, options_of(container).max_made_bytes);
  if (!read.ok()) return in_context(container::in_record(std::move(read).error(), record), container.path());
  span.succeeded(record.size_bytes);
  return read;
}

}  // namespace fatctx
