// Which records are stored in the same bytes, for one record and for all of them.
#include <gtest/gtest.h>

#include <vector>

#include "fatctx/info.h"

namespace fatctx {
namespace same_bytes_test {

using Ids = std::vector<std::uint32_t>;

RecordInfo record(std::uint32_t id, std::uint64_t file_offset, std::uint64_t stored_bytes,
                  std::uint32_t slice_count = 1) {
  RecordInfo info;
  info.id = id;
  info.file_offset = file_offset;
  info.stored_bytes = stored_bytes;
  info.slice_count = slice_count;
  return info;
}

// 2, 5 and 9 are stored in one place. 3 begins there and is shorter, 4 has two pieces, 6 and 7 are empty.
std::vector<RecordInfo> records() {
  return {record(2, 4096, 700), record(3, 4096, 699), record(4, 4096, 700, 2), record(5, 4096, 700),
          record(6, 0, 0, 0),   record(7, 0, 0, 0),   record(8, 8192, 700),    record(9, 4096, 700)};
}

TEST(SameBytes, AreThoseOfOnePieceInOnePlace) {
  const std::vector<RecordInfo> all = records();
  const SameBytes same_bytes(all);
  const Ids expected[] = {{5, 9}, {}, {}, {2, 9}, {}, {}, {}, {2, 5}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(same_bytes.others(all[i]), expected[i]) << all[i].id;
    EXPECT_EQ(same_bytes_as(all[i], all), expected[i]) << all[i].id;
    EXPECT_EQ(same_bytes.repeats(all[i]), all[i].id == 5 || all[i].id == 9) << all[i].id;
  }
}

// The records are looked at once, when the table is made: afterwards they need not be there.
TEST(SameBytes, AreFoundWithoutALookAtTheRecords) {
  std::vector<RecordInfo> all = records();
  const SameBytes same_bytes(all);
  for (RecordInfo& gone : all) gone = record(gone.id, 65536, 1);
  EXPECT_EQ(same_bytes.others(record(5, 4096, 700)), (Ids{2, 9}));
  EXPECT_EQ(same_bytes.others(all[0]), Ids());
}

}  // namespace same_bytes_test
}  // namespace fatctx
