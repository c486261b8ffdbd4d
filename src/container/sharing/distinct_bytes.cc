#include "container/sharing/distinct_bytes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "container/format/hash.h"

namespace fatctx::container::sharing {
namespace {

struct Counted {
  std::uint64_t hash = 0;
  std::uint64_t size = 0;
};

// Equal hashes count once, with the largest size: it includes the others.
std::uint64_t distinct(std::vector<Counted> all) {
  std::sort(all.begin(), all.end(),
            [](const Counted& a, const Counted& b) { return a.hash != b.hash ? a.hash < b.hash : a.size > b.size; });
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || all[i].hash != all[i - 1].hash) bytes += all[i].size;
  }
  return bytes;
}

}  // namespace

std::uint64_t distinct_page_bytes(std::span<const GroupInput> records, unsigned page_log2) {
  const std::vector<std::byte> zeros(std::size_t{1} << kSmallestPageLog2);
  const std::uint64_t zero_hash = granule_hash(zeros);
  const std::size_t parts = std::size_t{1} << (page_log2 - kSmallestPageLog2);
  const std::uint64_t page = std::uint64_t{1} << page_log2;
  std::vector<Counted> all;
  std::vector<std::uint64_t> hashes(parts);
  for (const GroupInput& record : records) {
    const std::vector<std::uint64_t>& granules = record.scan->granules;
    for (std::size_t first = 0; first < granules.size(); first += parts) {
      // Pages are equal if their granules are. Behind the end of a record they count as zero, as in its last granule.
      for (std::size_t i = 0; i < parts; ++i) {
        hashes[i] = first + i < granules.size() ? granules[first + i] : zero_hash;
      }
      const std::uint64_t at = static_cast<std::uint64_t>(first) << kSmallestPageLog2;
      const std::uint64_t hash = parts == 1 ? hashes[0] : granule_hash(std::as_bytes(std::span(hashes)));
      all.push_back({hash, std::min(page, record.size - at)});
    }
  }
  return distinct(std::move(all));
}

std::uint64_t distinct_chunk_bytes(std::span<const ContentScan* const> records) {
  std::vector<Counted> all;
  for (const ContentScan* scan : records) {
    for (const Chunk& chunk : scan->chunks) all.push_back({chunk.hash, chunk.size});
  }
  return distinct(std::move(all));
}

}  // namespace fatctx::container::sharing
