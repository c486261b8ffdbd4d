#include "container/sharing/stored_overlap.h"

#include <algorithm>
#include <tuple>

namespace fatctx::container::sharing {
namespace {

struct Extent {  // a range of one segment
  std::uint32_t segment = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

using Extents = std::vector<Extent>;  // ascending and disjoint

bool before(const Extent& a, const Extent& b) {
  return std::tie(a.segment, a.begin, a.end) < std::tie(b.segment, b.begin, b.end);
}

void join(Extents& extents) {
  std::sort(extents.begin(), extents.end(), before);
  std::size_t kept = 0;
  for (const Extent& next : extents) {
    if (kept != 0 && extents[kept - 1].segment == next.segment && extents[kept - 1].end >= next.begin) {
      extents[kept - 1].end = std::max(extents[kept - 1].end, next.end);
    } else {
      extents[kept++] = next;
    }
  }
  extents.resize(kept);
}

void add_slices(const Toc& toc, std::size_t record, Extents& extents) {
  for (std::uint32_t i = 0; i < toc.records[record].slice_count; ++i) {
    const Slice& slice = toc.slices[toc.forms[record].first_slice + i];
    extents.push_back({slice.segment, slice.range.offset, slice.range.offset + slice.range.size});
  }
}

std::uint64_t size_of(const Extents& extents) {
  std::uint64_t size = 0;
  for (const Extent& extent : extents) size += extent.end - extent.begin;
  return size;
}

std::uint64_t common_bytes(const Extents& a, const Extents& b) {
  std::uint64_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].segment == b[j].segment) {
      const std::uint64_t begin = std::max(a[i].begin, b[j].begin);
      const std::uint64_t end = std::min(a[i].end, b[j].end);
      if (begin < end) common += end - begin;
    }
    const bool a_ends_first = std::tie(a[i].segment, a[i].end) < std::tie(b[j].segment, b[j].end);
    ++(a_ends_first ? i : j);
  }
  return common;
}

struct Border {
  std::uint32_t segment = 0;
  std::uint64_t at = 0;
  std::size_t record = 0;
  bool begins = false;
};

// Returns for each record how many bytes belong to it alone.
std::vector<std::uint64_t> own_bytes(const std::vector<Extents>& records) {
  std::vector<Border> borders;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const Extent& extent : records[i]) {
      borders.push_back({extent.segment, extent.begin, i, true});
      borders.push_back({extent.segment, extent.end, i, false});
    }
  }
  std::sort(borders.begin(), borders.end(),
            [](const Border& a, const Border& b) { return std::tie(a.segment, a.at) < std::tie(b.segment, b.at); });
  std::vector<std::uint64_t> own(records.size());
  std::size_t count = 0;
  std::size_t sum = 0;  // of the indexes of the covering records: with one record, its index
  for (std::size_t i = 0; i < borders.size(); ++i) {
    // Every extent ends in its segment, so nothing covers the bytes between two segments.
    if (i != 0 && count == 1) own[sum] += borders[i].at - borders[i - 1].at;
    if (borders[i].begins) {
      ++count;
      sum += borders[i].record;
    } else {
      --count;
      sum -= borders[i].record;
    }
  }
  return own;
}

void add_sharer(RecordSharing& record, std::uint32_t id, std::uint64_t bytes) {
  record.shared_with.push_back({id, bytes});
  ++record.sharer_count;
}

void keep_largest(std::vector<SharedBytes>& sharers) {
  std::sort(sharers.begin(), sharers.end(), [](const SharedBytes& a, const SharedBytes& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.record_id < b.record_id;
  });
  if (sharers.size() > kMaxListedSharers) sharers.resize(kMaxListedSharers);
}

}  // namespace

std::vector<RecordSharing> stored_overlap(const Toc& toc) {
  std::vector<Extents> extents(toc.records.size());
  for (std::size_t i = 0; i < extents.size(); ++i) {
    add_slices(toc, i, extents[i]);
    join(extents[i]);
  }
  const std::vector<std::uint64_t> own = own_bytes(extents);
  std::vector<RecordSharing> records(toc.records.size());
  std::vector<std::size_t> sharing;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RecordInfo& info = toc.records[i];
    const std::uint64_t covered = size_of(extents[i]);
    records[i].record_id = info.id;
    records[i].size_bytes = info.size_bytes;
    records[i].pieces = info.slice_count;
    records[i].own_bytes = own[i];
    records[i].shared_bytes = covered - own[i];
    records[i].repeated_bytes = info.stored_bytes - covered;
    if (records[i].shared_bytes != 0) sharing.push_back(i);
  }
  for (std::size_t a = 0; a < sharing.size(); ++a) {
    for (std::size_t b = a + 1; b < sharing.size(); ++b) {
      const std::uint64_t common = common_bytes(extents[sharing[a]], extents[sharing[b]]);
      if (common == 0) continue;
      add_sharer(records[sharing[a]], records[sharing[b]].record_id, common);
      add_sharer(records[sharing[b]], records[sharing[a]].record_id, common);
    }
  }
  for (RecordSharing& record : records) keep_largest(record.shared_with);
  return records;
}

std::uint64_t stored_under(const Toc& toc, std::span<const std::size_t> records) {
  Extents extents;
  for (const std::size_t record : records) add_slices(toc, record, extents);
  join(extents);
  return size_of(extents);
}

}  // namespace fatctx::container::sharing
