#include "container/fetch/find_blocks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "container/format/disk_format.h"
#include "container/format/hash.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kBytesAtOnce = std::size_t{1} << 20;
constexpr unsigned kFilterBitsLog2 = 4;  // 16 bits for each block, so one of 16 other places passes
constexpr unsigned kMostFilterLog2 = 27;

}  // namespace

// Blocks that follow each other in the container, handed on together.
class WantedBlocks::Run {
 public:
  Run(const Found& found, unsigned block_log2) : found_(found), block_log2_(block_log2) {}
  Status add(std::uint32_t block, ByteView bytes) {
    const std::uint64_t offset = std::uint64_t{block} << block_log2_;
    if (offset != offset_ + bytes_.size() || bytes_.size() >= kLeafSize) {
      FATCTX_TRY(end());
      offset_ = offset;
    }
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return Done{};
  }
  Status end() {
    if (bytes_.empty()) return Done{};
    auto taken = found_(offset_, bytes_);
    bytes_.clear();
    return taken;
  }

 private:
  const Found& found_;
  unsigned block_log2_;
  std::uint64_t offset_ = 0;
  std::vector<std::byte> bytes_;
};

WantedBlocks::WantedBlocks(const BlockIndex& index, const ByteSet& missing)
    : block_log2_(index.block_log2()), rolling_(std::size_t{1} << index.block_log2()) {
  const std::uint64_t size = std::uint64_t{1} << block_log2_;
  wanted_.reserve(static_cast<std::size_t>(missing.bytes() >> block_log2_));
  for (const ByteRange& range : missing.ranges()) {
    const std::uint64_t first = (range.offset + size - 1) >> block_log2_;
    const std::uint64_t end = std::min<std::uint64_t>((range.offset + range.size) >> block_log2_, index.keys().size());
    for (std::uint64_t block = first; block < end; ++block) {
      wanted_.push_back(
          {index.keys()[static_cast<std::size_t>(block)].word(), static_cast<std::uint32_t>(block), false});
    }
  }
  std::sort(wanted_.begin(), wanted_.end(),
            [](const Wanted& a, const Wanted& b) { return a.key != b.key ? a.key < b.key : a.block < b.block; });
  left_ = wanted_.size();
  const unsigned log2 = std::min(kMostFilterLog2, static_cast<unsigned>(std::bit_width(left_ | 1U)) + kFilterBitsLog2);
  filter_.resize((std::size_t{1} << log2) / 64 + 1);
  filter_shift_ = 32 - log2;
  for (const Wanted& one : wanted_) {
    const std::uint32_t bit = static_cast<std::uint32_t>(one.key >> 32U) * kSpread >> filter_shift_;
    filter_[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
}

// Returns whether the container has such a block, wanted or found before.
Result<bool> WantedBlocks::take_if_wanted(std::uint32_t rolling, ByteView block, Run& run) {
  const auto less = [](const Wanted& one, std::uint64_t wanted) { return one.key < wanted; };
  const std::uint64_t least = std::uint64_t{rolling} << 32U;
  auto at = std::lower_bound(wanted_.begin(), wanted_.end(), least, less);
  if (at == wanted_.end() || at->key >> 32U != rolling) return false;  // as mostly: without hashing the block
  const std::uint64_t key = least | hash32(block);
  at = std::lower_bound(at, wanted_.end(), key, less);
  if (at == wanted_.end() || at->key != key) return false;
  if (at->found) return true;
  for (; at != wanted_.end() && at->key == key; ++at) {
    FATCTX_TRY(run.add(at->block, block));
    at->found = true;
    --left_;
  }
  return true;
}

Status WantedBlocks::find_in(const mapping::OsFile& file, std::uint64_t size, const Found& found,
                             WorkProgress& progress) {
  const std::size_t block = std::size_t{1} << block_log2_;
  Run run(found, block_log2_);
  std::vector<std::byte> bytes;  // read from the file, from `first` on
  std::uint64_t first = 0;
  std::size_t at = 0;
  while (left_ != 0) {
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
    first += at;
    at = 0;
    const std::size_t kept = bytes.size();
    const auto more = static_cast<std::size_t>(std::min<std::uint64_t>(kBytesAtOnce, size - first - kept));
    bytes.resize(kept + more);
    if (more == 0 || !file.read_at(first + kept, std::span(bytes).subspan(kept)).ok()) break;
    FATCTX_TRY(progress.add(more));
    if (bytes.size() < block) continue;

    std::uint32_t rolling = RollingHash::of(ByteView(bytes).first(block));
    std::uint32_t refused = ~rolling;  // the last hash without a block; all places in a run of one byte have one hash
    while (true) {
      if (rolling != refused && may_be(rolling)) {
        FATCTX_ASSIGN(const bool skip, take_if_wanted(rolling, ByteView(bytes).subspan(at, block), run));
        if (skip) {
          at += block;
          if (at + block > bytes.size()) break;
          rolling = RollingHash::of(ByteView(bytes).subspan(at, block));
          continue;
        }
        refused = rolling;
      }
      if (at + block == bytes.size()) {
        ++at;  // this place was looked at
        break;
      }
      rolling = rolling_.next(rolling, bytes[at], bytes[at + block]);
      ++at;
    }
  }
  return run.end();
}

}  // namespace fatctx::container
