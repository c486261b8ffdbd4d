#include "mapping/stitched_region.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>
#include <vector>

#include "mapping/bus_guard.h"
#include "mapping/map_count.h"
#include "mapping/windowed_file.h"
#include "support/mapped_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace stitched_region_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

constexpr std::size_t kPages = 24;

std::size_t lines_of_maps() {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

class StitchedRegion : public testing::Test {
 protected:
  void SetUp() override {
    content_ = support::pattern(kPages * page_size(), 5);
    std::fill_n(content_.end() - 100, 100, std::byte{0});
    support::write_file(path_, content_);
    file_ = open_for_reading(path_).value();
  }
  [[nodiscard]] static FilePiece pages(std::size_t first, std::size_t count) {
    return {first * page_size(), count * page_size()};
  }
  [[nodiscard]] Bytes bytes_of(std::span<const FilePiece> pieces) const {
    Bytes bytes;
    for (const FilePiece& piece : pieces) {
      const ByteView part = slice(content_, {piece.file_offset, piece.size}).value();
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return bytes;
  }
  [[nodiscard]] Result<std::unique_ptr<MappedRegion>> map(std::span<const FilePiece> pieces) {
    return map_stitched(*file_, pieces, &lost_);
  }

  support::TempDir folder_;
  std::string path_ = folder_.file("parts");
  Bytes content_;
  std::unique_ptr<OsFile> file_;
  std::atomic<bool> lost_{false};
};

TEST_F(StitchedRegion, ShowsThePiecesInTheOrderThatWasAskedFor) {
  const std::vector<std::vector<FilePiece>> ways = {
      {pages(20, 1), pages(3, 2), pages(0, 1)},
      {pages(5, 1), pages(5, 1), pages(5, 1)},
      {pages(1, 1), pages(2, 1), pages(3, 1), pages(23, 1)},
      {pages(7, 1)},
      {pages(9, 3), {0, 10}},
      {pages(9, 3), {2 * page_size(), page_size() + 1}},
  };
  for (const auto& pieces : ways) {
    const auto region = map(pieces);
    ASSERT_TRUE(is_ok(region));
    EXPECT_TRUE(std::ranges::equal(region.value()->bytes(), bytes_of(pieces)));
    EXPECT_TRUE(region.value()->backed_by_file());
    EXPECT_FALSE(region.value()->lost());
  }
}

// A call may map more than its piece, and later calls put other pieces over that.
TEST_F(StitchedRegion, PiecesThatComeBackToTheSamePlaceAreShownInBetween) {
  std::mt19937 random(3);
  std::size_t back = 0;  // pieces that continue an earlier one that is not their neighbour
  for (int way = 0; way < 300; ++way) {
    // At each place of the range, one of three pages of the file: each continues itself after the others.
    std::vector<FilePiece> pieces;
    std::vector<std::size_t> seen;
    for (std::size_t at = 0; at < 8; ++at) {
      const std::size_t origin = random() % 3;
      if (!seen.empty() && seen.back() != origin && std::count(seen.begin(), seen.end(), origin) != 0) ++back;
      seen.push_back(origin);
      pieces.push_back(pages(8 * origin + at, 1));
    }

    const auto region = map(pieces);

    ASSERT_TRUE(is_ok(region));
    EXPECT_TRUE(std::ranges::equal(region.value()->bytes(), bytes_of(pieces))) << way;
  }
  EXPECT_GT(back, 300U);
}

TEST_F(StitchedRegion, TheLastPageGoesOnAsTheFileDoes) {
  const std::vector<FilePiece> pieces = {pages(2, 1), {(kPages - 1) * page_size(), page_size() - 100}};
  const auto region = map(pieces).value();
  ASSERT_EQ(region->bytes().size(), 2 * page_size() - 100);
  const std::byte* behind = region->bytes().data() + region->bytes().size();
  EXPECT_TRUE(std::all_of(behind, behind + 100, [](std::byte byte) { return byte == std::byte{0}; }));
}

TEST_F(StitchedRegion, TakesAMapForEachPieceAndGivesAllOfThemBack) {
  std::vector<FilePiece> pieces;
  for (std::size_t page = kPages; page-- > 0;) pieces.push_back(pages(page, 1));
  (void)map(pieces).value();  // the heap of a sanitizer creates maps for the first one
  const std::size_t before = lines_of_maps();
  auto region = map(pieces).value();
  // A sanitizer adds a few more.
  EXPECT_GE(lines_of_maps(), before + kPages);
  region.reset();
  EXPECT_LT(lines_of_maps(), before + kPages / 2);
}

TEST_F(StitchedRegion, IsReadOnlySharedAndLeftOutOfCoreDumps) {
  const std::vector<FilePiece> pieces = {pages(4, 1), pages(2, 1)};
  const auto region = map(pieces).value();
  std::ostringstream start;
  start << std::hex << reinterpret_cast<std::uintptr_t>(region->bytes().data()) << '-';
  std::ifstream smaps("/proc/self/smaps");
  std::string flags;
  bool ours = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.starts_with(start.str())) {
      ours = true;
      EXPECT_NE(line.find(" r--s "), std::string::npos) << line;
    }
    if (ours && line.starts_with("VmFlags:")) {
      flags = line + ' ';
      break;
    }
  }
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
}

