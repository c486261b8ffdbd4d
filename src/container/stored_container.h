// A container whose records go into another one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "container/open.h"
#include "fatctx/packer.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Ownership: the sources of its records share in it. Threads: const members from any number of threads.
class StoredContainer final : public std::enable_shared_from_this<StoredContainer> {
 public:
  // `generation`: as OpenOptions::generation. Errors: those of opening a file and of read_generation; not_regular_file.
  [[nodiscard]] static Result<std::shared_ptr<const StoredContainer>> open(const std::string& path,
                                                                           std::uint64_t generation);
  StoredContainer(std::string path, std::unique_ptr<mapping::OsFile> file, mapping::FileIdentity identity,
                  OpenedToc opened, ContainerDescription description)
      : path_(std::move(path)),
        file_(std::move(file)),
        identity_(identity),
        opened_(std::move(opened)),
        description_(std::move(description)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const mapping::FileIdentity& identity() const noexcept { return identity_; }
  [[nodiscard]] const mapping::OsFile& file() const noexcept { return *file_; }
  [[nodiscard]] const Header& header() const noexcept { return opened_.header; }
  [[nodiscard]] const Toc& toc() const noexcept { return opened_.toc; }
  [[nodiscard]] const ContainerDescription& description() const noexcept { return description_; }

  // How its records share bytes, as far as a reader can tell.
  [[nodiscard]] Sharing sharing() const noexcept;
  // Bytes that no record uses: DEAD segments, and what lies behind the committed end.
  [[nodiscard]] std::uint64_t dead_bytes() const noexcept;
  // As a packer takes them, those whose place in toc().records `kept` says. A table of tensors comes with its blob, and
  // the description is left out, because the packer writes both.
  // Errors: unsupported (a record that this version only lists), those of reading tables of tensors.
  [[nodiscard]] Result<std::vector<PackRecord>> records(const std::vector<bool>& kept) const;

 private:
  [[nodiscard]] Result<PackRecord> as_packed(const RecordInfo& record) const;
  [[nodiscard]] Result<std::vector<PackTensor>> tensors_of(const RecordInfo& blob) const;

  std::string path_;
  std::unique_ptr<mapping::OsFile> file_;
  mapping::FileIdentity identity_;
  OpenedToc opened_;
  ContainerDescription description_;
};

}  // namespace fatctx::container
