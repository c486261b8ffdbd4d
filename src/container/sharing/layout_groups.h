// Groups records by the bytes they have in common, and orders the work on them. The content decides, never the order
// in which records were given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/content_scan.h"

namespace fatctx::container::sharing {

inline constexpr std::uint64_t kGroupShareDivisor = 4;  // a common quarter of the smaller record makes a group
inline constexpr std::size_t kMaxCompared = 1024;       // up to this many records, every pair is compared

// A table of how many bytes of content-defined chunks each pair of records has in common.
class PairShares {
 public:
  PairShares() = default;
  explicit PairShares(std::size_t count) : count_(count), bytes_(count * count) {}
  [[nodiscard]] std::uint64_t of(std::size_t a, std::size_t b) const noexcept { return bytes_[a * count_ + b]; }
  void add(std::size_t a, std::size_t b, std::uint64_t size) noexcept {
    bytes_[a * count_ + b] += size;
    bytes_[b * count_ + a] += size;
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }

 private:
  std::size_t count_ = 0;
  std::vector<std::uint64_t> bytes_;
};

struct LayoutGroup {
  std::vector<std::size_t> members;  // in the order of work; the first is the base
  std::uint64_t total_bytes = 0;
};

struct LayoutGroups {
  std::vector<LayoutGroup> groups;  // in the order of work
  PairShares shares;                // empty if there are more than kMaxCompared records
};

struct GroupInput {
  std::uint64_t size = 0;
  const ContentScan* scan = nullptr;
};

// Makes the groups. They are ordered by total bytes, largest first. In a group, the record whose chunks the others
// share most comes first; ties are broken by content hash. More than kMaxCompared records form one group, largest
// first.
[[nodiscard]] LayoutGroups layout_groups(std::span<const GroupInput> records);

}  // namespace fatctx::container::sharing
