// Malformed files that an open does not detect, because it reads neither payload nor second copies: verify finds them.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include "container/read/lie.h"
#include "container/read/tensor_table_format.h"
#include "support/recipe_file.h"

namespace fatctx::container {

// Returns a hand-encoded protobuf field that holds bytes.
inline support::Bytes proto_field(int number, const support::Bytes& value) {
  support::Bytes bytes = {static_cast<std::byte>(number << 3 | 2)};
  std::size_t rest = value.size();
  for (; rest >= 0x80; rest >>= 7) bytes.push_back(static_cast<std::byte>(rest | 0x80));
  bytes.push_back(static_cast<std::byte>(rest));
  bytes.insert(bytes.end(), value.begin(), value.end());
  return bytes;
}
inline support::Bytes proto_text(int number, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return proto_field(number, {bytes.begin(), bytes.end()});
}
inline support::Bytes operator+(support::Bytes a, const support::Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
inline support::Bytes proto_record(unsigned id) {  // of a description, with its id only
  return proto_field(4, {std::byte{1 << 3}, static_cast<std::byte>(id)});
}
inline support::Bytes nested_groups(int depth) {  // an unknown field: groups in groups
  support::Bytes bytes(static_cast<std::size_t>(depth), std::byte{9 << 3 | 3});
  bytes.insert(bytes.end(), static_cast<std::size_t>(depth), std::byte{9 << 3 | 4});
  return bytes;
}

inline void describe_with(support::HostileFile& file, const support::Bytes& payload) {
  file.replace_last_packed(RecordType::kDescription, payload);
}

template <typename Struct>
void edit_tensor_table(support::HostileFile& file, std::uint64_t offset, void (*edit)(Struct&)) {
  const SliceEntry& slice = file.slice_of(file.record(RecordType::kTensorTable));
  const std::uint64_t at = file.segments.at(slice.segment).offset + slice.offset_in_segment + offset;
  file.in_payload = [at, edit](support::Bytes& bytes) {
    auto entry = support::struct_at<Struct>(bytes, at);
    edit(entry);
    support::put_struct(bytes, at, entry);
  };
  file.rehash_payload = true;
}

// Where the entries of the sample's tensor table begin: it has one page.
inline constexpr std::uint64_t kTensorsAt = sizeof(TensorTableHeader) + sizeof(DiskHash);

inline void flip(support::HostileFile& file, std::uint64_t offset) {
  file.at_last = [offset](support::Bytes& bytes) { bytes.at(static_cast<std::size_t>(offset)) ^= std::byte{4}; };
}

// Adds a record that is the sample's weights by a recipe of one step.
inline void weights_by_recipe(support::HostileFile& file, support::ProgramText program) {
  support::add_recipe(file, program.bytes(), support::Bytes(150'000));
}

inline constexpr Lie kVerifyLies[] = {
    {"a recipe that leaves its source", [](auto& f) { weights_by_recipe(f, support::ProgramText().copy(150'000, 1)); },
     ErrorCode::kMalformed, "F39"},
    {"a recipe that does not read its source",
     [](auto& f) { weights_by_recipe(f, support::ProgramText().fill(150'000, 1)); }, ErrorCode::kMalformed, "F39"},
    {"a recipe of too many steps",
     [](auto& f) {
       support::ProgramText program;
       program.copy(150'000, 0).head.step_count = 150'000 / 64 + 17;
       weights_by_recipe(f, program);
     },
     ErrorCode::kLimitExceeded, "F42"},
    {"a recipe with an empty step",
     [](auto& f) { weights_by_recipe(f, support::ProgramText().fill(0, 1).copy(150'000, 0)); }, ErrorCode::kMalformed,
     "F42"},
    {"prologue copy 0 damaged", [](auto& f) { flip(f, 0x0020); }, ErrorCode::kChecksumMismatch, "F2"},
    {"prologue copy 1 damaged", [](auto& f) { flip(f, 0x81ff); }, ErrorCode::kChecksumMismatch, "F2"},
    {"slot A0 damaged", [](auto& f) { flip(f, 0x1000); }, ErrorCode::kChecksumMismatch, "F6"},
    {"slot B0 damaged", [](auto& f) { flip(f, 0x4005); }, ErrorCode::kChecksumMismatch, "F6"},
    {"slot A1 damaged", [](auto& f) { flip(f, 0x9040); }, ErrorCode::kChecksumMismatch, "F6"},
    {"slot B1 damaged", [](auto& f) { flip(f, 0xc1ff); }, ErrorCode::kChecksumMismatch, "F6"},
    {"header padding damaged", [](auto& f) { flip(f, 0xffff); }, ErrorCode::kChecksumMismatch, "F35"},
    {"a byte behind a slot", [](auto& f) { flip(f, 0x1200); }, ErrorCode::kChecksumMismatch, "F35"},
    {"TOC copy 0 damaged", [](auto& f) { flip(f, f.live.toc_offset[0] + 200); }, ErrorCode::kChecksumMismatch, "F14"},
    {"TOC copy 1 damaged", [](auto& f) { flip(f, f.live.committed_end - 1); }, ErrorCode::kChecksumMismatch, "F14"},
    {"a byte behind TOC copy 0", [](auto& f) { flip(f, 0x1ffff); }, ErrorCode::kMalformed, "F35"},
    {"a byte behind a segment", [](auto& f) { flip(f, f.segments[1].offset + f.segments[1].size); },
     ErrorCode::kMalformed, "F35"},
    {"a byte in front of TOC copy 1", [](auto& f) { flip(f, f.live.toc_offset[1] - 1); }, ErrorCode::kMalformed, "F35"},
    {"a byte between two packed records",
     [](auto& f) {
       f.in_payload = [at = f.segments[0].offset + f.slices[5].size](auto& b) { b[at] = std::byte{1}; };
       f.rehash_payload = true;
     },
     ErrorCode::kMalformed, "F35"},
    {"a leaf hash damaged", [](auto& f) { flip(f, f.segments[6].offset + 16); }, ErrorCode::kChecksumMismatch, "F26"},
    {"leaves that do not match their hash", [](auto& f) { f.segments[1].leaves_hash[0] ^= std::byte{1}; },
     ErrorCode::kChecksumMismatch, "F26"},
    {"a LEAVES segment that does not match its hash", [](auto& f) { f.segments[6].leaves_hash[0] ^= std::byte{1}; },
     ErrorCode::kChecksumMismatch, "F26"},
    {"a record that does not match its hash", [](auto& f) { f.records[0].logical_hash[0] ^= std::byte{1}; },
     ErrorCode::kChecksumMismatch, "F37"},
    {"a packed record that does not match its hash", [](auto& f) { f.records[6].logical_hash[9] ^= std::byte{1}; },
     ErrorCode::kChecksumMismatch, "F37"},
    {"a compressed record that is no frame",
     [](auto& f) {
       f.append_record(RecordType::kSourceModel, 1, 100).codec = kCodecLz4Frame;
       f.append_slice(1, 0, 100);
     },
     ErrorCode::kCodec, "F41"},
    {"a compressed description that is no frame",
     [](auto& f) { f.record(RecordType::kDescription).codec = kCodecLz4Frame; }, ErrorCode::kCodec, "F41"},

    {"a description that does not parse",
     [](auto& f) {
       describe_with(f, {std::byte{0xff}, std::byte{0xff}});
     },
     ErrorCode::kMalformed, "F32"},
    {"a description cut off",
     [](auto& f) {
       describe_with(f, {std::byte{0x0a}, std::byte{9}, std::byte{'x'}});
     },
     ErrorCode::kMalformed, "F32"},
    {"a description that ends with a group's end", [](auto& f) { describe_with(f, {std::byte{9 << 3 | 4}}); },
     ErrorCode::kMalformed, "F32"},
    {"a description nested too deep", [](auto& f) { describe_with(f, nested_groups(40)); }, ErrorCode::kMalformed,
     "F32"},
    {"a description with a text that is not UTF-8", [](auto& f) { describe_with(f, proto_text(1, "\xff")); },
     ErrorCode::kMalformed, "F32"},
    {"descriptions in descending order", [](auto& f) { describe_with(f, proto_record(2) + proto_record(1)); },
     ErrorCode::kMalformed, "F32"},
    {"a record described twice", [](auto& f) { describe_with(f, proto_record(2) + proto_record(2)); },
     ErrorCode::kMalformed, "F32"},
    {"a description of record 0", [](auto& f) { describe_with(f, proto_record(0)); }, ErrorCode::kMalformed, "F32"},
    {"a description of a record that is not there", [](auto& f) { describe_with(f, proto_record(99)); },
     ErrorCode::kMalformed, "F37"},
    {"a path in an option of the container",
     [](auto& f) { describe_with(f, proto_field(3, proto_text(1, "htp.backend_path") + proto_text(2, "x.so"))); },
     ErrorCode::kMalformed, "F34"},
    {"a path in an option of a record",
     [](auto& f) {
       describe_with(f, proto_field(4, support::Bytes{std::byte{1 << 3}, std::byte{1}} +
                                           proto_field(5, proto_text(1, "cache_dir") + proto_text(2, "cache"))));
     },
     ErrorCode::kMalformed, "F34"},

    {"a tensor outside its blob",
     [](auto& f) { edit_tensor_table<TensorEntry>(f, kTensorsAt, [](auto& e) { e.offset_in_blob = 149'924; }); },
     ErrorCode::kMalformed, "F33"},
    {"a tensor table whose index names a tensor twice",
     [](auto& f) {
       edit_tensor_table<std::array<NameIndexEntry, 2>>(f, kTensorsAt + 2 * sizeof(TensorEntry),
                                                        [](auto& e) { e[1] = e[0]; });
     },
     ErrorCode::kMalformed, "F46"},
    {"a page of a tensor table that does not match its hash",
     [](auto& f) {
       edit_tensor_table<DiskHash>(f, sizeof(TensorTableHeader), [](auto& e) { e[0] ^= std::byte{1}; });
       f.keep_pages = true;
     },
     ErrorCode::kChecksumMismatch, "F46", "page 0"},
    {"a tensor table under the hash of another one", [](auto& f) { f.references[4].table_hash[0] ^= std::byte{1}; },
     ErrorCode::kChecksumMismatch, "F46", "its head"},
    {"a tensor table for another blob",
     [](auto& f) { edit_tensor_table<TensorTableHeader>(f, 0, [](auto& h) { h.blob_size = h.blob_size + 1; }); },
     ErrorCode::kMalformed, "F37"},
    {"a tensor table without magic",
     [](auto& f) { edit_tensor_table<TensorTableHeader>(f, 0, [](auto& h) { h.magic = {}; }); }, ErrorCode::kBadMagic,
     "F33"},
    {"reserved bytes of a tensor",
     [](auto& f) { edit_tensor_table<TensorEntry>(f, kTensorsAt, [](auto& e) { e.reserved1 = 1; }); },
     ErrorCode::kMalformed, "F20"},
};

}  // namespace fatctx::container
