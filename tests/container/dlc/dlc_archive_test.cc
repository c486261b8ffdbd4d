#include "container/dlc/archive.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "support/dlc_file.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"

namespace fatctx::container::dlc {
namespace dlc_archive_test {

using support::DlcWriter;
using support::fails_with;
using support::is_ok;
using support::MemoryFile;
using support::set_le;
using support::two_socs;
using Bytes = std::vector<std::byte>;

Result<Archive> read(const Bytes& bytes) { return read_archive(MemoryFile(bytes), bytes.size()); }

TEST(DlcArchive, EntriesComeInTheOrderOfTheFileWithTheirPlaces) {
  DlcWriter writer = two_socs();

  const auto archive = read(writer.write());

  ASSERT_TRUE(is_ok(archive));
  ASSERT_EQ(archive.value().entries.size(), 5U);
  const Entry& cache = archive.value().entries[2];
  EXPECT_EQ(cache.name, "htp.cache.57.0");
  EXPECT_EQ(cache.header_offset, writer.header_at(2));
  EXPECT_EQ(cache.data, (ByteRange{writer.data_at(2), 2 * 4096}));
  EXPECT_EQ(cache.data.offset % 4096, 0U);
}

TEST(DlcArchive, EntriesWithoutGapsAndPlainZipNumbersAreRead) {
  DlcWriter writer = two_socs(false);
  Bytes bytes = writer.write();
  // The sizes and the offset of entry 0 in the fields that an archive below 4 GiB may use.
  set_le<std::uint32_t>(bytes, writer.header_at(0) + 18, 3 * 4096);
  set_le<std::uint32_t>(bytes, writer.header_at(0) + 22, 3 * 4096);
  set_le<std::uint32_t>(bytes, writer.row_at(0) + 20, 3 * 4096);
  set_le<std::uint32_t>(bytes, writer.row_at(0) + 24, 3 * 4096);
  set_le<std::uint32_t>(bytes, writer.row_at(0) + 42, 0);

  const auto archive = read(bytes);

  ASSERT_TRUE(is_ok(archive));
  EXPECT_EQ(archive.value().entries[0].data, (ByteRange{writer.data_at(0), 3 * 4096}));
}

TEST(DlcArchive, ACrcThatIsWrongIsNoError) {
  DlcWriter writer = two_socs();
  Bytes bytes = writer.write();
  set_le<std::uint32_t>(bytes, writer.row_at(0) + 16, 12345);

  EXPECT_TRUE(is_ok(read(bytes)));
}

TEST(DlcArchive, PayloadsAreNotRead) {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 10'000'000, 'x');
  const Bytes bytes = writer.write();
  const MemoryFile file(bytes);

  ASSERT_TRUE(is_ok(read_archive(file, bytes.size())));

  EXPECT_LT(file.bytes_read(), 10'000U);
}

TEST(DlcArchive, EveryCutIsAnErrorAndReadsNothingBehindTheEnd) {
  DlcWriter writer(false);
  writer.entry("htp.cache.57.0", 40, 'x');
  writer.entry("dlc.metadata", "{}");
  const Bytes bytes = writer.write();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(read(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))).ok()) << size;
  }
}

TEST(DlcArchive, ADamagedByteNeverGivesEntriesThatLeaveTheFileOrOverlap) {
  DlcWriter writer(false);
  writer.entry("htp.cache.57.0", 40, 'x');
  writer.entry("dlc.metadata", "{}");
  const Bytes good = writer.write();
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const unsigned flip : {1U, 0x80U, 0xffU}) {
      Bytes bytes = good;
      bytes[at] ^= std::byte(flip);
      const auto archive = read(bytes);
      if (!archive.ok()) continue;
      std::uint64_t end = 0;
      for (const Entry& entry : archive.value().entries) {
        ASSERT_GE(entry.header_offset, end) << "byte " << at;
        ASSERT_TRUE(within(entry.data, good.size())) << "byte " << at;
        end = entry.data.offset + entry.data.size;
      }
    }
  }
}

TEST(DlcArchive, AFileShorterThanAnEndRecordIsNotRead) {
  for (std::size_t size = 0; size < 22; ++size) {
    const MemoryFile file(Bytes(size, std::byte{'P'}));
    const auto archive = read_archive(file, size);
    ASSERT_TRUE(fails_with(archive, ErrorCode::kTruncated)) << size;
    EXPECT_NE(archive.error().message.find("cannot hold the 22-byte end record"), std::string::npos) << size;
    EXPECT_EQ(file.calls(support::FileCall::kRead), 0U) << size;
  }
}

struct Lie {
  std::string what;
  std::function<void(Bytes&, const DlcWriter&)> tell;
  ErrorCode code;
  std::string words;  // of the message
};

