// An opened container: its records, its open report, and read-only views of its bytes.
#pragma once

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
#include "fatctx/file_mapping.h"
#include "fatctx/keys.h"
#include "fatctx/memory.h"
#include "fatctx/record.h"
#include "fatctx/select.h"

namespace fatctx {

class MappedContainer;  // one per file identity and process; src/runtime/open/mapped_container.h
class Registry;

// The point in time at which payload is checked. Metadata is always checked.
enum class VerifyPolicy : std::uint8_t {
  // Checks all of a record, by its leaves and its own hash, once per mapping, before a view of it is handed out. For
  // tensors that are shown by themselves, it checks the leaves that they touch.
  kRecordOnAcquire,
  kNone,  // the caller vouches for the bytes
  // Views are copies in sealed memory of this process, made once per record and verified after sealing. A writer of the
  // file, or of another process's mapping, can no longer change them. Costs the bytes, and the time to read and hash
  // them. Linux only; elsewhere acquire answers unsupported.
  kPrivateCopy,
};
[[nodiscard]] std::string_view verify_policy_name(VerifyPolicy policy) noexcept;  // "record_on_acquire", "none", ...
[[nodiscard]] std::optional<VerifyPolicy> verify_policy_from_name(std::string_view name) noexcept;

struct OpenOptions {
  VerifyPolicy verify = VerifyPolicy::kRecordOnAcquire;
  bool follow_symlinks = true;
  bool require_local = false;  // refuse network and FUSE filesystems with remote_filesystem
  FileMapping file_mapping = FileMapping::kAuto;
  std::shared_ptr<MappingProvider> mapping_provider = nullptr;  // null: the system
  std::shared_ptr<ViewAllocator> allocator = nullptr;           // not null: views are placed in its memory
  // Memory, in bytes, that may be used to compose views of records whose bytes cannot all be mapped
  // (AccessPath::kComposed). The limit is for all views of one mapping together. FileMapping::kRequire sets it to 0.
  std::uint64_t max_copied_bytes = 0;
  // A folder for the files of composed views (fatctx/view_cache.h), which all processes that name it share. They are
  // used instead of memory of this process. Naming the folder is the permission; max_copied_bytes does not count its
  // files. FileMapping::kRequire empties this option. The folder must exist, belong to the caller, and have mode 0700.
  std::string cache_folder = {};
  std::uint64_t cache_limit_bytes = 0;  // the most that its files may take together; 0: kDefaultCacheLimitBytes
  // An earlier state of a container that was appended to, as long as its bytes exist; 0: the newest. Fails with
  // not_found if the file does not have it.
  std::uint64_t generation = 0;
  // If not empty, the owner of one of these keys must have signed the generation that is opened. Payload is then
  // compared with the signed SHA-256; otherwise it is compared with XXH3. An append makes an unsigned generation. The
  // signed one before it opens by its number, and no other does, because its signature is still stored. An open with
  // keys does not join the mapping of an open without keys: each kind has its own.
  std::vector<PublicKey> trusted_keys = {};
  // The lowest generation that opens; below it: rollback. Keeps an older file, even a signed one, from replacing a
  // newer one.
  std::uint64_t minimum_generation = 0;
  // The most bytes that one call may make from the container's stored bytes, or read again, over all its records and
  // threads. Recipes, compressed records and records in pieces make more bytes than they store. A call that would make
  // more fails with limit_exceeded before it makes them. Programs of recipes take at most one 32nd of it in memory at a
  // time; tables of tensors may take as much again. 0: 1 GiB, or 100 times the stored bytes if that is more.
  std::uint64_t max_made_bytes = 0;
};

// A part of a larger file that is a container, such as an asset of an application package.
struct FileWindow {
  std::uint64_t offset = 0;  // a multiple of 4096
  std::uint64_t size = 0;    // 0: to the end of the file
  friend bool operator==(const FileWindow&, const FileWindow&) = default;
};

struct RecordInfo {
  std::uint32_t id = 0;
  RecordType type = RecordType::kOpaque;
  bool ignorable = false;
  bool must_map = false;
  bool supported = true;       // false: this version lists the record but cannot hand it out (unknown type or codec)
  bool recipe = false;         // stored as a program and the bytes it copies from; its bytes are made on request
  Codec codec = Codec::kNone;  // with any other it has no view: stream_record() and extract_record() give its bytes
  std::string_view name;
  std::uint64_t size_bytes = 0;    // logical
  std::uint64_t stored_bytes = 0;  // sum of its slices
  std::uint32_t slice_count = 0;
  std::uint64_t file_offset = 0;  // of the first slice; 0 for an empty record
  Hash128 hash;                   // of the logical bytes
  SelectionKey key;
  // Ids of the weight blobs it refers to. Lifetime: borrows from the container, as the strings do.
  std::span<const std::uint32_t> weights;
};

// An earlier state of a container that was appended to; OpenOptions::generation opens it.
struct GenerationInfo {
  std::uint64_t number = 0;
  std::uint64_t committed_end = 0;  // where it ends in the file
  friend bool operator==(const GenerationInfo&, const GenerationInfo&) = default;
};

// A report of an open. "Degraded" is a file that lost redundancy but nothing else.
struct OpenReport {
  std::string path;  // as given to open; otherwise "fd 7", "fd 7 from byte 0x1000" or "memory"
  std::uint64_t generation = 0;
  std::uint64_t newest_generation = 0;  // newest in the file; larger than `generation` if an earlier one was requested
  // Generations before `generation` whose bytes are still in the file, ascending.
  std::vector<GenerationInfo> earlier_generations = {};
  char slot = 'A';                    // pair that names the newest generation
  std::vector<std::string> degraded;  // "prologue copy 0", "slot A1", "toc copy 0", "header padding"; empty: whole
  std::uint64_t tail_bytes = 0;       // bytes behind the committed end (an append that did not finish); never read
  bool sealed = false;
  bool signed_file = false;         // the generation has a signature
  std::string key_id;               // SHA-256 of the public key that the signature names, hexadecimal; empty: unsigned
  bool signature_verified = false;  // it was checked with one of OpenOptions::trusted_keys
  std::string format_version;       // "1.0": of the file
  std::string filesystem;           // "ext4", "overlayfs", "nfs", ...
  bool remote_filesystem = false;
  std::uint64_t file_size = 0;  // bytes; of an earlier generation: the offset of its end
  std::uint64_t committed_end = 0;
  std::uint64_t dead_bytes = 0;  // used by no record of this generation; compacting gives them back
  std::string uuid;              // hexadecimal with dashes
  Hash128 toc_hash;
  bool already_live = false;  // another open of this process had mapped it; nothing was read
  VerifyPolicy verify = VerifyPolicy::kRecordOnAcquire;
  bool mapped = true;       // false: views are copies, one per record and process
  std::string copy_reason;  // why views are copies: "file mapping is disabled by the caller"; empty if mapped
  // Records whose views are copies although the file is mapped: their pieces cannot be mapped side by side here. The
  // reason is that of the first of them.
  std::uint32_t copied_records = 0;
  std::string copied_records_reason = {};
};

// The way in which a view was made.
enum class AccessPath : std::uint8_t {
  kDirect,  // a pointer into the mapping
  kCopied,  // the whole record, read once and verified, shared by all sessions of the process
  // The pieces of a record that is stored in several parts of the file, mapped side by side without a copy. A
  // record has one such address range per process; all sessions share it.
  kStitched,
  // Whole pages of the record that coincide with whole pages of the file are mapped. The rest is built in sealed
  // memory, once per mapping and process, within OpenOptions::max_copied_bytes. With OpenOptions::cache_folder it is
  // built in a file there, once for all processes. One range of addresses, shared by all sessions.
  kComposed,
};
[[nodiscard]] std::string_view access_path_name(AccessPath path) noexcept;

// A read-only view of the bytes of one record, which shares ownership of their mapping.
//
// Ownership:  copyable; every copy keeps the mapping alive. Container, Model, Session and views may be destroyed in
//             any order and on any thread.
// Threads:    const members from any number of threads.
// Lifetime:   bytes() borrows from *this view*; keep the view as long as the span (or the device) uses it.
// The file:   must not be truncated while mapped (the system answers with SIGBUS); replacing it by rename is safe.
class RecordView {
 public:
  RecordView(std::shared_ptr<const void> owner, std::uint32_t record_id, ByteView bytes,
             AccessPath path = AccessPath::kDirect, std::uint64_t copied_bytes = 0,
             std::uint64_t cached_bytes = 0) noexcept
      : owner_(std::move(owner)),
        record_id_(record_id),
        bytes_(bytes),
        path_(path),
        copied_bytes_(copied_bytes),
        cached_bytes_(cached_bytes) {}
  [[nodiscard]] ByteView bytes() const& noexcept { return bytes_; }
  ByteView bytes() && = delete;  // a span out of a temporary view would dangle
  [[nodiscard]] const std::byte* data() const& noexcept { return bytes_.data(); }
  const std::byte* data() && = delete;
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return bytes_.size(); }
  [[nodiscard]] std::uint32_t record_id() const noexcept { return record_id_; }
  [[nodiscard]] AccessPath access_path() const noexcept { return path_; }
  // Returns the size of the process memory that the view shows instead of pages of the file; other views of the record
  // share them. All of a copied view, the built part of a composed one (in whole pages), otherwise 0.
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }
  // Returns how many bytes, in whole pages, come from a file in OpenOptions::cache_folder and not from the container.
  [[nodiscard]] std::uint64_t cached_bytes() const noexcept { return cached_bytes_; }

 private:
  std::shared_ptr<const void> owner_;
  std::uint32_t record_id_;
  ByteView bytes_;
  AccessPath path_;
  std::uint64_t copied_bytes_;
  std::uint64_t cached_bytes_;
};

