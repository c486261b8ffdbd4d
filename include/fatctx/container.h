// An opened container: its records, its open report, its checks, and its views.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/memory.h"
#include "fatctx/open_options.h"
#include "fatctx/open_report.h"
#include "fatctx/record.h"
#include "fatctx/select.h"
#include "fatctx/source.h"
#include "fatctx/verify.h"
#include "fatctx/view.h"

namespace fatctx {

// A handle to an opened container.
//
// Ownership:  copyable; copies share one mapping, which lives until the last copy, view or session is gone.
// Threads:    every member function from any number of threads.
// The file:   read-only. Opening reads the header and the table of contents, never payload. If the table is larger than
//             64 KiB (about 200 records), opening reads its head. A function for one record then reads the rows of that
//             record. The others read the whole table, once, and return the errors of the whole table: malformed,
//             unsupported, limit_exceeded, bad_reference, checksum_mismatch (F13), changed.
class Container {
 public:
  // Opens a file, a part of a file, or bytes in memory. Joins this process's existing mapping of the same file or part:
  // the same path, another path, a link and a descriptor of the file all share one mapping. Opens of one buffer share
  // nothing: each verifies for itself.
  //
  // Errors: not_found, io, not_regular_file, truncated, trailing_data, bad_magic, unsupported, malformed,
  //         checksum_mismatch, limit_exceeded, bad_reference, changed (the file was cut while being opened),
  //         signature_missing and signature_bad (only with trusted_keys), rollback (only with minimum_generation),
  //         remote_filesystem (only with require_local), copy_not_allowed (only with FileMapping::kRequire),
  //         invalid_argument (a part that does not begin on a multiple of 4096 bytes), no_resource, out_of_memory.
  // Alignment: of bytes in memory, a view is as aligned as they are, at most to 64 KiB.
  [[nodiscard]] static Result<Container> open(const Source& source, const OpenOptions& options = {});

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

  // Returns the name of the source, as reports and errors use it. Reads nothing. Lifetime: borrows from this container.
  [[nodiscard]] const std::string& path() const& noexcept;
  // Returns the identity of the opened content. Reads nothing.
  [[nodiscard]] ContainerIdentity identity() const noexcept;
  // Returns the report of the open. Errors: those of the whole table.
  [[nodiscard]] Result<OpenReport> report() const;
  // Returns the number of records. Reads nothing.
  [[nodiscard]] std::size_t record_count() const noexcept;
  // Returns the records in ascending id. Lifetime: borrows from this container, as do all strings in it.
  // Errors: those of the whole table.
  [[nodiscard]] Result<std::span<const RecordInfo>> records() const&;
  // Returns the record of this name. Errors: not_found, listing the names that exist; those of the table.
  // Cost: that of a few rows of the stored index.
  [[nodiscard]] Result<RecordInfo> find(std::string_view name) const&;
  [[nodiscard]] Result<RecordInfo> record(std::uint32_t id) const&;

  // Reads the descriptions of the container and its records. Errors: malformed (F32, F34), checksum_mismatch, io.
  [[nodiscard]] Result<ContainerDescription> describe() const;

  // Returns candidates for select(), in record order. Lifetime: strings borrow from this container.
  // Errors: those of the whole table.
  [[nodiscard]] Result<std::vector<Candidate>> candidates() const&;
  // Calls fatctx::select() with these; profile and trace see the call. Errors: those of fatctx::select.
  [[nodiscard]] Result<Selection> select(const Device& device, const SelectPolicy& policy = {}) const;

  // Returns how a view of the record would be made, without making one.
  // Errors: not_found, unsupported (as acquire), copy_not_allowed.
  // Cost: of a recipe, reading and checking its program; its errors are then those of acquire.
  [[nodiscard]] Result<AccessPath> access_path_of(std::uint32_t record_id) const;

  // Returns a view of the record.
  // Errors: not_found, unsupported (compressed record), checksum_mismatch (naming record and file offset), not_present
  //         (the same of a partial file: presence.h), io, changed, mapping_lost.
  // - For a record in several pieces: no_resource (the limit of maps; the message names the remedy), copy_not_allowed
  //   (they cannot be mapped side by side here, and FileMapping::kRequire forbids a copy).
  // - If views are copies: out_of_memory (naming the bytes), those of the allocator.
  // - For a composed record: copy_not_allowed (naming the bytes that max_copied_bytes must allow), no_resource,
  //   out_of_memory; malformed, limit_exceeded and codec if its recipe is invalid.
  // Cost:   policy record_on_acquire reads the record once per mapping; afterwards, and with `none`, no IO. A copy is
  //         read and verified once per process, whatever the policy.
  [[nodiscard]] Result<RecordView> acquire(std::uint32_t record_id) const;
  [[nodiscard]] Result<RecordView> acquire(std::string_view name) const;
  // Waits for the checks that VerifyPolicy::kBesideLoad has begun, for this handle and its copies: of these records, or
  // without ids of all. Returns at once under other policies.
  // Errors: not_found; those of a check on acquire, of the first damaged record; cancelled (in a forked child, without
  //         ids).
  [[nodiscard]] Status await_checks(std::span<const std::uint32_t> record_ids = {}) const;

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
  // Returns one tensor of a weight blob. With the policy record_on_acquire it compares the hashes of the tensor's own
  // bytes and not of the whole blob, so that one tensor of a large file costs what it is itself. Then nothing proves
  // that the rest of the blob, or the blob as a whole, has its hash. Goes through tensors() if the blob is in pieces or
  // made by a recipe, if views are copies, and with trusted keys. Errors: those of tensors; not_found, naming the
  // nearest name; checksum_mismatch (F26, F46). Cost: reads a few pages of the table; a call for a name that does not
  // exist reads all of it.
  [[nodiscard]] Result<WeightView> tensor(std::uint32_t weights_id, std::string_view name) const;

  // Checks everything: both copies of all doubled metadata, padding, every leaf, every record hash, references,
  // descriptions, tensor tables. Reads the whole file. Damage is a finding; the Result fails only if the check itself
  // cannot go on. Checks the contents of the opened generation, also if it is an earlier one.
  // Errors: mapping_lost, io, no_resource, out_of_memory; invalid_argument (a range that is empty, that leaves the file
  //         or the record, or that no leaf covers; `strict` together with a range or with one record). An exception of
  //         `progress` leaves the call when all its threads have ended.
  [[nodiscard]] Result<VerifyReport> verify(const VerifyOptions& options = {}) const;
  // Checks one record only.
  [[nodiscard]] Result<VerifyReport> verify_record(std::uint32_t record_id, const VerifyOptions& options = {}) const;

  // The state behind the handle. Only the library's own files complete this type.
  struct Impl;
  explicit Container(std::shared_ptr<const Impl> impl) noexcept : impl_(std::move(impl)) {}
  [[nodiscard]] const Impl& impl() const& noexcept { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Opens `path` without the registry and checks everything, even if a structural rule already fails: the rule is then
// the finding. A refusal by trusted_keys or minimum_generation is a finding too. `open` counts only for these two and
// `generation`. For `fatctx verify`.
// Errors: not_found (also if the generation does not exist), io, not_regular_file.
[[nodiscard]] Result<VerifyReport> verify_file(const std::string& path, const VerifyOptions& options = {},
                                               const OpenOptions& open = {});

}  // namespace fatctx
