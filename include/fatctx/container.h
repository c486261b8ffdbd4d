// A container, opened: its records, its open report, and read-only views of its bytes.
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

// When payload is checked. Metadata is always checked.
enum class VerifyPolicy : std::uint8_t {
  // All of a record, by its leaves and its own hash, once per mapping, before a view of it is handed out. Of tensors
  // that are shown by themselves: the leaves that they touch.
  kRecordOnAcquire,
  kNone,  // the caller vouches for the bytes
  // Views are copies in sealed memory of this process, made once per record, verified after they were sealed: whoever
  // can write to the file, or to the mapping of another process, cannot change them any more. Costs the bytes and the
  // time to read and hash them. Linux; elsewhere acquire answers unsupported.
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
  // Memory that may be taken to compose views of records whose bytes cannot all be mapped (AccessPath::kComposed), for
  // all views of one mapping together. FileMapping::kRequire makes it 0.
  std::uint64_t max_copied_bytes = 0;
  // A folder in which what is built for composed views lies in files, for all processes that name it, in place of
  // memory of this one (fatctx/view_cache.h). Naming it is the permission; max_copied_bytes does not count what lies
  // there. FileMapping::kRequire makes it empty. It must be there, be the caller's own, and have mode 0700.
  std::string cache_folder = {};
  std::uint64_t cache_limit_bytes = 0;  // that the files in it may take together; 0: kDefaultCacheLimitBytes
  // An earlier state of a container that was appended to, as long as its bytes are there; 0: the newest. not_found if
  // it is not in the file.
  std::uint64_t generation = 0;
  // Not empty: the generation that is opened must be signed by the owner of one of these keys, and payload is compared
  // with the SHA-256 that was signed, where it is otherwise compared with XXH3. An append makes a generation that is
  // not signed; the signed one before it opens by its number, and only that one, as its signature is still there. Opens
  // with keys do not meet those without: each kind has a mapping of its own.
  std::vector<PublicKey> trusted_keys = {};
  // Below it: rollback. Keeps an older file, whatever signature it has, from taking the place of a newer one.
  std::uint64_t minimum_generation = 0;
  // The most bytes that one call may make out of what the container stores, or read again, over all its records and
  // threads. Recipes, compressed records and records in pieces make more bytes than they store. A call that would make
  // more fails with limit_exceeded before it makes them. One 32nd of it is the most memory that programs of recipes
  // take at a time; tables of tensors may take as much again. 0: 1 GiB, or 100 times the stored bytes if that is more.
  std::uint64_t max_made_bytes = 0;
};

// The part of a larger file that is a container: an asset of an application package.
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
  bool recipe = false;         // its slices are a program and what it copies from; its bytes are made when asked for
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

// What an open found out. "Degraded" is a file that lost redundancy but nothing else.
struct OpenReport {
  std::string path;  // as given to open; "fd 7", "fd 7 from byte 0x1000" or "memory" if there is none
  std::uint64_t generation = 0;
  std::uint64_t newest_generation = 0;  // that the file had; another one only if an earlier one was asked for
  // Those before `generation` whose bytes are still in the file, ascending.
  std::vector<GenerationInfo> earlier_generations = {};
  char slot = 'A';                    // pair that names the newest generation
  std::vector<std::string> degraded;  // "prologue copy 0", "slot A1", "toc copy 0", "header padding"; empty: whole
  std::uint64_t tail_bytes = 0;       // bytes behind the committed end (an append that did not finish); never read
  bool sealed = false;
  bool signed_file = false;         // there is a signature
  std::string key_id;               // SHA-256 of the public key that it names, hexadecimal; empty without one
  bool signature_verified = false;  // it was checked, with one of OpenOptions::trusted_keys
  std::string format_version;       // "1.0": of the file
  std::string filesystem;           // "ext4", "overlayfs", "nfs", ...
  bool remote_filesystem = false;
  std::uint64_t file_size = 0;  // of an earlier generation where that one ends
  std::uint64_t committed_end = 0;
  std::uint64_t dead_bytes = 0;  // that no record of this generation uses any more; compacting gives them back
  std::string uuid;              // hexadecimal with dashes
  Hash128 toc_hash;
  bool already_live = false;  // another open of this process had mapped it; nothing was read
  VerifyPolicy verify = VerifyPolicy::kRecordOnAcquire;
  bool mapped = true;       // false: views are copies, one per record and process
  std::string copy_reason;  // why they are: "file mapping is disabled by the caller"; empty if mapped
  // Records whose views are copies although the file is mapped: what they lie in several pieces of cannot be mapped
  // side by side here. The reason of the first of them.
  std::uint32_t copied_records = 0;
  std::string copied_records_reason = {};
};

