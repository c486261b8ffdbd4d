#include "container/sharing/content_scan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "container/format/hash.h"
#include "container/sharing/gear_scan.h"

namespace fatctx::container::sharing {
namespace {

constexpr std::size_t kScanUnit = std::size_t{1} << 20;

std::uint64_t first_word(const Hash128& hash) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < sizeof(word); ++i) word = word << 8 | static_cast<std::uint64_t>(hash.bytes[i]);
  return word;
}

class Scanner {
 public:
  // Without `hash` it leaves out the granules.
  Scanner(const RecordBytes& record, unsigned granule_log2, const GranuleHash* hash)
      : record_(record), granule_(std::size_t{1} << granule_log2), hash_(hash) {}

  Result<ContentScan> run() {
    const std::uint64_t size = record_.size();
    if (hash_ != nullptr) scan_.granules.reserve(static_cast<std::size_t>((size + granule_ - 1) / granule_));
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size, kScanUnit + kMaxChunk)));
    for (std::uint64_t at = 0; at < size;) {
      const auto piece =
          std::span(buffer_).subspan(held_, static_cast<std::size_t>(std::min<std::uint64_t>(kScanUnit, size - at)));
      FATCTX_TRY(record_.read_at(at, piece));
      at += piece.size();
      if (hash_ != nullptr) hash_granules(piece);
      find_ends(piece.size());
      held_ += piece.size();
      take_chunks(at == size);
    }
    record_.close();
    put_word(size);
    scan_.content_hash = contents_.digest();
    std::sort(scan_.chunks.begin(), scan_.chunks.end(), [](const Chunk& a, const Chunk& b) { return a.hash < b.hash; });
    const auto same = [](const Chunk& a, const Chunk& b) { return a.hash == b.hash; };
    scan_.chunks.erase(std::unique(scan_.chunks.begin(), scan_.chunks.end(), same), scan_.chunks.end());
    return std::move(scan_);
  }

 private:
  void hash_granules(ByteView piece) {  // a piece starts on a granule: the read unit is a multiple of it
    while (!piece.empty()) {
      const ByteView bytes = piece.first(std::min(piece.size(), granule_));
      if (bytes.size() == granule_) {
        scan_.granules.push_back((*hash_)(bytes));
      } else {
        std::vector<std::byte> padded(bytes.begin(), bytes.end());
        padded.resize(granule_);
        scan_.granules.push_back((*hash_)(padded));
      }
      piece = piece.subspan(bytes.size());
    }
  }

  // Collects the places in the next `size` bytes where the bytes in front let a chunk end. The buffer begins with a
  // chunk, which no place in its first kMinChunk bytes ends.
  void find_ends(std::size_t size) {
    const std::size_t end = held_ + size;
    for (std::size_t first = std::max(held_ + 1, kMinChunk); first <= end; first += kGearUnit) {
      const std::size_t last = std::min(first + kGearUnit - 1, end);
      for (const GearHit& hit : gear_.find(ByteView(buffer_).first(end), first, last)) {
        ends_.push_back(static_cast<std::uint32_t>(hit.end));
      }
    }
  }

  void take_chunks(bool at_end) {
    const ByteView held = ByteView(buffer_).first(held_);
    std::size_t from = 0;
    auto end = ends_.cbegin();
    while (at_end ? from < held_ : held_ - from >= kMaxChunk) {
      const std::size_t most = std::min(held_ - from, kMaxChunk);
      end = std::find_if(end, ends_.cend(), [from](std::size_t at) { return at >= from + kMinChunk; });
      const std::size_t size = end != ends_.cend() && *end < from + most ? *end - from : most;
      const ByteView bytes = held.subspan(from, size);
      const std::uint64_t hash = granule_hash(bytes);
      scan_.chunks.push_back({hash, static_cast<std::uint32_t>(size)});
      put_word(hash);
      from += size;
    }
    std::memmove(buffer_.data(), held.data() + from, held_ - from);
    held_ -= from;
    ends_.erase(ends_.cbegin(), std::find_if(end, ends_.cend(), [from](std::size_t at) { return at > from; }));
    for (std::uint32_t& at : ends_) at -= static_cast<std::uint32_t>(from);
  }

  void put_word(std::uint64_t word) {
    std::array<std::byte, sizeof(word)> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(word >> (8 * i));
    contents_.update(bytes);
  }

  const RecordBytes& record_;
  const std::size_t granule_;
  const GranuleHash* const hash_;
  ContentScan scan_;
  std::vector<std::byte> buffer_;
  std::size_t held_ = 0;  // bytes of a chunk whose end is not read yet
  GearScan gear_{kChunkLog2};
  std::vector<std::uint32_t> ends_;  // in the buffer, ascending
  Hasher contents_;
};

}  // namespace

std::uint64_t granule_hash(ByteView granule) noexcept { return first_word(hash128(granule)); }

Result<ContentScan> scan_content(const RecordBytes& record, unsigned granule_log2, const GranuleHash& hash) {
  return Scanner(record, granule_log2, &hash).run();
}

Result<ContentScan> scan_chunks(const RecordBytes& record) { return Scanner(record, 0, nullptr).run(); }

}  // namespace fatctx::container::sharing