template <typename T>
std::function<void(Bytes&, const DlcWriter&)> row(std::size_t field, T value) {
  return [=](Bytes& bytes, const DlcWriter& writer) { set_le<T>(bytes, writer.row_at(2) + field, value); };
}
template <typename T>
std::function<void(Bytes&, const DlcWriter&)> header(std::size_t field, T value) {
  return [=](Bytes& bytes, const DlcWriter& writer) { set_le<T>(bytes, writer.header_at(2) + field, value); };
}
template <typename T>
std::function<void(Bytes&, const DlcWriter&)> end64(std::size_t field, T value) {
  return [=](Bytes& bytes, const DlcWriter& writer) { set_le<T>(bytes, writer.end64_at() + field, value); };
}

constexpr std::size_t kName = sizeof("htp.cache.57.0") - 1;
constexpr std::size_t kRowNumbers = 46 + kName + 4;
constexpr std::size_t kHeaderNumbers = 30 + kName + 4;

const std::vector<Lie>& lies() {
  static const std::vector<Lie> all = {
      {"bytes behind the end", [](Bytes& bytes, const DlcWriter&) { bytes.resize(bytes.size() + 1); },
       ErrorCode::kBadMagic, "bytes behind its end"},
      {"nothing but an end record",
       [](Bytes& bytes, const DlcWriter&) { bytes.erase(bytes.begin(), bytes.end() - 22); }, ErrorCode::kTruncated,
       "begins behind its ZIP64 end record"},
      {"a comment", end64<std::uint16_t>(76 + 20, 1), ErrorCode::kBadMagic, "no end record"},
      {"another disk", end64<std::uint16_t>(76 + 4, 1), ErrorCode::kUnsupported, "several disks"},
      {"the locator points away", end64<std::uint64_t>(64, ~std::uint64_t{0}), ErrorCode::kMalformed, "locator"},
      {"no locator", end64<std::uint32_t>(56, 0), ErrorCode::kMalformed, "locator"},
      {"no ZIP64 end record", end64<std::uint32_t>(0, 0), ErrorCode::kMalformed, "no ZIP64 end record"},
      {"two numbers of entries", end64<std::uint64_t>(24, 4), ErrorCode::kMalformed, "two numbers of entries"},
      {"a contradiction", end64<std::uint32_t>(76 + 12, 7), ErrorCode::kMalformed, "contradict"},
      {"too many entries",
       [](Bytes& bytes, const DlcWriter& writer) {
         set_le<std::uint64_t>(bytes, writer.end64_at() + 24, ~std::uint64_t{0} / 2);
         set_le<std::uint64_t>(bytes, writer.end64_at() + 32, ~std::uint64_t{0} / 2);
         set_le<std::uint32_t>(bytes, writer.end64_at() + 76 + 8, ~std::uint32_t{0});
       },
       ErrorCode::kLimitExceeded, "at most 4096"},
      {"one entry more than there is",
       [](Bytes& bytes, const DlcWriter& writer) {
         set_le<std::uint64_t>(bytes, writer.end64_at() + 24, 6);
         set_le<std::uint64_t>(bytes, writer.end64_at() + 32, 6);
         set_le<std::uint16_t>(bytes, writer.end64_at() + 76 + 10, 6);
       },
       ErrorCode::kMalformed, "ends inside of a row"},
      {"one entry fewer than there is",
       [](Bytes& bytes, const DlcWriter& writer) {
         set_le<std::uint64_t>(bytes, writer.end64_at() + 24, 4);
         set_le<std::uint64_t>(bytes, writer.end64_at() + 32, 4);
         set_le<std::uint16_t>(bytes, writer.end64_at() + 76 + 10, 4);
       },
       ErrorCode::kMalformed, "belong to none of its 4 rows"},
      {"the directory lies elsewhere", end64<std::uint64_t>(48, 100), ErrorCode::kMalformed, "does not end where"},
      {"the directory's size wraps",
       [](Bytes& bytes, const DlcWriter& writer) {
         set_le<std::uint64_t>(bytes, writer.end64_at() + 40, ~std::uint64_t{0});
         set_le<std::uint32_t>(bytes, writer.end64_at() + 76 + 12, ~std::uint32_t{0});
       },
       ErrorCode::kMalformed, "does not end"},
      {"a directory above its limit",
       [](Bytes& bytes, const DlcWriter& writer) {
         bytes.insert(bytes.begin(), kMaxDirectoryBytes, std::byte{0});
         const std::size_t end = writer.end64_at() + kMaxDirectoryBytes;
         set_le<std::uint64_t>(bytes, end + 40, end);
         set_le<std::uint64_t>(bytes, end + 48, 0);
         set_le<std::uint64_t>(bytes, end + 64, end);
         set_le<std::uint32_t>(bytes, end + 76 + 12, static_cast<std::uint32_t>(end));
       },
       ErrorCode::kLimitExceeded, "at most 4194304 are allowed"},
      {"no row", row<std::uint32_t>(0, 0), ErrorCode::kMalformed, "no row of the directory"},
      {"compressed", row<std::uint16_t>(10, 8), ErrorCode::kUnsupported, "\"htp.cache.57.0\": compressed by method 8"},
      {"encrypted", row<std::uint16_t>(8, 1), ErrorCode::kUnsupported, "\"htp.cache.57.0\": encrypted"},
      {"sizes behind the data", row<std::uint16_t>(8, 8), ErrorCode::kUnsupported, "behind its data"},
      {"a row of another disk", row<std::uint16_t>(34, 1), ErrorCode::kUnsupported, "several disks"},
      {"a name that leaves the directory", row<std::uint16_t>(28, 0xfff0), ErrorCode::kMalformed, "inside of a row"},
      {"a control character", row<std::uint8_t>(46, 7), ErrorCode::kMalformed, "control"},
      {"sizes that differ", row<std::uint64_t>(kRowNumbers, 8191), ErrorCode::kMalformed, "8192 bytes become 8191"},
      {"no room for the numbers", row<std::uint16_t>(kRowNumbers - 2, 8), ErrorCode::kMalformed,
       "too short for the numbers"},
      {"extra fields that leave the row", row<std::uint16_t>(kRowNumbers - 2, 2000), ErrorCode::kMalformed,
       "do not add up"},
      {"a bomb",
       [](Bytes& bytes, const DlcWriter& writer) {
         for (const std::size_t at : {writer.row_at(2) + kRowNumbers, writer.header_at(2) + kHeaderNumbers}) {
           set_le<std::uint64_t>(bytes, at, std::uint64_t{1} << 62);
           set_le<std::uint64_t>(bytes, at + 8, std::uint64_t{1} << 62);
         }
       },
       ErrorCode::kMalformed, "reach into the directory"},
      {"a header far away", row<std::uint64_t>(kRowNumbers + 16, ~std::uint64_t{0} - 10), ErrorCode::kMalformed,
       "not in front of the directory"},
      {"a header in the middle of data", row<std::uint64_t>(kRowNumbers + 16, 4200), ErrorCode::kMalformed,
       "no entry begins"},
      {"another size in front", header<std::uint64_t>(kHeaderNumbers, 4096), ErrorCode::kMalformed, "another size"},
      {"another name in front", header<std::uint8_t>(30, 'x'), ErrorCode::kMalformed, "another name"},
      {"compressed in front only", header<std::uint16_t>(8, 8), ErrorCode::kUnsupported, "method 8"},
      {"a header that leaves the file", header<std::uint16_t>(28, 0xffff), ErrorCode::kMalformed, ""},
      {"the same name twice",
       [](Bytes& bytes, const DlcWriter& writer) {
         for (const std::size_t at : {writer.row_at(2) + 46, writer.header_at(2) + 30}) {
           bytes[at + 10] = std::byte{'6'};
           bytes[at + 11] = std::byte{'9'};
         }
       },
       ErrorCode::kMalformed, "\"htp.cache.69.0\": appears twice"},
      {"overlapping entries",
       [](Bytes& bytes, const DlcWriter& writer) {
         for (const std::size_t at : {writer.row_at(2) + kRowNumbers, writer.header_at(2) + kHeaderNumbers}) {
           set_le<std::uint64_t>(bytes, at, 3 * 4096);
           set_le<std::uint64_t>(bytes, at + 8, 3 * 4096);
         }
       },
       ErrorCode::kMalformed, "\"htp.cache.69.0\": overlaps entry \"htp.cache.57.0\""},
  };
  return all;
}

