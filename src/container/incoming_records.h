// Records on their way into a container: each is checked when it comes, and all of them together before they are
// written.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "container/plan.h"
#include "fatctx/packer.h"

namespace fatctx::container {

class IncomingRecords {
 public:
  // Errors: invalid_argument (names, keys, ranges), exists (a record of this name or with this full key is there).
  [[nodiscard]] Status add(PackRecord record);
  // A record of the file that others are added to. Its name and key are taken, and others may refer to it.
  void take(const RecordInfo& record);

  // Values of options that are paths of this machine are not stored; a warning says so.
  void drop_paths(std::vector<DescribedOption>& list, std::string_view of);

  // Errors: bad_reference (weights that are not there, or are no weights).
  [[nodiscard]] Status check_references() const;
  // The records, with tensor tables as records of their own, now that the size of their blob can be asked: `blob_sizes`
  // are what was answered, by name of the blob, `parts` where its tensors are. The tensors themselves stay here,
  // because they can be what takes the most memory. Errors: those of opening the blobs, invalid_argument and
  // limit_exceeded (tensors), exists (the table's name).
  [[nodiscard]] Result<std::vector<PackRecord>> with_tensor_tables(std::map<std::string, std::uint64_t>& blob_sizes,
                                                                   PartsByName& parts) const;
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  std::vector<PackRecord> records_;
  std::map<std::string, RecordType> names_;
  std::map<std::string, std::string> keys_;  // canonical text of the full key -> record name
  std::vector<std::string> warnings_;
};

}  // namespace fatctx::container