// How a view came to be.
enum class AccessPath : std::uint8_t {
  kDirect,  // a pointer into the mapping
  kCopied,  // the whole record, read once and verified, shared by all sessions of the process
  // The pieces of a record that lies in several parts of the file, mapped side by side: one range of addresses per
  // record and process, shared by all sessions, and no copy.
  kStitched,
  // Whole pages of the record that lie on whole pages of the file are mapped; the rest is built once per mapping and
  // process in sealed memory, within OpenOptions::max_copied_bytes, or once for all processes in a file of
  // OpenOptions::cache_folder. One range of addresses, shared by all sessions.
  kComposed,
};
[[nodiscard]] std::string_view access_path_name(AccessPath path) noexcept;

// Read-only bytes of one record, and a share in what keeps them mapped.
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
  // Memory of this process that it shows in place of pages of the file, shared with the other views of the record: all
  // of a copied one, what was built of a composed one (in whole pages), else 0.
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept { return copied_bytes_; }
  // What it shows of a file in OpenOptions::cache_folder in place of pages of the container (in whole pages).
  [[nodiscard]] std::uint64_t cached_bytes() const noexcept { return cached_bytes_; }

 private:
  std::shared_ptr<const void> owner_;
  std::uint32_t record_id_;
  ByteView bytes_;
  AccessPath path_;
  std::uint64_t copied_bytes_;
  std::uint64_t cached_bytes_;
};

// One tensor of a weight blob: name, element type, shape, and its bytes in the mapping.
// Ownership, Threads, Lifetime, The file: as RecordView.
class WeightView {
 public:
  WeightView(std::shared_ptr<const void> keep_alive, const TensorInfo& info, ByteView bytes) noexcept
      : keep_alive_(std::move(keep_alive)), info_(info), bytes_(bytes) {}
  [[nodiscard]] std::string_view name() const& noexcept { return info_.name; }
  [[nodiscard]] DType dtype() const noexcept { return info_.dtype; }
  [[nodiscard]] std::span<const std::uint64_t> shape() const& noexcept { return info_.shape; }
  // Bytes from one element to the next in each dimension, row-major. Empty for element types below one byte.
  [[nodiscard]] std::vector<std::uint64_t> strides_bytes() const;
  [[nodiscard]] ByteView bytes() const& noexcept { return bytes_; }
  ByteView bytes() && = delete;
  [[nodiscard]] std::uint64_t offset_in_blob() const noexcept { return info_.offset_in_blob; }
  // Shares bytes with another tensor on purpose.
  [[nodiscard]] bool alias() const noexcept { return info_.alias; }

 private:
  std::shared_ptr<const void> keep_alive_;
  TensorInfo info_;  // its strings and shape borrow from keep_alive_
  ByteView bytes_;
};

// The tensors of one weight blob, parsed and checked when asked for.
// Ownership: copyable, shares the parsed table. Threads: const members from any number of threads.
class TensorTable {
 public:
  struct Impl;
  explicit TensorTable(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}
  [[nodiscard]] std::size_t size() const noexcept;
  // Lifetime: borrows from this table. Requires: index < size(). Order: by name, bytewise.
  [[nodiscard]] TensorInfo at(std::size_t index) const&;
  // Errors: not_found, naming the nearest name.
  [[nodiscard]] Result<WeightView> view(std::string_view name) const;
  [[nodiscard]] WeightView view_at(std::size_t index) const;
  [[nodiscard]] std::uint32_t weights_id() const noexcept;

 private:
  std::shared_ptr<const Impl> impl_;
};

// How far a long check has come; called on the calling thread only.
using Progress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

