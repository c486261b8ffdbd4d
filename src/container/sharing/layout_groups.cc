#include "container/sharing/layout_groups.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace fatctx::container::sharing {
namespace {

struct OwnedChunk {
  std::uint64_t hash;
  std::uint32_t size;
  std::uint32_t owner;
};

PairShares pair_shares(std::span<const GroupInput> records) {
  std::size_t count = 0;
  for (const GroupInput& record : records) count += record.scan->chunks.size();
  std::vector<OwnedChunk> chunks;
  chunks.reserve(count);
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const Chunk& chunk : records[i].scan->chunks) {
      chunks.push_back({chunk.hash, chunk.size, static_cast<std::uint32_t>(i)});
    }
  }
  std::sort(chunks.begin(), chunks.end(), [](const OwnedChunk& a, const OwnedChunk& b) {
    return std::tie(a.hash, a.owner) < std::tie(b.hash, b.owner);
  });
  PairShares shares(records.size());
  for (std::size_t first = 0; first < chunks.size();) {
    std::size_t end = first;
    while (end < chunks.size() && chunks[end].hash == chunks[first].hash) ++end;
    for (std::size_t a = first; a < end; ++a) {
      for (std::size_t b = a + 1; b < end; ++b) {
        shares.add(chunks[a].owner, chunks[b].owner, std::min(chunks[a].size, chunks[b].size));
      }
    }
    first = end;
  }
  return shares;
}

std::size_t root_of(std::vector<std::size_t>& parent, std::size_t i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

}  // namespace

LayoutGroups layout_groups(std::span<const GroupInput> records) {
  LayoutGroups result;
  const auto hash_of = [&](std::size_t i) -> const auto& { return records[i].scan->content_hash.bytes; };
  if (records.size() > kMaxCompared) {
    LayoutGroup all;
    all.members.resize(records.size());
    std::iota(all.members.begin(), all.members.end(), std::size_t{0});
    std::sort(all.members.begin(), all.members.end(), [&](std::size_t a, std::size_t b) {
      if (records[a].size != records[b].size) return records[a].size > records[b].size;
      return hash_of(a) < hash_of(b);
    });
    for (const GroupInput& record : records) all.total_bytes += record.size;
    result.groups.push_back(std::move(all));
    return result;
  }
  result.shares = pair_shares(records);
  std::vector<std::size_t> parent(records.size());
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  for (std::size_t a = 0; a < records.size(); ++a) {
    for (std::size_t b = a + 1; b < records.size(); ++b) {
      const std::uint64_t smaller = std::min(records[a].size, records[b].size);
      const std::uint64_t share = result.shares.of(a, b);
      if (share == 0 || share < smaller / kGroupShareDivisor) continue;
      parent[root_of(parent, a)] = root_of(parent, b);
    }
  }
  std::map<std::size_t, LayoutGroup> by_root;
  for (std::size_t i = 0; i < records.size(); ++i) {
    LayoutGroup& group = by_root[root_of(parent, i)];
    group.members.push_back(i);
    group.total_bytes += records[i].size;
  }
  for (auto& [root, group] : by_root) {
    std::vector<std::pair<std::uint64_t, std::size_t>> ranked;
    for (const std::size_t i : group.members) {
      std::uint64_t shared = 0;
      for (const std::size_t other : group.members) shared += other == i ? 0 : result.shares.of(i, other);
      ranked.emplace_back(shared, i);
    }
    std::sort(ranked.begin(), ranked.end(), [&](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : hash_of(a.second) < hash_of(b.second);
    });
    std::transform(ranked.begin(), ranked.end(), group.members.begin(), [](const auto& rank) { return rank.second; });
    result.groups.push_back(std::move(group));
  }
  std::sort(result.groups.begin(), result.groups.end(), [&](const LayoutGroup& a, const LayoutGroup& b) {
    if (a.total_bytes != b.total_bytes) return a.total_bytes > b.total_bytes;
    return hash_of(a.members.front()) < hash_of(b.members.front());
  });
  return result;
}

}  // namespace fatctx::container::sharing
