// A set of bytes of a file, as ranges that ascend and do not touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "fatctx/base/bytes.h"

namespace fatctx::container {

class ByteSet {
 public:
  void add(ByteRange range);
  void remove(ByteRange range);

  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }
  [[nodiscard]] std::size_t range_count() const noexcept { return ends_.size(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool contains(std::uint64_t offset) const noexcept;
  [[nodiscard]] std::vector<ByteRange> ranges() const;
  // Returns what it has of `range`.
  [[nodiscard]] std::vector<ByteRange> within(ByteRange range) const;

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by the first byte of the range
  std::uint64_t bytes_ = 0;
};

// Joins neighbours with at most `gap` bytes between them. Requires: the ranges ascend and do not overlap.
[[nodiscard]] std::vector<ByteRange> joined_over(const std::vector<ByteRange>& ranges, std::uint64_t gap);

}  // namespace fatctx::container