// A view of one tensor of a weight blob: name, element type, shape, and its bytes in the mapping.
// Ownership, threads, lifetime and the rule about the file are those of RecordView.
class WeightView {
 public:
  WeightView(std::shared_ptr<const void> keep_alive, const TensorInfo& info, ByteView bytes) noexcept
      : keep_alive_(std::move(keep_alive)), info_(info), bytes_(bytes) {}
  [[nodiscard]] std::string_view name() const& noexcept { return info_.name; }
  [[nodiscard]] DType dtype() const noexcept { return info_.dtype; }
  [[nodiscard]] std::span<const std::uint64_t> shape() const& noexcept { return info_.shape; }
  // Returns the bytes from one element to the next in each dimension, row-major. Empty for element types below one
  // byte.
  [[nodiscard]] std::vector<std::uint64_t> strides_bytes() const;
  [[nodiscard]] ByteView bytes() const& noexcept { return bytes_; }
  ByteView bytes() && = delete;
  [[nodiscard]] std::uint64_t offset_in_blob() const noexcept { return info_.offset_in_blob; }
  // Returns true if the tensor shares bytes with another one on purpose.
  [[nodiscard]] bool alias() const noexcept { return info_.alias; }

 private:
  std::shared_ptr<const void> keep_alive_;
  TensorInfo info_;  // its strings and shape borrow from keep_alive_
  ByteView bytes_;
};

