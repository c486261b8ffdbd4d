// Shows S5.5.
#include "container/import/gguf.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "fatctx/import_gguf.h"
#include "support/gguf_file.h"
#include "support/memory_file.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace gguf_test {

using support::GgufWriter;
using support::MemoryFile;
using support::set_le;
using support::TempDir;
using Bytes = std::vector<std::byte>;

Result<ImportedIndex> read_index(const Bytes& bytes) { return read_gguf_index(MemoryFile(bytes), bytes.size()); }

// Returns a file with one pair of every type, an array of every kind, and three tensors.
GgufWriter sample() {
  GgufWriter writer;
  const std::size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  for (std::uint32_t type = 0; type < 13; ++type) {
    if (sizes[type] == 0) continue;
    writer.pair("one." + std::to_string(type), type);
    for (std::size_t i = 0; i < sizes[type]; ++i) writer.number<std::uint8_t>(0xa5);
    writer.pair("many." + std::to_string(type), 9);
    writer.number<std::uint32_t>(type);
    writer.number<std::uint64_t>(3);
    for (std::size_t i = 0; i < 3 * sizes[type]; ++i) writer.number<std::uint8_t>(0x5a);
  }
  writer.pair("general.name", 8);
  writer.text("sample");
  writer.pair("tokens", 9);
  writer.number<std::uint32_t>(8);
  writer.number<std::uint64_t>(2);
  writer.text("a");
  writer.text("");
  writer.alignment_pair(64);
  writer.tensor("blk.0.attn_q.weight", {512, 3}, GgufWriter::kQ4K, 0, 864);
  writer.tensor("norm/weight", {5, 2}, GgufWriter::kF32, 896, 40);
  writer.tensor("scale", {}, GgufWriter::kI8, 960, 1);
  return writer;
}

TEST(Gguf, MetadataIsKeptWithItsTypesAndLongValuesAreCut) {
  GgufWriter writer;
  writer.pair("general.name", 8);
  writer.text("tiny");
  writer.pair("count", 4);
  writer.number<std::uint32_t>(263);
  writer.pair("least", 11);
  writer.number<std::uint64_t>(~std::uint64_t{4});
  writer.pair("half", 6);
  writer.number<std::uint32_t>(0x3f000000);
  writer.pair("on", 7);
  writer.number<std::uint8_t>(1);
  writer.pair("sizes", 9);
  writer.number<std::uint32_t>(2);
  writer.number<std::uint64_t>(5);
  for (std::uint16_t size = 7; size < 12; ++size) writer.number<std::uint16_t>(size);
  writer.pair("template", 8);
  writer.text(std::string(255, 'x') + "\xc3\xa4" + std::string(5000, 'y'));
  writer.alignment_pair(64);

  const auto index = read_index(writer.write());

  ASSERT_TRUE(index.ok()) << to_text(index.error());
  std::vector<std::string> rows;
  for (const DescribedOption& one : index.value().metadata)
    rows.push_back(one.owner + " " + one.key + " = " + one.value);
  EXPECT_EQ(rows, (std::vector<std::string>{"text general.name = tiny", "uint32 count = 263", "int64 least = -5",
                                            "float32 half = 0.5", "boolean on = true",
                                            "array sizes = 5 uint16: 7, 8, 9, 10, ...",
                                            "text template = " + std::string(255, 'x') + "... 5257 bytes in all",
                                            "uint32 general.alignment = 64"}));
}

TEST(Gguf, TensorsGetTheirPlaceInTheFileAndTheOutermostDimensionFirst) {
  for (const std::uint32_t version : {2U, 3U}) {
    GgufWriter writer = sample();
    writer.version = version;
    const auto index = read_index(writer.write());

    ASSERT_TRUE(index.ok()) << to_text(index.error());
    const std::uint64_t data = writer.data_begin();
    EXPECT_EQ(data % 64, 0U);
    const auto& tensors = index.value().tensors;
    ASSERT_EQ(tensors.size(), 3U);
    EXPECT_EQ(tensors[0].name, "blk.0.attn_q.weight");
    EXPECT_EQ(tensors[0].dtype, std::nullopt);
    EXPECT_EQ(tensors[0].type, "q4_k");
    EXPECT_EQ(tensors[0].shape, (std::vector<std::uint64_t>{3, 512}));
    EXPECT_EQ(tensors[0].range, (ByteRange{data, 864}));
    EXPECT_EQ(tensors[1].dtype, DType::kF32);
    EXPECT_EQ(tensors[1].shape, (std::vector<std::uint64_t>{2, 5}));
    EXPECT_EQ(tensors[1].range, (ByteRange{data + 896, 40}));
    EXPECT_TRUE(tensors[2].shape.empty());
    EXPECT_EQ(tensors[2].range, (ByteRange{data + 960, 1}));
  }
}

