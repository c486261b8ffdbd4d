// Groups the bytes of NEW by the records that need them. Updates for partial files copy from one group of OLD only, so
// that a device with some records of OLD gets those of NEW.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/update/container_file.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// Bytes of NEW, and the bytes of each OLD that they may be copied from. All ranges ascend and do not touch.
struct PartGroup {
  std::vector<ByteRange> made;
  std::vector<std::vector<ByteRange>> olds;
};

// Threads: const members from any number.
class PartGroups {
 public:
  // One group: all bytes, from everywhere.
  [[nodiscard]] static PartGroups whole(std::uint64_t made_size, std::span<const std::uint64_t> old_sizes);

  // A byte of NEW that records need may be copied from bytes of OLD that the records of the same names need, all of
  // them. Records that no OLD has do not count. Bytes outside of segments may be copied from the tables of OLD.
  //
  // Time: for each group, the ranges of its records. Memory: the ranges of all records, and 200 MB.
  // Errors: limit_exceeded (records share bytes in too many ways).
  [[nodiscard]] static Result<PartGroups> by_record(const ContainerFile& made, std::span<const ContainerFile> olds);

  [[nodiscard]] const std::vector<PartGroup>& groups() const noexcept { return groups_; }

  // Returns whether bytes of NEW may be taken from a source, as UpdateStep::source counts it: they are all of one
  // group, and the bytes of the source too.
  [[nodiscard]] bool may_copy(ByteRange made, std::uint32_t source, std::uint64_t offset) const noexcept;

 private:
  struct Place {
    ByteRange made;
    std::size_t group = 0;
  };
  explicit PartGroups(std::vector<PartGroup> groups);

  std::vector<PartGroup> groups_;
  std::vector<Place> places_;  // ascending
};

}  // namespace fatctx::container
