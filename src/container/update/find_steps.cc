#include "container/update/find_steps.h"

#include <algorithm>
#include <deque>
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
constexpr std::uint32_t kFirstOwn = kMaxOldFiles + 1;           // numbers of the stores of NEW's own bytes

class StepFinder {
 public:
  StepFinder(std::span<const sharing::RecordBytes* const> olds, const sharing::RecordBytes& made,
             const FindSettings& settings, WorkProgress& progress)
      : olds_(olds), made_(made), settings_(settings), progress_(progress) {}

  Result<std::vector<UpdateStep>> run(const std::function<void()>& indexed) {
    for (std::size_t i = 0; i < olds_.size(); ++i) {
      FATCTX_TRY(stored_.add(*olds_[i], static_cast<std::uint32_t>(i + 1), settings_.threads));
    }
    indexed();
    progress_.begin(made_.size());
    for (std::size_t i = 0; i < settings_.pieces.size(); ++i) {
      const std::uint64_t begin = settings_.pieces[i];
      const std::uint64_t end = i + 1 < settings_.pieces.size() ? settings_.pieces[i + 1] : made_.size();
      for (std::uint64_t at = begin; at < end; at += std::min(kMostAtOnce, end - at)) {
        FATCTX_TRY(find_in({at, std::min(kMostAtOnce, end - at)}));
      }
    }
    return std::move(steps_);
  }

 private:
  // Ranges of NEW that earlier pieces store themselves, one behind the other in the store.
  struct Own {
    sharing::OwnBytes bytes;
    std::vector<ByteRange> ranges;
    std::vector<std::uint64_t> starts;
  };

  Status find_in(ByteRange piece) {
    const BytesWindow window(made_, piece);
    FATCTX_ASSIGN(const std::vector<ByteRun> runs, sharing::find_runs(stored_, window, kLeastRun, settings_.threads));
    std::vector<ByteRange> own;
    std::uint64_t at = 0;
    const auto literal_to = [&](std::uint64_t end) {
      if (end == at) return;
      own.push_back({piece.offset + at, end - at});
      put({.kind = Kind::kLiteral, .target = piece.offset + at, .size = end - at});
      at = end;
    };
    for (const ByteRun& run : runs) {
      literal_to(run.target);
      put_run(run, piece.offset + run.target);
      at = run.end();
    }
    literal_to(piece.size);
    if (!own.empty()) FATCTX_TRY(keep(std::move(own)));
    return progress_.add(piece.size);
  }

  void put_run(const ByteRun& run, std::uint64_t target) {
    if (run.fill) return put({.kind = Kind::kFill, .target = target, .size = run.size, .offset = run.source});
    if (run.store < kFirstOwn) {
      return put({.target = target, .size = run.size, .source = run.store, .offset = run.source});
    }
    const Own& own = owns_[run.store - kFirstOwn];
    auto index = static_cast<std::size_t>(std::upper_bound(own.starts.begin(), own.starts.end(), run.source) -
                                          own.starts.begin() - 1);
    for (std::uint64_t done = 0; done < run.size; ++index) {
      const std::uint64_t skipped = run.source + done - own.starts[index];
      const std::uint64_t size = std::min(run.size - done, own.ranges[index].size - skipped);
      put({.target = target + done, .size = size, .source = 0, .offset = own.ranges[index].offset + skipped});
      done += size;
    }
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
    if (last.kind != step.kind || last.source != step.source) return false;
    if (step.kind == Kind::kCopy && last.offset + last.size != step.offset) return false;
    if (step.kind == Kind::kFill && last.offset != step.offset) return false;
    last.size += step.size;
    return true;
  }

  Status keep(std::vector<ByteRange> ranges) {
    std::vector<std::uint64_t> starts;
    std::uint64_t size = 0;
    for (const ByteRange& range : ranges) {
      starts.push_back(size);
      size += range.size;
    }
    if (size < kLeastRun) return Done{};
    owns_.push_back({sharing::OwnBytes(made_, ranges), std::move(ranges), std::move(starts)});
    return stored_.add(owns_.back().bytes, kFirstOwn + static_cast<std::uint32_t>(owns_.size() - 1), settings_.threads);
  }

  std::span<const sharing::RecordBytes* const> olds_;
  const sharing::RecordBytes& made_;
  const FindSettings& settings_;
  WorkProgress& progress_;
  sharing::StoredBytes stored_;
  std::deque<Own> owns_;  // a deque, so that addresses stay valid
  std::vector<UpdateStep> steps_;
};

}  // namespace

Result<std::vector<UpdateStep>> find_steps(std::span<const sharing::RecordBytes* const> olds,
                                           const sharing::RecordBytes& made, const FindSettings& settings,
                                           WorkProgress& progress, const std::function<void()>& indexed) {
  return StepFinder(olds, made, settings, progress).run(indexed);
}

}  // namespace fatctx::container
