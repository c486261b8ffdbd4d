// lz4 frames: ours against liblz4's own functions, and every frame that does not exactly fit its record.
#include "container/format/codec.h"

#include <gtest/gtest.h>
#include <lz4frame.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "support/peak_memory.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace codec_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

// Returns text that compresses well and repeats nothing at a fixed distance.
Bytes compressible(std::size_t size, std::uint32_t seed) {
  const Bytes noise = support::pattern(size / 8 + 1, seed);
  Bytes bytes;
  bytes.reserve(size + 8);
  for (const std::byte value : noise) bytes.insert(bytes.end(), 8, value);
  bytes.resize(size);
  return bytes;
}

Bytes frame_of(ByteView bytes, const std::vector<std::size_t>& pieces = {}) {
  Bytes frame;
  const StreamSink sink = [&](ByteView piece) -> Status {
    frame.insert(frame.end(), piece.begin(), piece.end());
    return Done{};
  };
  FrameWriter writer(bytes.size());
  std::size_t at = 0;
  for (std::size_t i = 0; at < bytes.size(); ++i) {
    const std::size_t size = pieces.empty() ? bytes.size() : std::min(pieces[i % pieces.size()], bytes.size() - at);
    EXPECT_TRUE(is_ok(writer.write(bytes.subspan(at, size), sink)));
    at += size;
  }
  EXPECT_TRUE(is_ok(writer.finish(sink)));
  return frame;
}

// Unpacks a frame that is fed in pieces of `piece` bytes.
Result<Bytes> unpacked(ByteView frame, std::uint64_t logical_size, std::size_t piece = 64 * 1024) {
  Bytes bytes;
  const StreamSink sink = [&](ByteView made) -> Status {
    bytes.insert(bytes.end(), made.begin(), made.end());
    return Done{};
  };
  FrameReader reader(logical_size);
  for (; !frame.empty(); frame = frame.subspan(std::min(piece, frame.size()))) {
    FATCTX_TRY(reader.feed(frame.first(std::min(piece, frame.size())), sink));
  }
  FATCTX_TRY(reader.finish());
  return bytes;
}

// Returns a frame that liblz4 makes in one call; `change` sets other preferences.
Bytes foreign_frame(
    ByteView bytes, void (*change)(LZ4F_preferences_t&) = [](LZ4F_preferences_t&) {}) {
  LZ4F_preferences_t wanted = {};
  wanted.frameInfo.contentSize = bytes.size();
  wanted.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  change(wanted);
  Bytes frame(LZ4F_compressFrameBound(bytes.size(), &wanted));
  const std::size_t size = LZ4F_compressFrame(frame.data(), frame.size(), bytes.data(), bytes.size(), &wanted);
  EXPECT_FALSE(LZ4F_isError(size)) << LZ4F_getErrorName(size);
  frame.resize(size);
  return frame;
}

Bytes foreign_unpacked(ByteView frame, std::size_t size) {
  LZ4F_dctx* context = nullptr;
  EXPECT_FALSE(LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)));
  Bytes bytes(size + 1);
  std::size_t made = bytes.size();
  std::size_t used = frame.size();
  const std::size_t left = LZ4F_decompress(context, bytes.data(), &made, frame.data(), &used, nullptr);
  EXPECT_EQ(left, 0U) << "not a whole frame";
  EXPECT_EQ(used, frame.size());
  EXPECT_FALSE(LZ4F_isError(LZ4F_freeDecompressionContext(context)));
  bytes.resize(made);
  return bytes;
}

constexpr std::size_t kSizes[] = {1, 2, 63, 65'536, 262'143, 262'144, 262'145, 1'300'007};

TEST(Codec, WhatIsWrittenIsReadBackHereAndByLz4Itself) {
  for (const std::size_t size : kSizes) {
    for (const Bytes& bytes : {compressible(size, 3), support::pattern(size, 4), Bytes(size)}) {
      const Bytes frame = frame_of(bytes);
      const auto back = unpacked(frame, size);
      ASSERT_TRUE(is_ok(back)) << size;
      EXPECT_EQ(back.value(), bytes) << size;
      EXPECT_EQ(foreign_unpacked(frame, size), bytes) << size;
    }
  }
}