// A table of the tensors of one weight blob, parsed and checked on request.
// Ownership: copyable, shares the parsed table. Threads: const members from any number of threads.
class TensorTable {
 public:
  struct Impl;
  explicit TensorTable(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}
  [[nodiscard]] std::size_t size() const noexcept;
  // Returns a tensor by index. Lifetime: borrows from this table. Requires: index < size(). Order: by name, bytewise.
  [[nodiscard]] TensorInfo at(std::size_t index) const&;
  // Returns the tensor of this name. Errors: not_found, naming the nearest name.
  [[nodiscard]] Result<WeightView> view(std::string_view name) const;
  [[nodiscard]] WeightView view_at(std::size_t index) const;
  [[nodiscard]] std::uint32_t weights_id() const noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

// Reports the progress of a long check; called on the calling thread only.
using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

struct VerifyOptions {
  // Judges a file as if it were sealed for delivery. Bytes behind its committed end, bytes that no record uses, and
  // damaged tables of earlier generations are then findings too. Whole files only.
  bool strict = false;
  // Checks only the leaves of 64 KiB that cover these bytes of the file, or of the logical bytes if one record is
  // checked. A compressed record is checked in full. Does not check copies, padding, or hashes of whole records.
  std::optional<ByteRange> range = {};
  // Number of threads that read and hash; 0: the number of processors, at most 8. The findings and their order are the
  // same for any number.
  std::uint32_t threads = 0;
  Progress progress = {};
};

struct VerifyFinding {
  Error error;  // names record, rule and offset
};
struct VerifyReport {
  std::uint64_t checked_bytes = 0;
  std::vector<VerifyFinding> findings;  // empty: the file is whole
  std::string key_id = {};              // as OpenReport::key_id
  bool signature_verified = false;      // as OpenReport::signature_verified
};

// A handle to an opened container.
//
// Ownership:  copyable; copies share one mapping, which lives until the last copy, view or session is gone.
// Threads:    every member function from any number of threads.
// The file:   read-only. Opening reads the 64 KiB header and the table of contents, never payload.
class Container {
 public:
  // Opens `path`, or joins this process's existing mapping of the same file. The same path, another path, a link and a
  // descriptor of the file all share one mapping.
  //
  // Errors: not_found, io, not_regular_file, truncated, trailing_data, bad_magic, unsupported, malformed,
  //         checksum_mismatch, limit_exceeded, bad_reference, changed (the file was cut while being opened),
  //         signature_missing and signature_bad (only with trusted_keys), rollback (only with minimum_generation),
  //         remote_filesystem (only with require_local), copy_not_allowed (only with FileMapping::kRequire),
  //         no_resource, out_of_memory.
  [[nodiscard]] static Result<Container> open(const std::string& path, const OpenOptions& options = {});
  // Does the same for a descriptor, or for a part of the file behind it. A part is treated as a file of its own: it
  // shares its mapping with other opens of the same part, and its offsets count from its first byte.
  // Ownership: `descriptor` stays the caller's and may be closed afterwards. On Windows it is the number of a HANDLE
  //            (of which 32 bits count), not a descriptor of the C runtime.
  // Errors:    those of open, and invalid_argument for a part that does not begin on a multiple of 4096 bytes.
  [[nodiscard]] static Result<Container> open_descriptor(int descriptor, const OpenOptions& options = {},
                                                         const FileWindow& window = {});
  // Opens a container that is in memory already. Copies nothing: views point into `bytes`. The rules are those for a
  // file, except that opens of one buffer share nothing: each verifies for itself.
  // Ownership: the bytes stay the caller's, unchanged, until the last container, session and view is gone. With `owner`
  //            they all share it, and the bytes must stay until it is released.
  // Errors:    those of open that do not come from a file system.
  // Alignment: a view is as aligned as `bytes` is, at most to 64 KiB.
  [[nodiscard]] static Result<Container> open_memory(ByteView bytes, const OpenOptions& options = {},
                                                     std::shared_ptr<const void> owner = nullptr);
  // Does the same with a registry of the caller's instead of the process-wide one (tests, embedders). `registry` must
  // outlive the call and every reopen(), not the container.
  [[nodiscard]] static Result<Container> open(Registry& registry, const std::string& path,
                                              const OpenOptions& options = {});

