// One tensor of a table, found through its pages: equal to what the whole table says, at a few reads, and checked.
#include "container/read/tensor_lookup.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "container/read/tensor_table.h"
#include "support/memory_file.h"
#include "support/rehash.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace tensor_lookup_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::MemoryFile;

constexpr std::uint64_t kInFile = 8'192;

std::vector<PackTensor> tensors_of(std::size_t count) {
  std::vector<PackTensor> tensors;
  for (std::uint64_t i = 0; i < count; ++i) {
    tensors.push_back({.name = "layer/" + std::to_string(i * 7919 % count) + "/weight",
                       .dtype = i % 2 == 0 ? DType::kF32 : DType::kI8,
                       .shape = {i % 5 + 1, 4},
                       .offset_in_blob = i * 128,
                       .size_bytes = (i % 5 + 1) * (i % 2 == 0 ? 16 : 4)});
  }
  return tensors;
}

struct Table {
  Bytes bytes;
  std::uint64_t blob_size;
  Hash128 hash;

  explicit Table(std::size_t count) : blob_size(count * 128 + 128) {
    const std::vector<PackTensor> tensors = tensors_of(count);
    bytes = build_tensor_table(tensors, blob_size).value();
    hash = table_hash_of(bytes);
  }
  [[nodiscard]] MemoryFile file() const {
    Bytes whole(kInFile, std::byte{0xee});
    whole.insert(whole.end(), bytes.begin(), bytes.end());
    return MemoryFile(whole);
  }
  [[nodiscard]] Result<std::optional<FoundTensor>> find(const MemoryFile& in, std::string_view name) const {
    return find_tensor(in, {kInFile, bytes.size()}, blob_size, hash, false, name);
  }
};

TEST(TensorLookup, SaysWhatTheWholeTableSays) {
  for (const std::size_t count : {1U, 2U, 60U, 1'500U}) {
    const Table table(count);
    const MemoryFile file = table.file();
    const ParsedTensorTable whole = parse_tensor_table(table.bytes, table.blob_size).value();
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const TensorInfo expected = whole.at(i);
      const auto found = table.find(file, expected.name);
      ASSERT_TRUE(is_ok(found)) << expected.name;
      ASSERT_TRUE(found.value().has_value()) << expected.name;
      const TensorInfo info = found.value()->info();
      EXPECT_EQ(info.name, expected.name);
      EXPECT_EQ(info.dtype, expected.dtype);
      EXPECT_TRUE(std::equal(info.shape.begin(), info.shape.end(), expected.shape.begin(), expected.shape.end()));
      EXPECT_EQ(info.offset_in_blob, expected.offset_in_blob);
      EXPECT_EQ(info.size_bytes, expected.size_bytes);
      EXPECT_EQ(info.alias, expected.alias);
    }
    EXPECT_FALSE(table.find(file, "no such tensor").value().has_value());
    EXPECT_FALSE(table.find(file, "").value().has_value());
  }
}