TEST(Gguf, TheAlignmentIs32IfNothingElseIsSaid) {
  GgufWriter writer;
  writer.tensor("a", {3}, GgufWriter::kI8, 0, 3);
  writer.tensor("b", {3}, GgufWriter::kI8, 32, 3);

  const auto index = read_index(writer.write());

  ASSERT_TRUE(index.ok()) << to_text(index.error());
  EXPECT_EQ(index.value().tensors[1].range, (ByteRange{writer.data_begin() + 32, 3}));
}

TEST(Gguf, TheLastTensorNeedsNoPadding) {
  GgufWriter writer;
  writer.tensor("a", {3}, GgufWriter::kI8, 0, 3);
  Bytes file = writer.write();
  file.resize(file.size() - 29);

  EXPECT_TRUE(read_index(file).ok());
  file.pop_back();
  EXPECT_EQ(read_index(file).error().code, ErrorCode::kTruncated);
}

TEST(Gguf, AFileOfMetadataOnlyHasNoTensors) {
  GgufWriter writer;
  writer.pair("general.name", 8);
  writer.text("vocabulary");
  Bytes file = writer.write();

  EXPECT_TRUE(read_index(file).value().tensors.empty());
  file.resize(24 + 8 + 12 + 4 + 8 + 10);  // as written without padding
  EXPECT_TRUE(read_index(file).value().tensors.empty());
}

TEST(Gguf, AnEmptyTensorBehindTheEndOfAFileWithoutDataLiesAtItsEnd) {
  GgufWriter writer;
  writer.tensor("none", {0, 3}, GgufWriter::kF32, 0, 0);
  Bytes file = writer.write();
  file.resize(24 + 8 + 4 + 4 + 16 + 4 + 8);  // as written without padding

  const auto index = read_index(file);

  ASSERT_TRUE(index.ok()) << to_text(index.error());
  EXPECT_EQ(index.value().tensors[0].range, (ByteRange{file.size(), 0}));
}

TEST(Gguf, TensorsAndLargeArraysOfNumbersAreNotRead) {
  GgufWriter writer;
  writer.pair("scores", 9);
  writer.number<std::uint32_t>(6);
  writer.number<std::uint64_t>(1 << 20);
  for (int i = 0; i < 1 << 20; ++i) writer.number<std::uint32_t>(7);
  writer.tensor("big", {1 << 22}, GgufWriter::kI8, 0, 1 << 22);
  const MemoryFile file(writer.write());

  ASSERT_TRUE(read_gguf_index(file, file.size()).ok());

  EXPECT_LE(file.bytes_read(), 3U * 65536);
}

