// Both ways of mapping a file, in the same tests: their properties are the same.
#include "mapping/mapped_region.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "mapping/windowed_file.h"
#include "support/memory_file.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace mapped_region_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::TempDir;

struct Twin {
  const char* name;
  Result<std::unique_ptr<MappedRegion>> (*map)(const OsFile& file, std::uint64_t size);
};

class MappedRegionTest : public testing::TestWithParam<Twin> {
 protected:
  MappedRegionTest() : path_(folder_.file("mapped")), content_(support::pattern(100'001, 8)) {
    support::write_file(path_, content_);
    file_ = open_for_reading(path_).value();
  }
  [[nodiscard]] bool equal(ByteView bytes) const {
    return std::equal(bytes.begin(), bytes.end(), content_.begin(), content_.begin() + static_cast<long>(bytes.size()));
  }

  TempDir folder_;
  std::string path_;
  Bytes content_;
  std::unique_ptr<OsFile> file_;
};

INSTANTIATE_TEST_SUITE_P(Twins, MappedRegionTest,
                         testing::Values(Twin{"boost", map_file_boost}, Twin{"raw", map_file_raw},
                                         Twin{"chosen", map_file}),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(MappedRegionTest, MapsExactlyTheBytesAskedFor) {
  for (const std::uint64_t size : {1ULL, 4096ULL, 65'536ULL, 100'001ULL}) {
    const auto region = GetParam().map(*file_, size);

    ASSERT_TRUE(is_ok(region)) << size;
    EXPECT_EQ(region.value()->bytes().size(), size);
    EXPECT_TRUE(equal(region.value()->bytes())) << size;
  }
}

TEST_P(MappedRegionTest, MapsAPartFromAnyByteAndNothingBehindIt) {
  for (const std::uint64_t base : {1ULL, 100ULL, 4096ULL, 5000ULL, 65'536ULL}) {  // pages may be larger than 4 KiB
    const WindowedFile part(open_for_reading(path_).value(), base, 20'000);

    const auto region = GetParam().map(part, 20'000);

    ASSERT_TRUE(is_ok(region)) << base;
    const ByteView bytes = region.value()->bytes();
    ASSERT_EQ(bytes.size(), 20'000U);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), content_.begin() + static_cast<long>(base))) << base;
    EXPECT_TRUE(fails_with(GetParam().map(part, 20'001), ErrorCode::kTruncated))
        << "the file goes on, the part does not";
  }
  EXPECT_EQ(support::maps_of(folder_.path()), 0U);
}

TEST_P(MappedRegionTest, RefusesToMapPastTheEndOrNothing) {
  EXPECT_TRUE(fails_with(GetParam().map(*file_, 100'002), ErrorCode::kTruncated)) << "the same page, one byte more";
  EXPECT_TRUE(fails_with(GetParam().map(*file_, 1'000'000), ErrorCode::kTruncated));
  EXPECT_TRUE(fails_with(GetParam().map(*file_, 0), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(GetParam().map(*file_, UINT64_MAX), ErrorCode::kNoResource));
  EXPECT_EQ(support::maps_of(folder_.path()), 0U);
}

TEST_P(MappedRegionTest, RefusesWhatCannotBeMapped) {
  const auto directory = open_for_reading(folder_.path()).value();
  const auto device = open_for_reading("/dev/null").value();
  const support::MemoryFile memory(content_);

  EXPECT_FALSE(GetParam().map(*directory, 1).ok());
  EXPECT_FALSE(GetParam().map(*device, 1).ok()) << "a device has no size";
  EXPECT_FALSE(GetParam().map(memory, 1).ok()) << "it has no descriptor";
}

// A file that has become shorter by the time that it is mapped.
class ShrinkingFile final : public OsFile {
 public:
  explicit ShrinkingFile(const OsFile& file) : file_(file) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    return file_.read_at(offset, buffer);
  }
  Status write_at(std::uint64_t, ByteView) override { return Done{}; }
  Status allocate(std::uint64_t) override { return Done{}; }
  Status sync() override { return Done{}; }
  Result<FileIdentity> identity() const override {
    FATCTX_ASSIGN(FileIdentity identity, file_.identity());
    --identity.size;
    return identity;
  }
  int descriptor() const noexcept override { return file_.descriptor(); }

 private:
  const OsFile& file_;
};

TEST_P(MappedRegionTest, RefusesMoreThanFitsIntoTheAddressSpace) {
  const auto region = GetParam().map(*file_, (std::uint64_t{1} << 63) + 1);

  ASSERT_TRUE(fails_with(region, ErrorCode::kNoResource));
  EXPECT_EQ(region.error().message, "9223372036854775809 bytes do not fit into this address space");
}

TEST_P(MappedRegionTest, LooksAtTheSizeAfterMapping) {
  const ShrinkingFile shrinking(*file_);

  EXPECT_TRUE(fails_with(GetParam().map(shrinking, 100'001), ErrorCode::kTruncated));
  EXPECT_EQ(support::maps_of(folder_.path()), 0U) << "the map that came too late is gone";
}

TEST_P(MappedRegionTest, KeepsItsBytesWhenTheFileIsUnlinkedOrReplaced) {
  const auto region = GetParam().map(*file_, content_.size());
  ASSERT_TRUE(is_ok(region));

  support::write_file(folder_.file("new"), support::pattern(100'001, 9));
  std::filesystem::rename(folder_.file("new"), path_);
  EXPECT_TRUE(equal(region.value()->bytes()));
  std::filesystem::remove(path_);
  EXPECT_TRUE(equal(region.value()->bytes()));
}

TEST_P(MappedRegionTest, OutlivesItsFileAndUnmapsWhenDestroyed) {
  auto region = GetParam().map(*file_, content_.size()).value();
  file_.reset();

  EXPECT_TRUE(equal(region->bytes()));
  EXPECT_EQ(support::maps_of(folder_.path()), 1U);
  region.reset();
  EXPECT_EQ(support::maps_of(folder_.path()), 0U);
}

TEST_P(MappedRegionTest, IsSharedAndReadOnly) {
  const auto region = GetParam().map(*file_, content_.size());
  ASSERT_TRUE(is_ok(region));

  std::ifstream smaps("/proc/self/smaps");
  std::string line;
  while (std::getline(smaps, line) && line.find(folder_.path()) == std::string::npos) {
  }
  ASSERT_TRUE(smaps) << "the map is not listed";
  EXPECT_NE(line.find(" r--s "), std::string::npos) << line;
}

TEST_P(MappedRegionTest, FailuresLeakNeitherMapsNorDescriptors) {
  const std::size_t descriptors = support::open_descriptors();
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(GetParam().map(*file_, 200'000).ok());
    EXPECT_FALSE(GetParam().map(ShrinkingFile(*file_), 100'001).ok());
    EXPECT_TRUE(GetParam().map(*file_, 100'001).ok());
  }
  EXPECT_EQ(support::open_descriptors(), descriptors);
  EXPECT_EQ(support::maps_of(folder_.path()), 0U);
}

}  // namespace mapped_region_test
}  // namespace fatctx::mapping
