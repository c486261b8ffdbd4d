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
#include "fatctx/container.h"
#include "fatctx/description.h"
#include "fatctx/record.h"

namespace fatctx {

// Bytes that are neither a file nor in memory: a record of another container, an entry of an archive.
//
// Threads: const members from any number of threads.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // What errors call it.
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::uint64_t size_bytes() const noexcept = 0;
  // Fills `out` from `offset` on; called in any order, and several times for the same bytes, which must be the same.
  // Requires: the range lies inside.
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
  // Nothing is read for a while: what it takes to read on may be given back.
  virtual void close() const noexcept {}
  // Of all the bytes, if it is known: what is packed is compared with it.
  [[nodiscard]] virtual std::optional<Hash128> hash() const { return std::nullopt; }
  // A backend that writes its context out: what read_at() answers, but for cancelled and out_of_memory, becomes
  // serialise_failed, and so does a size that is another one later. False: bytes that lie somewhere, whose errors stay
  // what they are.
  [[nodiscard]] virtual bool makes_bytes() const noexcept { return true; }
};

// Where a record's bytes come from. A file is read several times (to find equal records and equal pages, to copy, to
// check) in pieces of a fixed size, so memory does not depend on its size but for hashes of its pages; it must not
// change in between.
struct PackSource {
  std::string path;                                    // a file; or, if empty, `bytes`
  std::vector<std::byte> bytes;                        // small records made in memory
  std::optional<ByteRange> part = {};                  // of the file; nothing: all of it
  std::shared_ptr<const ByteSource> source = nullptr;  // in place of both
  // In place of all of these: what was loaded from a container, a DLC or a raw binary, which needs PackRecord::copy.
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

// A part of a record that is opaque otherwise, and that may be equal to a part of another.
struct PackRange {
  std::string name;  // what errors call it
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;  // at least 1
};

// The key in owning form; see SelectionKey for the meaning of the fields.
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
  // kLz4 is for source models and opaque records, which nobody maps; it is what happens if it makes the record smaller
  // and the record is not above 1 GiB.
  Codec codec = Codec::kNone;
  // An opaque record of up to 64 KiB begins on a multiple of 64 bytes among others; with this on an extent of its own,
  // so that its pages can be mapped at a place of their own.
  bool own_extent = false;
  // Where its parts begin and end, if it has no tensors that say so: ascending by offset, inside the record, apart.
  // Equal parts are stored once, wherever they lie; they are not kept in the file.
  std::vector<PackRange> ranges = {};
  // The record belongs to a file already (PackSource::loaded), and a second one of it is meant.
  bool copy = false;
};

enum class Sharing : std::uint8_t { kOff, kPages, kBytes };

struct PackOptions {
  bool seal = false;
  bool overwrite = false;  // replace an existing file (by rename); otherwise `exists`
  // Equal records are always stored once. kPages also stores equal runs of granules of uncompressed records once; such
  // a record is several slices of the file. Where nothing is equal, both give the same file. Equal tensors of weight
  // blobs that no context binary refers to are stored once wherever they lie; a view of a tensor then is a pointer into
  // the file, a view of such a blob as a whole may have to be composed. kBytes stores equal runs of bytes once,
  // wherever they stand: of records that are made of the same bytes one stays as it is, the others become recipes,
  // whose bytes are made when asked for.
  Sharing sharing = Sharing::kPages;
  std::uint32_t max_pieces = 4096;  // kPages: slices of one record; 1 to 65536
  std::uint8_t extent_log2 = 16;    // 16 or 21
  std::uint8_t granule_log2 = 12;   // 12, 14 or 16
  std::string model_name;
  std::vector<DescribedOption> options;
  Progress progress;
  // Of threads that look for what is shared; 0: as many as there are processors, at most 8. Changes no byte of the
  // file.
  std::uint32_t threads = 0;
  // kPages: PackedRecordReport::reordered_bytes is wanted, at the price of another pass over the records.
  bool explain_sharing = false;
  // A second context binary for a SoC, in the same group, unit and backend, is `exists`, whatever else differs.
  bool one_per_soc = false;
  // What is a warning because records cannot share, or share less, as they were compiled (docs/sharing.md, "What does
  // not share"), is the error `unsupported`. Means nothing with Sharing::kOff.
  bool strict_sharing = false;
  // Set by anybody, a signal handler too: publish() ends with `cancelled` within the time of one read, and the target
  // is as it was. Not asked any more once the file is whole. Lifetime: until publish() is back.
  const std::atomic<bool>* cancel = nullptr;
};

// What a record came to.
struct PackedRecordReport {
  std::string name;
  std::uint32_t id = 0;
  std::uint64_t size_bytes = 0;    // logical
  std::uint64_t stored_bytes = 0;  // its own bytes in the file
  std::uint64_t shared_bytes = 0;  // found in what another record stores, or stored once though it repeats in this one
  // Of the stored bytes, about how many some other record holds too, but at another place of a granule, so that they
  // cannot be mapped from there. Only with Sharing::kPages.
  std::uint64_t shifted_bytes = 0;
  // Of the stored bytes that are not shifted, about how many another record holds in another order, as compilers lay
  // out weights in tiles for some chips. The rest is different. Only with PackOptions::explain_sharing.
  std::uint64_t reordered_bytes = 0;
  std::uint32_t pieces = 0;          // slices of the file that it is made of; 0 if it is a recipe
  std::uint32_t recipe_steps = 0;    // 0: it is no recipe
  std::uint64_t recipe_bytes = 0;    // of the stored bytes, its program
  std::uint64_t mappable_bytes = 0;  // of a recipe: whole granules that lie in the file as in the record
  // Its place among those that were looked at for equal bytes, from 1; 0: it was not looked at.
  std::uint32_t sharing_order = 0;
};

struct PackReport {
  std::string path;
  std::string uuid;
  std::uint64_t file_size = 0;
  std::uint64_t input_bytes = 0;   // sum of all logical record sizes
  std::uint64_t stored_bytes = 0;  // payload bytes in the file
  std::uint64_t shared_bytes = 0;  // bytes of records that needed none of their own, equal records included
  std::uint32_t record_count = 0;
  std::uint32_t shared_records = 0;  // records whose bytes another record already stored
  bool sealed = false;
  std::vector<PackedRecordReport> records;  // in the order of their ids, those that the packer writes included
  std::vector<std::string> warnings;        // e.g. path-valued options whose value was dropped
};

// Builds one container. Not thread-safe; one Packer per thread.
class Packer {
 public:
  explicit Packer(PackOptions options);
  ~Packer();
  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;

  // Checks what can be checked without reading the payload; the order of calls does not change the file.
  // Errors: invalid_argument (names, keys, tensors, a record without bytes), exists (name or full key is there already,
  //         or the SoC with one_per_soc), operation_not_permitted (it was loaded, and `copy` is not set).
  [[nodiscard]] Status add(PackRecord record);

  // Writes a temporary beside `path`, syncs it, renames it to `path` and syncs the folder. On any error before the
  // rename the temporary is gone and `path` is as it was.
  // Errors: exists, not_found, changed (an input changed while it was packed), bad_reference, no_space, io,
  //         limit_exceeded, unsupported (also: what excludes each other, or does not share with strict_sharing),
  //         cancelled, serialise_failed (a ByteSource), checksum_mismatch, commit_unknown (renamed, but the folder sync
  //         failed).
  [[nodiscard]] Result<PackReport> publish(const std::string& path);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fatctx
