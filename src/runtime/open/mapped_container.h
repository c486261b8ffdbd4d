// A container as this process has opened it: a checked table of contents, one mapping, and the results of verification.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/block_array.h"
#include "container/read/partial_toc.h"
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

// A container that all handles of the same file share.
// Threads: all const members are safe from any number of threads, and all members are const.
class MappedContainer {
 public:
  MappedContainer(std::string name, std::unique_ptr<mapping::OsFile> file, container::OpenedToc opened,
                  const mapping::FileIdentity& identity, std::shared_ptr<MappingProvider> provider);
  ~MappedContainer();
  MappedContainer(const MappedContainer&) = delete;
  MappedContainer& operator=(const MappedContainer&) = delete;

  // Returns the name used in errors: the path by which the container was first opened.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const mapping::OsFile& file() const noexcept { return *file_; }
  [[nodiscard]] const container::Header& header() const noexcept { return header_; }
  // Returns the table. It has the rows of records that find() has returned, of a large table only those. Code that goes
  // through all rows calls need_all() first.
  [[nodiscard]] const container::Toc& toc() const noexcept { return toc_; }
  // Reads and checks the missing rows of the table. Errors: those of parse_toc(), checksum_mismatch (F13), changed.
  [[nodiscard]] Status need_all() const;
  // Returns a record and reads its rows, unless they are there; null if there is no such record. Errors: as need_all().
  [[nodiscard]] Result<const RecordInfo*> find(std::string_view name) const;
  [[nodiscard]] Result<const RecordInfo*> find(std::uint32_t id) const;
  // Returns a record that find() has returned before.
  [[nodiscard]] const RecordInfo& known(std::uint32_t id) const { return *find(id).value(); }
  // Returns the records whose rows are there, ascending: all of them, or of a large table those that were asked for.
  [[nodiscard]] std::vector<const RecordInfo*> known_records() const;
  // Returns the lost redundancy that was found so far (container::Degraded).
  [[nodiscard]] std::uint32_t degraded() const noexcept;
  // Returns where the file is. The first call asks the system; bytes in memory are on "memory".
  [[nodiscard]] const mapping::FilesystemKind& filesystem() const noexcept;
  // Returns true if this is the last known identity of the file.
  [[nodiscard]] bool looks_like(const mapping::FileIdentity& identity) const noexcept {
    return looks_.last_was(identity);
  }
  // Returns the number of the present look. It changes whenever the file was found to look different.
  // A harmless change (a touch, a chmod, a link, an append) changes it too, so that payload is verified again.
  [[nodiscard]] std::uint64_t look() const noexcept { return looks_.number(); }
  // Maps the file unless it is mapped already. An open with file mapping disabled does not map. Errors: those of
  // map_region.
  [[nodiscard]] Status ensure_mapped() const;
  // Returns the bytes of the whole container. Requires: ensure_mapped() succeeded.
  [[nodiscard]] ByteView mapped() const noexcept { return region_.load(std::memory_order_acquire)->bytes(); }
  // Returns the mapping, or null if the file is not mapped yet.
  [[nodiscard]] const mapping::MappedRegion* region() const noexcept { return region_.load(std::memory_order_acquire); }
  [[nodiscard]] bool mapped_by_provider() const noexcept { return provider_ != nullptr; }
  // The guard sets this flag if it replaced bytes of a stitched or composed range by zeros. The flag stays set after
  // the range is unmapped.
  [[nodiscard]] std::atomic<bool>& stitched_lost() const noexcept { return stitched_lost_; }
  // The memory of its composed records, which OpenOptions::max_copied_bytes limits.
  [[nodiscard]] std::atomic<std::uint64_t>& composed_bytes() const noexcept { return composed_bytes_; }
  // The number of bytes that its composed records map from files in cache folders.
  [[nodiscard]] std::atomic<std::uint64_t>& cached_bytes() const noexcept { return cached_bytes_; }
  [[nodiscard]] bool same_container(const container::Header& other) const noexcept;

  // Checks that no read of a mapped byte has failed so far. Only faults that the guard of bus_guard.h has handled are
  // known.
  // Errors: mapping_lost, permanently.
  [[nodiscard]] Status check_not_lost() const;
  [[nodiscard]] bool lost() const noexcept;
  // Returns true if recheck() has seen a later generation in the file. This mapping remains valid, but an open that
  // asks for the newest generation does not get it.
  [[nodiscard]] bool superseded() const noexcept { return superseded_.load(std::memory_order_acquire); }
  // Checks that the file is still the one that was opened. Costs one fstat; reads the header again only if fstat shows
  // a difference.
  // Errors: mapping_lost, changed (truncated, or rewritten as something else), io.
  [[nodiscard]] Status recheck() const;
  // Begins a new look for a file that the caller has already checked.
  void renew(const mapping::FileIdentity& identity) const noexcept;

