// Small files that require much work, with every checksum correct and every rule kept.
#pragma once

#include <cstdint>
#include <string>

#include "container/format/codec.h"
#include "container/format/hash.h"
#include "support/large_form.h"
#include "support/recipe_file.h"
#include "support/sample_container.h"

namespace fatctx::support {

// Returns one lz4 frame of `bytes`.
inline Bytes frame_of(ByteView bytes) {
  Bytes frame;
  const auto keep = [&](ByteView piece) -> Status {
    frame.insert(frame.end(), piece.begin(), piece.end());
    return Done{};
  };
  container::FrameWriter writer(bytes.size());
  if (!writer.write(bytes, keep).ok() || !writer.finish(keep).ok()) throw std::runtime_error("lz4 does not compress");
  return frame;
}

// A description of the records of a costly file: one program, stored once as an lz4 frame, makes each of them.
struct Repeated {
  RecordType type = RecordType::kOpaque;
  std::uint32_t count = 1;
  std::uint64_t size = 0;  // of each record
  container::DiskHash hash = {};
  Bytes program;
};

// Adds the records. Requires: `file` is unsealed_sample(), and the frame of the program is shorter than 50,000 bytes.
// Each table of tensors refers to a blob of the sample's weights.
inline void add_repeated(HostileFile& file, const Repeated& repeated) {
  constexpr std::uint32_t kPackedSegment = 0;
  const std::uint32_t name = file.add_name("costly");
  const bool tables = repeated.type == RecordType::kTensorTable;
  const std::uint64_t row_size =
      (sizeof(container::RecordEntry) + sizeof(container::SliceEntry) + sizeof(container::NameIndexEntry)) *
          (tables ? 2 : 1) +
      (tables ? sizeof(container::ReferenceEntry) : 0);
  const std::uint64_t body = file.live.toc_size + 2 + std::string_view("costly").size() + row_size * repeated.count;
  const std::uint64_t toc_size = body + (body / container::kTocPageSize + 1) * sizeof(container::DiskHash);
  const auto blocks = static_cast<std::size_t>((toc_size - 1) / container::kHeaderSize);
  if (blocks != 0) file.make_room_for_toc(blocks);
  const Bytes frame = frame_of(repeated.program);
  container::SegmentEntry& packed = file.segments.at(kPackedSegment);
  const std::uint64_t at = (packed.size + 63) / 64 * 64;
  const std::uint64_t in_file = packed.offset + at;
  if (at + frame.size() > container::kLeafSize) throw std::length_error("the program does not fit behind the records");
  packed.size = at + frame.size();
  const container::RecordEntry weights = file.record(RecordType::kWeightBlob);
  const container::SliceEntry slice = file.slice_of(weights);
  for (std::uint32_t i = 0; i < repeated.count; ++i) {
    if (tables) {  // a blob has one table at most
      container::RecordEntry& blob = file.append_record(RecordType::kWeightBlob, 1, weights.logical_size);
      blob.name = name;
      blob.logical_hash = weights.logical_hash;
      file.append_slice(slice.segment, slice.offset_in_segment, slice.size);
    }
    container::RecordEntry& record = file.append_record(repeated.type, 1, repeated.size);
    record.name = name;
    record.flags = container::kRecordRecipe;
    record.codec = container::kCodecLz4Frame;
    record.alignment_log2 = 6;
    record.stored_size = frame.size();
    record.logical_hash = repeated.hash;
    file.append_slice(kPackedSegment, at, frame.size());
    if (!tables) continue;
    container::ReferenceEntry reference = {};
    reference.from_record = record.record_id;
    reference.to_record = record.record_id - 1;
    reference.kind = static_cast<std::uint16_t>(container::ReferenceKind::kTensorTable);
    file.references.push_back(reference);
  }
  file.in_payload = [in_file, frame](Bytes& out) { std::memcpy(out.data() + in_file, frame.data(), frame.size()); };
  file.rehash_payload = true;
}

// Returns a file with `count` records of `size` zeros, each filled by one step. The hash is right only if `hashed`:
// computing it takes as long as a check.
inline Bytes file_of_fills(std::uint64_t size, std::uint32_t count, bool hashed) {
  Repeated repeated{.count = count, .size = size, .hash = {}, .program = ProgramText().fill(size, 0).bytes()};
  if (hashed) {
    const Bytes zeros(std::size_t{1} << 20);
    container::Hasher hasher;
    for (std::uint64_t left = size; left != 0;) {
      const ByteView piece =
          ByteView(zeros).first(static_cast<std::size_t>(std::min<std::uint64_t>(left, zeros.size())));
      hasher.update(piece);
      left -= piece.size();
    }
    repeated.hash = hasher.digest().bytes;
  }
  HostileFile file(unsealed_sample());
  add_repeated(file, repeated);
  return file.bytes();
}

// Returns a file with `count` records whose program has `steps` steps of 64 bytes each. A step takes 32 bytes of memory
// and almost no stored bytes.
inline Bytes file_of_programs(std::uint64_t steps, std::uint32_t count) {
  constexpr std::uint64_t kStep = 64;
  Repeated repeated;
  repeated.count = count;
  repeated.size = steps * kStep;
  ProgramText program;
  const Bytes block[2] = {Bytes(kStep, std::byte{0}), Bytes(kStep, std::byte{1})};
  container::Hasher hasher;
  for (std::uint64_t i = 0; i < steps; ++i) {
    program.fill(kStep, static_cast<std::uint8_t>(i % 2));
    hasher.update(block[i % 2]);
  }
  repeated.hash = hasher.digest().bytes;
  repeated.program = program.bytes();
  HostileFile file(unsealed_sample());
  add_repeated(file, repeated);
  return file.bytes();
}

// Returns a file with `count` tables of tensors of `size` zeros. They are invalid tables, but a reader may try them.
inline Bytes file_of_tables(std::uint64_t size, std::uint32_t count) {
  HostileFile file(unsealed_sample());
  add_repeated(file, {.type = RecordType::kTensorTable,
                      .count = count,
                      .size = size,
                      .hash = {},
                      .program = ProgramText().fill(size, 0).bytes()});
  return file.bytes();
}

}  // namespace fatctx::support
