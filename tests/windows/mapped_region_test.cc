// Maps of files and of sealed memory, alone and next to each other.
#include "mapping/mapped_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "mapping/sealed_file.h"
#include "mapping/sealed_memory.h"
#include "mapping/stitched_region.h"
#include "mapping/unique_handle.h"
#include "mapping/wide_text.h"
#include "mapping/windowed_file.h"
#include "mapping/windows_api.h"
#include "support/memory_file.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace mapped_region_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;

constexpr std::uint64_t kGranule = 65'536;
constexpr std::uint64_t kUnits = 6;

class MappedFile : public testing::Test {
 protected:
  MappedFile() : path_(folder_.file("mapped")), content_(support::pattern(kUnits * kGranule + 1'001, 8)) {
    support::write_file(path_, content_);
    file_ = open_for_reading(path_).value();
  }
  [[nodiscard]] Bytes bytes_of(std::span<const FilePiece> pieces, std::uint64_t base = 0) const {
    Bytes bytes;
    for (const FilePiece& piece : pieces) {
      const auto from = content_.begin() + static_cast<long>(base + piece.file_offset);
      bytes.insert(bytes.end(), from, from + static_cast<long>(piece.size));
    }
    return bytes;
  }

  TempDir folder_;
  std::string path_;
  Bytes content_;
  std::unique_ptr<OsFile> file_;
  std::atomic<bool> lost_{false};
};

DWORD state_at(const void* address) {
  MEMORY_BASIC_INFORMATION there = {};
  return ::VirtualQuery(address, &there, sizeof(there)) != 0 ? there.State : 0;
}

TEST_F(MappedFile, ShowsExactlyTheBytesAskedFor) {
  for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{4096}, kGranule, std::uint64_t{content_.size()}}) {
    const auto region = map_file(*file_, size);
    ASSERT_TRUE(is_ok(region)) << size;
    EXPECT_TRUE(std::ranges::equal(region.value()->bytes(), std::span(content_).first(static_cast<std::size_t>(size))));
    EXPECT_TRUE(region.value()->backed_by_file());
  }
  EXPECT_EQ(mapping_method(), "MapViewOfFile");
  EXPECT_EQ(map_granule_bytes(), kGranule);
  EXPECT_EQ(page_bytes(), 4096U);
  EXPECT_EQ(provider_name(), "win32");
}

