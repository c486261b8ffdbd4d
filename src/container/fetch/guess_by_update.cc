#include "container/fetch/guess_by_update.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "container/check/absent_leaves.h"
#include "container/update/container_file.h"
#include "container/update/follow_steps.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kGuessedAtOnce = std::size_t{1} << 20;
// Limits the memory for ranges of unknown bytes. Updates of real files leave a few thousand.
constexpr std::size_t kMostPlaces = std::size_t{1} << 18;

// One of the old files that an update names.
struct Old {
  std::unique_ptr<UpdateBytes> bytes;  // null: it is not here
  ByteSet absent;
};

class UpdateGuesser {
 public:
  UpdateGuesser(UpdateFile& update, WantedLeaves& wanted, WorkProgress& progress)
      : update_(update), wanted_(wanted), progress_(progress) {}

  Status find_olds(const std::vector<Seed>& seeds, const std::atomic<bool>* cancel) {
    std::uint64_t given = 0;
    for (const ContainerName& name : update_.olds()) {
      Old old;
      const auto seed =
          std::find_if(seeds.begin(), seeds.end(), [&](const Seed& one) { return name_of(one.opened.header) == name; });
      if (seed != seeds.end()) {
        given += name.size;
        old.bytes = std::make_unique<UpdateBytes>(bytes_of_old(*seed->file, seed->opened, cancel));
        FATCTX_ASSIGN(old.absent, absent_of(*seed));
      }
      olds_.push_back(std::move(old));
    }
    if (given != 0) return update_.check_size(given, 0);
    return Error{ErrorCode::kChanged, fmt::format("{}: it needs {}; none of the files here is that", update_.path(),
                                                  text_of(update_.olds().front()))};
  }

  Status run(mapping::OsFile& file) {
    progress_.begin(update_.made().size);
    return follow_steps(update_, file,
                        {.read_old = [this](std::size_t old, std::uint64_t offset,
                                            std::span<std::byte> out) { return read_old(old, offset, out); },
                         .step = [this](const DecodedStep& decoded) { return find_unknown(decoded); },
                         .part = [this, &file](const StoredPart& part, const Hash128&) -> Status {
                           FATCTX_TRY(guess(file, part.made));
                           return progress_.add(part.made.size);
                         }});
  }

 private:
  // Looks at payload, because a copy of a partial file may have zeros where the file had holes. Leaf hashes are not
  // absent: copies read them as zeros.
  Result<ByteSet> absent_of(const Seed& seed) {
    FATCTX_ASSIGN(const AbsentLeaves found, AbsentLeaves::find(*seed.file, seed.opened.toc, LookFor::kZeros,
                                                               [this](std::uint64_t) { return progress_.go_on(); }));
    ByteSet absent;
    for (const ByteRange& range : found.ranges()) absent.add(range);
    for (const StoredLeafHashes& hashes : stored_leaf_hashes(seed.opened.toc)) absent.remove(hashes.in_file);
    return absent;
  }

  Status read_old(std::size_t old, std::uint64_t offset, std::span<std::byte> out) const {
    if (olds_[old].bytes) return olds_[old].bytes->read_at(offset, out);
    std::fill(out.begin(), out.end(), std::byte{0});
    return Done{};
  }

  // Bytes are unknown if their source is.
  Status find_unknown(const DecodedStep& decoded) {
    const UpdateStep& step = decoded.step;
    if (!decoded.reads_source()) return Done{};
    const ByteRange read{step.offset, step.size};
    if (step.source != 0 && !olds_[step.source - 1].bytes) {
      unknown_.add({step.target, step.size});
    } else {
      const ByteSet& unknown = step.source == 0 ? unknown_ : olds_[step.source - 1].absent;
      for (const ByteRange& range : unknown.within(read)) {
        unknown_.add({range.offset - step.offset + step.target, range.size});
      }
    }
    if (unknown_.range_count() <= kMostPlaces) return Done{};
    return Error{ErrorCode::kLimitExceeded, fmt::format("{}: bytes are missing in more than {} places of what it makes",
                                                        update_.path(), kMostPlaces)};
  }

  // Hands on the known bytes of a part.
  Status guess(const mapping::OsFile& file, ByteRange part) {
    ByteSet known;
    for (const ByteRange& range : wanted_.missing().within(part)) known.add(range);
    for (const ByteRange& range : unknown_.within(part)) known.remove(range);
    for (const ByteRange& range : known.ranges()) {
      for (std::uint64_t done = 0; done < range.size;) {
        bytes_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(range.size - done, kGuessedAtOnce)));
        FATCTX_TRY(file.read_at(range.offset + done, bytes_));
        FATCTX_TRY(wanted_.guess(range.offset + done, bytes_));
        done += bytes_.size();
      }
    }
    return Done{};
  }

  UpdateFile& update_;
  WantedLeaves& wanted_;
  WorkProgress& progress_;
  std::vector<Old> olds_;  // in the order of the update
  ByteSet unknown_;        // bytes of NEW
  std::vector<std::byte> bytes_;
};

}  // namespace

Status guess_by_update(UpdateFile& update, const std::vector<Seed>& seeds, mapping::OsFile& file, WantedLeaves& wanted,
                       WorkProgress& progress, const std::atomic<bool>* cancel) {
  UpdateGuesser guesser(update, wanted, progress);
  FATCTX_TRY(update.check(cancel));  // before old files are read
  FATCTX_TRY(guesser.find_olds(seeds, cancel));
  return guesser.run(file);
}

}  // namespace fatctx::container