TEST(TensorLookup, ReadsTheHeadAndAFewPages) {
  const Table table(100'000);
  const MemoryFile file = table.file();

  ASSERT_TRUE(table.find(file, "layer/4711/weight").value().has_value());

  const std::uint64_t head = 64 + 16 * ((table.bytes.size() + 4095) / 4096);
  EXPECT_LE(file.bytes_read(), head + 4096 + 5 * 4096) << "of " << table.bytes.size();
  EXPECT_LE(file.calls(support::FileCall::kRead), 7U);
}

TEST(TensorLookup, AReadThatFailsNamesItsPlaceInTheTable) {
  const Table table(1'500);
  std::uint64_t call = 0;
  for (;; ++call) {
    MemoryFile file = table.file();
    file.fail(support::FileCall::kRead, call, false);
    const auto found = table.find(file, "layer/31/weight");
    if (found.ok()) break;
    ASSERT_TRUE(fails_with(found, ErrorCode::kIo)) << call;
    ASSERT_TRUE(found.error().where.file_offset.has_value()) << call;
    EXPECT_LT(*found.error().where.file_offset, table.bytes.size()) << call;
  }
  EXPECT_GE(call, 4U) << "head, index and entry";
}

TEST(TensorLookup, EveryFlippedBitOfWhatItReadsIsFound) {
  const Table table(60);
  for (std::size_t at = 0; at < table.bytes.size(); ++at) {
    Table damaged = table;
    damaged.bytes[at] ^= std::byte{0x20};
    const auto found = damaged.find(damaged.file(), "layer/31/weight");
    ASSERT_FALSE(found.ok()) << "byte " << at << ": head and both pages are read";
  }
}

// An author can write any table with right hashes.
TEST(TensorLookup, AHostileTableIsRefusedOrSaysNothing) {
  const Table table(60);
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < table.bytes.size() * 8; bit += 3) {
    Table hostile = table;
    hostile.bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    support::rehash_table(hostile.bytes);
    if (hostile.bytes.size() >= sizeof(TensorTableHeader)) {
      const auto header = support::struct_at<TensorTableHeader>(hostile.bytes, 0);
      if (sizeof(header) + header.page_count * 16ULL > hostile.bytes.size()) continue;
      hostile.hash = table_hash_of(hostile.bytes);
    }
    const auto found = hostile.find(hostile.file(), "layer/31/weight");
    refused += found.ok() ? 0U : 1U;
    if (!found.ok() || !found.value()) continue;
    EXPECT_EQ(found.value()->name, "layer/31/weight");
    EXPECT_TRUE(within({found.value()->offset_in_blob, found.value()->size_bytes}, hostile.blob_size));
  }
  EXPECT_GT(refused, 0U);
}

TEST(TensorLookup, APageOfZerosIsNotPresent) {
  const Table table(60);
  MemoryFile file = table.file();
  std::fill(file.bytes().end() - 1'000, file.bytes().end(), std::byte{0});
  EXPECT_TRUE(fails_with(table.find(file, "layer/31/weight"), ErrorCode::kChecksumMismatch, "F46"));
  const std::size_t head = sizeof(TensorTableHeader) + 2 * sizeof(DiskHash);
  std::fill(file.bytes().begin() + static_cast<std::ptrdiff_t>(kInFile + head + kTocPageSize), file.bytes().end(),
            std::byte{0});
  const auto absent = table.find(file, "layer/31/weight");
  ASSERT_TRUE(fails_with(absent, ErrorCode::kNotPresent, "F46"));
  EXPECT_NE(absent.error().message.find("its page 1 is not present"), std::string::npos) << absent.error().message;
}

TEST(TensorLookup, AnIndexOfATensorThatIsNotThereIsRefused) {
  Table table(60);
  const std::size_t index = sizeof(TensorTableHeader) + 2 * sizeof(DiskHash) + 60 * sizeof(TensorEntry);
  for (std::size_t i = 0; i < 60; ++i) {
    const std::size_t at = index + i * sizeof(NameIndexEntry);
    auto entry = support::struct_at<NameIndexEntry>(table.bytes, at);
    entry.record = 60;
    support::put_struct(table.bytes, at, entry);
  }
  support::rehash_table(table.bytes);
  table.hash = table_hash_of(table.bytes);
  const auto found = table.find(table.file(), "layer/31/weight");
  ASSERT_TRUE(fails_with(found, ErrorCode::kMalformed, "F46"));
  EXPECT_NE(found.error().message.find("a tensor that does not exist"), std::string::npos) << found.error().message;
}

TEST(TensorLookup, ATableOfAnotherReferenceOrCutOffIsRefused) {
  Table table(60);
  EXPECT_TRUE(fails_with(find_tensor(table.file(), {kInFile, table.bytes.size() - 1}, table.blob_size, table.hash,
                                     false, "layer/1/weight"),
                         ErrorCode::kTruncated, "F33"));
  EXPECT_TRUE(fails_with(find_tensor(table.file(), {kInFile, table.bytes.size()}, table.blob_size + 1, table.hash,
                                     false, "layer/1/weight"),
                         ErrorCode::kMalformed, "F37"));
  table.hash.bytes[3] ^= std::byte{1};
  EXPECT_TRUE(fails_with(table.find(table.file(), "layer/1/weight"), ErrorCode::kChecksumMismatch, "F46"));
}

}  // namespace tensor_lookup_test
}  // namespace fatctx::container
