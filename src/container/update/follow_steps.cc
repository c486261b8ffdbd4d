#include "container/update/follow_steps.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "container/update/made_file.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kLiteralBytes = std::size_t{64} << 10;  // made at a time

std::vector<std::uint64_t> sizes_of(const std::vector<ContainerName>& olds) {
  std::vector<std::uint64_t> sizes(olds.size());
  std::transform(olds.begin(), olds.end(), sizes.begin(), [](const ContainerName& old) { return old.size; });
  return sizes;
}

class StepFollower {
 public:
  StepFollower(const UpdateFile& update, mapping::OsFile& file, const StepCaller& caller)
      : caller_(caller), made_(file), decoder_(sizes_of(update.olds())) {}

  Status make_part(const StoredPart& part) {
    FATCTX_TRY(decoder_.begin(part.part, part.made, part.coded(), part.raw()));
    DecodedStep decoded;
    while (true) {
      FATCTX_ASSIGN(const bool more, decoder_.next(decoded));
      if (!more) return Done{};
      const UpdateStep& step = decoded.step;
      FATCTX_TRY(caller_.step(decoded));
      for (std::uint64_t done = 0; done < step.size;) {
        const std::uint64_t most = step.kind == UpdateStep::Kind::kLiteral
                                       ? std::min<std::uint64_t>(step.size - done, kLiteralBytes)
                                       : step.size - done;
        FATCTX_ASSIGN(const std::span<std::byte> room, made_.room(most));
        FATCTX_TRY(fill(decoded, done, room));
        made_.filled(room.size());
        done += room.size();
      }
    }
  }
  Result<Hash128> end_part() { return made_.end_part(); }

 private:
  // Makes the bytes of a step from `done` on.
  Status fill(const DecodedStep& decoded, std::uint64_t done, std::span<std::byte> room) {
    const UpdateStep& step = decoded.step;
    switch (step.kind) {
      case UpdateStep::Kind::kFill:
        std::fill(room.begin(), room.end(), static_cast<std::byte>(step.offset));
        return Done{};
      case UpdateStep::Kind::kCopy:
        return read_source(step, done, room);
      case UpdateStep::Kind::kLiteral:
        break;
    }
    std::span<std::byte> expected;
    if (decoded.form == LiteralForm::kDifference) {
      expected_.resize(kLiteralBytes);
      expected = std::span(expected_).first(room.size());
      FATCTX_TRY(read_source(step, done, expected));
    }
    decoder_.literal(decoded, expected, room);
    return Done{};
  }

  Status read_source(const UpdateStep& step, std::uint64_t done, std::span<std::byte> out) {
    if (step.source == 0) return made_.read_at(step.offset + done, out);
    return caller_.read_old(step.source - 1, step.offset + done, out);
  }

  const StepCaller& caller_;
  MadeFile made_;
  PartDecoder decoder_;
  std::vector<std::byte> expected_;
};

}  // namespace

Status follow_steps(UpdateFile& update, mapping::OsFile& file, const StepCaller& caller) {
  StepFollower follower(update, file, caller);
  StoredPart part;
  while (true) {
    FATCTX_ASSIGN(const bool more, update.next(part));
    if (!more) return Done{};
    auto made_part = follower.make_part(part);
    if (!made_part.ok()) {
      Error error = std::move(made_part).error();
      return error.code == ErrorCode::kMalformed ? in_context(std::move(error), update.path()) : std::move(error);
    }
    FATCTX_ASSIGN(const Hash128 hash, follower.end_part());
    FATCTX_TRY(caller.part(part, hash));
  }
}

}  // namespace fatctx::container
