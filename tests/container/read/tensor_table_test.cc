// Shows S3.29: every tensor carries its element type.
#include "container/read/tensor_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <utility>

#include "container/read/tensor_table_format.h"
#include "support/rehash.h"

namespace fatctx::container {
namespace tensor_table_test {

constexpr std::uint64_t kBlobSize = 1000;

// Returns three tensors with different types, ranks and sizes; two of them share bytes on purpose.
std::vector<PackTensor> sample_tensors() {
  return {
      {.name = "weight/b",
       .dtype = DType::kF32,
       .shape = {5, 3},
       .offset_in_blob = 64,
       .size_bytes = 60,
       .alias = false},
      {.name = "alias.a", .dtype = DType::kU8, .shape = {7}, .offset_in_blob = 200, .size_bytes = 7, .alias = true},
      {.name = "alias.b", .dtype = DType::kI4, .shape = {3, 3}, .offset_in_blob = 203, .size_bytes = 5, .alias = true},
  };
}

using Bytes = std::vector<std::byte>;

Bytes sample_table() { return build_tensor_table(sample_tensors(), kBlobSize).value(); }

constexpr std::size_t kHeadSize = sizeof(TensorTableHeader) + sizeof(DiskHash);  // one page
constexpr std::size_t entry_at(std::size_t index) { return kHeadSize + index * sizeof(TensorEntry); }
constexpr std::size_t kIndexAt = entry_at(3);
constexpr std::size_t kNamesAt = kIndexAt + 3 * sizeof(NameIndexEntry);
constexpr std::size_t kNameOffset = offsetof(TensorEntry, name_offset);
constexpr std::size_t kNameSize = offsetof(TensorEntry, name_size);
constexpr std::size_t kDType = offsetof(TensorEntry, dtype);
constexpr std::size_t kRank = offsetof(TensorEntry, rank);
constexpr std::size_t kFlags = offsetof(TensorEntry, flags);
constexpr std::size_t kOffset = offsetof(TensorEntry, offset_in_blob);
constexpr std::size_t kSize = offsetof(TensorEntry, size_bytes);
constexpr std::size_t kDims = offsetof(TensorEntry, dims);

template <typename T>
void set(Bytes& bytes, std::size_t offset, T value) {
  const LittleEndian<T> disk(value);
  std::memcpy(bytes.data() + offset, &disk, sizeof(disk));
}

// Sorted by name, the entries are: 0 "alias.a" (u8 [7]), 1 "alias.b" (int4 [3, 3]), 2 "weight/b" (float32 [5, 3]).
struct Lie {
  const char* name;
  std::function<void(Bytes&)> damage;
  ErrorCode code;
  std::string_view rule;
  std::string_view words = {};  // of the message, where another check would report the same rule
};

const Lie kLies[] = {
    {"empty", [](auto& t) { t.clear(); }, ErrorCode::kTruncated, "F33"},
    {"half a header", [](auto& t) { t.resize(63); }, ErrorCode::kTruncated, "F33"},
    {"one byte short", [](auto& t) { t.pop_back(); }, ErrorCode::kTruncated, "F33"},
    {"one byte more", [](auto& t) { t.push_back(std::byte{0}); }, ErrorCode::kTrailingData, "F33"},
    {"another magic", [](auto& t) { t[3] = std::byte{'T'}; }, ErrorCode::kBadMagic, "F33"},
    {"a newer version", [](auto& t) { set<std::uint16_t>(t, 4, 2); }, ErrorCode::kUnsupported, "F33"},
    {"another entry size", [](auto& t) { set<std::uint16_t>(t, 6, 95); }, ErrorCode::kMalformed, "F33"},
    {"more entries than bytes", [](auto& t) { set<std::uint32_t>(t, 8, 5); }, ErrorCode::kTruncated, "F33"},
    {"a count above the limit", [](auto& t) { set<std::uint32_t>(t, 8, (1U << 20) + 1); }, ErrorCode::kLimitExceeded,
     "F33"},
    {"fewer entries", [](auto& t) { set<std::uint32_t>(t, 8, 2); }, ErrorCode::kTrailingData, "F33"},
    {"a page more", [](auto& t) { set<std::uint32_t>(t, 12, 2); }, ErrorCode::kTruncated, "F33"},
    {"2^32 - 1 pages", [](auto& t) { set<std::uint32_t>(t, 12, UINT32_MAX); }, ErrorCode::kTruncated, "F33"},
    {"no page",
     [](auto& t) {
       set<std::uint32_t>(t, 12, 0);
       t.erase(t.begin() + sizeof(TensorTableHeader), t.begin() + kHeadSize);
     },
     ErrorCode::kMalformed, "F33", "0 hashes of pages"},
    {"an index of a tensor that is not there", [](auto& t) { set<std::uint32_t>(t, kIndexAt + 4, 3); },
     ErrorCode::kMalformed, "F46", "entry 0 of the index"},
    {"an index with another hash", [](auto& t) { t[kIndexAt + 8] ^= std::byte{1}; }, ErrorCode::kMalformed, "F46",
     "entry 1 of the index"},
    {"an index with a tensor there twice",
     [](auto& t) { std::copy_n(t.begin() + kIndexAt, 8, t.begin() + kIndexAt + 8); }, ErrorCode::kMalformed, "F46",
     "not in ascending order"},
    {"another blob", [](auto& t) { set<std::uint64_t>(t, 16, kBlobSize + 1); }, ErrorCode::kMalformed, "F37"},
    {"names that wrap the sum", [](auto& t) { set<std::uint64_t>(t, 24, UINT64_MAX - 100); }, ErrorCode::kTruncated,
     "F33"},
    {"last reserved byte of the header", [](auto& t) { t[63] = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"a gap before the first name", [](auto& t) { set<std::uint32_t>(t, entry_at(0) + kNameOffset, 1); },
     ErrorCode::kMalformed, "F30"},
    {"a name over another", [](auto& t) { set<std::uint32_t>(t, entry_at(1) + kNameOffset, 6); }, ErrorCode::kMalformed,
     "F30"},
    {"a name behind the end", [](auto& t) { set<std::uint16_t>(t, entry_at(2) + kNameSize, 9); }, ErrorCode::kMalformed,
     "F30"},
    {"a byte of the names without tensor", [](auto& t) { set<std::uint16_t>(t, entry_at(2) + kNameSize, 7); },
     ErrorCode::kMalformed, "F30"},
    {"an empty name", [](auto& t) { set<std::uint16_t>(t, entry_at(0) + kNameSize, 0); }, ErrorCode::kMalformed, "F29"},
    {"a control character", [](auto& t) { t[kNamesAt] = std::byte{0x1b}; }, ErrorCode::kMalformed, "F29"},
    {"a name that is not UTF-8", [](auto& t) { t[kNamesAt + 2] = std::byte{0xff}; }, ErrorCode::kMalformed, "F29"},
    {"descending names", [](auto& t) { t[kNamesAt] = std::byte{'b'}; }, ErrorCode::kMalformed, "F15"},
    {"equal names", [](auto& t) { t[kNamesAt + 6] = std::byte{'b'}; }, ErrorCode::kMalformed, "F15"},
    {"an unknown element type", [](auto& t) { set<std::uint16_t>(t, entry_at(0) + kDType, 99); }, ErrorCode::kMalformed,
     "F33", "unknown element type 99"},
    {"element type 0", [](auto& t) { set<std::uint16_t>(t, entry_at(0) + kDType, 0); }, ErrorCode::kMalformed, "F33"},
    {"rank 9", [](auto& t) { t[entry_at(0) + kRank] = std::byte{9}; }, ErrorCode::kLimitExceeded, "F33", "has rank 9"},
    {"rank 65", [](auto& t) { t[entry_at(0) + kRank] = std::byte{65}; }, ErrorCode::kLimitExceeded, "F33"},
    {"an unknown flag", [](auto& t) { t[entry_at(0) + kFlags] = std::byte{3}; }, ErrorCode::kMalformed, "F20"},
    {"reserved half-word", [](auto& t) { t[entry_at(1) + kFlags + 1] = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"reserved word", [](auto& t) { t[entry_at(1) + kFlags + 3] = std::byte{1}; }, ErrorCode::kMalformed, "F20"},
    {"an unused dimension", [](auto& t) { set<std::uint64_t>(t, entry_at(2) + kDims + 56, 1); }, ErrorCode::kMalformed,
     "F20"},
    {"a product above 64 bits", [](auto& t) { set<std::uint64_t>(t, entry_at(2) + kDims, UINT64_MAX / 8); },
     ErrorCode::kMalformed, "F33", "does not fit 64 bits"},
    {"a product that wraps to the right size",
     [](auto& t) { set<std::uint64_t>(t, entry_at(2) + kDims, 5 + (std::uint64_t{1} << 59)); }, ErrorCode::kMalformed,
     "F33"},
    {"a dimension of zero, the size kept", [](auto& t) { set<std::uint64_t>(t, entry_at(2) + kDims, 0); },
     ErrorCode::kMalformed, "F33"},
    {"a size that is not the product", [](auto& t) { set<std::uint64_t>(t, entry_at(2) + kSize, 59); },
     ErrorCode::kMalformed, "F33"},
    {"an int4 size rounded down", [](auto& t) { set<std::uint64_t>(t, entry_at(1) + kSize, 4); }, ErrorCode::kMalformed,
     "F33"},
    {"an end behind the blob", [](auto& t) { set<std::uint64_t>(t, entry_at(2) + kOffset, kBlobSize - 59); },
     ErrorCode::kMalformed, "F33"},
    {"an end that wraps", [](auto& t) { set<std::uint64_t>(t, entry_at(2) + kOffset, UINT64_MAX - 10); },
     ErrorCode::kMalformed, "F33"},
    {"an overlap that one side does not declare", [](auto& t) { t[entry_at(1) + kFlags] = std::byte{0}; },
     ErrorCode::kMalformed, "F33"},
    {"a tensor moved into an alias", [](auto& t) { set<std::uint64_t>(t, entry_at(2) + kOffset, 206); },
     ErrorCode::kMalformed, "F33"},
};

TEST(TensorTable, EveryLieIsRefusedWithItsRuleAndPlace) {
  for (const Lie& lie : kLies) {
    Bytes table = sample_table();
    lie.damage(table);
    support::rehash_table(table);

    const auto parsed = parse_tensor_table(table, kBlobSize);

    ASSERT_FALSE(parsed.ok()) << lie.name;
    EXPECT_EQ(parsed.error().code, lie.code) << lie.name << ": " << to_text(parsed.error());
    EXPECT_EQ(parsed.error().where.rule, lie.rule) << lie.name << ": " << to_text(parsed.error());
    EXPECT_TRUE(parsed.error().where.file_offset.has_value()) << lie.name;
    EXPECT_NE(parsed.error().message.find(lie.words), std::string::npos) << lie.name << ": " << to_text(parsed.error());
  }
}

TEST(TensorTable, ATableAboveItsLimitIsRefusedBeforeItIsLookedAt) {
  const std::size_t size = (std::size_t{256} << 20) + 1;
  // Address space only: if a page of it were read, it would be zero and cause another error.
  void* reserved = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(reserved, MAP_FAILED);

  const auto parsed = parse_tensor_table({static_cast<const std::byte*>(reserved), size}, kBlobSize);
  (void)::munmap(reserved, size);

  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kLimitExceeded) << to_text(parsed.error());
}

PackTensor named(std::string name, std::size_t rank = 0) {
  PackTensor tensor;
  tensor.name = std::move(name);
  tensor.shape.resize(rank, 1);
  return tensor;
}

// Numbers that would lose their high bits in an entry are refused before.
TEST(TensorTable, TensorsThatNoTableMayHoldAreNotWritten) {
  struct Row {
    PackTensor tensor;
    std::string_view rule;
    std::string_view words;
  };
  const Row rows[] = {
      {named("a\nb"), "F29", "tensor table: tensor name"},
      {named(std::string(65'536 + 4, 'n')), "F29", "tensor table: tensor name"},
      {named("deep", 9), "F33", "tensor \"deep\" has rank 9; at most 8"},
      {named("deeper", 256 + 1), "F33", "tensor \"deeper\" has rank 257; at most 8"},
  };
  for (const Row& row : rows) {
    const auto built = build_tensor_table(std::span(&row.tensor, 1), kBlobSize);
    ASSERT_FALSE(built.ok()) << row.words;
    EXPECT_EQ(built.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(built.error().where.rule, row.rule);
    EXPECT_NE(built.error().message.find(row.words), std::string::npos) << built.error().message;
  }
}

TEST(TensorTable, ATableAboveItsLimitsIsNotWritten) {
  const std::vector<PackTensor> lists[] = {
      std::vector<PackTensor>(kMaxTensors + 1),
      std::vector<PackTensor>(64'000, named(std::string(kMaxTensorNameSize, 'n'))),
  };
  for (const std::vector<PackTensor>& tensors : lists) {
    const auto built = build_tensor_table(tensors, kBlobSize);
    ASSERT_FALSE(built.ok());
    EXPECT_EQ(built.error().code, ErrorCode::kLimitExceeded) << to_text(built.error());
    EXPECT_EQ(built.error().where.rule, "F33");
  }
}

TEST(TensorTable, WhatWasBuiltIsReadBackInOrderOfNames) {
  const auto parsed = parse_tensor_table(sample_table(), kBlobSize);

  ASSERT_TRUE(parsed.ok()) << to_text(parsed.error());
  const ParsedTensorTable& table = parsed.value();
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table.blob_size(), kBlobSize);
  EXPECT_EQ(table.at(0).name, "alias.a");
  EXPECT_EQ(table.at(1).name, "alias.b");
  const TensorInfo weight = table.at(2);
  EXPECT_EQ(weight.name, "weight/b");
  EXPECT_EQ(weight.dtype, DType::kF32);
  EXPECT_EQ(std::vector<std::uint64_t>(weight.shape.begin(), weight.shape.end()), (std::vector<std::uint64_t>{5, 3}));
  EXPECT_EQ(weight.offset_in_blob, 64U);
  EXPECT_EQ(weight.size_bytes, 60U);
  EXPECT_FALSE(weight.alias);
  EXPECT_TRUE(table.at(1).alias);
}

TEST(TensorTable, NamesAndShapesSurviveAMoveOfTheTable) {
  auto parsed = parse_tensor_table(sample_table(), kBlobSize);
  const TensorInfo before = parsed.value().at(0);

  const ParsedTensorTable moved = std::move(parsed).value();

  EXPECT_EQ(before.name.data(), moved.at(0).name.data());
  EXPECT_EQ(before.shape.data(), moved.at(0).shape.data());
}

TEST(TensorTable, FindsEveryNameAndNothingElse) {
  const auto parsed = parse_tensor_table(sample_table(), kBlobSize);
  const ParsedTensorTable& table = parsed.value();

  for (std::size_t i = 0; i < table.size(); ++i) EXPECT_EQ(table.find(table.at(i).name), i);
  EXPECT_EQ(table.find(""), std::nullopt);
  EXPECT_EQ(table.find("alias"), std::nullopt);
  EXPECT_EQ(table.find("alias.aa"), std::nullopt);
  EXPECT_EQ(table.find("zzz"), std::nullopt);
}

TEST(TensorTable, BytesDoNotDependOnTheOrderOfTheInput) {
  auto tensors = sample_tensors();
  const Bytes expected = sample_table();

  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  do {
    EXPECT_EQ(build_tensor_table(tensors, kBlobSize).value(), expected);
  } while (std::next_permutation(tensors.begin(), tensors.end(),
                                 [](const auto& a, const auto& b) { return a.name < b.name; }));
}

TEST(TensorTable, AnEmptyTableAndAnEmptyBlobAreFine) {
  const auto bytes = build_tensor_table({}, 0);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes.value().size(), sizeof(TensorTableHeader));
  const auto parsed = parse_tensor_table(bytes.value(), 0);
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed.value().size(), 0U);
  EXPECT_EQ(parsed.value().find("a"), std::nullopt);
}

TEST(TensorTable, TensorsWithoutBytesNeverOverlapAndScalarsAreOneElement) {
  const std::vector<PackTensor> tensors = {
      {.name = "big", .dtype = DType::kU8, .shape = {100}, .offset_in_blob = 0, .size_bytes = 100, .alias = false},
      {.name = "none", .dtype = DType::kF64, .shape = {0, 9}, .offset_in_blob = 50, .size_bytes = 0, .alias = false},
      {.name = "end", .dtype = DType::kF64, .shape = {0}, .offset_in_blob = 108, .size_bytes = 0, .alias = false},
      {.name = "scalar", .dtype = DType::kI64, .shape = {}, .offset_in_blob = 100, .size_bytes = 8, .alias = false},
  };

  EXPECT_TRUE(build_tensor_table(tensors, 108).ok());
}

TEST(TensorTable, TheBuilderRefusesWhatTheReaderWould) {
  const PackTensor good = {
      .name = "t", .dtype = DType::kU8, .shape = {4}, .offset_in_blob = 0, .size_bytes = 4, .alias = false};
  struct Row {
    const char* name;
    std::function<void(std::vector<PackTensor>&)> damage;
    std::string_view rule;
  };
  const Row rows[] = {
      {"name twice", [](auto& t) { t.push_back(t[0]); }, "F33"},
      {"empty name", [](auto& t) { t[0].name.clear(); }, "F29"},
      {"long name", [](auto& t) { t[0].name.assign(4097, 'x'); }, "F29"},
      {"rank 9", [](auto& t) { t[0].shape.assign(9, 1); }, "F33"},
      {"outside", [](auto& t) { t[0].offset_in_blob = 97; }, "F33"},
      {"size", [](auto& t) { t[0].size_bytes = 5; }, "F33"},
      {"type", [](auto& t) { t[0].dtype = static_cast<DType>(77); }, "F33"},
      {"overlap", [](auto& t) { t.push_back(t[0]), t[1].name = "u", t[1].offset_in_blob = 3; }, "F33"},
  };
  for (const Row& row : rows) {
    std::vector<PackTensor> tensors = {good};
    row.damage(tensors);

    const auto bytes = build_tensor_table(tensors, 100);

    ASSERT_FALSE(bytes.ok()) << row.name;
    EXPECT_EQ(bytes.error().code, ErrorCode::kInvalidArgument) << row.name;
    EXPECT_EQ(bytes.error().where.rule, row.rule) << row.name << ": " << bytes.error().message;
  }
  EXPECT_TRUE(build_tensor_table(std::vector{good}, 100).ok());
}

TEST(TensorTable, SizesOfTypesBelowAByteRoundUp) {
  const auto size = [](DType dtype, std::vector<std::uint64_t> shape) { return tensor_size_bytes(dtype, shape); };
  EXPECT_EQ(size(DType::kI4, {1}), 1U);
  EXPECT_EQ(size(DType::kI4, {2}), 1U);
  EXPECT_EQ(size(DType::kU4, {3, 3}), 5U);
  EXPECT_EQ(size(DType::kF64, {}), 8U);
  EXPECT_EQ(size(DType::kBool, {3}), 3U);
  EXPECT_EQ(size(DType::kF16, {2, 0, 3}), 0U);
  EXPECT_EQ(size(DType::kI4, {UINT64_MAX}), std::nullopt);
  EXPECT_EQ(size(DType::kU8, {0, UINT64_MAX, UINT64_MAX}), std::nullopt) << "its strides would not fit";
}

// Checks the promises of an accepted table, from outside the parser.
void expect_promises(const ParsedTensorTable& table, std::uint64_t blob_size) {
  for (std::size_t i = 0; i < table.size(); ++i) {
    const TensorInfo tensor = table.at(i);
    EXPECT_TRUE(within({tensor.offset_in_blob, tensor.size_bytes}, blob_size));
    EXPECT_LE(tensor.shape.size(), 8U);
    EXPECT_NE(dtype_bits(tensor.dtype), 0U);
    EXPECT_EQ(tensor_size_bytes(tensor.dtype, tensor.shape), tensor.size_bytes);
    EXPECT_EQ(table.find(tensor.name), i);
    for (std::size_t j = 0; j < i; ++j) {
      const TensorInfo other = table.at(j);
      const bool apart = tensor.size_bytes == 0 || other.size_bytes == 0 ||
                         tensor.offset_in_blob + tensor.size_bytes <= other.offset_in_blob ||
                         other.offset_in_blob + other.size_bytes <= tensor.offset_in_blob;
      EXPECT_TRUE(apart || (tensor.alias && other.alias));
    }
  }
}

TEST(TensorTable, NoPrefixOfATableIsATable) {
  const Bytes table = sample_table();
  for (std::size_t size = 0; size < table.size(); ++size) {
    EXPECT_FALSE(parse_tensor_table(ByteView(table).first(size), kBlobSize).ok()) << size;
  }
}

TEST(TensorTable, AfterAnyFlippedBitItIsRefusedOrKeepsItsPromises) {
  const Bytes table = sample_table();
  const Hash128 hash = table_hash_of(table);
  ASSERT_TRUE(parse_tensor_table(table, kBlobSize, false, &hash).ok());
  std::size_t accepted = 0;
  for (std::size_t bit = 0; bit < table.size() * 8; ++bit) {
    Bytes damaged = table;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(parse_tensor_table(damaged, kBlobSize, false, &hash).ok()) << "no bit is without a hash";
    support::rehash_table(damaged);
    const auto parsed = parse_tensor_table(damaged, kBlobSize);
    if (!parsed.ok()) continue;
    ++accepted;
    expect_promises(parsed.value(), kBlobSize);
  }
  EXPECT_GT(accepted, 0U) << "a tensor at another place, at least, yields another good table";
}

TEST(TensorTable, RandomTablesRoundTrip) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int round = 0; round < 200; ++round) {
    std::vector<PackTensor> tensors;
    std::uint64_t end = below(100);
    for (std::uint64_t i = 0, count = below(40); i < count; ++i) {
      PackTensor tensor;
      tensor.name = "t" + std::to_string(below(1'000'000)) + "." + std::to_string(i);
      tensor.dtype = static_cast<DType>(1 + below(15));
      for (std::uint64_t rank = below(9); rank > 0; --rank) tensor.shape.push_back(below(4));
      tensor.size_bytes = tensor_size_bytes(tensor.dtype, tensor.shape).value();
      tensor.offset_in_blob = end;
      tensor.alias = below(2) == 0;
      end += tensor.size_bytes + below(3);
      tensors.push_back(tensor);
    }

    const auto bytes = build_tensor_table(tensors, end);
    ASSERT_TRUE(bytes.ok()) << to_text(bytes.error());
    const auto parsed = parse_tensor_table(bytes.value(), end);

    ASSERT_TRUE(parsed.ok()) << to_text(parsed.error());
    ASSERT_EQ(parsed.value().size(), tensors.size());
    expect_promises(parsed.value(), end);
    for (const PackTensor& tensor : tensors) {
      const auto index = parsed.value().find(tensor.name);
      ASSERT_TRUE(index.has_value()) << tensor.name;
      const TensorInfo info = parsed.value().at(*index);
      EXPECT_EQ(info.dtype, tensor.dtype);
      EXPECT_EQ(std::vector<std::uint64_t>(info.shape.begin(), info.shape.end()), tensor.shape);
      EXPECT_EQ(info.offset_in_blob, tensor.offset_in_blob);
      EXPECT_EQ(info.size_bytes, tensor.size_bytes);
      EXPECT_EQ(info.alias, tensor.alias);
    }
  }
}

}  // namespace tensor_table_test
}  // namespace fatctx::container
