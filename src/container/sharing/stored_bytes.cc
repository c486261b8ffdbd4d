#include "container/sharing/stored_bytes.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace fatctx::container::sharing {
namespace {

constexpr std::size_t kMostOpen = 8;
constexpr std::uint64_t kSourceStep = 0x9e3779b97f4a7c15;  // spreads the blocks of several sources

std::uint64_t word_at(const std::byte* bytes) noexcept {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof(word));
  return word;
}

}  // namespace

void BlockCache::opened(const RecordBytes& source) {
  if (!open_.empty() && open_.back() == &source) return;
  std::erase(open_, &source);
  if (open_.size() == kMostOpen) {
    open_.front()->close();
    open_.erase(open_.begin());
  }
  open_.push_back(&source);
}

void BlockCache::close_all() {
  for (const RecordBytes* source : open_) source->close();
  open_.clear();
}

Result<ByteView> BlockCache::at(const RecordBytes& source, std::uint64_t offset) {
  const std::uint64_t number = offset / kBlockSize;
  const std::uint64_t spread = reinterpret_cast<std::uintptr_t>(&source) * kSourceStep >> 48;  // affects the time only
  Block& block = blocks_[static_cast<std::size_t>((number + spread) % blocks_.size())];
  if (block.source != &source || block.number != number) {
    opened(source);
    block.source = nullptr;  // stays so if the read fails
    block.bytes.resize(static_cast<std::size_t>(std::min(kBlockSize, source.size() - number * kBlockSize)));
    FATCTX_TRY(source.read_at(number * kBlockSize, block.bytes));
    block.source = &source;
    block.number = number;
  }
  return ByteView(block.bytes).subspan(static_cast<std::size_t>(offset % kBlockSize));
}

OwnBytes::OwnBytes(const RecordBytes& of, std::vector<ByteRange> ranges) : of_(of), ranges_(std::move(ranges)) {
  for (const ByteRange& range : ranges_) {
    starts_.push_back(size_);
    size_ += range.size;
  }
}

Status OwnBytes::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  auto index = static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), offset) - starts_.begin()) - 1;
  for (std::uint64_t skipped = offset - starts_[index]; !buffer.empty(); ++index, skipped = 0) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), ranges_[index].size - skipped));
    FATCTX_TRY(of_.read_at(ranges_[index].offset + skipped, buffer.first(size)));
    buffer = buffer.subspan(size);
  }
  return Done{};
}

bool equal_bytes(ByteView a, ByteView b) noexcept {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

std::size_t common_prefix(ByteView a, ByteView b) noexcept {
  const std::size_t most = std::min(a.size(), b.size());
  if (std::memcmp(a.data(), b.data(), most) == 0) return most;  // the fastest, but tells no position
  std::size_t at = 0;
  while (at + sizeof(std::uint64_t) <= most && word_at(a.data() + at) == word_at(b.data() + at)) {
    at += sizeof(std::uint64_t);
  }
  while (at < most && a[at] == b[at]) ++at;
  return at;
}

std::size_t common_suffix(ByteView a, ByteView b) noexcept {
  const std::size_t most = std::min(a.size(), b.size());
  const std::byte* const a_end = a.data() + a.size();
  const std::byte* const b_end = b.data() + b.size();
  std::size_t at = 0;
  while (at + sizeof(std::uint64_t) <= most &&
         word_at(a_end - at - sizeof(std::uint64_t)) == word_at(b_end - at - sizeof(std::uint64_t))) {
    at += sizeof(std::uint64_t);
  }
  while (at < most && *(a_end - at - 1) == *(b_end - at - 1)) ++at;
  return at;
}

}  // namespace fatctx::container::sharing