TEST_F(MappedFile, APartOfAFileMayBeginAnywhere) {
  for (const std::uint64_t base : {std::uint64_t{1}, std::uint64_t{4096}, kGranule - 1, kGranule, kGranule + 4096}) {
    const WindowedFile part(open_for_reading(path_).value(), base, 20'000);
    const auto region = map_file(part, 20'000);
    ASSERT_TRUE(is_ok(region)) << base;
    EXPECT_TRUE(std::ranges::equal(region.value()->bytes(),
                                   std::span(content_).subspan(static_cast<std::size_t>(base), 20'000)));
    EXPECT_TRUE(fails_with(map_file(part, 20'001), ErrorCode::kTruncated));
  }
}

TEST_F(MappedFile, WhatCannotBeMappedIsAnError) {
  EXPECT_TRUE(fails_with(map_file(*file_, content_.size() + 1), ErrorCode::kTruncated))
      << "the same page, one byte more";
  EXPECT_TRUE(fails_with(map_file(*file_, 0), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(map_file(*file_, UINT64_MAX), ErrorCode::kNoResource));
  const support::MemoryFile memory(content_);
  EXPECT_TRUE(fails_with(map_file(memory, 1), ErrorCode::kInvalidArgument)) << "it has no descriptor";
  const auto directory = open_for_reading(folder_.path()).value();
  EXPECT_FALSE(map_file(*directory, 1).ok());
}

TEST_F(MappedFile, OutlivesItsHandleAndIsGoneWhenDestroyed) {
  auto region = map_file(*file_, content_.size()).value();
  const void* const address = region->bytes().data();
  file_.reset();
  EXPECT_TRUE(std::ranges::equal(region->bytes(), content_));
  EXPECT_EQ(state_at(address), DWORD{MEM_COMMIT});
  region.reset();
  EXPECT_EQ(state_at(address), DWORD{MEM_FREE});
}

TEST_F(MappedFile, CannotBeWrittenTo) {
  const auto region = map_file(*file_, content_.size()).value();
  DWORD before = 0;
  void* const address = const_cast<std::byte*>(region->bytes().data());
  EXPECT_EQ(::VirtualProtect(address, 4096, PAGE_READWRITE, &before), 0);
}

TEST_F(MappedFile, PiecesStandSideBySideInTheOrderAskedFor) {
  const std::vector<std::vector<FilePiece>> ways = {
      {{5 * kGranule, kGranule}, {0, 2 * kGranule}, {3 * kGranule, kGranule}},
      {{kGranule, kGranule}, {kGranule, kGranule}, {kGranule, kGranule}},
      {{2 * kGranule, 10}},
      {{4 * kGranule, kGranule}, {6 * kGranule, 1'001}},
      {{0, kGranule}, {2 * kGranule, kGranule + 5'000}},
  };
  for (const auto& pieces : ways) {
    ASSERT_TRUE(is_ok(check_stitchable(*file_, pieces, map_granule_bytes())));
    const auto region = map_stitched(*file_, pieces, &lost_);
    ASSERT_TRUE(is_ok(region));
    EXPECT_TRUE(std::ranges::equal(region.value()->bytes(), bytes_of(pieces)));
  }
}

TEST_F(MappedFile, PiecesOfAPartOfAFileCountFromItsFirstByte) {
  const WindowedFile part(open_for_reading(path_).value(), 2 * kGranule, 4 * kGranule);
  const std::vector<FilePiece> pieces = {{3 * kGranule, kGranule}, {kGranule, kGranule}};
  const auto region = map_stitched(part, pieces, &lost_);
  ASSERT_TRUE(is_ok(region));
  EXPECT_TRUE(std::ranges::equal(region.value()->bytes(), bytes_of(pieces, 2 * kGranule)));
}

TEST_F(MappedFile, PiecesOfPagesAreTooSmallToStandSideBySide) {
  const std::vector<FilePiece> pieces = {{4096, 4096}, {0, 4096}};
  EXPECT_TRUE(fails_with(check_stitchable(*file_, pieces, map_granule_bytes()), ErrorCode::kUnsupported));
}

TEST_F(MappedFile, PiecesThatFailLeaveNothing) {
  const std::vector<FilePiece> pieces = {{0, kGranule}, {6 * kGranule, 2'000}};
  EXPECT_TRUE(fails_with(map_stitched(*file_, pieces, &lost_), ErrorCode::kTruncated));
  // A section cannot be mapped at an offset that is not a multiple of 64 KiB: the second piece fails after the first.
  const std::vector<MixedPiece> crooked = {{false, 0, kGranule}, {false, 4096, 4096}};
  const auto failed = map_mixed(*file_, crooked, nullptr, &lost_);
  ASSERT_FALSE(failed.ok());
  EXPECT_NE(failed.error().where.os_error, 0);
}

TEST_F(MappedFile, PiecesFindTheirPlaceWhileOtherThreadsTakeAddresses) {
  const std::vector<FilePiece> pieces = {{5 * kGranule, kGranule}, {0, 2 * kGranule}, {3 * kGranule, kGranule}};
  const Bytes expected = bytes_of(pieces);
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop) {
      void* const taken = ::VirtualAlloc(nullptr, kGranule, MEM_RESERVE, PAGE_NOACCESS);
      (void)::VirtualFree(taken, 0, MEM_RELEASE);
    }
  });
  for (int i = 0; i < 30; ++i) {
    const auto region = map_stitched(*file_, pieces, &lost_);
    ASSERT_TRUE(is_ok(region)) << i;
    ASSERT_TRUE(std::ranges::equal(region.value()->bytes(), expected)) << i;
  }
  stop = true;
  other.join();
}

TEST_F(MappedFile, PiecesOfSealedMemoryStandBetweenThoseOfTheFile) {
  const Bytes built = support::pattern(2 * kGranule, 99);
  auto memory = SealedFile::make(built.size());
  ASSERT_TRUE(is_ok(memory));
  ASSERT_TRUE(is_ok(memory.value().write(std::span(built).first(1'000))));
  ASSERT_TRUE(is_ok(memory.value().write(std::span(built).subspan(1'000))));
  EXPECT_TRUE(fails_with(memory.value().write(std::span(built).first(1)), ErrorCode::kInternal)) << "it is full";
  ASSERT_TRUE(is_ok(memory.value().seal()));
  EXPECT_FALSE(memory.value().write(std::span(built).first(1)).ok());
  const std::vector<MixedPiece> pieces = {
      {true, kGranule, kGranule}, {false, 2 * kGranule, kGranule}, {true, 0, 5'000}};
  SealableBlock block;
  block.descriptor = memory.value().descriptor();

  auto region = map_mixed(*file_, pieces, &block, &lost_);
  ASSERT_TRUE(is_ok(region));
  { const SealedFile gone = std::move(memory).value(); }

  Bytes expected(built.begin() + kGranule, built.end());
  expected.insert(expected.end(), content_.begin() + 2 * kGranule, content_.begin() + 3 * kGranule);
  expected.insert(expected.end(), built.begin(), built.begin() + 5'000);
  EXPECT_TRUE(std::ranges::equal(region.value()->bytes(), expected));
}

TEST(SealedMemory, KeepsItsBytesAndItsAddress) {
  const SealableBlock block = make_sealable_block(100'000).value();
  std::fill_n(block.data, block.size_bytes, std::byte{9});
  ASSERT_TRUE(is_ok(seal(block)));
  EXPECT_TRUE(std::all_of(block.data, block.data + block.size_bytes, [](std::byte b) { return b == std::byte{9}; }));
  free_block(block);
  EXPECT_EQ(state_at(block.data), DWORD{MEM_FREE});
}

TEST(SealedMemory, CannotBeChangedByAnyWay) {
  const SealableBlock block = make_sealable_block(kGranule).value();
  block.data[0] = std::byte{9};
  ASSERT_TRUE(is_ok(seal(block)));
  HANDLE const handle = handle_of(block.descriptor);

  DWORD before = 0;
  EXPECT_EQ(::VirtualProtect(block.data, 4096, PAGE_READWRITE, &before), 0) << "through this map";
  EXPECT_EQ(::MapViewOfFile(handle, FILE_MAP_WRITE, 0, 0, 0), nullptr) << "through another one";
  EXPECT_FALSE(duplicate_handle(handle, SECTION_MAP_WRITE | SECTION_MAP_READ).ok()) << "through another handle";
  EXPECT_EQ(block.data[0], std::byte{9});
  free_block(block);
}

TEST(SealedMemory, OfNoBytesOrOfTooManyIsAnError) {
  EXPECT_TRUE(fails_with(make_sealable_block(0), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(make_sealable_block(std::uint64_t{1} << 63), ErrorCode::kNoResource));
  EXPECT_FALSE(make_sealable_block(std::uint64_t{1} << 60).ok());
}

}  // namespace mapped_region_test
}  // namespace fatctx::mapping
