// Programs of recipes: their output, and the refusal of hostile ones with the reason. Shows S5.5, S3.70.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "container/check/verify.h"
#include "container/format/codec.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "container/read/recipe.h"
#include "container/read/recipe_format.h"
#include "container/read/recipe_record.h"
#include "container/read/record_stream.h"
#include "support/memory_file.h"
#include "support/recipe_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace recipe_test {

using support::Bytes;
using support::fails_with;
using support::HostileFile;
using support::is_ok;
using support::MemoryFile;
using support::ProgramText;

using Kind = RecipeStep::Kind;

// A file of 1,000 bytes, of which two ranges are sources.
constexpr ByteRange kSources[] = {{100, 300}, {500, 200}};
const Bytes& file_bytes() {
  static const Bytes bytes = support::pattern(1'000, 9);
  return bytes;
}
Status read_file_bytes(std::uint64_t offset, std::span<std::byte> out) {
  FATCTX_ASSIGN(const ByteView piece, slice(file_bytes(), {offset, out.size()}));
  std::copy(piece.begin(), piece.end(), out.begin());
  return Done{};
}

Bytes part(std::size_t offset, std::size_t size) {
  const auto from = file_bytes().begin() + static_cast<std::ptrdiff_t>(offset);
  return {from, from + static_cast<std::ptrdiff_t>(size)};
}
Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& bytes : parts) all.insert(all.end(), bytes.begin(), bytes.end());
  return all;
}
Bytes text(std::string_view characters) {
  const auto bytes = std::as_bytes(std::span(characters));
  return {bytes.begin(), bytes.end()};
}

// Returns a program that reads both sources, goes back, and ends with a fill.
ProgramText good_program() {
  ProgramText program;
  program.copy(100, 10).literal(text("between")).copy(50, -60).copy(200, 200).fill(300, 0x7f);
  return program;
}
constexpr std::uint64_t kGoodSize = 100 + 7 + 50 + 200 + 300;

Bytes good_result() {
  return joined({part(110, 100), text("between"), part(150, 50), part(500, 200), Bytes(300, std::byte{0x7f})});
}

TEST(Recipe, StepsAreWhatTheProgramSays) {
  const auto recipe = Recipe::read(good_program().bytes(), kGoodSize, kSources);

  ASSERT_TRUE(is_ok(recipe));
  const std::vector<RecipeStep> expected = {{Kind::kCopy, 0, 100, 110},
                                            {Kind::kLiteral, 100, 7, 0},
                                            {Kind::kCopy, 107, 50, 150},
                                            {Kind::kCopy, 157, 200, 500},
                                            {Kind::kFill, 357, 300, 0x7f}};
  const auto steps = recipe.value().steps();
  EXPECT_EQ(std::vector<RecipeStep>(steps.begin(), steps.end()), expected);
  EXPECT_EQ(recipe.value().logical_size(), kGoodSize);
  EXPECT_EQ(Bytes(recipe.value().literals().begin(), recipe.value().literals().end()), text("between"));
}