TEST(DlcArchive, EveryLieIsRefusedWithTheEntryAndTheByte) {
  for (const Lie& lie : lies()) {
    SCOPED_TRACE(lie.what);
    DlcWriter writer = two_socs();
    Bytes bytes = writer.write();
    lie.tell(bytes, writer);

    const auto archive = read(bytes);

    ASSERT_TRUE(fails_with(archive, lie.code));
    EXPECT_NE(archive.error().message.find(lie.words), std::string::npos) << archive.error().message;
    EXPECT_TRUE(archive.error().where.file_offset.has_value());
  }
}

TEST(DlcArchive, AFileThatFailsToReadIsAnErrorAtEveryRead) {
  DlcWriter writer = two_socs();
  const Bytes bytes = writer.write();
  const MemoryFile counted(bytes);
  ASSERT_TRUE(is_ok(read_archive(counted, bytes.size())));
  for (std::uint64_t nth = 0; nth < counted.calls(support::FileCall::kRead); ++nth) {
    MemoryFile file(bytes);
    file.fail(support::FileCall::kRead, nth, false);
    EXPECT_TRUE(fails_with(read_archive(file, bytes.size()), ErrorCode::kIo)) << nth;
  }
}

}  // namespace dlc_archive_test
}  // namespace fatctx::container::dlc
