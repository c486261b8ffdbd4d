#include "container/read/tensor_lookup.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/format/name_index.h"
#include "container/format/page_hashes.h"
#include "container/read/tensor_table_rules.h"

namespace fatctx::container {
namespace {

// Reads bytes of the table. Offsets in errors count from its first byte, and not from that of the file.
Status read_table(const mapping::OsFile& file, ByteRange in_file, std::uint64_t offset, std::span<std::byte> out) {
  auto read = file.read_at(in_file.offset + offset, out);
  if (read.ok()) return read;
  Error error = std::move(read).error();
  if (error.where.file_offset) *error.where.file_offset -= in_file.offset;
  return error;
}

// The body of a table, of which pages are read when they are used. Keeps the last page.
class Pages {
 public:
  Pages(const mapping::OsFile& file, ByteRange in_file, ByteView hashes, std::uint64_t head_size)
      : file_(file), in_file_(in_file), hashes_(hashes), head_size_(head_size) {}

  // Copies bytes of the body out. Requires: they are inside it.
  Status read(std::uint64_t offset, std::span<std::byte> out) {
    while (!out.empty()) {
      const std::uint64_t page = offset / kTocPageSize;
      FATCTX_TRY(take(page));
      const auto skipped = static_cast<std::size_t>(offset % kTocPageSize);
      const std::size_t size = std::min(out.size(), page_.size() - skipped);
      std::copy_n(page_.begin() + static_cast<std::ptrdiff_t>(skipped), size, out.begin());
      offset += size;
      out = out.subspan(size);
    }
    return Done{};
  }
  template <typename T>
  Result<T> row(std::uint64_t offset) {
    std::array<std::byte, sizeof(T)> bytes;
    FATCTX_TRY(read(offset, bytes));
    T row;
    std::memcpy(&row, bytes.data(), sizeof(T));
    return row;
  }

 private:
  Status take(std::uint64_t page) {
    if (page_number_ == page) return Done{};
    const ByteRange range = page_range(page, in_file_.size - head_size_);
    page_number_.reset();
    page_.resize(static_cast<std::size_t>(range.size));
    FATCTX_TRY(read_table(file_, in_file_, head_size_ + range.offset, page_));
    if (!page_hash_matches(hashes_, page, page_)) {
      if (all_zero(page_)) return not_present_table(head_size_ + range.offset, fmt::format("its page {}", page));
      return table_error(ErrorCode::kChecksumMismatch, "F46", head_size_ + range.offset,
                         fmt::format("page {} does not have the hash in the head", page));
    }
    page_number_ = page;
    return Done{};
  }

  const mapping::OsFile& file_;
  const ByteRange in_file_;  // the place of the whole table
  const ByteView hashes_;
  const std::uint64_t head_size_;
  std::optional<std::uint64_t> page_number_;
  std::vector<std::byte> page_;
};

// Reads the head. The first read is of a page, which has all of it for up to 250 pages.
Result<std::vector<std::byte>> read_head(const mapping::OsFile& file, ByteRange in_file, std::uint64_t blob_size,
                                         const Hash128& table_hash, bool newer_fields) {
  std::vector<std::byte> head(static_cast<std::size_t>(std::min(kTocPageSize, in_file.size)));
  FATCTX_TRY(read_table(file, in_file, 0, head));
  if (all_zero(head)) return not_present_table(0, "its head");
  FATCTX_ASSIGN(const TensorTableHeader header, check_table_header(head, in_file.size, blob_size, newer_fields));
  const auto size = static_cast<std::size_t>(head_size_of(header));  // inside the table: the sizes add up
  const std::size_t there = std::min(head.size(), size);
  head.resize(size);
  FATCTX_TRY(read_table(file, in_file, there, std::span(head).subspan(there)));
  if (hash128(head) == table_hash) return head;
  return table_error(ErrorCode::kChecksumMismatch, "F46", 0, "its head does not have the hash in its reference");
}

}  // namespace

Result<std::optional<FoundTensor>> find_tensor(const mapping::OsFile& file, ByteRange in_file, std::uint64_t blob_size,
                                               const Hash128& table_hash, bool newer_fields, std::string_view name) {
  FATCTX_ASSIGN(const std::vector<std::byte> head, read_head(file, in_file, blob_size, table_hash, newer_fields));
  const auto header = copy_out<TensorTableHeader>(head, 0).value();
  const std::uint64_t count = header.count;
  const std::uint64_t index_at = count * header.entry_size;  // in the body
  const std::uint64_t names_at = index_at + count * sizeof(NameIndexEntry);
  const ByteView hashes = ByteView(head).subspan(sizeof(TensorTableHeader));
  Pages index(file, in_file, hashes, head.size());
  Pages entries(file, in_file, hashes, head.size());

  TensorEntry entry = {};
  std::string stored;
  const auto name_is = [&](std::uint32_t tensor) -> Result<bool> {
    if (tensor >= count) {
      return malformed_table("F46", head.size() + index_at, "the index names a tensor that does not exist");
    }
    FATCTX_ASSIGN(entry, entries.row<TensorEntry>(tensor * std::uint64_t{header.entry_size}));
    if (!within({entry.name_offset, entry.name_size}, header.names_size)) {
      return malformed_table("F30", head.size() + tensor * std::uint64_t{header.entry_size},
                             fmt::format("the name of tensor {} leaves the names", tensor));
    }
    if (entry.name_size != name.size()) return false;
    stored.resize(name.size());
    FATCTX_TRY(entries.read(names_at + entry.name_offset, std::as_writable_bytes(std::span(stored))));
    return stored == name;
  };
  const auto row_at = [&](std::uint64_t at) {
    return index.row<NameIndexEntry>(index_at + at * sizeof(NameIndexEntry));
  };
  FATCTX_ASSIGN(const std::optional<std::uint32_t> found, find_name(name, count, row_at, name_is));
  if (!found) return std::optional<FoundTensor>();
  FoundTensor tensor{.name = std::move(stored),
                     .dtype = static_cast<DType>(static_cast<std::uint16_t>(entry.dtype)),
                     .rank = entry.rank,
                     .offset_in_blob = entry.offset_in_blob,
                     .size_bytes = entry.size_bytes,
                     .alias = (entry.flags & kTensorAlias) != 0};
  std::copy(entry.dims.begin(), entry.dims.end(), tensor.dims.begin());
  FATCTX_TRY(check_tensor_entry(entry, head.size() + *found * std::uint64_t{header.entry_size}, tensor.name, blob_size,
                                tensor.dims, newer_fields));
  return std::optional(std::move(tensor));
}

}  // namespace fatctx::container
