#include "container/import/irpa.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>

#include "fatctx/import_irpa.h"
#include "support/irpa_file.h"
#include "support/memory_file.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace irpa_test {

using support::IrpaWriter;
using support::MemoryFile;
using support::set_le;
using support::TempDir;
using Bytes = std::vector<std::byte>;

Result<std::vector<IrpaEntry>> read_index(const Bytes& bytes) {
  return read_irpa_index(MemoryFile(bytes), bytes.size());
}

Bytes sample_archive() {
  IrpaWriter writer;
  writer.data("encoder/weight", 64, 300, 64);
  writer.splat("zeros", 400, 4);
  writer.skip();
  writer.data("bias", 0, 14, 64);
  return writer.write(500);
}

TEST(Irpa, DataEntriesGetTheirPlaceInTheFileAndSplatsNone) {
  const Bytes file = sample_archive();

  const auto entries = read_index(file);

  ASSERT_TRUE(entries.ok()) << to_text(entries.error());
  ASSERT_EQ(entries.value().size(), 3U);
  const std::uint64_t storage = file.size() - 500;
  EXPECT_EQ(entries.value()[0].name, "encoder/weight");
  EXPECT_EQ(entries.value()[0].range, (ByteRange{storage + 64, 300}));
  EXPECT_TRUE(entries.value()[1].splat);
  EXPECT_EQ(entries.value()[1].range, (ByteRange{0, 400}));
  EXPECT_EQ(entries.value()[2].name, "bias");
  EXPECT_EQ(entries.value()[2].range, (ByteRange{storage, 14}));
}

TEST(Irpa, OnlyTheIndexIsRead) {
  IrpaWriter writer;
  writer.data("big", 0, 1 << 20);
  const MemoryFile file(writer.write(1 << 20));

  ASSERT_TRUE(read_irpa_index(file, file.identity().value().size).ok());

  EXPECT_LT(file.bytes_read(), 256U);
}

// The bytes that IREE 3.13's own ParameterIndex.create_archive_file writes for a splat of 400 bytes and an int16 array
// of 7 with metadata. They are cut to the index, with two numbers adjusted for that.
TEST(Irpa, AnArchiveWrittenByIreeIsRead) {
  const std::string metadata = "splat.ad.arrTENSORv0:{\"type\": \"Tensor\"}";
  Bytes file(0x200, std::byte{0});
  std::memcpy(file.data(), "IRPA", 4);
  set_le<std::uint64_t>(file, 0x08, 0x58);
  set_le<std::uint64_t>(file, 0x20, 2);
  set_le<std::uint64_t>(file, 0x28, 0x60), set_le<std::uint64_t>(file, 0x30, 0xac);
  set_le<std::uint64_t>(file, 0x38, 0x10c), set_le<std::uint64_t>(file, 0x40, metadata.size());
  set_le<std::uint64_t>(file, 0x48, 0x180), set_le<std::uint64_t>(file, 0x50, 0x40);
  set_le<std::uint64_t>(file, 0x60, 0x55), set_le<std::uint32_t>(file, 0x68, 1);
  set_le<std::uint64_t>(file, 0x7c, 7), set_le<std::uint64_t>(file, 0x9c, 0x190),
      set_le<std::uint32_t>(file, 0xa4, 0x3fc00000);
  set_le<std::uint32_t>(file, 0xb4, 4);
  set_le<std::uint64_t>(file, 0xc0, 0x4c), set_le<std::uint32_t>(file, 0xc8, 2);
  set_le<std::uint64_t>(file, 0xd4, 7), set_le<std::uint64_t>(file, 0xdc, 5);
  set_le<std::uint64_t>(file, 0xe4, 12), set_le<std::uint64_t>(file, 0xec, metadata.size() - 12);
  set_le<std::uint64_t>(file, 0xf4, 0x40), set_le<std::uint64_t>(file, 0xfc, 0), set_le<std::uint64_t>(file, 0x104, 14);
  std::memcpy(file.data() + 0x10c, metadata.data(), metadata.size());

  const auto entries = read_index(file);

  ASSERT_TRUE(entries.ok()) << to_text(entries.error());
  ASSERT_EQ(entries.value().size(), 2U);
  EXPECT_EQ(entries.value()[0].name, "splat.a");
  EXPECT_TRUE(entries.value()[0].splat);
  EXPECT_EQ(entries.value()[1].name, "d.arr");
  EXPECT_EQ(entries.value()[1].range, (ByteRange{0x180, 14}));
}