  // Opens the same source again, with the same options: the newest generation of the file, or the file that has
  // replaced it. Returns another handle of the same mapping if nothing changed. This container, its sessions and views
  // keep the old bytes.
  // A container opened by descriptor stays with its file. Only an open by path finds a file that replaced it.
  // Errors: those of open.
  [[nodiscard]] Result<Container> reopen() const;

  // Checks that the file is still the one that was opened, and that no mapped byte was lost. A user of a view calls it
  // before trusting a result. acquire, prefetch, lock and the begin and end of a session call it themselves.
  // Errors: changed, mapping_lost (only with the guard of mapping_guard.h), io.
  [[nodiscard]] Status check() const;

  [[nodiscard]] OpenReport report() const;
  // Returns the records in ascending id. Lifetime: borrows from this container, as do all strings in it.
  [[nodiscard]] std::span<const RecordInfo> records() const& noexcept;
  // Returns the record of this name. Errors: not_found, listing the names that exist.
  // Cost: a binary search over the stored names; the first call for a container of many records sorts them.
  [[nodiscard]] Result<RecordInfo> find(std::string_view name) const&;
  [[nodiscard]] Result<RecordInfo> record(std::uint32_t id) const&;

  // Reads the descriptions of the container and its records. Errors: malformed (F32, F34), checksum_mismatch, io.
  [[nodiscard]] Result<ContainerDescription> describe() const;

  // Returns candidates for select(), in record order. Lifetime: strings borrow from this container.
  [[nodiscard]] std::vector<Candidate> candidates() const&;
  // Calls fatctx::select() with these; profile and trace see the call. Errors: those of fatctx::select.
  [[nodiscard]] Result<Selection> select(const Device& device, const SelectPolicy& policy = {}) const;

  // Returns how a view of the record would be made, without making one.
  // Errors: not_found, unsupported (as acquire), copy_not_allowed.
  // Cost: of a recipe, reading and checking its program; its errors are then those of acquire.
  [[nodiscard]] Result<AccessPath> access_path_of(std::uint32_t record_id) const;

  // Returns a view of the record.
  // Errors: not_found, unsupported (compressed record), checksum_mismatch (naming record and file offset), io, changed,
  //         mapping_lost.
  // - For a record in several pieces: no_resource (the limit of maps; the message names the remedy), copy_not_allowed
  //   (they cannot be mapped side by side here, and FileMapping::kRequire forbids a copy).
  // - If views are copies: out_of_memory (naming the bytes), those of the allocator.
  // - For a composed record: copy_not_allowed (naming the bytes that max_copied_bytes must allow), no_resource,
  //   out_of_memory; malformed, limit_exceeded and codec if its recipe is invalid.
  // Cost:   policy record_on_acquire reads the record once per mapping; afterwards, and with `none`, no IO. A copy is
  //         read and verified once per process, whatever the policy.
  [[nodiscard]] Result<RecordView> acquire(std::uint32_t record_id) const;
  [[nodiscard]] Result<RecordView> acquire(std::string_view name) const;

