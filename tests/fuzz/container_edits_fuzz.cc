// Edits of a good container whose checksums are all made right again, as a hostile author would do: what lies behind
// the hashes meets every kind of nonsense.
//
// Input: 1 byte which file; then edits until the bytes are used up. An edit is 1 byte what, and then
//   0 field of the TOC   1 byte table, 1 byte row, 1 byte place, 1 byte size (1, 2, 4, 8), that many bytes
//   1 bytes of the TOC   2 bytes place, 1 byte count, the bytes
//   2 slot A (A0 and A1) 1 byte place, 1 byte count, the bytes
//   3 prologues          1 byte place, 1 byte count, the bytes
//   4 payload            1 byte segment, 2 bytes place, 1 byte count, the bytes
//   5 cut or grow        2 bytes, signed: how many times 61 bytes
//   6 without a checksum 3 bytes place, 1 byte value: after all others, and nothing is made right
//   7 slot B             1 byte place, 1 byte count, the bytes
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/rehash_file.h"
#include "fuzz/whole_container.h"
#include "support/sample_container.h"

namespace {

using namespace fatctx;
using namespace fatctx::container;
using support::Bytes;

// A file with a little of everything: keys, references, tensors, a description, a compressed record, an empty one.
Bytes rich_file() {
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
  options.model_name = "model";
  return support::packed_bytes(std::move(records), std::move(options));
}

const std::array<Bytes, 2>& good_files() {
  static const std::array<Bytes, 2> files = {rich_file(), support::sealed_sample()};
  return files;
}

class Edits {
 public:
  Edits(Bytes& file, const Bytes& good)
      : file_(file), good_(good), slot_(support::struct_at<Slot>(good, kSlotOffsets[0])) {}

  void apply(fuzz::Input& input) {
    switch (input.byte() % 8) {
      case 0:
        return field(input);
      case 1: {
        const std::uint64_t place = slot_.toc_offset[0] + input.number(2) % slot_.toc_size;
        return put(place, input.take(input.byte()));
      }
      case 2: {
        const std::uint64_t place = input.byte();
        const ByteView bytes = input.take(input.byte());
        put(kSlotOffsets[0] + place, bytes);
        return put(kSlotOffsets[2] + place, bytes);
      }
      case 3: {
        const std::uint64_t place = input.byte();
        const ByteView bytes = input.take(input.byte());
        put(kPrologueOffsets[0] + place, bytes);
        return put(kPrologueOffsets[1] + place, bytes);
      }
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
      default: {
        const std::uint64_t place = input.byte();
        const ByteView bytes = input.take(input.byte());
        put(kSlotOffsets[1] + place, bytes);
        return put(kSlotOffsets[3] + place, bytes);
      }
    }
  }
  // What happens after every checksum was made right.
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
  // A field by table and row, so that a fuzzer need not find out where tables lie. The tables are those of the good
  // file: an edit of the directory must not change what the next edit means.
  void field(fuzz::Input& input) {
    const std::uint64_t which = input.byte() % (kTableCount + 2);
    const std::uint64_t row = input.byte();
    const std::uint64_t place = input.byte();
    const ByteView bytes = input.take(std::uint64_t{1} << (input.byte() % 4));
    if (which == kTableCount) return put(slot_.toc_offset[0] + place % sizeof(TocHeader), bytes);
    if (which > kTableCount) {
      const std::uint64_t directory = sizeof(TocHeader) + row % kTableCount * sizeof(DirectoryEntry);
      return put(slot_.toc_offset[0] + directory + place % sizeof(DirectoryEntry), bytes);
    }
    const auto table = support::struct_at<DirectoryEntry>(
        good_, slot_.toc_offset[0] + sizeof(TocHeader) + which * sizeof(DirectoryEntry));
    if (table.count == 0) return;
    const std::uint64_t size = kTableEntrySizes[which];
    put(slot_.toc_offset[0] + table.offset + row % table.count * size + place % size, bytes);
  }
  void payload(fuzz::Input& input) {
    const auto table = support::struct_at<DirectoryEntry>(good_, slot_.toc_offset[0] + sizeof(TocHeader));
    const std::uint64_t row = input.byte() % table.count;
    const auto segment =
        support::struct_at<SegmentEntry>(good_, slot_.toc_offset[0] + table.offset + row * sizeof(SegmentEntry));
    const std::uint64_t place = input.number(2) % segment.size;
    put(segment.offset + place, input.take(input.byte()));
  }

  Bytes& file_;
  const Bytes& good_;
  Slot slot_;
  std::vector<std::pair<std::uint64_t, std::byte>> last_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const Bytes& good = good_files()[input.byte() % 2];
  Bytes file = good;
  Edits edits(file, good);
  const bool edited = !input.empty();
  while (!input.empty()) edits.apply(input);
  fuzz::FileRehash(file).run();
  if (!edited) {
    fuzz::require(file == good, "making the checksums of a good file right changes nothing");
  }
  edits.apply_last();
  // Of exactly this size, so that the address sanitizer sees one byte too many.
  file.shrink_to_fit();
  fuzz::use_container(file);
  return 0;
}
