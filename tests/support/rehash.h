// Corrects the checksums of a file that a test has changed, so that the reader meets the change itself.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <stdexcept>

#include "container/format/crypto.h"
#include "container/format/disk_format.h"
#include "container/format/hash.h"
#include "container/format/page_hashes.h"
#include "container/read/tensor_table_format.h"
#include "support/large_form.h"
#include "support/temp_dir.h"

namespace fatctx::support {

template <typename T>
[[nodiscard]] T struct_at(ByteView bytes, std::uint64_t offset) {
  if (!within({offset, sizeof(T)}, bytes.size())) throw std::out_of_range("struct_at");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T>
void put_struct(Bytes& bytes, std::uint64_t offset, const T& value) {
  if (!within({offset, sizeof(T)}, bytes.size())) throw std::out_of_range("put_struct");
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

inline void rehash_sector(Bytes& file, std::uint64_t offset, std::uint64_t seed) {
  constexpr std::uint64_t kHashAt = container::kSectorSize - sizeof(container::DiskHash);
  const Hash128 hash = container::hash128(ByteView(file).subspan(static_cast<std::size_t>(offset), kHashAt), seed);
  put_struct(file, offset + kHashAt, hash.bytes);
}

// Corrects the hashes of both prologues and all four slots. The seed of the slots is the uuid of prologue copy 0.
inline void rehash_header(Bytes& file, const container::HeaderForm& form = container::kLargeForm) {
  for (const std::uint64_t offset : form.prologues) rehash_sector(file, offset, 0);
  const auto prologue = struct_at<container::Prologue>(file, form.prologues[0]);
  for (std::uint8_t index = 0; index < form.slots.size(); ++index) {
    rehash_sector(file, form.slots[index], container::slot_seed(prologue.uuid, index));
  }
}

// Corrects the hashes of the pages in the head of a table of contents, as far as the numbers in the head make sense.
inline void rehash_pages(std::span<std::byte> toc, std::uint64_t head_size) {
  if (toc.size() < sizeof(container::TocHeader)) return;
  const auto head = struct_at<container::TocHeader>(toc, 0);
  if (head_size > toc.size()) return;
  const ByteView body = ByteView(toc).subspan(static_cast<std::size_t>(head_size));
  const std::uint64_t pages = container::toc_pages(body.size());
  if (head_size < container::toc_head_size(pages, false)) return;
  const bool sha256 = (head.flags & container::kTocSha256) != 0 && head_size >= container::toc_head_size(pages, true);
  const std::span<std::byte> hashes = toc.subspan(container::kPageHashesStart);
  container::put_page_hashes(body, hashes);
  if (sha256) {
    container::put_page_sha256(body, hashes.subspan(static_cast<std::size_t>(pages * sizeof(container::DiskHash))));
  }
}
// Corrects the hashes of the pages of a tensor table, as far as the numbers in it make sense.
inline void rehash_table(std::span<std::byte> table) {
  if (table.size() < sizeof(container::TensorTableHeader)) return;
  const auto header = struct_at<container::TensorTableHeader>(table, 0);
  const std::uint64_t head = sizeof(header) + std::uint64_t{header.page_count} * sizeof(container::DiskHash);
  if (head > table.size()) return;
  const ByteView body = ByteView(table).subspan(static_cast<std::size_t>(head));
  if (container::toc_pages(body.size()) != header.page_count) return;
  container::put_page_hashes(body, table.subspan(sizeof(header)));
}

// Returns the head of a table of contents; at most the whole table.
[[nodiscard]] inline ByteView head_in(ByteView toc, std::uint64_t head_size) {
  return toc.first(static_cast<std::size_t>(std::min<std::uint64_t>(head_size, toc.size())));
}

// Updates copy 1, slots and header after a change of TOC copy 0, for a file whose generation is in pair A.
inline void rehash_toc(Bytes& file) {
  auto slot = struct_at<container::Slot>(file, container::kSlotOffsets[0]);
  const std::span<std::byte> toc =
      std::span(file).subspan(static_cast<std::size_t>(slot.toc_offset[0]), static_cast<std::size_t>(slot.toc_size));
  rehash_pages(toc, slot.toc_head_size);
  std::memcpy(file.data() + slot.toc_offset[1], toc.data(), toc.size());
  const Hash128 hash = container::hash128(head_in(toc, slot.toc_head_size));
  for (const std::size_t index : {std::size_t{0}, std::size_t{2}}) {
    slot = struct_at<container::Slot>(file, container::kSlotOffsets[index]);
    slot.toc_hash = hash.bytes;
    put_struct(file, container::kSlotOffsets[index], slot);
  }
  rehash_header(file);
}

}  // namespace fatctx::support