  // Brings the pages of exactly this record into memory, so that first touches do not wait for the disk. Checks nothing
  // and touches no page itself: a truncated file or a failing disk is an error, not a signal.
  // Errors: not_found, unsupported (as acquire), changed, io (naming the first bad byte), no_resource.
  // Cost:   reads the pages missing from the page cache, in steps of 4 MiB.
  [[nodiscard]] Result<PrefetchReport> prefetch(std::uint32_t record_id, const PrefetchOptions& options = {}) const;
  // Does the same on a thread of its own. Errors: not_found, unsupported, no_resource (no thread); the others come from
  // PrefetchHandle::wait.
  [[nodiscard]] Result<PrefetchHandle> prefetch_in_background(std::uint32_t record_id,
                                                              PrefetchOptions options = {}) const;
  // Gives back the memory of a record, for example when a device has a copy of it. Covers only whole pages that hold
  // nothing else. Views stay valid; their bytes are read from the file again when they are touched. Does nothing to
  // memory that does not belong to a file: buffers, copies, regions of a MappingProvider.
  // Errors: not_found, unsupported (as acquire), operation_not_permitted (it is locked).
  [[nodiscard]] Result<ReleaseReport> release(std::uint32_t record_id, const ReleaseOptions& options = {}) const;
  // Acquires the record and keeps its pages in memory.
  // Errors: those of acquire, no_resource (naming RLIMIT_MEMLOCK and the bytes).
  [[nodiscard]] Result<RecordLock> lock(std::uint32_t record_id) const;

  // Returns the tensor table of a weight blob. Errors: as acquire, and not_found if the blob has no table, malformed
  // (F33).
  [[nodiscard]] Result<TensorTable> tensors(std::uint32_t weights_id) const;

  // Checks everything: both copies of all doubled metadata, padding, every leaf, every record hash, references,
  // descriptions, tensor tables. Reads the whole file. Damage is a finding; the Result fails only if the check itself
  // cannot go on. Checks the contents of the opened generation, also if it is an earlier one.
  // Errors: mapping_lost, io, no_resource, out_of_memory; invalid_argument (a range that is empty, that leaves the file
  //         or the record, or that no leaf covers; `strict` together with a range or with one record). An exception of
  //         `progress` leaves the call when all its threads have ended.
  [[nodiscard]] Result<VerifyReport> verify(const VerifyOptions& options = {}) const;
  // Checks one record only.
  [[nodiscard]] Result<VerifyReport> verify_record(std::uint32_t record_id, const VerifyOptions& options = {}) const;

 private:
  friend class RecordReader;
  friend class Model;
  // Implement the functions of these names, which add profile and trace.
  [[nodiscard]] static Result<Container> open_unobserved(Registry& registry, const std::string& path,
                                                         const OpenOptions& options);
  [[nodiscard]] static Result<Container> open_descriptor_unobserved(int descriptor, const OpenOptions& options,
                                                                    const FileWindow& window);
  [[nodiscard]] static Result<Container> open_memory_unobserved(ByteView bytes, const OpenOptions& options,
                                                                std::shared_ptr<const void> owner);
  [[nodiscard]] Result<RecordView> acquire_unobserved(std::uint32_t record_id) const;
  // Returns this container for a consumer that cannot take mapped memory.
  [[nodiscard]] Container with_copies(std::string reason) const;
  // The source of an open, for opening it again.
  struct Origin {
    Registry* registry = nullptr;  // null: a buffer
    std::string path;              // as given to open, or a word for a source without a path
    bool by_path = false;
    FileWindow window = {};
    std::shared_ptr<const void> owner = nullptr;  // of a buffer
    OpenOptions options = {};
  };
  Container(std::shared_ptr<const MappedContainer> mapped, Origin origin, bool already_live,
            std::string copy_reason) noexcept;
  std::shared_ptr<const MappedContainer> mapped_;
  Origin origin_;
  bool already_live_;
  std::string copy_reason_;  // empty: views point into the mapping
};

// Opens `path` without the registry and checks everything, even if a structural rule already fails: the rule is then
// the finding. A refusal by trusted_keys or minimum_generation is a finding too. `open` counts only for these two and
// `generation`. For `fatctx verify`.
// Errors: not_found (also if the generation does not exist), io, not_regular_file.
[[nodiscard]] Result<VerifyReport> verify_file(const std::string& path, const VerifyOptions& options = {},
                                               const OpenOptions& open = {});

}  // namespace fatctx
