// Writing a container: add records, then publish one file whose bytes depend on nothing but them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/progress.h"
#include "fatctx/record.h"
#include "fatctx/view.h"

namespace fatctx {

// A source of bytes that are neither a file nor in memory: a record of another container, an entry of an archive.
//
// Threads: const members from any number of threads.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Returns the name that errors use for it.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::uint64_t size_bytes() const noexcept = 0;
  // Fills `out` from `offset` on. Called in any order, and several times for the same bytes, which must be the same.
  // Requires: the range is inside the source.
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
  // Gives back resources for reading, as nothing is read for a while.
  virtual void close() const noexcept {}
  // Returns the hash of all the bytes if it is known; the packed bytes are compared with it.
  [[nodiscard]] virtual std::optional<Hash128> hash() const { return std::nullopt; }
  // Returns true for a backend that writes its context out. Errors of read_at(), except cancelled and out_of_memory,
  // then become serialise_failed; a size that changes later does, too. Returns false for bytes that are already stored,
  // whose errors stay unchanged.
  [[nodiscard]] virtual bool makes_bytes() const noexcept { return true; }
};

// The source of a record's bytes. A file is read several times (to find equal records and equal pages, to copy, to
// check) in pieces of a fixed size. Memory use does not depend on its size, except for hashes of its pages. The file
// must not change in between.
struct PackSource {
  std::string path;                                    // a file; or, if empty, `bytes`
  std::vector<std::byte> bytes;                        // small records made in memory
  std::optional<ByteRange> part = {};                  // of the file; nothing: all of it
  std::shared_ptr<const ByteSource> source = nullptr;  // instead of both
  // Instead of all of these: bytes loaded from a container, a DLC or a raw binary; PackRecord::copy is then required.
  std::optional<RecordView> loaded = {};
};

struct PackTensor {
  std::string name;
  DType dtype = DType::kU8;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset_in_blob = 0;
  std::uint64_t size_bytes = 0;
  bool alias = false;
};

// A part of an otherwise opaque record that may be equal to a part of another.
struct PackRange {
  std::string name;  // what errors call it
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;  // at least 1
};

// A selection key that owns its strings; see SelectionKey for the meaning of the fields.
struct PackKey {
  std::string group;
  std::string unit;
  std::string backend;
  std::uint32_t qnn_soc = 0;
  std::string part;
  std::string arch;
  std::vector<std::string> features;
  std::uint32_t vtcm_mb = 0;
  Version sdk;
  std::string variant;
  Version api;
  Version blob;
  bool generic = false;
};

struct PackRecord {
  RecordType type = RecordType::kOpaque;
  std::string name;  // unique in the container; UTF-8 without control characters and `/`, at most 255 bytes
  PackKey key;
  PackSource source;
  std::vector<std::string> weights;  // names of the weight blobs it refers to
  std::vector<PackTensor> tensors;   // weight blobs only: becomes a tensor-table record "<name>.tensors"
  RecordDescription description;     // record_id is filled in by the packer
  // kLz4 is for source models and opaque records, which nobody maps. It is applied if it makes the record smaller and
  // the record is at most 1 GiB.
  Codec codec = Codec::kNone;
  // By default an opaque record of up to 64 KiB shares an extent with others and begins on a multiple of 64 bytes. With
  // this it has its own extent, so that its pages can be mapped at an address of their own.
  bool own_extent = false;
  // The ranges of its parts, if it has no tensors that name them: ascending by offset, inside the record, without
  // overlap. Equal parts are stored once, at any offset; the ranges are not kept in the file.
  std::vector<PackRange> ranges = {};
  // Allows a second copy of a record that already belongs to a file (PackSource::loaded).
  bool copy = false;
  // Doubts about this description, such as those of complete_target(). The report's warnings repeat them after the
  // record's name; they are not kept in the file.
  std::vector<std::string> warnings = {};
};

enum class Sharing : std::uint8_t { kOff, kPages, kBytes };