TEST(Irpa, AChainOfHeadersIsFollowed) {
  IrpaWriter first;
  first.data("a", 0, 8);
  IrpaWriter second;
  second.data("b", 16, 4);
  Bytes file = first.write(64);
  const std::size_t next = file.size();
  set_le<std::uint64_t>(file, 16, next);
  const Bytes behind = second.write(32);
  file.insert(file.end(), behind.begin(), behind.end());

  const auto entries = read_index(file);

  ASSERT_TRUE(entries.ok()) << to_text(entries.error());
  ASSERT_EQ(entries.value().size(), 2U);
  EXPECT_EQ(entries.value()[1].name, "b");
  EXPECT_EQ(entries.value()[1].range, (ByteRange{next + behind.size() - 32 + 16, 4}));
}

struct Lie {
  const char* name;
  std::function<void(Bytes&)> damage;
  ErrorCode code;
  const char* says = "";  // where another check would give the same code
};

// In sample_archive() the entries start at 96, 96 + 80, 96 + 176 and 96 + 256.
const Lie kLies[] = {
    {"empty", [](auto& f) { f.clear(); }, ErrorCode::kTruncated},
    {"half a header", [](auto& f) { f.resize(87); }, ErrorCode::kTruncated},
    {"another magic", [](auto& f) { f[0] = std::byte{'i'}; }, ErrorCode::kBadMagic},
    {"another major version", [](auto& f) { set_le<std::uint16_t>(f, 4, 1); }, ErrorCode::kUnsupported},
    {"another minor version", [](auto& f) { set_le<std::uint16_t>(f, 6, 1); }, ErrorCode::kUnsupported},
    {"a longer header", [](auto& f) { set_le<std::uint64_t>(f, 8, 96); }, ErrorCode::kMalformed},
    {"a chain that leaves the file", [](auto& f) { set_le<std::uint64_t>(f, 16, f.size() - 87); },
     ErrorCode::kMalformed},
    {"a chain that wraps", [](auto& f) { set_le<std::uint64_t>(f, 16, UINT64_MAX); }, ErrorCode::kMalformed},
    {"a chain into data", [](auto& f) { set_le<std::uint64_t>(f, 16, 96); }, ErrorCode::kBadMagic},
    {"more entries than the table holds", [](auto& f) { set_le<std::uint64_t>(f, 32, 5); }, ErrorCode::kMalformed},
    {"one entry more than any table of this size holds", [](auto& f) { set_le<std::uint64_t>(f, 32, 7); },
     ErrorCode::kMalformed, "7 entries do not fit"},
    {"many entries", [](auto& f) { set_le<std::uint64_t>(f, 32, std::uint64_t{1} << 20); }, ErrorCode::kMalformed},
    {"too many entries", [](auto& f) { set_le<std::uint64_t>(f, 32, UINT64_MAX); }, ErrorCode::kLimitExceeded},
    {"an entry table behind the end", [](auto& f) { set_le<std::uint64_t>(f, 48, f.size()); }, ErrorCode::kMalformed},
    {"an entry table that wraps", [](auto& f) { set_le<std::uint64_t>(f, 40, UINT64_MAX - 4); }, ErrorCode::kMalformed},
    {"names behind the end", [](auto& f) { set_le<std::uint64_t>(f, 56, f.size()); }, ErrorCode::kMalformed},
    {"storage behind the end", [](auto& f) { set_le<std::uint64_t>(f, 80, 501); }, ErrorCode::kMalformed},
    {"one byte short", [](auto& f) { f.pop_back(); }, ErrorCode::kMalformed},
    {"an entry of no bytes", [](auto& f) { set_le<std::uint64_t>(f, 96, 0); }, ErrorCode::kMalformed},
    {"an entry behind its table", [](auto& f) { set_le<std::uint64_t>(f, 96, 4096); }, ErrorCode::kMalformed},
    {"an entry whose alignment wraps", [](auto& f) { set_le<std::uint64_t>(f, 96, UINT64_MAX); },
     ErrorCode::kMalformed},
    {"an entry too short for its data", [](auto& f) { set_le<std::uint64_t>(f, 96, 75); }, ErrorCode::kMalformed},
    {"an unknown type", [](auto& f) { set_le<std::uint32_t>(f, 104, 4); }, ErrorCode::kUnsupported},
    {"an external entry", [](auto& f) { set_le<std::uint32_t>(f, 104, 3); }, ErrorCode::kUnsupported},
    {"a name behind the names", [](auto& f) { set_le<std::uint64_t>(f, 96 + 20, 100); }, ErrorCode::kMalformed},
    {"a name that wraps", [](auto& f) { set_le<std::uint64_t>(f, 96 + 20, UINT64_MAX - 3); }, ErrorCode::kMalformed},
    {"an empty name", [](auto& f) { set_le<std::uint64_t>(f, 96 + 28, 0); }, ErrorCode::kMalformed,
     "entry 0 has no name"},
    {"a name with a line feed", [](auto& f) { f[96 + 332 + 3] = std::byte{'\n'}; }, ErrorCode::kMalformed,
     "entry name"},
    {"metadata behind the end", [](auto& f) { set_le<std::uint64_t>(f, 96 + 44, 1000); }, ErrorCode::kMalformed},
    {"metadata of an erased entry behind the end", [](auto& f) { set_le<std::uint64_t>(f, 96 + 176 + 44, 1000); },
     ErrorCode::kMalformed},
    {"data behind the storage", [](auto& f) { set_le<std::uint64_t>(f, 96 + 68, 437); }, ErrorCode::kMalformed},
    {"data that wraps", [](auto& f) { set_le<std::uint64_t>(f, 96 + 60, UINT64_MAX - 63); }, ErrorCode::kMalformed},
    {"data beside its alignment", [](auto& f) { set_le<std::uint64_t>(f, 96 + 60, 65); }, ErrorCode::kMalformed},
    {"an alignment of 48", [](auto& f) { set_le<std::uint64_t>(f, 96 + 52, 48); }, ErrorCode::kMalformed},
    {"a splat pattern of no bytes", [](auto& f) { f[96 + 80 + 84] = std::byte{0}; }, ErrorCode::kMalformed},
    {"a splat pattern of 3 bytes", [](auto& f) { f[96 + 80 + 84] = std::byte{3}; }, ErrorCode::kMalformed},
    {"a splat pattern of 32 bytes", [](auto& f) { f[96 + 80 + 84] = std::byte{32}; }, ErrorCode::kMalformed},
    {"a splat of half a pattern", [](auto& f) { set_le<std::uint64_t>(f, 96 + 80 + 60, 402); }, ErrorCode::kMalformed},
};

