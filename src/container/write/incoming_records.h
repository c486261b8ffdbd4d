// Records on their way into a container: each is checked when it comes, and all of them together before they are
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
  // Errors: invalid_argument (names, keys, ranges), exists (a record of this name or with this full key is there).
  [[nodiscard]] Status add(PackRecord record);

  // A record of the file that others are added to. Its name and key are taken, and others may refer to it.
  void take(const RecordInfo& record);
  // From now on a second context binary for a SoC is `exists`.
  void allow_one_per_soc() noexcept { one_per_soc_ = true; }
  // From now on a record with the full key of one that was taken supersedes it, which gives its name up.
  void replace_taken() noexcept { replace_ = true; }
  // Names of those, in the order in which they were superseded.
  [[nodiscard]] const std::vector<std::string>& superseded() const noexcept { return superseded_; }
  [[nodiscard]] bool empty() const noexcept { return records_.empty(); }

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
  [[nodiscard]] const std::vector<PackRecord>& records() const noexcept { return records_; }

 private:
  // Group, unit, backend, and the text of the SoC: "SoC 57", or the part in quotes.
  using SocPlace = std::array<std::string, 4>;
  // Returns the places of a context binary: for its number and for its part, as far as they are stated.
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

// Errors: changed, if a blob has another size in the plan than its table of tensors was made for.
[[nodiscard]] Status check_blob_sizes(const Plan& plan, const std::map<std::string, std::uint64_t>& blob_sizes);

}  // namespace fatctx::container
