#include "container/read/recipe_record.h"

#include <algorithm>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/read/recipe_format.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kFrameFront = 15;  // bytes that frame_content_size() needs

// Adds the place of the program to an error. Offsets count in the lz4 frame, in the bytes that it yields, or, if the
// program is not packed, in the program.
Error in_program(Error error, ByteRange program, bool packed) {
  const std::string where =
      fmt::format("its recipe at bytes {:#x} to {:#x} of the file", program.offset, program.offset + program.size);
  if (error.code == ErrorCode::kCodec) {
    error.where.file_offset = program.offset + error.where.file_offset.value_or(0);
    error.message = fmt::format("{}, an lz4 frame: {}", where, error.message);
    return error;
  }
  const std::uint64_t at = error.where.file_offset.value_or(0);
  error.message = packed ? fmt::format("{}, at byte {} of what its lz4 frame yields: {}", where, at, error.message)
                         : fmt::format("{}: {}", where, error.message);
  error.where.file_offset = program.offset + (packed ? 0 : at);
  return error;
}

Error too_large(ByteRange program, std::uint64_t size) {
  return Error{ErrorCode::kLimitExceeded,
               fmt::format("its recipe at bytes {:#x} to {:#x} of the file has a program of {} bytes, at most {} are "
                           "allowed",
                           program.offset, program.offset + program.size, size, kMaxRecipeSize),
               {.file_offset = program.offset, .rule = "F42"}};
}

}  // namespace

Result<std::vector<std::byte>> unpack_program(std::vector<std::byte> stored, bool packed, ByteRange where) {
  if (!packed) return stored;
  const ByteView frame(stored);
  auto size = frame_content_size(frame);
  if (!size.ok()) return in_program(std::move(size).error(), where, true);
  const std::uint64_t most = std::min(kMaxRecipeSize, frame.size() * kMaxExpansion + kExpansionSlack);
  if (size.value() > most) return too_large(where, size.value());
  std::vector<std::byte> program;
  program.reserve(static_cast<std::size_t>(size.value()));
  FrameReader reader(size.value());
  auto unpacked = reader.feed(frame, [&](ByteView piece) -> Status {
    program.insert(program.end(), piece.begin(), piece.end());
    return Done{};
  });
  if (unpacked.ok()) unpacked = reader.finish();
  if (!unpacked.ok()) return in_program(std::move(unpacked).error(), where, true);
  return program;
}

namespace {

struct ProgramSize {
  std::uint64_t bytes = 0;  // uncompressed
  std::uint64_t steps = 0;  // as the header claims; not verified
};

// Reads only the beginning, so that the size of the program is known before memory is allocated for it. Recipe::read
// checks a wrong header.
Result<ProgramSize> size_of_program(CheckedBytes& bytes, bool packed, ByteRange where) {
  std::vector<std::byte> head;
  bool enough = false;
  const auto take = [&](ByteView piece) -> Status {
    head.insert(
        head.end(), piece.begin(),
        piece.begin() + static_cast<std::ptrdiff_t>(std::min(piece.size(), sizeof(RecipeHeader) - head.size())));
    enough = head.size() == sizeof(RecipeHeader);
    return enough ? Status(Error{ErrorCode::kCancelled, "the header is read"}) : Status(Done{});
  };
  ProgramSize size{where.size, 0};
  if (packed) {
    std::vector<std::byte> frame;
    const std::uint64_t front = std::min<std::uint64_t>(where.size, kFrameFront);
    FATCTX_TRY(bytes.read({where.offset, front}, [&](ByteView piece) -> Status {
      frame.insert(frame.end(), piece.begin(), piece.end());
      return Done{};
    }));
    auto stated = frame_content_size(frame);
    if (!stated.ok()) return in_program(std::move(stated).error(), where, true);
    size.bytes = stated.value();
    const std::uint64_t most = std::min(kMaxRecipeSize, where.size * kMaxExpansion + kExpansionSlack);
    if (size.bytes > most) return too_large(where, size.bytes);
    FrameReader reader(size.bytes);
    auto read = bytes.read(where, [&](ByteView piece) { return reader.feed(piece, take); });
    if (!read.ok() && !enough) {
      return read.error().code == ErrorCode::kCodec ? in_program(std::move(read).error(), where, true)
                                                    : std::move(read).error();
    }
  } else {
    auto read = bytes.read(where, take);
    if (!read.ok() && !enough) return std::move(read).error();
  }
  if (enough) size.steps = copy_out<RecipeHeader>(head, 0).value().step_count;
  return size;
}

}  // namespace

ByteRange program_of(const Toc& toc, const RecordInfo& record) {
  return toc.in_file(toc.slices[toc.forms[toc.index_of(record)].first_slice]);
}

