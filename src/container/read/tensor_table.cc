#include "container/read/tensor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/format/hash.h"
#include "container/format/name_index.h"
#include "container/format/names.h"
#include "container/format/page_hashes.h"
#include "container/read/tensor_table_format.h"
#include "container/read/tensor_table_rules.h"
#include "fatctx/base/checked.h"

namespace fatctx::container {
namespace {

// Checks the hashes of the head and of the pages (F46).
Status check_pages(ByteView bytes, const TensorTableHeader& header, const Hash128* table_hash) {
  const ByteView head = bytes.first(static_cast<std::size_t>(head_size_of(header)));
  const ByteView body = bytes.subspan(head.size());
  if (table_hash != nullptr && hash128(head) != *table_hash) {
    return table_error(ErrorCode::kChecksumMismatch, "F46", 0, "its head does not have the hash in its reference");
  }
  for (std::uint64_t page = 0; page < header.page_count; ++page) {
    const ByteRange range = page_range(page, body.size());
    const ByteView one = body.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
    if (page_hash_matches(head.subspan(sizeof(TensorTableHeader)), page, one)) continue;
    return table_error(ErrorCode::kChecksumMismatch, "F46", head.size() + range.offset,
                       fmt::format("page {} does not have the hash in the head", page));
  }
  return Done{};
}

// Checks that the index lists each tensor once, in order, under the hash of its name (F46).
Status check_index(ByteView bytes, std::uint64_t offset, const ParsedTensorTable& table) {
  std::uint64_t previous = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::uint64_t at = offset + i * sizeof(NameIndexEntry);
    FATCTX_ASSIGN(const auto entry, copy_out<NameIndexEntry>(bytes, at));
    if (entry.record >= table.size() || name_hash(table.at(entry.record).name) != entry.hash) {
      return malformed_table("F46", at, fmt::format("entry {} of the index names no tensor with its hash", i));
    }
    const std::uint64_t place = (std::uint64_t{entry.hash} << 32) | entry.record;
    if (i != 0 && place <= previous) return malformed_table("F46", at, "the index is not in ascending order");
    previous = place;
  }
  return Done{};
}

}  // namespace

TensorInfo ParsedTensorTable::at(std::size_t index) const noexcept {
  const Row& row = rows_[index];
  return {.name = name(row),
          .dtype = row.dtype,
          .shape = std::span(dims_).subspan(row.first_dim, row.rank),
          .offset_in_blob = row.offset_in_blob,
          .size_bytes = row.size_bytes,
          .alias = row.alias};
}

std::optional<std::size_t> ParsedTensorTable::find(std::string_view wanted) const noexcept {
  const auto found = std::lower_bound(rows_.begin(), rows_.end(), wanted,
                                      [this](const Row& row, std::string_view text) { return name(row) < text; });
  if (found == rows_.end() || name(*found) != wanted) return std::nullopt;
  return static_cast<std::size_t>(found - rows_.begin());
}

// Checks all tensors in order of offset, in one pass. It is enough to remember the farthest end, once among the tensors
// that declare sharing and once among the others. A tensor that starts before such an end overlaps its owner.
Status ParsedTensorTable::check_overlaps(std::uint64_t entries_at, std::uint64_t entry_size) const {
  std::vector<std::uint32_t> order;
  order.reserve(rows_.size());
  for (std::uint32_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].size_bytes != 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
    return std::pair(rows_[a].offset_in_blob, a) < std::pair(rows_[b].offset_in_blob, b);
  });

  struct Reach {
    std::uint64_t end = 0;
    std::uint32_t owner = 0;
  };
  Reach plain;
  Reach shared;
  for (const std::uint32_t index : order) {
    const Row& row = rows_[index];
    const Reach* hit = nullptr;
    if (row.offset_in_blob < plain.end) hit = &plain;
    if (!row.alias && row.offset_in_blob < shared.end) hit = &shared;
    if (hit != nullptr) {
      return malformed_table("F33", entries_at + index * entry_size,
                             fmt::format("tensors \"{}\" and \"{}\" share bytes, but not both declare it",
                                         name(rows_[hit->owner]), name(row)));
    }
    Reach& reach = row.alias ? shared : plain;
    const std::uint64_t end = row.offset_in_blob + row.size_bytes;  // inside the blob: cannot wrap
    if (end > reach.end) reach = {end, index};
  }
  return Done{};
}