TEST(Recipe, AnyPartOfTheRecordIsMadeByItself) {
  const Recipe recipe = Recipe::read(good_program().bytes(), kGoodSize, kSources).value();
  const Bytes whole = good_result();
  for (std::uint64_t from = 0; from <= kGoodSize; from += 3) {
    for (std::uint64_t size = 0; size <= kGoodSize - from; size += 7) {
      Bytes out(static_cast<std::size_t>(size));
      ASSERT_TRUE(is_ok(recipe.apply({from, size}, read_file_bytes, out)));
      ASSERT_TRUE(std::equal(out.begin(), out.end(), whole.begin() + static_cast<std::ptrdiff_t>(from)))
          << from << " " << size;
    }
  }
  Bytes out(2);
  EXPECT_TRUE(fails_with(recipe.apply({kGoodSize - 1, 2}, read_file_bytes, out), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(recipe.apply({0, 3}, read_file_bytes, out), ErrorCode::kMalformed));
}

TEST(Recipe, AFailedReadOfTheFileEndsIt) {
  const Recipe recipe = Recipe::read(good_program().bytes(), kGoodSize, kSources).value();
  Bytes out(kGoodSize);
  int calls = 0;
  const auto failing = [&](std::uint64_t, std::span<std::byte>) -> Status {
    return ++calls == 2 ? Status(Error{ErrorCode::kIo, "no"}) : Status(Done{});
  };
  EXPECT_TRUE(fails_with(recipe.apply({0, kGoodSize}, failing, out), ErrorCode::kIo));
  EXPECT_EQ(calls, 2);
}

TEST(Recipe, WhatIsEncodedIsReadAgain) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::uint64_t source_size = 1 + random() % 100'000;
    const ByteRange source{random() % (std::uint64_t{1} << 40), source_size};
    std::vector<RecipeStep> steps = {{Kind::kCopy, 0, source_size, 0}};
    Bytes literals;
    std::uint64_t target = source_size;
    while (steps.size() < 12) {
      const Kind kind = static_cast<Kind>(random() % 3);
      if (kind == Kind::kLiteral && steps.back().kind == kind) continue;
      RecipeStep step{kind, target, 1 + random() % source_size, 0};
      if (kind == Kind::kCopy) {
        step.source = random() % (source_size - step.size + 1);
        const RecipeStep& last = steps.back();
        if (last.kind == kind && last.source + last.size == step.source) continue;
      } else if (kind == Kind::kFill) {
        step.source = random() % 256;
        if (steps.back().kind == kind && steps.back().source == step.source) continue;
      } else {
        step.source = literals.size();
        const Bytes more = support::pattern(static_cast<std::size_t>(step.size), 5);
        literals.insert(literals.end(), more.begin(), more.end());
      }
      target += step.size;
      steps.push_back(step);
    }
    const auto recipe = Recipe::read(encode_recipe(steps, literals), target, std::span(&source, 1));
    ASSERT_TRUE(is_ok(recipe));
    for (RecipeStep& step : steps) {
      if (step.kind == Kind::kCopy) step.source += source.offset;
    }
    EXPECT_TRUE(std::equal(steps.begin(), steps.end(), recipe.value().steps().begin(), recipe.value().steps().end()));
  }
}

TEST(Recipe, CongruentRunsAreTheWholePagesThatLieInTheFileAsInTheRecord) {
  constexpr std::uint64_t kPage = 4096;
  const ByteRange source{kPage * 16, kPage * 40};
  ProgramText program;
  program.copy(kPage * 4 + 100, 0);              // pages 0 to 3, and 100 bytes
  program.copy(kPage, 5);                        // shifted
  program.fill(kPage * 2 - 100, 0);              // up to page 7
  program.copy(kPage, kPage * 2 - 5 - 100 - 1);  // one byte off
  program.copy(kPage * 3, 1);                    // pages 8 to 10, which are pages 8 and on of the file
  program.copy(10, 10);
  const std::uint64_t size = kPage * 11 + 10;
  const Recipe recipe = Recipe::read(program.bytes(), size, std::span(&source, 1)).value();

  const auto all = recipe.congruent_runs(kPage, 1);

  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].target, 0U);
  EXPECT_EQ(all[0].file_offset, source.offset);
  EXPECT_EQ(all[0].size, kPage * 4);
  EXPECT_EQ(all[1].target, kPage * 8);
  EXPECT_EQ(all[1].size, kPage * 3);
  for (const CongruentRun& run : all) {
    EXPECT_EQ(run.file_offset % kPage, 0U);
    Bytes made(1);
    std::uint64_t read_at = 0;
    const auto remember = [&](std::uint64_t offset, std::span<std::byte>) -> Status {
      read_at = offset;
      return Done{};
    };
    ASSERT_TRUE(is_ok(recipe.apply({run.target, 1}, remember, made)));
    EXPECT_EQ(read_at, run.file_offset);
  }
  EXPECT_EQ(recipe.congruent_runs(kPage, 4).size(), 1U);
  EXPECT_EQ(recipe.congruent_runs(kPage, 5).size(), 0U);
  EXPECT_EQ(recipe.congruent_runs(kPage * 4, 1).size(), 1U) << "the second begins on a page of 16 KiB, but not its end";
}

struct Hostile {
  const char* name;
  Bytes program;
  ErrorCode code;
  std::string_view rule;
  std::string_view words;
  std::uint64_t logical_size = kGoodSize;
};

