// An opened DLC that is stored in a container: its layout, the records of its entries, and its bytes as those of a
// file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "container/dlc/archive_layout.h"
#include "container/read/record_ranges.h"
#include "fatctx/stored_dlc.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {

// A DLC stored in a container. Ownership: holds the container. Threads: one at a time.
class OpenedDlc {
 public:
  // Opens the DLC of a layout. Errors and `layout`: see fatctx/stored_dlc.h.
  [[nodiscard]] static Result<std::unique_ptr<OpenedDlc>> open(const Container& container, std::string_view layout);

  OpenedDlc(Container container, const RecordInfo& record, container::dlc::ArchiveLayout layout);

  [[nodiscard]] const container::dlc::ArchiveLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const mapping::OsFile& archive() const noexcept { return archive_; }
  [[nodiscard]] container::RecordRanges& ranges() noexcept { return ranges_; }
  [[nodiscard]] StoredDlc description() const;
  // Returns the error with the name of the container in front, unless it has the name already or is about another file.
  [[nodiscard]] Error about(Error error) const;
  // Returns the record that holds the bytes of an entry. Errors: bad_reference.
  [[nodiscard]] Result<const RecordInfo*> record_of(std::size_t entry) const;

 private:
  Container container_;
  std::string name_;
  const RecordInfo* record_;  // of the layout
  container::dlc::ArchiveLayout layout_;
  container::RecordRanges ranges_;
  container::dlc::StoredArchive archive_;
};

}  // namespace fatctx
