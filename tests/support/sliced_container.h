// Containers whose records have several slices: packed whole, then split in their tables, with every checksum correct.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/hostile_file.h"
#include "support/sample_container.h"

namespace fatctx::support {

// A program whose tests map slices on a system where no map begins at a multiple of 4 KiB defines another one.
#ifndef FATCTX_TEST_GRANULE
#define FATCTX_TEST_GRANULE 4096
#endif
inline constexpr std::uint64_t kGranule = FATCTX_TEST_GRANULE;

struct StoreSlice {
  ByteRange range;
  std::size_t store = 0;
};

// A record with the properties of `like` and the bytes of its slices.
struct SlicedRecord {
  PackRecord like;
  std::vector<StoreSlice> slices;
};

[[nodiscard]] inline SlicedRecord sliced(const std::string& name, std::vector<StoreSlice> slices) {
  return {plain_record(RecordType::kOpaque, name, {}), std::move(slices)};
}

// A container of stores, the records "store 0", "store 1" and so on, each a segment of its own. The other records are
// slices of them.
class SlicedContainer {
 public:
  explicit SlicedContainer(std::vector<Bytes> stores) : stores_(std::move(stores)) {}

  // Adds a record. Zeros replace the rest of the granule behind a short last slice.
  void add(SlicedRecord record) {
    const StoreSlice& last = record.slices.back();
    Bytes& store = stores_.at(last.store);
    for (std::uint64_t at = last.range.offset + last.range.size; at % kGranule != 0 && at < store.size(); ++at) {
      store[static_cast<std::size_t>(at)] = std::byte{0};
    }
    records_.push_back(std::move(record));
  }

  // Returns the bytes that a reader must see for a record.
  [[nodiscard]] Bytes expected(const std::string& name) const {
    Bytes bytes;
    for (const StoreSlice& slice : named(name).slices) {
      const ByteView part = fatctx::slice(stores_.at(slice.store), slice.range).value();
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return bytes;
  }

  // Returns the tables, for further changes.
  [[nodiscard]] HostileFile tables() const {
    std::vector<PackRecord> packed;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      packed.push_back(plain_record(RecordType::kOpaque, store_name(i), stores_[i]));
    }
    for (const SlicedRecord& record : records_) {
      packed.push_back(record.like);
      packed.back().source.bytes = stores_.at(record.slices.front().store);  // equal records are stored once
    }
    HostileFile file(packed_bytes(std::move(packed)));
    std::vector<std::uint32_t> segments;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      segments.push_back(file.slice_of(record_named(file, store_name(i))).segment);
    }
    for (const SlicedRecord& record : records_) cut_up(file, record, segments);
    const std::uint64_t grown = file.slices.size() * sizeof(container::SliceEntry);
    if (grown > container::kHeaderSize / 2) file.make_room_for_toc(grown / container::kHeaderSize);
    return file;
  }
  [[nodiscard]] Bytes bytes() const { return tables().bytes(); }

  [[nodiscard]] static container::RecordEntry& record_named(HostileFile& file, const std::string& name) {
    const std::uint32_t wanted = file.name(name);
    for (container::RecordEntry& entry : file.records) {
      if (entry.name == wanted) return entry;
    }
    throw std::out_of_range("no record " + name);
  }

 private:
  [[nodiscard]] static std::string store_name(std::size_t index) { return "store " + std::to_string(index); }
  [[nodiscard]] const SlicedRecord& named(const std::string& name) const {
    for (const SlicedRecord& record : records_) {
      if (record.like.name == name) return record;
    }
    throw std::out_of_range("no record " + name);
  }

  void cut_up(HostileFile& file, const SlicedRecord& record, const std::vector<std::uint32_t>& segments) const {
    container::RecordEntry& entry = record_named(file, record.like.name);
    const auto at = file.slices.begin() + static_cast<std::ptrdiff_t>(entry.first_slice);
    std::vector<container::SliceEntry> cut;
    std::uint64_t size = 0;
    for (const StoreSlice& slice : record.slices) {
      container::SliceEntry& made = cut.emplace_back();
      made.segment = segments.at(slice.store);
      made.offset_in_segment = slice.range.offset;
      made.size = slice.range.size;
      size += slice.range.size;
    }
    file.slices.insert(file.slices.erase(at), cut.begin(), cut.end());
    const auto more = static_cast<std::uint32_t>(cut.size() - 1);
    for (container::RecordEntry& other : file.records) {
      if (other.record_id > entry.record_id) other.first_slice = other.first_slice + more;
    }
    entry.slice_count = more + 1;
    entry.logical_size = entry.stored_size = size;
    entry.alignment_log2 = 12;
    entry.logical_hash = container::hash128(expected(record.like.name)).bytes;
    for (container::ReferenceEntry& reference : file.references) {
      if (reference.to_record == entry.record_id) reference.bound_hash = entry.logical_hash;
    }
  }

  std::vector<Bytes> stores_;
  std::vector<SlicedRecord> records_;
};

// The model of sliced records. Its binaries "even" (x86-64-v3) and "odd" (aarch64) have every second granule of the
// first store, and end in the middle of one. They refer to "weights", the granules of the second store from back to
// front, with the tensors "a" (across a border of slices) and "b".
inline constexpr std::size_t kSlicedGranules = 64;

[[nodiscard]] inline SlicedContainer sliced_model() {
  SlicedContainer file({pattern(kSlicedGranules * kGranule, 31), pattern(kSlicedGranules * kGranule, 32)});
  for (const std::size_t first : {0U, 1U}) {
    SlicedRecord binary{binary_record(first == 0 ? "even" : "odd", first == 0 ? "x86-64-v3" : "aarch64", {}), {}};
    binary.like.weights = {"weights"};
    for (std::size_t i = first; i < kSlicedGranules; i += 2) binary.slices.push_back({{i * kGranule, kGranule}, 0});
    binary.slices.back().range.size = 1'000;
    file.add(std::move(binary));
  }
  SlicedRecord weights{plain_record(RecordType::kWeightBlob, "weights", {}), {}};
  weights.like.key.group = "model";
  weights.like.tensors = {
      {.name = "a", .dtype = DType::kI8, .shape = {6'000}, .offset_in_blob = 1'000, .size_bytes = 6'000},
      {.name = "b", .dtype = DType::kF32, .shape = {100}, .offset_in_blob = 50 * kGranule, .size_bytes = 400}};
  for (std::size_t i = kSlicedGranules; i-- > 0;) weights.slices.push_back({{i * kGranule, kGranule}, 1});
  file.add(std::move(weights));
  return file;
}

}  // namespace fatctx::support