std::vector<Hostile> hostile_programs() {
  const auto with_head = [](void (*change)(RecipeHeader&)) {
    ProgramText program = good_program();
    program.head.step_count = program.count;
    program.head.steps_size = program.steps.size();
    program.head.literals_size = program.literals.size();
    change(program.head);
    return program.bytes();
  };
  // Programs with other steps before the fill, which completes the size.
  const auto with = [](ProgramText program, std::uint64_t made) { return program.fill(kGoodSize - made, 1).bytes(); };
  const auto sources = [] { return ProgramText().copy(1, 0).copy(1, 300); };  // one byte of each
  const Bytes good = good_program().bytes();
  Bytes with_more = good;
  with_more.push_back(std::byte{0});
  Bytes cut = good;
  cut.pop_back();
  constexpr auto kBad = ErrorCode::kMalformed;
  constexpr auto kMuch = ErrorCode::kLimitExceeded;
  return {
      {"nothing", {}, kBad, "F42", "shorter than a header"},
      {"half a header", Bytes(good.begin(), good.begin() + 31), kBad, "F42", "shorter than a header"},
      {"no magic", with_head([](auto& h) { h.magic[3] = std::byte{'N'}; }), kBad, "F42", "no magic"},
      {"a later version", with_head([](auto& h) { h.version = 2; }), ErrorCode::kUnsupported, "F42", "version 2"},
      {"reserved bytes", with_head([](auto& h) { h.reserved = 1; }), kBad, "F20", "reserved"},
      {"a byte behind the literals", with_more, kBad, "F42", "do not fill"},
      {"a byte too few", cut, kBad, "F42", "do not fill"},
      {"steps that leave the program", with_head([](auto& h) { h.steps_size = UINT64_MAX; }), kBad, "F42",
       "do not fill"},
      {"literals whose end wraps", with_head([](auto& h) { h.literals_size = UINT64_MAX - 3; }), kBad, "F42",
       "do not fill"},
      {"more steps than bytes of steps", with_head([](auto& h) { h.step_count = 25; }), kBad, "F42", "25 steps in"},
      {"more steps than the record may have", with_head([](auto& h) { h.step_count = kGoodSize / 64 + 17; }), kMuch,
       "F42", "at most 26"},
      {"more steps than any recipe may have", with_head([](auto& h) { h.step_count = kMaxRecipeSteps + 1; }), kMuch,
       "F42", "at most 4194304", kMaxFileSize},
      {"one step fewer than there are", with_head([](auto& h) { h.step_count = 4; }), kBad, "F42",
       "bytes follow its last step"},
      {"one step more than there are", with_head([](auto& h) { h.step_count = 6; }), kBad, "F42",
       "end inside a number"},
      {"no step at all", ProgramText().bytes(), kBad, "F39", "0 bytes instead of"},
      {"a number without an end", ProgramText().step({std::byte{0x80}}).bytes(), kBad, "F42", "end inside a number"},
      {"a number of 65 bits", ProgramText().step(joined({Bytes(9, std::byte{0xff}), Bytes(1, std::byte{2})})).bytes(),
       kBad, "F42", "more than 64 bits"},
      {"a number of eleven bytes", ProgramText().step(joined({Bytes(10, std::byte{0x80}), Bytes(1)})).bytes(), kBad,
       "F42", "more than 64 bits"},
      {"a number in more bytes than it takes", ProgramText().step({std::byte{0x81}, std::byte{0}}).bytes(), kBad, "F42",
       "more bytes than it takes"},
      {"a step of an unknown kind", ProgramText().step({std::byte{7}}).bytes(), kBad, "F42", "unknown kind"},
      {"an empty copy", ProgramText().copy(0, 0).bytes(), kBad, "F42", "an empty step"},
      {"an empty literal", ProgramText().literal({}).bytes(), kBad, "F42", "an empty step"},
      {"an empty fill", ProgramText().fill(0, 0).bytes(), kBad, "F42", "an empty step"},
      {"a copy without its place", ProgramText().step({std::byte{4}}).bytes(), kBad, "F42", "end inside a number"},
      {"a fill without its byte", ProgramText().step({std::byte{6}}).bytes(), kBad, "F42", "before the byte of a fill"},
      {"two copies that could be one", with(sources().copy(1, -300).copy(1, 0), 4), kBad, "F42", "two copies in a row"},
      {"two literals that could be one", with(sources().literal(text("a")).literal(text("b")), 4), kBad, "F42",
       "two literals in a row"},
      {"two fills that could be one", with(sources().fill(5, 1), 7), kBad, "F42", "two fills with one byte"},
      {"a copy in front of the sources", with(sources().copy(1, -303), 3), kBad, "F39", "not inside one"},
      {"a copy behind the sources", with(sources().copy(1, 199), 3), kBad, "F39", "not inside one"},
      {"a copy that leaves the last source", with(sources().copy(200, 0), 202), kBad, "F39", "not inside one"},
      {"a copy over the end of a source", with(sources().copy(2, -3), 4), kBad, "F39", "not inside one"},
      {"a copy whose place wraps", with(sources().copy(1, INT64_MIN), 3), kBad, "F39", "not inside one"},
      {"a literal that leaves the literals", with(sources().step({std::byte{5}}), 3), kBad, "F39",
       "leaves the literals"},
      {"literals that nobody uses",
       [&] {
         ProgramText program = sources();
         program.literals = text("left");
         return with(program, 2);
       }(),
       kBad, "F39", "0 bytes of literals, but 4 exist"},
      {"a source that nobody reads", with(ProgramText().copy(1, 0), 1), kBad, "F39", "source 1 of 2"},
      {"a byte too few for the record", good, kBad, "F39", "657 bytes instead of 658", kGoodSize + 1},
      {"a byte too many for the record", good, kBad, "F39", "more than 656", kGoodSize - 1},
      {"a step of 2^62 bytes", ProgramText().fill(~std::uint64_t{0} >> 2, 0).bytes(), kBad, "F39", "more than"},
  };
}