struct VerifyOptions {
  // Judges a file as if it were sealed for delivery: bytes behind its committed end, bytes that no record uses any
  // more, and damaged tables of earlier generations are findings too. Of a whole file only.
  bool strict = false;
  // Only the leaves of 64 KiB that cover these bytes: of the file, or of the logical bytes of the one record that is
  // checked (of a compressed record all of them). Neither copies, padding, nor hashes of whole records.
  std::optional<ByteRange> range = {};
  // Of threads that read and hash; 0: as many as there are processors, at most 8. The findings and their order are the
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

// Ownership:  copyable; copies share one mapping, which lives until the last copy, view or session is gone.
// Threads:    every member function from any number of threads.
// The file:   read-only. Opening reads the 64 KiB header and the table of contents, never payload.
class Container {
 public:
  // Opens `path`, or joins the mapping that this process already has of the same file: the same path, another path,
  // a link, or a descriptor of it all meet in one mapping.
  //
  // Errors: not_found, io, not_regular_file, truncated, trailing_data, bad_magic, unsupported, malformed,
  //         checksum_mismatch, limit_exceeded, bad_reference, changed (the file was cut while being opened),
  //         signature_missing and signature_bad (only with trusted_keys), rollback (only with minimum_generation),
  //         remote_filesystem (only with require_local), copy_not_allowed (only with FileMapping::kRequire),
  //         no_resource, out_of_memory.
  [[nodiscard]] static Result<Container> open(const std::string& path, const OpenOptions& options = {});
  // The same for a descriptor, or for a part of the file behind it. A part is a file of its own to everything here: it
  // meets other opens of the same part, and its offsets count from its first byte.
  // Ownership: `descriptor` stays the caller's and may be closed afterwards. On Windows it is the number of a HANDLE
  // (of which 32 bits count), not a descriptor of the C runtime. Errors:    those of open, and invalid_argument for a
  // part that begins elsewhere than on a multiple of 4096 bytes.
  [[nodiscard]] static Result<Container> open_descriptor(int descriptor, const OpenOptions& options = {},
                                                         const FileWindow& window = {});
  // A container that lies in memory already; nothing is copied, and views point into `bytes`. The same rules as for a
  // file, except that opens of one buffer do not meet: each verifies for itself.
  // Ownership: the bytes stay the caller's, unchanged, until the last container, session and view is gone; or until
  //            `owner` is released, which they all share in.
  // Errors:    those of open that do not come from a file system.
  // Alignment: a view is as aligned as `bytes` is, at most to 64 KiB.
  [[nodiscard]] static Result<Container> open_memory(ByteView bytes, const OpenOptions& options = {},
                                                     std::shared_ptr<const void> owner = nullptr);
  // The same with a registry of the caller's instead of the process-wide one (tests, embedders). `registry` must
  // outlive the call and every reopen(), not the container.
  [[nodiscard]] static Result<Container> open(Registry& registry, const std::string& path,
                                              const OpenOptions& options = {});

  // Opens again what this one was opened from, with the same options: the newest generation of the file, or the file
  // that has taken its place. Gives another handle of the same mapping if nothing changed. This container, its sessions
  // and views stay as they are, with the old bytes.
  // A descriptor opened once stays with its file: a file that took the place of its name is found through a path only.
  // Errors: those of open.
  [[nodiscard]] Result<Container> reopen() const;

  // Is the file still what was opened, and were all mapped bytes there? What a user of a view asks before it trusts a
  // result. acquire, prefetch, lock and the begin and end of a session ask by themselves.
  // Errors: changed, mapping_lost (only with the guard of mapping_guard.h), io.
  [[nodiscard]] Status check() const;

  [[nodiscard]] OpenReport report() const;
  // In ascending record id. Lifetime: borrows from this container, as do all strings in it.
  [[nodiscard]] std::span<const RecordInfo> records() const& noexcept;
  // Errors: not_found, listing the names that exist. Cost: a binary search over names where they lie; the first call
  // for a container of many records puts their order together.
  [[nodiscard]] Result<RecordInfo> find(std::string_view name) const&;
  [[nodiscard]] Result<RecordInfo> record(std::uint32_t id) const&;

  // Errors: malformed (F32, F34), checksum_mismatch, io.
  [[nodiscard]] Result<ContainerDescription> describe() const;

  // Candidates for select(), in record order. Lifetime: strings borrow from this container.
  [[nodiscard]] std::vector<Candidate> candidates() const&;
  // The same as fatctx::select() of these, and seen by profile and trace. Errors: those of fatctx::select.
  [[nodiscard]] Result<Selection> select(const Device& device, const SelectPolicy& policy = {}) const;

  // How a view of the record comes to be, without making one. Errors: not_found, unsupported (as acquire),
  // copy_not_allowed. Cost: of a recipe, reading and checking its program; its errors are then those of acquire.
  [[nodiscard]] Result<AccessPath> access_path_of(std::uint32_t record_id) const;