Hash128 table_hash_of(ByteView table) noexcept {
  TensorTableHeader header;
  std::memcpy(&header, table.data(), sizeof(header));
  return hash128(table.first(static_cast<std::size_t>(head_size_of(header))));
}

Result<ParsedTensorTable> parse_tensor_table(ByteView bytes, std::uint64_t blob_size, bool newer_fields,
                                             const Hash128* table_hash) {
  FATCTX_ASSIGN(const TensorTableHeader header, check_table_header(bytes, bytes.size(), blob_size, newer_fields));
  FATCTX_TRY(check_pages(bytes, header, table_hash));
  const std::uint64_t entries_at = head_size_of(header);
  const std::size_t entry_size = header.entry_size;
  const std::size_t count = header.count;  // check_table_header() has ensured that the entries fit
  const auto index_offset = static_cast<std::size_t>(entries_at + count * entry_size);
  const std::size_t names_offset = index_offset + count * sizeof(NameIndexEntry);

  ParsedTensorTable table;
  table.blob_size_ = blob_size;
  table.names_.resize(bytes.size() - names_offset);
  if (!table.names_.empty()) std::memcpy(table.names_.data(), bytes.data() + names_offset, table.names_.size());
  table.rows_.reserve(count);
  std::uint64_t next_name = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t offset = entries_at + i * entry_size;
    FATCTX_ASSIGN(const auto entry, copy_out<TensorEntry>(bytes, offset));
    if (entry.name_offset != next_name) {
      return malformed_table("F30", offset + offsetof(TensorEntry, name_offset),
                             fmt::format("the name of tensor {} is at {} of the names; {} is where the one before ends",
                                         i, static_cast<std::uint32_t>(entry.name_offset), next_name));
    }
    if (!within({entry.name_offset, entry.name_size}, table.names_.size())) {
      return malformed_table("F30", offset + offsetof(TensorEntry, name_size),
                             fmt::format("the name of tensor {} leaves the {} bytes of names", i, table.names_.size()));
    }
    ParsedTensorTable::Row row{
        .offset_in_blob = entry.offset_in_blob,
        .size_bytes = entry.size_bytes,
        .name_offset = entry.name_offset,
        .first_dim = static_cast<std::uint32_t>(table.dims_.size()),
        .name_size = entry.name_size,
        .dtype = static_cast<DType>(static_cast<std::uint16_t>(entry.dtype)),
        .rank = entry.rank,
        .alias = (entry.flags & kTensorAlias) != 0,
    };
    const std::string_view name = table.name(row);
    if (auto status = check_name(name, kMaxTensorNameSize, true, "tensor name"); !status.ok()) {
      return malformed_table(status.error().where.rule, names_offset + next_name, status.error().message);
    }
    if (i != 0 && table.name(table.rows_.back()) >= name) {
      return malformed_table("F15", offset,
                             fmt::format("tensor \"{}\" is not in ascending order of names, each once", name));
    }
    std::array<std::uint64_t, kMaxRank> dims;
    std::copy(entry.dims.begin(), entry.dims.end(), dims.begin());
    FATCTX_TRY(check_tensor_entry(entry, offset, name, blob_size, dims, newer_fields));
    table.dims_.insert(table.dims_.end(), dims.begin(), dims.begin() + row.rank);
    table.rows_.push_back(row);
    next_name += row.name_size;
  }
  if (next_name != table.names_.size()) {
    return malformed_table("F30", names_offset + next_name,
                           fmt::format("{} bytes of names belong to no tensor", table.names_.size() - next_name));
  }
  FATCTX_TRY(table.check_overlaps(entries_at, entry_size));
  FATCTX_TRY(check_index(bytes, index_offset, table));
  return table;
}

