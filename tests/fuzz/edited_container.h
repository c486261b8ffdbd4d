// Good containers, and edits of them by the bytes of a fuzz input. An edit is 1 byte for its kind, and then
//   0 field of the TOC   1 byte table, 1 byte row, 1 byte place, 1 byte size (1, 2, 4, 8), that many bytes
//   1 bytes of the TOC   2 bytes place, 1 byte count, the bytes
//   2 slot A (A0 and A1) 1 byte place, 1 byte count, the bytes
//   3 prologues          1 byte place, 1 byte count, the bytes
//   4 payload            1 byte segment, 2 bytes place, 1 byte count, the bytes
//   5 cut or grow        2 bytes, signed: the number of 61-byte units
//   6 without a checksum 3 bytes place, 1 byte value: after all others, and no checksum is corrected
//   7 slot B             1 byte place, 1 byte count, the bytes
// A count of 128 or more for slots and prologues edits only the first of the two copies.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "container/format/disk_format.h"
#include "fuzz/input.h"
#include "support/rehash.h"
#include "support/sample_container.h"

namespace fatctx::fuzz {

using support::Bytes;

// Returns the form of a good file.
[[nodiscard]] inline const container::HeaderForm& form_of(const Bytes& good) {
  return container::header_form(support::struct_at<container::Prologue>(good, 0).extent_log2);
}

// Returns a file with records of every kind: keys, references, tensors, a description, a compressed record, an empty
// one.
[[nodiscard]] inline Bytes rich_file(std::uint8_t extent_log2 = container::kExtentLog2) {
  std::vector<PackRecord> records;
  for (const char* arch : {"x86-64-v2", "aarch64"}) {
    PackRecord record = support::binary_record(std::string("bin-") + arch, arch, support::pattern(300, 3));
    record.weights = {"weights"};
    record.source.bytes.push_back(static_cast<std::byte>(arch[0]));
    record.description.graphs = {{"main", {{"in", "float32", {1, -1}}}, {{"out", "float32", {1, 7}}}}};
    record.description.options = {{"level", "3", "tool"}};
    records.push_back(std::move(record));
  }
  PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(66'000, 11));
  weights.key.group = "model";
  weights.tensors = {
      {.name = "w", .dtype = DType::kF32, .shape = {10, 5}, .offset_in_blob = 64, .size_bytes = 200},
      {.name = "b", .dtype = DType::kI4, .shape = {7}, .offset_in_blob = 264, .size_bytes = 4},
  };
  records.push_back(std::move(weights));
  PackRecord cold = support::plain_record(RecordType::kSourceModel, "cold", Bytes(5'000, std::byte{'a'}));
  for (std::size_t i = 0; i < cold.source.bytes.size(); i += 7) cold.source.bytes[i] = static_cast<std::byte>(i % 251);
  cold.codec = Codec::kLz4;
  records.push_back(std::move(cold));
  records.push_back(support::plain_record(RecordType::kOpaque, "small", support::pattern(33, 22)));
  records.push_back(support::plain_record(RecordType::kOpaque, "empty", {}));
  PackOptions options;
  options.extent_log2 = extent_log2;
  options.model_name = "model";
  return support::packed_bytes(std::move(records), std::move(options));
}

// Returns a file with records that share bytes at other places: a recipe as it is, a compressed one, and one whose
// sources are parts of others.
[[nodiscard]] inline Bytes recipe_file() {
  const auto joined = [](std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  };
  const Bytes a = support::pattern(70'000, 31);
  const Bytes b = support::pattern(70'000, 32);
  Bytes rows(3'000, std::byte{'x'});  // compresses well
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::byte>(i % 32);
  PackOptions options;
  options.sharing = Sharing::kBytes;
  // The longest record stores its bytes; the others are made of them.
  return support::packed_bytes(
      {support::binary_record("base", "x86-64-v2", joined({a, support::pattern(90'000, 34), b})),
       support::binary_record("plain", "x86-64-v3", joined({support::pattern(40, 33), b, a})),
       support::binary_record("packed", "x86-64-v4", joined({a, rows, b, rows}))},
      std::move(options));
}

class Edits {
 public:
  Edits(Bytes& file, const Bytes& good)
      : file_(file), good_(good), slot_(support::struct_at<container::Slot>(good, form_.slots[0])) {}

  void apply(Input& input) {
    switch (input.byte() % 8) {
      case 0:
        return field(input);
      case 1: {
        const std::uint64_t place = slot_.toc_offset[0] + input.number(2) % slot_.toc_size;
        return put(place, input.take(input.byte()));
      }
      case 2:
        return both(form_.slots[0], form_.slots[2], input);
      case 3:
        return both(form_.prologues[0], form_.prologues[1], input);
      case 4:
        return payload(input);
      case 5: {
        const auto by = static_cast<std::int16_t>(input.number(2)) * 61;
        const auto size = static_cast<std::int64_t>(file_.size()) + by;
        return file_.resize(static_cast<std::size_t>(std::max<std::int64_t>(size, 0)));
      }
      case 6: {
        const std::uint64_t place = input.number(3);
        return last_.push_back({place, static_cast<std::byte>(input.byte())});
      }
      default:
        return both(form_.slots[1], form_.slots[3], input);
    }
  }
  // Applies the edits that come after every checksum was corrected.
  void apply_last() {
    for (const auto& [place, value] : last_) {
      if (!file_.empty()) file_[static_cast<std::size_t>(place % file_.size())] = value;
    }
  }

 private:
  void put(std::uint64_t offset, ByteView bytes) {
    if (within({offset, bytes.size()}, file_.size())) {
      std::copy(bytes.begin(), bytes.end(), file_.begin() + static_cast<std::ptrdiff_t>(offset));
    }
  }
  void both(std::uint64_t first, std::uint64_t second, Input& input) {
    const std::uint64_t place = input.byte();
    const std::uint8_t count = input.byte();
    const ByteView bytes = input.take(count % 128U);
    put(first + place, bytes);
    if (count < 128) put(second + place, bytes);
  }
  // Edits a field by table and row, so that a fuzzer need not find the offsets of tables. The tables are those of the
  // good file: an edit of the directory must not change the meaning of the next edit.
  void field(Input& input) {
    const std::uint64_t which = input.byte() % (container::kTableCount + 2);
    const std::uint64_t row = input.byte();
    const std::uint64_t place = input.byte();
    const ByteView bytes = input.take(std::uint64_t{1} << (input.byte() % 4));
    if (which == container::kTableCount) return put(slot_.toc_offset[0] + place % sizeof(container::TocHeader), bytes);
    if (which > container::kTableCount) {
      const std::uint64_t directory =
          sizeof(container::TocHeader) + row % container::kTableCount * sizeof(container::DirectoryEntry);
      return put(slot_.toc_offset[0] + directory + place % sizeof(container::DirectoryEntry), bytes);
    }
    const auto table = support::struct_at<container::DirectoryEntry>(
        good_, slot_.toc_offset[0] + sizeof(container::TocHeader) + which * sizeof(container::DirectoryEntry));
    if (table.count == 0) return;
    const std::uint64_t size = container::kTableEntrySizes[which];
    put(slot_.toc_offset[0] + table.offset + row % table.count * size + place % size, bytes);
  }
  void payload(Input& input) {
    const auto table =
        support::struct_at<container::DirectoryEntry>(good_, slot_.toc_offset[0] + sizeof(container::TocHeader));
    const std::uint64_t row = input.byte() % table.count;
    const auto segment = support::struct_at<container::SegmentEntry>(
        good_, slot_.toc_offset[0] + table.offset + row * sizeof(container::SegmentEntry));
    const std::uint64_t place = input.number(2) % segment.size;
    put(segment.offset + place, input.take(input.byte()));
  }

  Bytes& file_;
  const Bytes& good_;
  const container::HeaderForm& form_ = form_of(good_);
  container::Slot slot_;
  std::vector<std::pair<std::uint64_t, std::byte>> last_;
};

}  // namespace fatctx::fuzz