  // Errors: not_found, unsupported (compressed record), checksum_mismatch (naming record and file offset), io,
  //         changed, mapping_lost.
  //         Of a record in several pieces: no_resource (the limit of maps; the message says what to do),
  //         copy_not_allowed (they cannot be mapped side by side here, and FileMapping::kRequire forbids a copy). When
  //         views are copies: out_of_memory (naming the bytes), those of the allocator.
  //         Of a record that is composed: copy_not_allowed (naming the bytes that max_copied_bytes must allow),
  //         no_resource, out_of_memory; malformed, limit_exceeded and codec, if its recipe is not one.
  // Cost: policy record_on_acquire reads the record once per mapping; afterwards and with `none`, no IO. A copy is read
  // and
  //       verified once per process, whatever the policy.
  [[nodiscard]] Result<RecordView> acquire(std::uint32_t record_id) const;
  [[nodiscard]] Result<RecordView> acquire(std::string_view name) const;

  // Brings the pages of exactly this record into memory, so that first touches do not wait for the disk. Checks
  // nothing, and touches no page itself: a file that was cut or a disk that fails is an error, not a signal. Errors:
  // not_found, unsupported (as acquire), changed, io (naming the first bad byte), no_resource. Cost:   reads what is
  // not in the page cache, in steps of 4 MiB.
  [[nodiscard]] Result<PrefetchReport> prefetch(std::uint32_t record_id, const PrefetchOptions& options = {}) const;
  // The same on a thread of its own. Errors: not_found, unsupported, no_resource (no thread); the others come from
  // PrefetchHandle::wait.
  [[nodiscard]] Result<PrefetchHandle> prefetch_in_background(std::uint32_t record_id,
                                                              PrefetchOptions options = {}) const;
  // Gives back the memory of a record, for example when a device has a copy of it. Only whole pages that hold nothing
  // else; views stay valid and come back from the file when they are touched. Does nothing to memory that is no file's:
  // buffers, copies, regions of a MappingProvider.
  // Errors: not_found, unsupported (as acquire), operation_not_permitted (it is locked).
  [[nodiscard]] Result<ReleaseReport> release(std::uint32_t record_id, const ReleaseOptions& options = {}) const;
  // Acquires the record and keeps its pages in memory.
  // Errors: those of acquire, no_resource (naming RLIMIT_MEMLOCK and the bytes).
  [[nodiscard]] Result<RecordLock> lock(std::uint32_t record_id) const;

  // The tensor table of a weight blob. Errors: as acquire, and not_found if the blob has no table, malformed (F33).
  [[nodiscard]] Result<TensorTable> tensors(std::uint32_t weights_id) const;

  // Checks everything: both copies of everything doubled, padding, every leaf, every record hash, references,
  // descriptions, tensor tables. Reads the whole file. Damage is a finding; the Result fails only when the check
  // itself cannot go on. Of an earlier generation: what that one has.
  // Errors: mapping_lost, io, no_resource, out_of_memory; invalid_argument (a range that is empty, that leaves the file
  //         or the record, or that no leaf covers; `strict` together with a range or of one record). What `progress`
  //         throws comes out of the call, when every thread of it has ended.
  [[nodiscard]] Result<VerifyReport> verify(const VerifyOptions& options = {}) const;
  // Checks one record only.
  [[nodiscard]] Result<VerifyReport> verify_record(std::uint32_t record_id, const VerifyOptions& options = {}) const;

 private:
  friend class RecordReader;
  friend class Model;
  // The work of the functions of these names, which profile and trace look at.
  [[nodiscard]] static Result<Container> open_unobserved(Registry& registry, const std::string& path,
                                                         const OpenOptions& options);
  [[nodiscard]] static Result<Container> open_descriptor_unobserved(int descriptor, const OpenOptions& options,
                                                                    const FileWindow& window);
  [[nodiscard]] static Result<Container> open_memory_unobserved(ByteView bytes, const OpenOptions& options,
                                                                std::shared_ptr<const void> owner);
  [[nodiscard]] Result<RecordView> acquire_unobserved(std::uint32_t record_id) const;
  // This container, for a consumer that cannot take mapped memory.
  [[nodiscard]] Container with_copies(std::string reason) const;
  // How it was opened, and how it is opened again.
  struct Origin {
    Registry* registry = nullptr;  // null: a buffer
    std::string path;              // as given to open, or a word for what has no path
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
  std::string copy_reason_;  // empty: views lie in the mapping
};

// Opens `path` without the registry and checks everything, also when a structural rule already fails: the rule is
// then the finding, and so it is with what trusted_keys and minimum_generation refuse. Of `open` these two and
// `generation` count. For `fatctx verify`. Errors: not_found (also: there is no such generation), io, not_regular_file.
[[nodiscard]] Result<VerifyReport> verify_file(const std::string& path, const VerifyOptions& options = {},
                                               const OpenOptions& open = {});

}  // namespace fatctx