Result<std::vector<std::byte>> build_tensor_table(std::span<const PackTensor> tensors, std::uint64_t blob_size) {
  const auto refuse = [](ErrorCode code, std::string message) {
    return Error{code, "tensor table: " + std::move(message), {.rule = "F33"}};
  };
  if (tensors.size() > kMaxTensors) {
    return refuse(ErrorCode::kLimitExceeded,
                  fmt::format("{} tensors; at most {} are allowed", tensors.size(), kMaxTensors));
  }
  std::vector<const PackTensor*> order;
  order.reserve(tensors.size());
  std::uint64_t names_size = 0;
  for (const PackTensor& tensor : tensors) {
    if (auto status = check_name(tensor.name, kMaxTensorNameSize, true, "tensor name"); !status.ok()) {
      return Error{ErrorCode::kInvalidArgument, "tensor table: " + status.error().message, status.error().where};
    }
    if (tensor.shape.size() > kMaxRank) {
      return refuse(ErrorCode::kInvalidArgument, fmt::format("tensor \"{}\" has rank {}; at most {} is allowed",
                                                             tensor.name, tensor.shape.size(), kMaxRank));
    }
    names_size += tensor.name.size();
    order.push_back(&tensor);
  }
  // 2^20 tensors: cannot wrap
  const std::uint64_t body_size = tensors.size() * (sizeof(TensorEntry) + sizeof(NameIndexEntry)) + names_size;
  const std::uint64_t pages = toc_pages(body_size);
  const std::uint64_t total = sizeof(TensorTableHeader) + pages * sizeof(DiskHash) + body_size;
  if (total > kMaxTensorTableSize) {
    return refuse(ErrorCode::kLimitExceeded,
                  fmt::format("{} bytes; at most {} are allowed", total, kMaxTensorTableSize));
  }
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (order[i - 1]->name == order[i]->name) {
      return refuse(ErrorCode::kInvalidArgument, fmt::format("tensor \"{}\" appears twice", order[i]->name));
    }
  }

  std::vector<std::byte> bytes;
  bytes.reserve(static_cast<std::size_t>(total));
  TensorTableHeader header = {};
  header.magic = kTensorTableMagic;
  header.version = kTensorTableVersion;
  header.entry_size = static_cast<std::uint16_t>(sizeof(TensorEntry));
  header.count = static_cast<std::uint32_t>(tensors.size());
  header.page_count = static_cast<std::uint32_t>(pages);
  header.blob_size = blob_size;
  header.names_size = names_size;
  append_struct(bytes, header);
  bytes.resize(static_cast<std::size_t>(head_size_of(header)));
  std::uint64_t name_offset = 0;
  for (const PackTensor* tensor : order) {
    TensorEntry entry = {};
    entry.name_offset = static_cast<std::uint32_t>(name_offset);
    entry.name_size = static_cast<std::uint16_t>(tensor->name.size());
    entry.dtype = static_cast<std::uint16_t>(tensor->dtype);
    entry.rank = static_cast<std::uint8_t>(tensor->shape.size());
    entry.flags = tensor->alias ? kTensorAlias : std::uint8_t{0};
    entry.offset_in_blob = tensor->offset_in_blob;
    entry.size_bytes = tensor->size_bytes;
    std::copy(tensor->shape.begin(), tensor->shape.end(), entry.dims.begin());
    append_struct(bytes, entry);
    name_offset += tensor->name.size();
  }
  std::vector<std::string_view> names;
  names.reserve(order.size());
  for (const PackTensor* tensor : order) names.emplace_back(tensor->name);
  for (const NameIndexEntry& entry : name_index(names)) append_struct(bytes, entry);
  for (const std::string_view name : names) {
    const auto text = std::as_bytes(std::span(name));
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  const auto head = std::span(bytes).first(static_cast<std::size_t>(head_size_of(header)));
  put_page_hashes(ByteView(bytes).subspan(head.size()), head.subspan(sizeof(TensorTableHeader)));

  // Parses the result, so that nothing is written that the reader would refuse.
  if (auto parsed = parse_tensor_table(bytes, blob_size); !parsed.ok()) {
    Error error = std::move(parsed).error();
    error.code = ErrorCode::kInvalidArgument;
    error.where.file_offset.reset();
    return error;
  }
  return bytes;
}

}  // namespace fatctx::container
