// Collects records for a container. Checks each record when it is added, and all of them together before they are
// written.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "container/write/plan.h"
#include "fatctx/packer.h"

namespace fatctx::container {

class IncomingRecords {
 public:
  // Checks and adds a record.
  // Errors: invalid_argument (names, keys, ranges), exists (a record with this name or this full key was added or
  // taken).
  [[nodiscard]] Status add(PackRecord record);

  // Registers an existing record of the file that is appended to. Its name and key are in use, and new records may
  // refer to it.
  void take(const RecordInfo& record);
  // From now on, a second context binary for a SoC is refused with `exists`.
  void allow_one_per_soc() noexcept { one_per_soc_ = true; }
  // From now on, a record whose full key equals that of a taken record supersedes it; the name of that one is free.
  void replace_taken() noexcept { replace_ = true; }
  // Returns the names of superseded records, in the order in which they were superseded.
  [[nodiscard]] const std::vector<std::string>& superseded() const noexcept { return superseded_; }
  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }

  // Removes option values that are paths of this machine, with a warning.
  void drop_paths(std::vector<DescribedOption>& list, std::string_view of);

  // Errors: bad_reference (the weights do not exist, or are not a weight blob).
  [[nodiscard]] Status check_references() const;
  // Returns the records, with tensor tables as records of their own. Asks each blob for its size and returns it in
  // `blob_sizes`, by name of the blob; `parts` receives the ranges of its tensors. The tensors stay here and are not
  // copied, because they can take the most memory. Errors: those of opening the blobs, invalid_argument and
  // limit_exceeded (tensors), exists (the table's name).
  [[nodiscard]] Result<std::vector<PackRecord>> with_tensor_tables(std::map<std::string, std::uint64_t>& blob_sizes,
                                                                   PartsByName& parts) const;
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  [[nodiscard]] const std::vector<PackRecord>& records() const noexcept { return records_; }

 private:
  // Group, unit, backend, and the SoC as people write it: "SoC 57", or the part in quotes.
  using SocPlace = std::array<std::string, 4>;
  // Returns the places of a context binary: for its number and for its part, if they are stated.
  [[nodiscard]] static std::vector<SocPlace> soc_places(const SelectionKey& key);
  void note_soc(const SelectionKey& key, std::string_view record);
  void forget_soc(const SelectionKey& key, const std::string& record);

  std::vector<PackRecord> records_;
  std::map<std::string, RecordType> names_;
  std::map<std::string, std::string> keys_;  // canonical text of the full key -> record name
  std::set<std::string> taken_;              // names of records that were taken and are not superseded
  bool replace_ = false;
  bool one_per_soc_ = false;
  std::map<SocPlace, std::vector<std::string>> socs_;  // names of the records there, in the order in which they came
  std::vector<std::string> superseded_;
  std::vector<std::string> warnings_;
};

// Checks that each blob has the size for which its tensor table was made. Errors: changed.
[[nodiscard]] Status check_blob_sizes(const Plan& plan, const std::map<std::string, std::uint64_t>& blob_sizes);

}  // namespace fatctx::container