std::vector<ByteRange> sources_of(const Toc& toc, const RecordInfo& record) {
  std::vector<ByteRange> sources;
  const std::uint32_t first = toc.forms[toc.index_of(record)].first_slice;
  for (std::uint32_t i = 1; i < record.slice_count; ++i) sources.push_back(toc.in_file(toc.slices[first + i]));
  return sources;
}

Result<Recipe> read_recipe(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                           const WorkBudget& budget) {
  CheckedBytes bytes(file, toc, record, budget);
  return read_recipe(bytes, toc, record, budget);
}

Result<Recipe> read_recipe(CheckedBytes& bytes, const Toc& toc, const RecordInfo& record, const WorkBudget& budget) {
  const ByteRange where = program_of(toc, record);
  if (where.size > kMaxRecipeSize) return too_large(where, where.size);
  const bool packed = toc.forms[toc.index_of(record)].codec != kCodecNone;
  FATCTX_ASSIGN(const ProgramSize size, size_of_program(bytes, packed, where));
  const std::uint64_t steps = std::min({size.steps, kMaxRecipeSteps, record.size_bytes / kBytesPerStep + kStepsOnTop});
  FATCTX_ASSIGN(WorkBudget::Hold hold,
                budget.hold_program((packed ? where.size : 0) + size.bytes + steps * sizeof(RecipeStep)));
  FATCTX_TRY(budget.make(size.bytes + steps * kBytesPerStep));
  std::vector<std::byte> program;
  program.reserve(static_cast<std::size_t>(where.size));
  FATCTX_TRY(bytes.read(where, [&](ByteView piece) -> Status {
    program.insert(program.end(), piece.begin(), piece.end());
    return Done{};
  }));
  FATCTX_ASSIGN(std::vector<std::byte> unpacked, unpack_program(std::move(program), packed, where));
  auto recipe = Recipe::read(std::move(unpacked), record.size_bytes, sources_of(toc, record));
  if (!recipe.ok()) return in_program(std::move(recipe).error(), where, packed);
  recipe.value().keep(std::move(hold));
  return recipe;
}

std::vector<SegmentLeaves> leaves_under(const Toc& toc, const RecordInfo& record, const Recipe& recipe,
                                        ByteRange part) {
  const Slice& program = toc.slices[toc.forms[toc.index_of(record)].first_slice];
  const SegmentFinder segments(toc, record);
  std::vector<SegmentLeaves> leaves = {{program.segment, leaves_touched(program.range)}};
  for (const RecipeStep& step : recipe.steps_in(part)) {
    if (step.kind != RecipeStep::Kind::kCopy) continue;
    const std::uint32_t segment = segments.at(step.source);
    const ByteRange wanted = overlap({step.target, step.size}, part);
    const std::uint64_t source = step.source + (wanted.offset - step.target);
    const LeafRange range = leaves_touched({source - toc.segments[segment].offset, wanted.size});
    SegmentLeaves& last = leaves.back();  // steps are often neighbours
    if (last.segment == segment && range.first >= last.range.first && range.first <= last.range.end) {
      last.range.end = std::max(last.range.end, range.end);
    } else {
      leaves.push_back({segment, range});
    }
  }
  sort_and_join(leaves);
  return leaves;
}

Status stream_recipe(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record, const WorkBudget& budget,
                     const StreamSink& sink) {
  CheckedBytes bytes(file, toc, record, budget);
  FATCTX_ASSIGN(const Recipe recipe, read_recipe(bytes, toc, record, budget));
  FATCTX_TRY(budget.make(record.size_bytes));
  std::vector<std::byte> fill;
  for (const RecipeStep& step : recipe.steps()) {
    switch (step.kind) {
      case RecipeStep::Kind::kCopy:
        FATCTX_TRY(bytes.read({step.source, step.size}, sink));
        break;
      case RecipeStep::Kind::kLiteral:
        for (std::uint64_t done = 0; done < step.size; done += kLeafSize) {
          FATCTX_TRY(sink(recipe.literals().subspan(static_cast<std::size_t>(step.source + done),
                                                    static_cast<std::size_t>(std::min(kLeafSize, step.size - done)))));
        }
        break;
      case RecipeStep::Kind::kFill:
        fill.assign(static_cast<std::size_t>(std::min(kLeafSize, step.size)), static_cast<std::byte>(step.source));
        for (std::uint64_t done = 0; done < step.size; done += kLeafSize) {
          FATCTX_TRY(sink(ByteView(fill).first(static_cast<std::size_t>(std::min(kLeafSize, step.size - done)))));
        }
        break;
    }
  }
  return Done{};
}

}  // namespace fatctx::container