TEST_F(StitchedRegion, PiecesBehindTheEndOfTheFileAreRefused) {
  const std::vector<FilePiece> pieces = {pages(0, 1), pages(kPages - 1, 2)};
  // The heap of a sanitizer creates maps for the first error and for the first count.
  EXPECT_TRUE(fails_with(map(pieces), ErrorCode::kTruncated) && lines_of_maps() > 0);
  const std::size_t before = lines_of_maps();
  EXPECT_TRUE(fails_with(map(pieces), ErrorCode::kTruncated));
  EXPECT_EQ(lines_of_maps(), before);
}

TEST_F(StitchedRegion, PiecesOfAPartOfAFileCountFromItsFirstByte) {
  const WindowedFile part(open_for_reading(path_).value(), 3 * page_size(), 10 * page_size());
  const std::vector<FilePiece> pieces = {pages(5, 1), pages(1, 2)};
  const auto region = map_stitched(part, pieces, &lost_).value();
  EXPECT_TRUE(std::ranges::equal(region->bytes(), bytes_of(std::vector{pages(8, 1), pages(4, 2)})));
}

TEST_F(StitchedRegion, OnlyWholePagesCanStandSideBySide) {
  const auto check = [&](const std::vector<FilePiece>& pieces, std::uint64_t page) {
    return check_stitchable(*file_, pieces, page);
  };
  EXPECT_TRUE(is_ok(check({{8192, 4096}, {4096, 10}}, 4096)));
  EXPECT_TRUE(fails_with(check({{8192, 4095}, {4096, 10}}, 4096), ErrorCode::kUnsupported));
  EXPECT_TRUE(fails_with(check({{8192, 4096}, {4097, 10}}, 4096), ErrorCode::kUnsupported));
  EXPECT_TRUE(is_ok(check({{65536, 16384}, {16384, 10}}, 16384)));
  const auto larger = check({{65536, 16384}, {20480, 10}}, 16384);
  ASSERT_TRUE(fails_with(larger, ErrorCode::kUnsupported));
  EXPECT_NE(larger.error().message.find("16384"), std::string::npos) << larger.error().message;
  EXPECT_EQ(larger.error().where.file_offset, 20480U);
  const WindowedFile part(open_for_reading(path_).value(), 4096, 16384);
  EXPECT_TRUE(is_ok(check_stitchable(part, std::vector<FilePiece>{{4096, 4096}}, 4096)));
  EXPECT_TRUE(fails_with(check_stitchable(part, std::vector<FilePiece>{{16384, 1}}, 16384), ErrorCode::kUnsupported));
}

TEST_F(StitchedRegion, BytesThatGoAwayReadAsZerosAndBothFlagsSaySo) {
  ASSERT_TRUE(is_ok(install_bus_guard()));
  const std::vector<FilePiece> pieces = {pages(1, 1), pages(20, 1), pages(0, 1)};
  const auto region = map(pieces).value();
  const auto first_byte = [&](std::size_t page) {
    return *reinterpret_cast<const volatile unsigned char*>(region->bytes().data() + page * page_size());
  };
  ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(10 * page_size())), 0);
  EXPECT_EQ(first_byte(0), static_cast<unsigned>(content_[page_size()])) << "this piece is still there";
  EXPECT_FALSE(region->lost());
  EXPECT_FALSE(lost_);
  EXPECT_EQ(first_byte(1), 0U);
  EXPECT_TRUE(region->lost());
  EXPECT_TRUE(lost_);
  EXPECT_EQ(first_byte(0), static_cast<unsigned>(content_[page_size()])) << "before the fault all stays as it was";
}

TEST(MapCount, CountsTheMapsOfThisProcess) {
  const auto before = count_maps();
  ASSERT_TRUE(before.has_value());
  EXPECT_GT(before->limit, before->in_use);
  std::vector<void*> pages;
  for (int i = 0; i < 64; ++i) {  // every second one is of another kind, or the system would join them
    pages.push_back(
        ::mmap(nullptr, page_size(), i % 2 == 0 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  EXPECT_GE(count_maps()->in_use, before->in_use + 48);
  for (void* page : pages) (void)::munmap(page, page_size());
}

TEST(MapCount, WhatDoesNotFitNamesTheLimitAndTheRemedy) {
  EXPECT_TRUE(is_ok(check_map_budget({.in_use = 100, .limit = 65'530}, 4'096)));
  const auto full = check_map_budget({.in_use = 61'500, .limit = 65'530}, 4'096);
  ASSERT_TRUE(fails_with(full, ErrorCode::kNoResource));
  for (const char* part : {"4096", "61500", "65530", "vm.max_map_count"}) {
    EXPECT_NE(full.error().message.find(part), std::string::npos) << part << " in " << full.error().message;
  }
}

}  // namespace stitched_region_test
}  // namespace fatctx::mapping
