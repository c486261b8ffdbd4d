// The check before a writer names a new generation: the bytes that it has not written yet count as if they were there.
#include "container/write/check_opens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "container/read/opened_file.h"
#include "support/appended.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace check_opens_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

// A file after an append whose slots are not written.
struct WithoutSlots {
  explicit WithoutSlots(std::uint8_t extent_log2) {
    PackOptions options;
    options.extent_log2 = extent_log2;
    const Bytes before =
        support::packed_bytes({support::binary_record("a", "v73", support::pattern(9'000, 1))}, options);
    written = support::append(before, {support::binary_record("b", "v75", support::pattern(9'000, 2))}).bytes;
    const Opened opened(written);
    header = opened.toc.header;
    facts.generation = header.generation;
    facts.committed_end = header.committed_end;
    facts.toc_hash = header.toc_hash;
    file.bytes() = written;
    std::copy_n(before.begin(), header.form().size, file.bytes().begin());
  }
  // Returns the sector of one mirror of the new pair.
  [[nodiscard]] LaterBytes slot(std::size_t mirror) const {
    const std::uint64_t offset = header.form().slots[header.pair + 2 * mirror];
    return {offset, ByteView(written).subspan(static_cast<std::size_t>(offset), kSectorSize)};
  }

  Bytes written;
  Header header;
  GenerationFacts facts;
  support::MemoryFile file;
};

TEST(CheckOpens, EachMirrorOfASlotIsEnoughWhereverItIsRead) {
  for (const std::uint8_t extent : {kSmallExtentLog2, kExtentLog2}) {
    const WithoutSlots given(extent);
    ASSERT_EQ(given.header.generation, 2U);
    const auto none = check_opens(given.file, given.facts);
    ASSERT_TRUE(fails_with(none, ErrorCode::kInternal));
    EXPECT_THAT(none.error().message, HasSubstr("generation 2 was written, and generation 1 would open"));
    for (const std::size_t mirror : {0U, 1U}) {
      const std::vector<LaterBytes> later = {given.slot(mirror)};
      EXPECT_TRUE(is_ok(check_opens(given.file, given.facts, later))) << int{extent} << " " << mirror;
    }
  }
}

}  // namespace check_opens_test
}  // namespace fatctx::container