TEST(Codec, TheFrameDoesNotDependOnThePiecesItsBytesComeIn) {
  const Bytes bytes = compressible(900'001, 5);
  const Bytes whole = frame_of(bytes);

  for (const std::vector<std::size_t>& pieces :
       {std::vector<std::size_t>{1'000}, {262'144}, {262'143, 2}, {1, 400'000, 7}, {65'536}}) {
    EXPECT_EQ(frame_of(bytes, pieces), whole) << "pieces of " << pieces.front();
  }
}

TEST(Codec, ABlockIsTheSameWhateverLiesBeforeIt) {
  constexpr std::size_t kBlock = 262'144;
  const Bytes tail = compressible(kBlock, 9);
  const auto last_block = [&](std::uint32_t seed) {
    Bytes bytes = support::pattern(kBlock, seed);  // does not compress: stored, so that the offset is known
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    const Bytes frame = frame_of(bytes);
    constexpr std::size_t kBefore = 15 + 4 + kBlock;  // header, size of the block, the block
    constexpr std::size_t kBehind = 4 + 4;            // end mark, checksum
    return Bytes(frame.begin() + kBefore, frame.end() - kBehind);
  };

  EXPECT_EQ(last_block(1), last_block(2));
  EXPECT_LT(last_block(1).size(), kBlock / 2);
}

TEST(Codec, WhereAFrameIsCutWhileItIsReadMakesNoDifference) {
  const Bytes bytes = compressible(600'000, 6);
  const Bytes frame = frame_of(bytes);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4'096}, frame.size()}) {
    const auto back = unpacked(frame, bytes.size(), piece);
    ASSERT_TRUE(is_ok(back)) << piece;
    EXPECT_EQ(back.value(), bytes) << piece;
  }
}

TEST(Codec, FramesOfOtherWritersAreReadWhateverTheirBlocks) {
  const Bytes bytes = compressible(5'000'000, 7);
  void (*const changes[])(LZ4F_preferences_t&) = {
      [](auto& p) { p.frameInfo.blockSizeID = LZ4F_max64KB; },
      [](auto& p) { p.frameInfo.blockSizeID = LZ4F_max4MB; },
      [](auto& p) { p.frameInfo.blockMode = LZ4F_blockIndependent; },
      [](auto& p) { p.frameInfo.blockChecksumFlag = LZ4F_blockChecksumEnabled; },
      [](auto& p) { p.compressionLevel = 9; },
      [](auto& p) { p.compressionLevel = -10; },
  };
  for (const auto change : changes) {
    const auto back = unpacked(foreign_frame(bytes, change), bytes.size());
    ASSERT_TRUE(is_ok(back));
    EXPECT_EQ(back.value(), bytes);
  }
}

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Codec, EveryFrameButTheOneThatARecordNeedsIsRefused) {
  const Bytes bytes = compressible(3'000, 8);
  const Bytes good = frame_of(bytes);
  const Bytes skippable = {std::byte{0x5a}, std::byte{0x2a}, std::byte{0x4d}, std::byte{0x18}, std::byte{4}, {}, {}, {},
                           std::byte{1},    std::byte{2},    std::byte{3},    std::byte{4}};
  Bytes wrong_check = good;
  wrong_check[14] ^= std::byte{1};  // the last byte of the header
  const auto without = [&](void (*change)(LZ4F_preferences_t&)) { return foreign_frame(bytes, change); };
  struct Row {
    const char* name;
    Bytes frame;
    std::uint64_t logical_size;
    const char* why;
    std::uint64_t at;
  };
  const Row rows[] = {
      {"nothing at all", {}, 3'000, "cut off: 0 of 3000", 0},
      {"another file", support::pattern(100, 1), 3'000, "does not begin like an lz4 frame", 0},
      {"a skippable frame", skippable, 3'000, "skippable", 0},
      {"a skippable frame in front", joined(skippable, good), 3'000, "skippable", 0},
      {"a skippable frame behind", joined(good, skippable), 3'000, "bytes follow the end", good.size()},
      {"two frames", joined(good, good), 3'000, "bytes follow the end", good.size()},
      {"two frames that together have the size", joined(good, good), 6'000, "states 3000 bytes instead of 6000", 4},
      {"one byte behind", joined(good, {std::byte{0}}), 3'000, "bytes follow the end", good.size()},
      {"a damaged header", wrong_check, 3'000, "headerChecksum_invalid", 4},
      {"a dictionary", without([](auto& p) { p.frameInfo.dictID = 7; }), 3'000, "asks for a dictionary", 4},
      {"no size", without([](auto& p) { p.frameInfo.contentSize = 0; }), 3'000, "does not state its size", 4},
      {"no checksum", without([](auto& p) { p.frameInfo.contentChecksumFlag = LZ4F_noContentChecksum; }), 3'000,
       "has no content checksum", 4},
      {"a smaller record", good, 2'999, "states 3000 bytes instead of 2999", 4},
      {"a larger record", good, 3'001, "states 3000 bytes instead of 3001", 4},
  };
  for (const Row& row : rows) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{65'536}}) {
      const auto back = unpacked(row.frame, row.logical_size, piece);
      ASSERT_TRUE(fails_with(back, ErrorCode::kCodec, "F41")) << row.name;
      EXPECT_NE(back.error().message.find(row.why), std::string::npos) << row.name << ": " << back.error().message;
      EXPECT_EQ(back.error().where.file_offset, row.at) << row.name;
    }
  }
}

// Returns the frame with a header for `content_size` bytes and the header's right checksum.
Bytes with_content_size(Bytes frame, std::uint64_t content_size) {
  Bytes header(LZ4F_HEADER_SIZE_MAX);
  LZ4F_cctx* context = nullptr;
  EXPECT_FALSE(LZ4F_isError(LZ4F_createCompressionContext(&context, LZ4F_VERSION)));
  LZ4F_preferences_t wanted = {};
  wanted.frameInfo.blockSizeID = LZ4F_max256KB;
  wanted.frameInfo.blockMode = LZ4F_blockIndependent;
  wanted.frameInfo.contentSize = content_size;
  wanted.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  const std::size_t size = LZ4F_compressBegin(context, header.data(), header.size(), &wanted);
  EXPECT_EQ(size, 15U);
  EXPECT_FALSE(LZ4F_isError(LZ4F_freeCompressionContext(context)));
  std::copy_n(header.begin(), size, frame.begin());
  return frame;
}

TEST(Codec, AFrameIsAskedForItsSizeOnlyIfItStatesOne) {
  const Bytes good = frame_of(compressible(600'000, 10));
  ASSERT_EQ(frame_content_size(good).value(), 600'000U);

  EXPECT_TRUE(fails_with(frame_content_size(ByteView(good).first(13)), ErrorCode::kCodec, "F41"));
  Bytes another = good;
  another[0] ^= std::byte{1};
  EXPECT_TRUE(fails_with(frame_content_size(another), ErrorCode::kCodec, "F41"));
  Bytes unstated = good;
  unstated[4] &= ~std::byte{0x08};
  EXPECT_TRUE(fails_with(frame_content_size(unstated), ErrorCode::kCodec, "F41"));
}

TEST(Codec, AFrameThatLiesAboutItsSizeIsRefused) {
  const Bytes bytes = compressible(600'000, 10);
  const Bytes good = frame_of(bytes);
  ASSERT_EQ(with_content_size(good, bytes.size()), good);

  const auto more = unpacked(with_content_size(good, 599'999), 599'999);
  const auto fewer = unpacked(with_content_size(good, 600'001), 600'001);
  const auto far_more = unpacked(with_content_size(good, 100), 100);

  EXPECT_TRUE(fails_with(more, ErrorCode::kCodec, "F41"));
  ASSERT_TRUE(fails_with(fewer, ErrorCode::kCodec, "F41"));
  EXPECT_NE(fewer.error().message.find("frameSize_wrong"), std::string::npos) << to_text(fewer.error());
  ASSERT_TRUE(fails_with(far_more, ErrorCode::kCodec, "F41"));
  EXPECT_NE(far_more.error().message.find("yields more than its 100 bytes"), std::string::npos)
      << to_text(far_more.error());
}

TEST(Codec, NoPrefixOfAFrameIsAFrame) {
  const Bytes bytes = compressible(2'000, 11);
  const Bytes frame = frame_of(bytes);
  for (std::size_t size = 0; size < frame.size(); ++size) {
    const auto back = unpacked(ByteView(frame).first(size), bytes.size());
    ASSERT_TRUE(fails_with(back, ErrorCode::kCodec, "F41")) << size;
    ASSERT_LE(back.error().where.file_offset.value_or(99'999), size);
  }
}

TEST(Codec, EveryFlippedBitOfAFrameIsRefusedOrChangesNothing) {
  for (const Bytes& bytes : {compressible(1'500, 12), support::pattern(300, 13)}) {  // a packed and a stored block
    Bytes frame = frame_of(bytes);
    std::size_t accepted = 0;
    for (std::size_t bit = 0; bit < frame.size() * 8; ++bit) {
      frame[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      const auto back = unpacked(frame, bytes.size());
      frame[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
      if (!back.ok()) {
        ASSERT_TRUE(fails_with(back, ErrorCode::kCodec, "F41")) << bit;
        continue;
      }
      ++accepted;  // a match may come from elsewhere in a run; leaf hashes distinguish such frames
      ASSERT_EQ(back.value(), bytes) << bit;
    }
    EXPECT_LT(accepted, frame.size() / 4);
  }
}

TEST(Codec, AfterRandomChangesAFrameIsRefusedOrYieldsItsBytes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Bytes bytes = compressible(40'000, 14);
  const Bytes good = frame_of(bytes);
  for (int round = 0; round < 3'000; ++round) {
    Bytes frame = good;
    for (std::uint64_t change = 0; change <= random() % 4; ++change) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    const auto back = unpacked(frame, bytes.size());
    if (back.ok()) {
      ASSERT_EQ(back.value(), bytes) << round;
    } else {
      ASSERT_TRUE(fails_with(back, ErrorCode::kCodec, "F41")) << round;
    }
  }
}

TEST(Codec, AnErrorNamesTheBlockItIsAbout) {
  const Bytes bytes = compressible(800'000, 15);  // four blocks
  Bytes frame = frame_of(bytes);
  const std::size_t first = 15 + 4;  // behind the header and the size of the first block
  std::size_t second = first;
  for (unsigned i = 0; i < 4; ++i) second += std::to_integer<std::size_t>(frame[15 + i]) << (8 * i);
  second += 4;
  // An offset of zero is illegal in any block.
  std::fill(frame.begin() + static_cast<std::ptrdiff_t>(second) + 2,
            frame.begin() + static_cast<std::ptrdiff_t>(second) + 40, std::byte{0});

  const auto back = unpacked(frame, bytes.size());

  ASSERT_TRUE(fails_with(back, ErrorCode::kCodec, "F41"));
  EXPECT_EQ(back.error().where.file_offset, second);
}

TEST(Codec, AnErrorOfTheSinkStopsTheStreamAndComesBackAsItIs) {
  const Bytes bytes = compressible(600'000, 16);
  const Bytes frame = frame_of(bytes);
  const StreamSink full = [](ByteView) -> Status { return Error{ErrorCode::kNoSpace, "full"}; };

  FrameReader reader(bytes.size());
  FrameWriter writer(bytes.size());

  EXPECT_TRUE(fails_with(reader.feed(frame, full), ErrorCode::kNoSpace));
  EXPECT_TRUE(fails_with(writer.write(bytes, full), ErrorCode::kNoSpace));
}

TEST(Codec, AGibibyteOfZerosGoesThroughInAFewMebibytesOfMemory) {
  constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
  const Bytes zeros(1'000'000);
  const support::PeakMemory peak;

  FrameWriter writer(kGibibyte);
  FrameReader reader(kGibibyte);
  std::uint64_t stored = 0;
  std::uint64_t back = 0;
  const StreamSink count = [&](ByteView bytes) -> Status {
    back += bytes.size();
    return Done{};
  };
  const StreamSink read = [&](ByteView bytes) -> Status {
    stored += bytes.size();
    return reader.feed(bytes, count);
  };
  for (std::uint64_t at = 0; at < kGibibyte;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(zeros.size(), kGibibyte - at));
    ASSERT_TRUE(is_ok(writer.write(ByteView(zeros).first(size), read)));
    at += size;
  }
  ASSERT_TRUE(is_ok(writer.finish(read)));
  ASSERT_TRUE(is_ok(reader.finish()));

  EXPECT_EQ(back, kGibibyte);
  EXPECT_GE(stored * 255 + 64, kGibibyte) << "a frame of ours must pass rule F24";
  EXPECT_LT(peak.grown_bytes(), 16'000'000U);
}

}  // namespace codec_test
}  // namespace fatctx::container
