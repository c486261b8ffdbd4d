// A container as this process has it: checked table of contents, one mapping, and what has been verified so far.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "container/read/parse.h"
#include "container/read/tensor_table.h"
#include "container/read/work_budget.h"
#include "fatctx/file_mapping.h"
#include "fatctx/open_options.h"
#include "fatctx/record.h"
#include "fatctx/select.h"
#include "mapping/file_identity.h"
#include "mapping/filesystem_kind.h"
#include "mapping/mapped_region.h"
#include "mapping/os_file.h"
#include "mapping/stitched_region.h"
#include "runtime/open/attachments.h"
#include "runtime/open/file_looks.h"

namespace fatctx {

// Threads: everything const is safe from any number of threads; there is nothing that is not const.
class MappedContainer {
 public:
  MappedContainer(std::string name, std::unique_ptr<mapping::OsFile> file, container::Header header, container::Toc toc,
                  const mapping::FileIdentity& identity, mapping::FilesystemKind filesystem,
                  std::shared_ptr<MappingProvider> provider);
  ~MappedContainer();
  MappedContainer(const MappedContainer&) = delete;
  MappedContainer& operator=(const MappedContainer&) = delete;

  // What errors call it: the path it was first opened by.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const mapping::OsFile& file() const noexcept { return *file_; }
  [[nodiscard]] const container::Header& header() const noexcept { return header_; }
  [[nodiscard]] const container::Toc& toc() const noexcept { return toc_; }
  [[nodiscard]] const mapping::FilesystemKind& filesystem() const noexcept { return filesystem_; }
  // Did the file look like this when somebody last looked?
  [[nodiscard]] bool looks_like(const mapping::FileIdentity& identity) const noexcept {
    return looks_.last_was(identity);
  }
  // Of the present look of the file: another one whenever the file was found to look different. A change that turns out
  // to be harmless (a touch, a chmod, a link, an append) is one too, so that payload is verified again.
  [[nodiscard]] std::uint64_t look() const noexcept { return looks_.number(); }
  // Maps the file if nobody has yet: an open with file mapping disabled does not. Errors: those of map_region.
  [[nodiscard]] Status ensure_mapped() const;
  // The whole container. Requires: ensure_mapped() succeeded.
  [[nodiscard]] ByteView mapped() const noexcept { return region_.load(std::memory_order_acquire)->bytes(); }
  // Null if nobody has mapped it yet.
  [[nodiscard]] const mapping::MappedRegion* region() const noexcept { return region_.load(std::memory_order_acquire); }
  [[nodiscard]] bool mapped_by_provider() const noexcept { return provider_ != nullptr; }
  // Set by the guard when bytes of one of its stitched or composed ranges went away; stays when the range is gone.
  [[nodiscard]] std::atomic<bool>& stitched_lost() const noexcept { return stitched_lost_; }
  // Memory of its composed records; what OpenOptions::max_copied_bytes limits.
  [[nodiscard]] std::atomic<std::uint64_t>& composed_bytes() const noexcept { return composed_bytes_; }
  // What its composed records show of files in cache folders.
  [[nodiscard]] std::atomic<std::uint64_t>& cached_bytes() const noexcept { return cached_bytes_; }
  [[nodiscard]] bool same_container(const container::Header& other) const noexcept;

  // Were all mapped bytes there whenever somebody read them? Knows only what the guard of bus_guard.h has seen.
  // Errors: mapping_lost, now and for ever.
  [[nodiscard]] Status check_not_lost() const;
  [[nodiscard]] bool lost() const noexcept;
  // A recheck has seen a later generation in the file: this one is still good, but nobody who asks for the newest gets
  // it.
  [[nodiscard]] bool superseded() const noexcept { return superseded_.load(std::memory_order_acquire); }
  // Is it still the file that was opened? One fstat; only when that shows a difference, the header is read again.
  // Errors: mapping_lost, changed (truncated, or rewritten as something else), io.
  [[nodiscard]] Status recheck() const;
  // Takes a new look of the file that somebody else has checked already.
  void renew(const mapping::FileIdentity& identity) const noexcept;

