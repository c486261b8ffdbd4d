#include "container/dlc/archive_layout.h"

#include <gtest/gtest.h>

#include <random>

#include "container/format/hash.h"
#include "mapping/buffer_file.h"
#include "support/dlc_file.h"
#include "support/result_matchers.h"

namespace fatctx::container::dlc {
namespace dlc_layout_test {

using support::DlcWriter;
using support::fails_with;
using support::is_ok;
using support::set_le;

using Bytes = std::vector<std::byte>;

struct Made {
  Bytes archive;
  std::vector<std::string> names;
  ArchiveLayout layout;
};

Made layout_of(DlcWriter writer) {
  Made made;
  made.archive = writer.write();
  const mapping::BufferFile file(made.archive, nullptr);
  const Archive archive = read_archive(file, made.archive.size()).value();
  for (const Entry& entry : archive.entries) made.names.push_back("p." + entry.name);
  made.layout = read_layout(file, archive, made.names).value();
  return made;
}

// Returns the archive that a layout makes with the entries of the original.
Bytes joined(const ArchiveLayout& layout, const Bytes& original) {
  const StoredArchive stored(layout, [&](std::size_t entry, std::uint64_t offset, std::span<std::byte> out) -> Status {
    const auto from = original.begin() + static_cast<std::ptrdiff_t>(layout.entries[entry].data.offset + offset);
    std::copy_n(from, out.size(), out.begin());
    return Done{};
  });
  Bytes out(static_cast<std::size_t>(layout.file_size));
  EXPECT_TRUE(is_ok(stored.read_at(0, out)));
  return out;
}

TEST(DlcLayout, HoldsWhatIsNoPayloadAndItsHashes) {
  const Made made = layout_of(support::two_socs());

  EXPECT_EQ(made.layout.file_size, made.archive.size());
  EXPECT_EQ(made.layout.hash, hash128(made.archive));
  ASSERT_EQ(made.layout.entries.size(), 5U);
  std::uint64_t payload = 0;
  for (const LayoutEntry& entry : made.layout.entries) {
    payload += entry.data.size;
    EXPECT_EQ(entry.hash, hash128(ByteView(made.archive).subspan(entry.data.offset, entry.data.size)));
  }
  EXPECT_EQ(made.layout.rest.size(), made.archive.size() - payload);
  EXPECT_EQ(joined(made.layout, made.archive), made.archive);
}

TEST(DlcLayout, ComesBackFromItsBytes) {
  const Made made = layout_of(support::two_socs(false));
  const auto parsed = parse_layout(encode_layout(made.layout));

  ASSERT_TRUE(is_ok(parsed));
  EXPECT_EQ(parsed.value().hash, made.layout.hash);
  EXPECT_EQ(parsed.value().rest, made.layout.rest);
  for (std::size_t i = 0; i < made.names.size(); ++i) {
    EXPECT_EQ(parsed.value().entries[i].record, made.names[i]);
    EXPECT_EQ(parsed.value().entries[i].data, made.layout.entries[i].data);
    EXPECT_EQ(parsed.value().entries[i].hash, made.layout.entries[i].hash);
  }
}

TEST(DlcLayout, RunsOfAnyRangeAreTheBytesOfIt) {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 5000, 'a');
  writer.entry("empty", "");
  writer.entry("dlc.metadata", "a=b");
  const Made made = layout_of(writer);
  std::mt19937_64 random(7);
  for (int turn = 0; turn < 500; ++turn) {
    const std::uint64_t from = random() % (made.archive.size() + 1);
    const ByteRange range{from, random() % (made.archive.size() - from + 1)};
    Bytes out;
    for (const LayoutRun& run : runs_in(made.layout, range)) {
      ASSERT_NE(run.size, 0U);
      const ByteView source = run.entry == LayoutRun::kRest
                                  ? ByteView(made.layout.rest)
                                  : ByteView(made.archive).subspan(made.layout.entries[run.entry].data.offset);
      const ByteView part = source.subspan(run.offset, run.size);
      out.insert(out.end(), part.begin(), part.end());
    }
    const ByteView wanted = ByteView(made.archive).subspan(range.offset, range.size);
    ASSERT_EQ(out, Bytes(wanted.begin(), wanted.end()));
  }
}

TEST(DlcLayout, AReadBehindTheEndOfTheArchiveIsAnError) {
  const Made made = layout_of(support::two_socs());
  const StoredArchive stored(made.layout, [](std::size_t, std::uint64_t, std::span<std::byte>) { return Done{}; });
  Bytes out(2);
  EXPECT_TRUE(is_ok(stored.read_at(made.archive.size() - 2, out)));
  EXPECT_TRUE(fails_with(stored.read_at(made.archive.size() - 1, out), ErrorCode::kTruncated));
  EXPECT_TRUE(fails_with(stored.read_at(~std::uint64_t{0}, out), ErrorCode::kTruncated));
}

TEST(DlcLayout, ThatLiesIsRefused) {
  const Made made = layout_of(support::two_socs());
  const Bytes good = encode_layout(made.layout);
  constexpr std::size_t kHead = 48;
  constexpr std::size_t kRow = 40;
  const std::size_t names_at = kHead + 5 * kRow;
  const auto with = [&](auto change) {
    Bytes bytes = good;
    change(bytes);
    return parse_layout(bytes);
  };
  EXPECT_TRUE(is_ok(parse_layout(good)));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { b[0] = std::byte{'X'}; }), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { b[8] = std::byte{2}; }), ErrorCode::kUnsupported));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { set_le<std::uint32_t>(b, 12, 4097); }), ErrorCode::kLimitExceeded));
  EXPECT_TRUE(
      fails_with(with([](Bytes& b) { set_le<std::uint64_t>(b, 16, ~std::uint64_t{0}); }), ErrorCode::kLimitExceeded));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { set_le<std::uint64_t>(b, 16, 1); }), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { set_le<std::uint64_t>(b, 24, 1); }), ErrorCode::kMalformed));
  // The second entry before the first; one that wraps around; a reserved field; a name that is too long, or empty.
  EXPECT_TRUE(fails_with(with([](Bytes& b) { set_le<std::uint64_t>(b, kHead + kRow, 0); }), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { set_le<std::uint64_t>(b, kHead + 8, ~std::uint64_t{0}); }),
                         ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { b[kHead + 36] = std::byte{1}; }), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { set_le<std::uint32_t>(b, kHead + 32, ~std::uint32_t{0}); }),
                         ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { set_le<std::uint32_t>(b, kHead + 32, 0); }), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(with([&](Bytes& b) { b[names_at] = std::byte{'/'}; }), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(with([](Bytes& b) { b.push_back(std::byte{0}); }), ErrorCode::kMalformed));
  for (std::size_t size = 0; size < good.size(); size += size < names_at + 200 ? 1 : 997) {
    EXPECT_TRUE(fails_with(parse_layout(ByteView(good).first(size)), ErrorCode::kMalformed)) << size;
  }
}

TEST(DlcLayout, EntriesOfOneRecordAreRefused) {
  Made made = layout_of(support::two_socs());
  made.layout.entries[3].record = made.layout.entries[1].record;
  EXPECT_TRUE(fails_with(parse_layout(encode_layout(made.layout)), ErrorCode::kMalformed));
}

TEST(DlcLayout, TooMuchBetweenTheEntriesIsNotKept) {
  DlcWriter writer(false);
  writer.entry("htp.cache.57.0", 10, 'a');
  writer.entry("dlc.metadata", "a=b");
  const Bytes bytes = writer.write();
  const mapping::BufferFile file(bytes, nullptr);
  Archive archive = read_archive(file, bytes.size()).value();
  archive.file_size = kMaxRestBytes + 100;  // as if that many bytes followed
  EXPECT_TRUE(fails_with(read_layout(file, archive, {"a", "b"}), ErrorCode::kLimitExceeded));
}

}  // namespace dlc_layout_test
}  // namespace fatctx::container::dlc