  // Verifies all bytes of a record, once per look of the file and in one pass. It compares the leaves under the record
  // and the record's own hash, because bytes and leaves may match each other and belong to another record.
  // For a record of several slices it also checks that its last granule is filled with zeros.
  // In an authenticated container, SHA-256 leaves prove the origin of the bytes. The record's own hash is then compared
  // as XXH3, which adds little cost.
  // Errors: checksum_mismatch (F26, F37), malformed (F35), limit_exceeded (WorkBudget), truncated, io, cancelled (by
  // StepWatch).
  [[nodiscard]] Status verify_record(const RecordInfo& record, std::uint64_t max_made_bytes) const;
  // Compares the leaves under ranges of the file, once per look of the file. For records of which only single ranges
  // are shown. Does not compare the record's own hash.
  // Requires: each range is within one payload segment; the ranges of one record are the same in every call.
  // Errors: checksum_mismatch (F26), truncated, io, cancelled.
  [[nodiscard]] Status verify_ranges(const RecordInfo& record, std::span<const ByteRange> in_file) const;
  // Compares the leaves under one range of the file, unless the whole record was verified in this look. Requires: the
  // range is within the record's only slice. Errors: checksum_mismatch (F26), truncated, io, cancelled.
  [[nodiscard]] Status verify_part(const RecordInfo& record, ByteRange in_file) const;
  // Verifies a record that is shown as `pieces`, as verify_record() does. Mapped pieces are read through their leaves,
  // and all pieces together must match the record's hash.
  // Returns the look in which this holds; does nothing if that look is `known`.
  // Errors: checksum_mismatch (F26, F37), limit_exceeded (WorkBudget), truncated, io.
  using BuiltBytes = std::function<ByteView(std::uint64_t offset_in_record, const mapping::MixedPiece& piece)>;
  [[nodiscard]] Result<std::uint64_t> verify_composed(const RecordInfo& record,
                                                      std::span<const mapping::MixedPiece> pieces,
                                                      const BuiltBytes& built, std::uint64_t known,
                                                      const container::WorkBudget& budget) const;
  // Returns what verify_record() and verify_composed() have found since the file last changed. Reads no payload.
  [[nodiscard]] RecordState verification_of(const RecordInfo& record) const;
  // Returns the counters of its views and sessions.
  [[nodiscard]] Attachments& attachments() const noexcept { return attachments_; }

  // Returns the tensor table of a record. The table is parsed once. Lifetime: that of this container.
  [[nodiscard]] Result<const container::ParsedTensorTable*> tensor_table(const RecordInfo& record,
                                                                         std::uint64_t blob_size,
                                                                         std::uint64_t max_made_bytes) const;

 private:
  struct OwnedTable {
    OwnedTable() = default;
    ~OwnedTable() { delete table.load(std::memory_order_relaxed); }
    OwnedTable(const OwnedTable&) = delete;
    OwnedTable& operator=(const OwnedTable&) = delete;
    std::atomic<const container::ParsedTensorTable*> table{nullptr};
  };

  // Returns the error `changed` if the file has changed; else `error`, with the name of the file.
  [[nodiscard]] Error in_table(Error error) const;
  // Returns the counters of a record.
  [[nodiscard]] Attachments::OfRecord& counted(const RecordInfo& record) const {
    return attachments_.at(toc_.index_of(record));
  }
  // If the error reports damage, notes that the record was found damaged in this look, and adds advice to the message.
  [[nodiscard]] Error damaged(const RecordInfo& record, std::uint64_t look, Error error) const;
  // Checks that the last granule of the record is filled with zeros. Errors: malformed (F35), truncated, io.
  [[nodiscard]] Status check_zero_behind(const RecordInfo& record) const;

  std::string name_;
  std::unique_ptr<mapping::OsFile> file_;
  container::Header header_;
  mutable container::Toc toc_;
  mutable std::unique_ptr<container::PartialToc> partial_;  // null: the table was read whole
  mutable std::once_flag filesystem_asked_;
  mutable mapping::FilesystemKind filesystem_;
  std::shared_ptr<MappingProvider> provider_;                          // null: the system maps
  mutable std::atomic<const mapping::MappedRegion*> region_{nullptr};  // owns; written once
  // Indexed by record; each is written once, by the first thread that parses the table.
  mutable BlockArray<OwnedTable> tensor_tables_;
  mutable FileLooks looks_;
  mutable Attachments attachments_;
  mutable std::atomic<bool> stitched_lost_{false};
  mutable std::atomic<bool> superseded_{false};
  mutable std::atomic<std::uint64_t> composed_bytes_{0};
  mutable std::atomic<std::uint64_t> cached_bytes_{0};
};

}  // namespace fatctx
