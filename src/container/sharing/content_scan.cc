#include "container/sharing/content_scan.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "container/format/hash.h"
#include "container/sharing/gear.h"

namespace fatctx::container::sharing {
namespace {

constexpr std::size_t kScanUnit = std::size_t{1} << 20;
constexpr std::uint64_t kCutMask = ~std::uint64_t{0} << (64 - kChunkLog2);

std::uint64_t first_word(const Hash128& hash) noexcept {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < sizeof(word); ++i) word = word << 8 | static_cast<std::uint64_t>(hash.bytes[i]);
  return word;
}

class Scanner {
 public:
  Scanner(const RecordBytes& record, unsigned granule_log2, const GranuleHash& hash)
      : record_(record), granule_(std::size_t{1} << granule_log2), hash_(hash) {}

  Result<ContentScan> run() {
    const std::uint64_t size = record_.size();
    scan_.granules.reserve(static_cast<std::size_t>((size + granule_ - 1) / granule_));
    buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(size, kScanUnit + kMaxChunk)));
    for (std::uint64_t at = 0; at < size;) {
      const auto piece =
          std::span(buffer_).subspan(held_, static_cast<std::size_t>(std::min<std::uint64_t>(kScanUnit, size - at)));
      FATCTX_TRY(record_.read_at(at, piece));
      at += piece.size();
      hash_granules(piece);
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
        scan_.granules.push_back(hash_(bytes));
      } else {
        std::vector<std::byte> padded(bytes.begin(), bytes.end());
        padded.resize(granule_);
        scan_.granules.push_back(hash_(padded));
      }
      piece = piece.subspan(bytes.size());
    }
  }

  void take_chunks(bool at_end) {
    ByteView rest = ByteView(buffer_).first(held_);
    while (at_end ? !rest.empty() : rest.size() >= kMaxChunk) {
      const ByteView bytes = rest.first(chunk_size(rest));
      const std::uint64_t hash = granule_hash(bytes);
      scan_.chunks.push_back({hash, static_cast<std::uint32_t>(bytes.size())});
      put_word(hash);
      rest = rest.subspan(bytes.size());
    }
    std::memmove(buffer_.data(), rest.data(), rest.size());
    held_ = rest.size();
  }

  void put_word(std::uint64_t word) {
    std::array<std::byte, sizeof(word)> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(word >> (8 * i));
    contents_.update(bytes);
  }

  const RecordBytes& record_;
  const std::size_t granule_;
  const GranuleHash& hash_;
  ContentScan scan_;
  std::vector<std::byte> buffer_;
  std::size_t held_ = 0;  // bytes of a chunk whose end is not read yet
  Hasher contents_;
};

}  // namespace

std::uint64_t granule_hash(ByteView granule) noexcept { return first_word(hash128(granule)); }

std::size_t chunk_size(ByteView bytes) noexcept {
  if (bytes.size() <= kMinChunk) return bytes.size();
  const std::size_t end = std::min(bytes.size(), kMaxChunk);
  std::uint64_t rolling = 0;
  for (std::size_t at = kMinChunk - kGearWindow; at < kMinChunk; ++at) {
    rolling = roll(rolling, bytes[at]);
  }
  for (std::size_t at = kMinChunk; at < end; ++at) {
    if ((rolling & kCutMask) == 0) return at;
    rolling = roll(rolling, bytes[at]);
  }
  return end;
}

Result<ContentScan> scan_content(const RecordBytes& record, unsigned granule_log2, const GranuleHash& hash) {
  return Scanner(record, granule_log2, hash).run();
}

}  // namespace fatctx::container::sharing