TEST(Recipe, EveryHostileProgramIsRefusedForItsReason) {
  for (const Hostile& hostile : hostile_programs()) {
    const auto recipe = Recipe::read(hostile.program, hostile.logical_size, kSources);

    EXPECT_TRUE(fails_with(recipe, hostile.code, hostile.rule)) << hostile.name;
    if (recipe.ok()) continue;
    EXPECT_NE(recipe.error().message.find(hostile.words), std::string::npos)
        << hostile.name << ": " << recipe.error().message;
    ASSERT_TRUE(recipe.error().where.file_offset.has_value()) << hostile.name;
    EXPECT_LE(*recipe.error().where.file_offset, hostile.program.size()) << hostile.name;
  }
}

TEST(Recipe, WhatIsAtTheEdgeOfEachRuleIsRead) {
  const auto reads = [](const ProgramText& program, std::uint64_t size, std::span<const ByteRange> sources = kSources) {
    return is_ok(Recipe::read(program.bytes(), size, sources));
  };
  // Copies that meet at the end of a source are two.
  EXPECT_TRUE(reads(ProgramText().copy(300, 0).copy(200, 0), 500));
  EXPECT_TRUE(reads(ProgramText().copy(300, 0).copy(200, 0).fill(1, 0).fill(1, 1), 502));
  EXPECT_TRUE(reads(ProgramText().copy(300, 0).copy(1, 0).fill(1, 0).copy(199, 0), 501)) << "with a step in between";
  EXPECT_TRUE(reads(ProgramText().fill(1, 0), 1, {})) << "no source, and none read";
  EXPECT_TRUE(reads(ProgramText().fill(kMaxFileSize, 0), kMaxFileSize, {}));
  ProgramText most;
  for (unsigned i = 0; i < 17; ++i) most.fill(i == 0 ? 48 : 1, static_cast<std::uint8_t>(i % 2));
  EXPECT_TRUE(reads(most, 64, {})) << "64 / 64 + 16 steps";
  most.fill(1, 5);
  EXPECT_FALSE(reads(most, 65, {}));
}