  // Compares all of a record with its hashes, once per look of the file and in one pass over its bytes: the leaves
  // under it, and its own hash, because bytes and leaves may fit together and be another record's. Of a record of
  // several slices also that zeros follow in its last granule. Where the table is authenticated, SHA-256 leaves say
  // whose bytes these are, and the record's own hash is compared as XXH3, which costs little beside them.
  // Errors: checksum_mismatch (F26, F37), malformed (F35), limit_exceeded (WorkBudget), truncated, io, cancelled (of
  // StepWatch).
  [[nodiscard]] Status verify_record(const RecordInfo& record, std::uint64_t max_made_bytes) const;
  // Compares the leaves under ranges of the file, of which a record shows each by itself, once per look of the file.
  // The record's own hash is not compared. Requires: each lies in one payload segment; of one record they are the same
  // ones in every call. Errors: checksum_mismatch (F26), truncated, io, cancelled.
  [[nodiscard]] Status verify_ranges(const RecordInfo& record, std::span<const ByteRange> in_file) const;
  // As verify_record(), of a record that is shown as `pieces`: what is mapped is read through its leaves, and all of it
  // must have the record's hash. Gives the look of the file in which it is so; does nothing if that is `known`.
  // Errors: checksum_mismatch (F26, F37), limit_exceeded (WorkBudget), truncated, io.
  using BuiltBytes = std::function<ByteView(std::uint64_t offset_in_record, const mapping::MixedPiece& piece)>;
  [[nodiscard]] Result<std::uint64_t> verify_composed(const RecordInfo& record,
                                                      std::span<const mapping::MixedPiece> pieces,
                                                      const BuiltBytes& built, std::uint64_t known,
                                                      const container::WorkBudget& budget) const;
  // What verify_record() and verify_composed() have found since the file last changed. Reads nothing.
  [[nodiscard]] RecordState verification_of(const RecordInfo& record) const;
  // Who holds what of it.
  [[nodiscard]] Attachments& attachments() const noexcept { return attachments_; }

  // Null if there is no such record. Cost: a binary search; the first call sorts.
  [[nodiscard]] const RecordInfo* find(std::string_view name) const;

  // The parsed tensor table of a record, parsed once. Lifetime: this container's.
  [[nodiscard]] Result<const container::ParsedTensorTable*> tensor_table(const RecordInfo& record,
                                                                         std::uint64_t blob_size,
                                                                         std::uint64_t max_made_bytes) const;

 private:
  // The counters of a record.
  [[nodiscard]] Attachments::OfRecord& counted(const RecordInfo& record) const {
    return attachments_.at(toc_.index_of(record), toc_.records.size());
  }
  // Notes that a record was found damaged in a look of the file, if that is what the error says, and says what to do.
  [[nodiscard]] Error damaged(const RecordInfo& record, std::uint64_t look, Error error) const;
  // Errors: malformed (F35), truncated, io.
  [[nodiscard]] Status check_zero_behind(const RecordInfo& record) const;

  std::string name_;
  std::unique_ptr<mapping::OsFile> file_;
  container::Header header_;
  container::Toc toc_;
  mapping::FilesystemKind filesystem_;
  std::shared_ptr<MappingProvider> provider_;                          // null: the system
  mutable std::atomic<const mapping::MappedRegion*> region_{nullptr};  // owns; written once
  // By record index; written once by whoever parses first.
  mutable std::unique_ptr<std::atomic<const container::ParsedTensorTable*>[]> tensor_tables_;
  // Indexes of the records by name; owns; written once by whoever looks for a name first. Names stay where they are.
  mutable std::atomic<const std::vector<std::uint32_t>*> by_name_{nullptr};
  mutable FileLooks looks_;
  mutable Attachments attachments_;
  mutable std::atomic<bool> stitched_lost_{false};
  mutable std::atomic<bool> superseded_{false};
  mutable std::atomic<std::uint64_t> composed_bytes_{0};
  mutable std::atomic<std::uint64_t> cached_bytes_{0};
};

}  // namespace fatctx
