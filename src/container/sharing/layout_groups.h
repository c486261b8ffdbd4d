// Which records are made of the same bytes, and in which order they are worked on. The content decides, never the order
// in which records were given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/content_scan.h"

namespace fatctx::container::sharing {

inline constexpr std::uint64_t kGroupShareDivisor = 4;  // one quarter of the smaller record's bytes makes a group
inline constexpr std::size_t kMaxCompared = 1024;       // records of which every pair is looked at

// Bytes of content-defined chunks that two records have in common, for every pair.
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

// Groups are worked on by total bytes, largest first; in a group the record comes first whose chunks the others share
// most; ties fall by content hash. Records above kMaxCompared are one group, largest first.
[[nodiscard]] LayoutGroups layout_groups(std::span<const GroupInput> records);

}  // namespace fatctx::container::sharing
