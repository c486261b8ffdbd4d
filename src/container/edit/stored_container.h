// Reads a container whose records are packed into another one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "container/read/open.h"
#include "fatctx/packer.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// An open container as a source of records. Ownership: the sources of its records share in it. Threads: const members
// from any number of threads.
class StoredContainer final : public std::enable_shared_from_this<StoredContainer> {
 public:
  // Opens a generation of the file. `generation`, `max_made_bytes`: as in OpenOptions.
  // Errors: those of opening a file and of read_generation; not_regular_file.
  [[nodiscard]] static Result<std::shared_ptr<const StoredContainer>> open(const std::string& path,
                                                                           std::uint64_t generation,
                                                                           std::uint64_t max_made_bytes);
  StoredContainer(std::string path, std::unique_ptr<mapping::OsFile> file, mapping::FileIdentity identity,
                  OpenedToc opened, ContainerDescription description, std::uint64_t max_made_bytes)
      : path_(std::move(path)),
        file_(std::move(file)),
        identity_(identity),
        opened_(std::move(opened)),
        description_(std::move(description)),
        max_made_bytes_(max_made_bytes),
        budget_(opened_.toc, max_made_bytes, kPackerPasses) {
    for (const Reference& reference : opened_.toc.references) {
      if (reference.kind == ReferenceKind::kTensorTable) tables_.emplace(reference.to_record, reference.from_record);
    }
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const mapping::FileIdentity& identity() const noexcept { return identity_; }
  [[nodiscard]] const mapping::OsFile& file() const noexcept { return *file_; }
  [[nodiscard]] const Header& header() const noexcept { return opened_.header; }
  [[nodiscard]] const Toc& toc() const noexcept { return opened_.toc; }
  [[nodiscard]] const ContainerDescription& description() const noexcept { return description_; }
  // Returns the budget for all reads of its records.
  [[nodiscard]] const WorkBudget& budget() const noexcept { return budget_; }

  // Returns the bytes that no record uses: DEAD segments, and those behind the committed end.
  [[nodiscard]] std::uint64_t dead_bytes() const noexcept;
  // Returns the records for a packer: those with `kept` set at their index in toc().records. A tensor table comes with
  // its blob. The description is left out. The packer writes both anew.
  // Errors: unsupported (a record that this version only lists), those of reading tables of tensors; limit_exceeded
  // (all of them together have more bytes than a call may make).
  [[nodiscard]] Result<std::vector<PackRecord>> records(const std::vector<bool>& kept) const;

 private:
  // A packer reads a record to find shared bytes, to write it, and to verify the written bytes.
  static constexpr std::uint64_t kPackerPasses = 16;

  [[nodiscard]] Result<PackRecord> as_packed(const RecordInfo& record) const;
  [[nodiscard]] Result<std::vector<PackTensor>> tensors_of(const RecordInfo& blob) const;

  std::string path_;
  std::unique_ptr<mapping::OsFile> file_;
  mapping::FileIdentity identity_;
  OpenedToc opened_;
  ContainerDescription description_;
  std::uint64_t max_made_bytes_;
  WorkBudget budget_;
  std::multimap<std::uint32_t, std::uint32_t> tables_;  // of tensors: the blob's id -> the table's
};

}  // namespace fatctx::container
