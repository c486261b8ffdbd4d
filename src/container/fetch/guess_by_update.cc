#include "container/fetch/guess_by_update.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "container/update/container_file.h"
#include "container/update/follow_steps.h"
#include "container/update/unknown_bytes.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kGuessedAtOnce = std::size_t{1} << 20;

class UpdateGuesser {
 public:
  UpdateGuesser(UpdateFile& update, WantedLeaves& wanted, WorkProgress& progress)
      : update_(update), wanted_(wanted), progress_(progress) {}

  Status find_olds(const std::vector<Seed>& seeds, const std::atomic<bool>* cancel) {
    std::uint64_t given = 0;
    std::vector<ByteSet> absent;
    for (const ContainerName& name : update_.olds()) {
      const auto seed =
          std::find_if(seeds.begin(), seeds.end(), [&](const Seed& one) { return name_of(one.opened.header) == name; });
      if (seed == seeds.end()) {
        olds_.push_back(nullptr);
        absent.emplace_back().add({0, name.size});
        continue;
      }
      given += name.size;
      olds_.push_back(std::make_unique<UpdateBytes>(bytes_of_old(*seed->file, seed->opened, cancel)));
      FATCTX_ASSIGN(ByteSet lacking,
                    absent_bytes_of(*seed->file, seed->opened.toc, [this] { return progress_.go_on(); }));
      absent.push_back(std::move(lacking));
    }
    unknown_.emplace(std::move(absent), update_.path());
    if (given != 0) return update_.check_size(given, 0);
    return Error{ErrorCode::kChanged, fmt::format("{}: it needs {}; none of the files here is that", update_.path(),
                                                  text_of(update_.olds().front()))};
  }

  Status run(mapping::OsFile& file) {
    progress_.begin(update_.made().size);
    return follow_steps(update_, file,
                        {.read_old = [this](std::size_t old, std::uint64_t offset,
                                            std::span<std::byte> out) { return read_old(old, offset, out); },
                         .step = [this](const DecodedStep& decoded) { return unknown_->note(decoded); },
                         .part = [this, &file](const StoredPart& part, const Hash128&) -> Status {
                           FATCTX_TRY(guess(file, part.made));
                           return progress_.add(part.made.size);
                         }});
  }

 private:
  Status read_old(std::size_t old, std::uint64_t offset, std::span<std::byte> out) const {
    if (olds_[old]) return olds_[old]->read_at(offset, out);
    std::fill(out.begin(), out.end(), std::byte{0});
    return Done{};
  }

  // Hands on the known bytes of a part.
  Status guess(const mapping::OsFile& file, ByteRange part) {
    ByteSet known;
    for (const ByteRange& range : wanted_.missing().within(part)) known.add(range);
    for (const ByteRange& range : unknown_->within(part)) known.remove(range);
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
  std::vector<std::unique_ptr<UpdateBytes>> olds_;  // in the order of the update; null: it is not here
  std::optional<UnknownBytes> unknown_;
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