TEST(Irpa, EveryLieIsRefused) {
  ASSERT_TRUE(read_index(sample_archive()).ok());
  for (const Lie& lie : kLies) {
    Bytes file = sample_archive();
    lie.damage(file);

    const auto entries = read_index(file);

    ASSERT_FALSE(entries.ok()) << lie.name;
    EXPECT_EQ(entries.error().code, lie.code) << lie.name << ": " << to_text(entries.error());
    EXPECT_NE(entries.error().message.find(lie.says), std::string::npos)
        << lie.name << ": " << to_text(entries.error());
  }
}

TEST(Irpa, TwoEntriesOfOneNameAreRefused) {
  IrpaWriter writer;
  writer.data("a", 0, 8);
  writer.data("a", 8, 8);

  const auto entries = read_index(writer.write(64));

  ASSERT_FALSE(entries.ok());
  EXPECT_EQ(entries.error().code, ErrorCode::kMalformed);
}

TEST(Irpa, AnEndlessChainIsCutOff) {
  // Headers without segments, each pointing to the next.
  Bytes header = IrpaWriter{}.write(0);
  header.resize(88);
  Bytes chain;
  for (std::uint64_t i = 0; i < kMaxIrpaHeaders + 1; ++i) {
    set_le<std::uint64_t>(header, 16, 88);
    chain.insert(chain.end(), header.begin(), header.end());
  }
  set_le<std::uint64_t>(chain, chain.size() - 88 + 16, 0);
  for (std::size_t i = 0; i < chain.size(); i += 88) {
    set_le<std::uint64_t>(chain, i + 40, 0), set_le<std::uint64_t>(chain, i + 56, 0),
        set_le<std::uint64_t>(chain, i + 72, 0);
  }

  const auto too_long = read_index(chain);
  const auto just_right = read_index(Bytes(chain.begin() + 88, chain.end()));

  ASSERT_FALSE(too_long.ok());
  EXPECT_EQ(too_long.error().code, ErrorCode::kLimitExceeded);
  EXPECT_TRUE(just_right.ok()) << to_text(just_right.error());
}

