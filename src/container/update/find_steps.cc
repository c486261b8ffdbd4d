#include "container/update/find_steps.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "container/sharing/byte_runs.h"
#include "container/sharing/stored_bytes.h"
#include "container/update/container_file.h"
#include "container/update/update_format.h"

namespace fatctx::container {
namespace {

using sharing::ByteRun;
using Kind = UpdateStep::Kind;

constexpr std::uint64_t kLeastRun = 64;                         // of equal bytes that become a copy
constexpr std::uint64_t kLeastRest = 32;                        // a copy that was cut and is shorter becomes a literal
constexpr std::uint64_t kMostAtOnce = std::uint64_t{64} << 20;  // bytes between two reports of progress

// Ranges of a source, one behind the other. Counts the bytes that are read while they are indexed.
class Store final : public sharing::RecordBytes {
 public:
  Store(std::uint32_t source, const sharing::RecordBytes& of, std::vector<ByteRange> ranges)
      : source_(source), bytes_(of, ranges), ranges_(std::move(ranges)) {
    std::uint64_t size = 0;
    for (const ByteRange& range : ranges_) {
      starts_.push_back(size);
      size += range.size;
    }
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    FATCTX_TRY(bytes_.read_at(offset, buffer));
    return counter_ != nullptr ? counter_->add(buffer.size()) : Status(Done{});
  }
  void close() const noexcept override { bytes_.close(); }
  void count(WorkProgress* counter) noexcept { counter_ = counter; }

  [[nodiscard]] std::uint32_t source() const noexcept { return source_; }
  // Calls `use(offset, size)` for the pieces of the source that these bytes of the store are.
  template <typename Use>
  void for_each_piece(ByteRange range, const Use& use) const {
    auto index =
        static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), range.offset) - starts_.begin() - 1);
    for (std::uint64_t done = 0; done < range.size; ++index) {
      const std::uint64_t skipped = range.offset + done - starts_[index];
      const std::uint64_t size = std::min(range.size - done, ranges_[index].size - skipped);
      use(ranges_[index].offset + skipped, size);
      done += size;
    }
  }

 private:
  std::uint32_t source_;
  sharing::OwnBytes bytes_;
  std::vector<ByteRange> ranges_;
  std::vector<std::uint64_t> starts_;
  WorkProgress* counter_ = nullptr;
};

class StepFinder {
 public:
  StepFinder(std::span<const sharing::RecordBytes* const> olds, const sharing::RecordBytes& made,
             const FindSettings& settings, WorkProgress& progress)
      : olds_(olds), made_(made), settings_(settings), progress_(progress) {}

  Result<std::vector<UpdateStep>> run(const PartGroups& groups) {
    std::uint64_t work = made_.size();
    for (const PartGroup& group : groups.groups()) {
      for (const std::vector<ByteRange>& ranges : group.olds) {
        for (const ByteRange& range : ranges) work += range.size;
      }
    }
    progress_.begin(work);
    for (const PartGroup& group : groups.groups()) FATCTX_TRY(find_for(group));
    std::sort(steps_.begin(), steps_.end(),
              [](const UpdateStep& a, const UpdateStep& b) { return a.target < b.target; });
    return std::move(steps_);
  }

 private:
  Status find_for(const PartGroup& group) {
    stored_.emplace();
    stores_.clear();
    for (std::size_t i = 0; i < olds_.size(); ++i) {
      FATCTX_TRY(add_store(static_cast<std::uint32_t>(i + 1), *olds_[i], group.olds[i], &progress_));
    }
    for (const ByteRange& range : group.made) {
      auto piece = std::prev(std::upper_bound(settings_.pieces.begin(), settings_.pieces.end(), range.offset));
      const std::uint64_t end = range.offset + range.size;
      for (std::uint64_t at = range.offset; at < end;) {
        const std::uint64_t piece_end = ++piece != settings_.pieces.end() ? std::min(*piece, end) : end;
        for (std::uint64_t size = 0; at < piece_end; at += size) {
          size = std::min(kMostAtOnce, piece_end - at);
          FATCTX_TRY(find_in({at, size}));
        }
      }
    }
    return Done{};
  }