struct PackOptions {
  bool seal = false;
  bool overwrite = false;  // replace an existing file (by rename); otherwise `exists`
  // Equal records are always stored once.
  // kPages also stores equal runs of granules of uncompressed records once; such a record consists of several slices of
  // the file. If nothing is equal, both give the same file. Equal tensors of weight blobs that no context binary refers
  // to are stored once, at any offset. A view of such a tensor is a pointer into the file; a view of such a blob as a
  // whole may be composed.
  // kBytes stores equal runs of bytes once, at any offset. If several records consist of the same bytes, one stays
  // unchanged and the others become recipes, whose bytes are made on request.
  Sharing sharing = Sharing::kPages;
  std::uint32_t max_pieces = 4096;  // kPages: slices of one record; 1 to 65536
  // Alignment of segments: 12, 16 or 21. 0 chooses: 12 for a small file, at most 1 MiB of payload with the granule 12;
  // else 16.
  std::uint8_t extent_log2 = 0;
  std::uint8_t granule_log2 = 12;  // 12, 14 or 16; at most extent_log2
  // Stores SHA-256 beside XXH3, of each record and of each leaf, as a signature needs them. For those who fetch ranges
  // of the file and check them against a digest that they trust.
  bool sha256 = false;
  std::string model_name;
  std::vector<DescribedOption> options;
  Progress progress;
  // Number of threads that look for shared bytes; 0: the number of processors, at most 8. Changes no byte of the file.
  std::uint32_t threads = 0;
  // kPages: computes PackedRecordReport::reordered_bytes, at the price of another pass over the records.
  bool explain_sharing = false;
  // Refuses a second context binary for a SoC in the same group, unit and backend with `exists`, even if they differ
  // otherwise.
  bool one_per_soc = false;
  // Turns the warnings about records that cannot share as compiled, or share less (docs/sharing.md, "What does not
  // share"), into the error `unsupported`. Has no effect with Sharing::kOff.
  bool strict_sharing = false;
  // May be set by anybody, a signal handler too. publish() then ends with `cancelled` within the time of one read, and
  // the target is unchanged. Not read any more once the file is whole. Lifetime: until publish() returns.
  const std::atomic<bool>* cancel = nullptr;
};

// A report of one packed record.
struct PackedRecordReport {
  std::string name;
  std::uint32_t id = 0;
  std::uint64_t size_bytes = 0;    // logical
  std::uint64_t stored_bytes = 0;  // its own bytes in the file
  std::uint64_t shared_bytes = 0;  // found in what another record stores, or stored once though it repeats in this one
  // Estimate, within the stored bytes, of bytes that another record has at a different offset within a granule, so that
  // they cannot be mapped from there. Only with Sharing::kPages.
  std::uint64_t shifted_bytes = 0;
  // Estimate, within the stored bytes that are not shifted, of bytes that another record has in another order, as
  // compilers lay out weights in tiles for some chips. The rest is different. Only with PackOptions::explain_sharing.
  std::uint64_t reordered_bytes = 0;
  std::uint32_t pieces = 0;          // slices of the file that it is made of; 0 if it is a recipe
  std::uint32_t recipe_steps = 0;    // 0: it is not a recipe
  std::uint64_t recipe_bytes = 0;    // of the stored bytes, its program
  std::uint64_t mappable_bytes = 0;  // for a recipe: bytes in whole granules that a view can map from the file
  // Its position in the search for equal bytes, from 1; 0: it was not searched.
  std::uint32_t sharing_order = 0;
};

struct PackReport {
  std::string path;
  std::string uuid;
  std::uint64_t file_size = 0;
  std::uint64_t input_bytes = 0;   // sum of all logical record sizes
  std::uint64_t stored_bytes = 0;  // payload bytes in the file
  std::uint64_t shared_bytes = 0;  // bytes of records that needed no storage of their own, equal records included
  std::uint32_t record_count = 0;
  std::uint32_t shared_records = 0;  // records whose bytes another record already stored
  bool sealed = false;
  std::vector<PackedRecordReport> records;  // in the order of their ids, those that the packer writes included
  std::vector<std::string> warnings;        // e.g. path-valued options whose value was dropped
};

// A builder of one container. Not thread-safe; use one Packer per thread.
class Packer {
 public:
  explicit Packer(PackOptions options);
  ~Packer();
  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;

  // Adds a record. Checks everything that needs no reading of the payload; the order of calls does not change the file.
  // Errors: invalid_argument (names, keys, tensors, a record without bytes), exists (the name, the full key, or with
  //         one_per_soc the SoC, already exists), operation_not_permitted (it was loaded, and `copy` is not set).
  [[nodiscard]] Status add(PackRecord record);

  // Writes a temporary beside `path`, syncs it, renames it to `path` and syncs the folder. On any error before the
  // rename the temporary is removed and `path` is unchanged.
  // Errors: exists, not_found, changed (an input changed while it was packed), bad_reference, no_space, io,
  //         limit_exceeded, unsupported (also: options that exclude each other, or records that do not share with
  //         strict_sharing), cancelled, serialise_failed (a ByteSource), checksum_mismatch, commit_unknown (renamed,
  //         but the folder sync failed).
  [[nodiscard]] Result<PackReport> publish(const std::string& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fatctx