TEST(Irpa, AnIndexAboveItsLimitIsNotRead) {
  Bytes header = IrpaWriter{}.write(0);
  set_le<std::uint64_t>(header, 64, kMaxIrpaIndexBytes + 1);
  const MemoryFile file(header);  // shorter than it is said to be

  const auto entries = read_irpa_index(file, kMaxIrpaIndexBytes * 2);

  ASSERT_FALSE(entries.ok());
  EXPECT_EQ(entries.error().code, ErrorCode::kLimitExceeded) << to_text(entries.error());
  EXPECT_EQ(file.bytes_read(), kIrpaHeaderSize);
}

// Headers that share one entry table name more entries than the table has.
TEST(Irpa, EntriesOfAllHeadersTogetherHaveALimit) {
  constexpr std::size_t kRows = 8192;
  IrpaWriter writer;
  for (std::size_t i = 0; i < kRows; ++i) writer.data("n", 0, 0);
  const Bytes last = writer.write(0);
  const auto chain_of = [&](std::size_t headers) {
    Bytes chain((headers - 1) * 96);
    for (std::size_t i = 0; i + 1 < headers; ++i) {
      std::copy_n(last.begin(), 88, chain.begin() + static_cast<std::ptrdiff_t>(i * 96));
      set_le<std::uint64_t>(chain, i * 96 + 16, 96);
      for (const std::size_t field : {40U, 56U, 72U}) {
        const std::uint64_t further = (headers - 1 - i) * 96;
        le64 offset;
        std::memcpy(&offset, last.data() + field, sizeof(offset));
        set_le<std::uint64_t>(chain, i * 96 + field, offset + further);
      }
    }
    chain.insert(chain.end(), last.begin(), last.end());
    return read_index(chain);
  };

  const auto most = chain_of(kMaxIrpaEntries / kRows);
  const auto more = chain_of(kMaxIrpaEntries / kRows + 1);

  EXPECT_EQ(most.error().code, ErrorCode::kMalformed) << "only their names are wrong: " << to_text(most.error());
  EXPECT_EQ(more.error().code, ErrorCode::kLimitExceeded) << to_text(more.error());
}

TEST(Irpa, NoDamageOfTheIndexLetsAnEntryLeaveTheFile) {
  const Bytes file = sample_archive();
  const std::size_t index_bits = (file.size() - 500) * 8;
  for (std::size_t bit = 0; bit < index_bits; ++bit) {
    Bytes damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto entries = read_index(damaged);
    if (!entries.ok()) continue;
    for (const IrpaEntry& entry : entries.value()) {
      EXPECT_TRUE(entry.splat || within(entry.range, file.size())) << bit;
    }
  }
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(read_index(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))).ok()) << size;
  }
}

TEST(Irpa, TensorsOfAFileAreBytesWithPlacesAndCountedSplats) {
  IrpaWriter writer;
  writer.data("whole", 0, 100);
  writer.data("part", 40, 20);
  writer.data("beside", 100, 28);
  writer.data("nothing", 0, 0);
  writer.splat("ones", 12, 4);
  const Bytes bytes = writer.write(128);
  const TempDir folder;
  support::write_file(folder.file("weights.irpa"), bytes);

  const auto tensors = tensors_from_irpa(folder.file("weights.irpa"));

  ASSERT_TRUE(tensors.ok()) << to_text(tensors.error());
  EXPECT_EQ(tensors.value().splat_count, 1U);
  EXPECT_EQ(tensors.value().file_size, bytes.size());
  ASSERT_EQ(tensors.value().tensors.size(), 4U);
  const auto& list = tensors.value().tensors;
  EXPECT_EQ(list[0].name, "whole");
  EXPECT_EQ(list[0].dtype, DType::kU8);
  EXPECT_EQ(list[0].shape, (std::vector<std::uint64_t>{100}));
  EXPECT_EQ(list[0].offset_in_blob, bytes.size() - 128);
  EXPECT_TRUE(list[0].alias);
  EXPECT_TRUE(list[1].alias);
  EXPECT_FALSE(list[2].alias);
  EXPECT_FALSE(list[3].alias);
}

}  // namespace irpa_test
}  // namespace fatctx::container
