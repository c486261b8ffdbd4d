#include "fatctx/info.h"

namespace fatctx {
namespace {

// Returns true if the record has one piece, so that its bytes have one place.
bool has_place(const RecordInfo& record) { return record.stored_bytes != 0 && record.slice_count == 1; }

}  // namespace

std::vector<std::uint32_t> same_bytes_as(const RecordInfo& record, std::span<const RecordInfo> records) {
  std::vector<std::uint32_t> ids;
  if (!has_place(record)) return ids;
  for (const RecordInfo& other : records) {
    const bool same_place =
        has_place(other) && other.file_offset == record.file_offset && other.stored_bytes == record.stored_bytes;
    if (same_place && other.id != record.id) ids.push_back(other.id);
  }
  return ids;
}

SameBytes::SameBytes(std::span<const RecordInfo> records) {
  for (const RecordInfo& record : records) {
    if (has_place(record)) ids_[{record.file_offset, record.stored_bytes}].push_back(record.id);
  }
}

std::span<const std::uint32_t> SameBytes::ids_at(const RecordInfo& record) const {
  if (!has_place(record)) return {};
  const auto found = ids_.find({record.file_offset, record.stored_bytes});
  return found == ids_.end() ? std::span<const std::uint32_t>() : std::span(found->second);
}

std::vector<std::uint32_t> SameBytes::others(const RecordInfo& record) const {
  const std::span<const std::uint32_t> ids = ids_at(record);
  std::vector<std::uint32_t> others(ids.begin(), ids.end());
  std::erase(others, record.id);
  return others;
}

bool SameBytes::repeats(const RecordInfo& record) const {
  const std::span<const std::uint32_t> ids = ids_at(record);
  return !ids.empty() && ids.front() != record.id;
}

}  // namespace fatctx