TEST(Recipe, RandomChangesOfAProgramNeverReadOutsideOfTheSources) {
  const Bytes good = good_program().bytes();
  std::mt19937_64 random(3);
  int read = 0;
  for (int round = 0; round < 30'000; ++round) {
    Bytes program = good;
    for (std::uint64_t changes = 1 + random() % 3; changes != 0; --changes) {
      program[static_cast<std::size_t>(32 + random() % (program.size() - 32))] = static_cast<std::byte>(random());
    }
    const auto recipe = Recipe::read(program, kGoodSize, kSources);
    if (!recipe.ok()) continue;
    ++read;
    std::uint64_t at = 0;
    for (const RecipeStep& step : recipe.value().steps()) {
      ASSERT_EQ(step.target, at);
      at += step.size;
      if (step.kind != Kind::kCopy) continue;
      ASSERT_TRUE(std::any_of(std::begin(kSources), std::end(kSources), [&](const ByteRange& source) {
        return step.source >= source.offset && within({step.source - source.offset, step.size}, source.size);
      }));
    }
    ASSERT_EQ(at, kGoodSize);
  }
  EXPECT_GT(read, 100) << "or nothing was shown";
}

// Returns the sample's weights with a word inserted: the first 50,000 bytes, the word, the rest.
Bytes program_over_weights() { return ProgramText().copy(50'000, 0).literal(text("changed")).copy(100'000, 0).bytes(); }
Bytes made_over_weights(const Bytes& sample) {
  const MemoryFile file(sample);
  const auto opened = read_toc(file, file.size());
  const Segment& weights = opened.value().toc.segments[5];
  const ByteView source = ByteView(sample).subspan(static_cast<std::size_t>(weights.offset), 150'000);
  Bytes made(source.begin(), source.begin() + 50'000);
  const Bytes word = text("changed");
  made.insert(made.end(), word.begin(), word.end());
  made.insert(made.end(), source.begin() + 50'000, source.end());
  return made;
}

Bytes frame_of(const Bytes& program) {
  Bytes frame;
  const auto keep = [&](ByteView bytes) -> Status {
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    return Done{};
  };
  FrameWriter writer(program.size());
  EXPECT_TRUE(is_ok(writer.write(program, keep)));
  EXPECT_TRUE(is_ok(writer.finish(keep)));
  return frame;
}

Result<Bytes> streamed(const MemoryFile& file) {
  FATCTX_ASSIGN(const OpenedToc opened, read_toc(file, file.size()));
  Bytes bytes;
  FATCTX_TRY(stream_logical(file, opened.toc, opened.toc.records.back(), WorkBudget(opened.toc),
                            [&](ByteView piece) -> Status {
                              bytes.insert(bytes.end(), piece.begin(), piece.end());
                              return Done{};
                            }));
  return bytes;
}

TEST(RecipeRecord, IsStreamedAndVerifiedPackedOrNot) {
  const Bytes& sample = support::unsealed_sample();
  const Bytes made = made_over_weights(sample);
  for (const bool packed : {false, true}) {
    HostileFile hostile(sample);
    auto& record =
        support::add_recipe(hostile, packed ? frame_of(program_over_weights()) : program_over_weights(), made);
    record.codec = packed ? kCodecLz4Frame : kCodecNone;
    const MemoryFile file(hostile.bytes());

    const auto bytes = streamed(file);

    ASSERT_TRUE(is_ok(bytes));
    EXPECT_TRUE(bytes.value() == made);
    const auto report = verify_container(file, {});
    ASSERT_TRUE(is_ok(report));
    for (const VerifyFinding& finding : report.value().findings) ADD_FAILURE() << to_text(finding.error);
    const OpenedToc opened = read_toc(file, file.size()).value();
    const RecordInfo& info = opened.toc.records.back();
    EXPECT_TRUE(info.recipe);
    EXPECT_TRUE(info.supported);
    EXPECT_EQ(info.codec, Codec::kNone) << "the record is not compressed, whatever its program is";
    const auto one = verify_record(file, opened.header, opened.toc, info, {});
    ASSERT_TRUE(is_ok(one));
    EXPECT_TRUE(one.value().findings.empty());
  }
}

TEST(RecipeRecord, AProgramAboveItsLimitIsRefusedBeforeItIsRead) {
  const Bytes& sample = support::unsealed_sample();
  HostileFile hostile(sample);
  support::add_recipe(hostile, program_over_weights(), made_over_weights(sample));
  const MemoryFile file(hostile.bytes());
  OpenedToc opened = read_toc(file, file.size()).value();
  const RecordInfo& record = opened.toc.records.back();
  Slice& program = opened.toc.slices[opened.toc.forms.back().first_slice];
  program.range.size = opened.toc.segments[program.segment].size = kMaxRecipeSize + 1;
  const std::uint64_t before = file.bytes_read();

  EXPECT_TRUE(
      fails_with(read_recipe(file, opened.toc, record, WorkBudget(opened.toc)), ErrorCode::kLimitExceeded, "F42"));

  EXPECT_EQ(file.bytes_read(), before);
  EXPECT_TRUE(fails_with(Recipe::read(Bytes(kMaxRecipeSize + 1), 1, {}), ErrorCode::kLimitExceeded, "F42"));
}

TEST(RecipeRecord, AFrameIsUnpackedOnlyUpToItsLimit) {
  const Bytes program = program_over_weights();
  const Bytes frame = frame_of(program);
  EXPECT_EQ(unpack_program(frame, true, {500, frame.size()}).value(), program);
  EXPECT_TRUE(fails_with(unpack_program(program, true, {500, program.size()}), ErrorCode::kCodec, "F41"));
  Bytes bomb = frame;
  bomb[9] = std::byte{0x7f};
  const auto refused = unpack_program(bomb, true, {500, bomb.size()});
  ASSERT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded, "F42"));
  EXPECT_EQ(refused.error().where.file_offset, 500U);
}

TEST(RecipeRecord, AProgramThatBreaksARuleIsFoundWhenItIsReadAndByVerify) {
  const Bytes& sample = support::unsealed_sample();
  const Bytes made = made_over_weights(sample);
  struct Row {
    const char* name;
    Bytes program;
    bool packed;
    ErrorCode code;
    std::string_view rule;
  };
  const Bytes good = program_over_weights();
  Bytes longer = frame_of(good);
  longer.push_back(std::byte{0});
  Bytes bomb = frame_of(good);
  bomb[6] = std::byte{0xff}, bomb[7] = std::byte{0xff}, bomb[8] = std::byte{0xff}, bomb[9] = std::byte{0x7f};
  const Row rows[] = {
      {"other bytes", ProgramText().copy(50'000, 0).literal(text("Changed")).copy(100'000, 0).bytes(), false,
       ErrorCode::kChecksumMismatch, "F37"},
      {"out of its source", ProgramText().copy(150'007, 0).bytes(), false, ErrorCode::kMalformed, "F39"},
      {"not canonical", ProgramText().copy(150'000, 0).fill(3, 1).fill(4, 1).bytes(), false, ErrorCode::kMalformed,
       "F42"},
      {"a frame with a byte behind it", longer, true, ErrorCode::kCodec, "F41"},
      {"no frame", good, true, ErrorCode::kCodec, "F41"},
      {"a frame that promises 2 GiB", bomb, true, ErrorCode::kLimitExceeded, "F42"},
      {"a frame where a program is", frame_of(good), false, ErrorCode::kMalformed, "F42"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    HostileFile hostile(sample);
    support::add_recipe(hostile, row.program, made).codec = row.packed ? kCodecLz4Frame : kCodecNone;
    const MemoryFile file(hostile.bytes());

    EXPECT_TRUE(fails_with(streamed(file), row.code, row.rule));

    const OpenedToc opened = read_toc(file, file.size()).value();
    for (const auto& report :
         {verify_container(file, {}), verify_record(file, opened.header, opened.toc, opened.toc.records.back(), {})}) {
      ASSERT_TRUE(is_ok(report));
      ASSERT_EQ(report.value().findings.size(), 1U);
      const Error& error = report.value().findings.front().error;
      EXPECT_TRUE(support::is_error(error, row.code, row.rule)) << to_text(error);
      EXPECT_EQ(error.where.record_id, 8U);
      const ByteRange program = program_of(opened.toc, opened.toc.records.back());
      ASSERT_TRUE(error.where.file_offset.has_value());
      EXPECT_GE(*error.where.file_offset, program.offset);
      EXPECT_LE(*error.where.file_offset, program.offset + program.size);
    }
  }
}

}  // namespace recipe_test
}  // namespace fatctx::container