TEST(Gguf, TextsLongerThanAPieceAreSteppedOver) {
  GgufWriter writer;
  writer.pair("template", 8);
  writer.text(std::string(200'000, 't'));
  writer.pair("tokens", 9);
  writer.number<std::uint32_t>(8);
  writer.number<std::uint64_t>(40'000);
  for (int i = 0; i < 40'000; ++i) writer.text("t" + std::to_string(i));
  writer.tensor("a", {3}, GgufWriter::kI8, 0, 3);

  const auto index = read_index(writer.write());

  ASSERT_TRUE(index.ok()) << to_text(index.error());
  EXPECT_EQ(index.value().tensors[0].range.offset, writer.data_begin());
}

struct Lie {
  const char* name;
  std::function<Bytes()> file;
  ErrorCode code;
  const char* says;
};

Bytes with(const std::function<void(GgufWriter&)>& change) {
  GgufWriter writer;
  change(writer);
  return writer.write();
}
Bytes sample_with(std::size_t offset, std::uint64_t value, std::size_t bytes) {
  Bytes file = sample().write();
  for (std::size_t i = 0; i < bytes; ++i) file[offset + i] = static_cast<std::byte>(value >> (8 * i) & 0xff);
  return file;
}

constexpr std::uint64_t kHuge = UINT64_MAX;

const Lie kLies[] = {
    {"empty", [] { return Bytes{}; }, ErrorCode::kTruncated, "the magic"},
    {"another magic", [] { return sample_with(0, 'g', 1); }, ErrorCode::kBadMagic, "GGUF"},
    {"version 1", [] { return sample_with(4, 1, 4); }, ErrorCode::kUnsupported, "version 1;"},
    {"version 4", [] { return sample_with(4, 4, 4); }, ErrorCode::kUnsupported, "version 4;"},
    {"version 0", [] { return sample_with(4, 0, 4); }, ErrorCode::kUnsupported, "version 0;"},
    {"the other byte order", [] { return sample_with(4, 0x03000000, 4); }, ErrorCode::kUnsupported, "big-endian"},
    {"too many tensors", [] { return sample_with(8, kHuge, 8); }, ErrorCode::kLimitExceeded, "number of tensors is"},
    {"more tensors than fit", [] { return sample_with(8, 1 << 20, 8); }, ErrorCode::kTruncated, "number of tensors is"},
    {"too many pairs", [] { return sample_with(16, kHuge, 8); }, ErrorCode::kLimitExceeded, "key-value pairs is"},
    {"more pairs than fit", [] { return sample_with(16, 65536, 8); }, ErrorCode::kTruncated, "key-value pairs is"},
    {"a pair too many", [] { return sample_with(16, 26, 8); }, ErrorCode::kLimitExceeded, "the name of tensor 0"},
    {"a key of 2^64 - 1 bytes", [] { return sample_with(24, kHuge, 8); }, ErrorCode::kLimitExceeded,
     "the key of pair 0"},
    {"a key that leaves the file",
     [] { return with([](auto& w) { w.pair_count = 1, w.number(std::uint64_t{60000}), w.number(kHuge); }); },
     ErrorCode::kTruncated, "the key of pair 0 at byte 32 takes 60000 bytes, but the file ends at 64"},
    {"an unknown type of value", [] { return with([](auto& w) { w.pair("k", 13), w.number(kHuge); }); },
     ErrorCode::kUnsupported, "the value of key \"k\" has the unknown type 13"},
    {"a text that leaves the file", [] { return with([](auto& w) { w.pair("k", 8), w.number(kHuge); }); },
     ErrorCode::kTruncated, "the value of key \"k\" at byte 45 takes 18446744073709551615 bytes"},
    {"an array of arrays",
     [] { return with([](auto& w) { w.pair("k", 9), w.number(std::uint32_t{9}), w.number(std::uint64_t{0}); }); },
     ErrorCode::kUnsupported, "array of arrays"},
    {"an array of an unknown type",
     [] { return with([](auto& w) { w.pair("k", 9), w.number(std::uint32_t{77}), w.number(std::uint64_t{0}); }); },
     ErrorCode::kUnsupported, "unknown type 77"},
    {"an array whose size wraps",
     [] {
       return with([](auto& w) { w.pair("k", 9), w.number(std::uint32_t{10}), w.number(std::uint64_t{1} << 61); });
     },
     ErrorCode::kTruncated, "2305843009213693952 elements"},
    {"a text of an array that leaves the file",
     [] {
       return with([](auto& w) {
         w.pair("k", 9), w.number(std::uint32_t{8}), w.number(std::uint64_t{2});
         w.number(std::uint64_t{60000}), w.number(std::uint64_t{0});
       });
     },
     ErrorCode::kTruncated, "takes 60000 bytes, but the file ends"},
    {"a text of an array whose end wraps",
     [] {
       return with([](auto& w) {
         w.pair("k", 9), w.number(std::uint32_t{8}), w.number(std::uint64_t{2});
         w.number(kHuge), w.number(std::uint64_t{0});
       });
     },
     ErrorCode::kTruncated, "takes 18446744073709551615 bytes, but the file ends"},
    {"an array of more texts than fit",
     [] { return with([](auto& w) { w.pair("k", 9), w.number(std::uint32_t{8}), w.number(kHuge); }); },
     ErrorCode::kTruncated, "elements"},
    {"a key twice",
     [] {
       return with([](auto& w) {
         for (int i = 0; i < 2; ++i) w.pair("k", 0), w.number(std::uint8_t{1});
       });
     },
     ErrorCode::kMalformed, "the key \"k\" appears twice"},
    {"an alignment of 48", [] { return with([](auto& w) { w.alignment_pair(48); }); }, ErrorCode::kMalformed,
     "is 48, not a power of two"},
    {"an alignment of 0", [] { return with([](auto& w) { w.alignment_pair(0), w.alignment = 32; }); },
     ErrorCode::kMalformed, "is 0, not a power of two"},
    {"an alignment of another type",
     [] { return with([](auto& w) { w.pair("general.alignment", 10), w.number(std::uint64_t{32}); }); },
     ErrorCode::kMalformed, "has the type 10; it is a uint32"},
    {"a tensor without a name", [] { return with([](auto& w) { w.tensor("", {1}, 24, 0, 1); }); },
     ErrorCode::kMalformed, "name of tensor 0"},
    {"a name with a line feed", [] { return with([](auto& w) { w.tensor("a\nb", {1}, 24, 0, 1); }); },
     ErrorCode::kMalformed, "name of tensor 0"},
    {"a name of 5000 bytes", [] { return with([](auto& w) { w.tensor(std::string(5000, 'n'), {1}, 24, 0, 1); }); },
     ErrorCode::kLimitExceeded, "the name of tensor 0 at byte 24 has 5000 bytes; at most 4096"},
    {"five dimensions", [] { return with([](auto& w) {
                               w.tensor("a", {1, 1, 1, 1, 1}, 24, 0, 1);
                             }); },
     ErrorCode::kMalformed, "tensor \"a\" has 5 dimensions; at most 4"},
    {"an unknown element type", [] { return with([](auto& w) { w.tensor("a", {1}, 4, 0, 1); }); },
     ErrorCode::kUnsupported, "tensor \"a\" at byte 24 has the unknown element type 4"},
    {"half a block", [] { return with([](auto& w) { w.tensor("a", {384}, GgufWriter::kQ4K, 0, 216); }); },
     ErrorCode::kMalformed, "tensor \"a\": rows of 384 elements are no whole blocks of q4_k, 256 elements each"},
    {"a block of a scalar", [] { return with([](auto& w) { w.tensor("a", {}, GgufWriter::kQ4K, 0, 144); }); },
     ErrorCode::kMalformed, "rows of 1 elements"},
    {"a shape that wraps", [] { return with([](auto& w) {
                                  w.tensor("a", {1ULL << 32, 1ULL << 32}, 24, 0, 1);
                                }); },
     ErrorCode::kMalformed, "does not fit 64 bits"},
    {"blocks that wrap",
     [] { return with([](auto& w) {
            w.tensor("a", {1ULL << 40, 1ULL << 30}, GgufWriter::kQ4K, 0, 1);
          }); },
     ErrorCode::kMalformed, "does not fit 64 bits"},
    {"a tensor that leaves the file", [] { return with([](auto& w) { w.tensor("a", {33}, 24, 0, 32); }); },
     ErrorCode::kTruncated, "tensor \"a\", 33 bytes at 0 of the data, leaves the file, which has 32"},
    {"a first tensor behind a gap", [] { return with([](auto& w) { w.tensor("a", {4}, 24, 32, 4); }); },
     ErrorCode::kMalformed, "tensor \"a\" leaves a gap or is not aligned at byte 32 of the data; the first one"},
    {"a gap", [] { return with([](auto& w) { w.tensor("a", {4}, 24, 0, 4), w.tensor("b", {4}, 24, 64, 4); }); },
     ErrorCode::kMalformed,
     "tensor \"b\" leaves a gap or is not aligned at byte 64 of the data; tensor \"a\" before it"},
    {"a tensor beside the alignment",
     [] { return with([](auto& w) { w.tensor("a", {4}, 24, 0, 4), w.tensor("b", {4}, 24, 8, 4); }); },
     ErrorCode::kMalformed, "not aligned at byte 8"},
    {"an overlap", [] { return with([](auto& w) { w.tensor("a", {40}, 24, 0, 40), w.tensor("b", {4}, 24, 32, 4); }); },
     ErrorCode::kMalformed, "tensor \"b\" overlaps another at byte 32 of the data; tensor \"a\" before it ends at 40"},
    {"an offset of 2^64 - 32", [] { return with([](auto& w) { w.tensor("a", {4}, 24, kHuge - 31, 36); }); },
     ErrorCode::kMalformed, "tensor \"a\" leaves a gap"},
    {"bytes behind the last padding",
     [] {
       Bytes file = with([](auto& w) { w.tensor("a", {4}, 24, 0, 4); });
       file.push_back(std::byte{1});
       return file;
     },
     ErrorCode::kTrailingData, "1 bytes behind the last tensor and its padding"},
    {"a name twice", [] { return with([](auto& w) { w.tensor("a", {4}, 24, 0, 4), w.tensor("a", {4}, 24, 32, 4); }); },
     ErrorCode::kMalformed, "tensor \"a\" appears twice"},
};

TEST(Gguf, EveryLieIsRefusedAndNamed) {
  ASSERT_TRUE(read_index(sample().write()).ok());
  for (const Lie& lie : kLies) {
    const auto index = read_index(lie.file());

    ASSERT_FALSE(index.ok()) << lie.name;
    EXPECT_EQ(index.error().code, lie.code) << lie.name << ": " << to_text(index.error());
    EXPECT_NE(index.error().message.find(lie.says), std::string::npos) << lie.name << ": " << index.error().message;
    EXPECT_TRUE(index.error().where.file_offset || index.error().code == ErrorCode::kTruncated) << lie.name;
  }
}

TEST(Gguf, AnIndexBeyondItsLimitIsNotRead) {
  GgufWriter writer;
  writer.pair("k", 8);
  writer.number<std::uint64_t>(kMaxGgufIndexBytes);
  Bytes file = writer.write();
  file.resize(kMaxGgufIndexBytes + 100);
  set_le<std::uint64_t>(file, 8, 1);
  const MemoryFile whole(std::move(file));

  const auto index = read_gguf_index(whole, whole.size());

  ASSERT_FALSE(index.ok());
  EXPECT_EQ(index.error().code, ErrorCode::kLimitExceeded) << to_text(index.error());
  EXPECT_LE(whole.bytes_read(), 65536U);
}

TEST(Gguf, NoDamageOfTheIndexLetsATensorLeaveTheFile) {
  const GgufWriter writer = sample();
  const Bytes file = writer.write();
  std::size_t still_read = 0;
  for (std::size_t bit = 0; bit < writer.data_begin() * 8; ++bit) {
    Bytes damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto index = read_index(damaged);
    if (!index.ok()) continue;
    ++still_read;
    for (const ImportedTensor& tensor : index.value().tensors) {
      EXPECT_TRUE(within(tensor.range, file.size())) << bit;
    }
  }
  EXPECT_GT(still_read, 0U);  // a letter of a key
  for (std::size_t size = 0; size + 63 < file.size(); ++size) {
    EXPECT_FALSE(read_index(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))).ok()) << size;
  }
}

TEST(Gguf, WhatATensorTableHasNotIsBytesAndDescribed) {
  const TempDir folder;
  const std::string path = folder.file("m.gguf");
  const GgufWriter writer = sample();
  support::write_file(path, writer.write());

  const auto record = weights_from_gguf(path, "weights");

  ASSERT_TRUE(record.ok()) << to_text(record.error());
  EXPECT_EQ(record.value().description.format, "gguf");
  const auto& tensors = record.value().tensors;
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].dtype, DType::kU8);
  EXPECT_EQ(tensors[0].shape, (std::vector<std::uint64_t>{864}));
  EXPECT_EQ(tensors[0].offset_in_blob, writer.data_begin());
  EXPECT_EQ(tensors[1].dtype, DType::kF32);
  ASSERT_EQ(record.value().description.options.size(), 1U);
  EXPECT_EQ(record.value().description.options[0].key, "tensor.blk.0.attn_q.weight.type");
  EXPECT_EQ(record.value().description.options[0].value, "q4_k [3, 512]");
  EXPECT_EQ(record.value().description.options[0].owner, "gguf");
}

}  // namespace gguf_test
}  // namespace fatctx::container