  Status add_store(std::uint32_t source, const sharing::RecordBytes& of, std::vector<ByteRange> ranges,
                   WorkProgress* counter) {
    if (ranges.empty()) return Done{};
    Store& store = stores_.emplace_back(source, of, std::move(ranges));
    store.count(counter);
    FATCTX_TRY(stored_->add(store, static_cast<std::uint32_t>(stores_.size() - 1), settings_.threads));
    store.count(nullptr);
    return Done{};
  }

  Status find_in(ByteRange piece) {
    const BytesWindow window(made_, piece);
    FATCTX_ASSIGN(const std::vector<ByteRun> runs, sharing::find_runs(*stored_, window, kLeastRun, settings_.threads));
    std::vector<ByteRange> own;
    std::uint64_t own_bytes = 0;
    std::uint64_t at = 0;
    const auto literal_to = [&](std::uint64_t end) {
      if (end == at) return;
      own.push_back({piece.offset + at, end - at});
      own_bytes += end - at;
      put({.kind = Kind::kLiteral, .target = piece.offset + at, .size = end - at});
      at = end;
    };
    for (const ByteRun& run : runs) {
      literal_to(run.target);
      put_run(run, piece.offset + run.target);
      at = run.end();
    }
    literal_to(piece.size);
    if (own_bytes >= kLeastRun) FATCTX_TRY(add_store(0, made_, std::move(own), nullptr));
    return progress_.add(piece.size);
  }

  void put_run(const ByteRun& run, std::uint64_t target) {
    if (run.fill) return put({.kind = Kind::kFill, .target = target, .size = run.size, .offset = run.source});
    const Store& store = stores_[run.store];
    store.for_each_piece({run.source, run.size}, [&](std::uint64_t offset, std::uint64_t size) {
      put({.target = target, .size = size, .source = store.source(), .offset = offset});
      target += size;
    });
  }

  // Appends a step, in pieces that do not cross the end of a part; joins it with the one before if they are one.
  void put(UpdateStep step) {
    if (step.kind == Kind::kCopy && step.size < kLeastRest)
      step = {.kind = Kind::kLiteral, .target = step.target, .size = step.size};
    while (step.size != 0) {
      const std::uint64_t room = kPartSize - step.target % kPartSize;
      UpdateStep piece = step;
      piece.size = std::min(step.size, room);
      if (!joined(piece)) steps_.push_back(piece);
      step.target += piece.size;
      step.size -= piece.size;
      if (step.kind == Kind::kCopy) step.offset += piece.size;
    }
  }

  bool joined(const UpdateStep& step) {
    if (steps_.empty() || step.target % kPartSize == 0) return false;
    UpdateStep& last = steps_.back();
    if (last.target + last.size != step.target) return false;  // the group goes on behind a gap
    if (last.kind != step.kind || last.source != step.source) return false;
    if (step.kind == Kind::kCopy && last.offset + last.size != step.offset) return false;
    if (step.kind == Kind::kFill && last.offset != step.offset) return false;
    last.size += step.size;
    return true;
  }

  std::span<const sharing::RecordBytes* const> olds_;
  const sharing::RecordBytes& made_;
  const FindSettings& settings_;
  WorkProgress& progress_;
  // The bytes that copies of the group may read.
  std::optional<sharing::StoredBytes> stored_;
  std::deque<Store> stores_;  // a deque, so that addresses stay valid
  std::vector<UpdateStep> steps_;
};

}  // namespace

Result<std::vector<UpdateStep>> find_steps(std::span<const sharing::RecordBytes* const> olds,
                                           const sharing::RecordBytes& made, const PartGroups& groups,
                                           const FindSettings& settings, WorkProgress& progress) {
  return StepFinder(olds, made, settings, progress).run(groups);
}

}  // namespace fatctx::container
