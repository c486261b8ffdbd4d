// The records that a reader of some records needs beside them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "container/read/parse.h"

namespace fatctx::container {

// The weights of each record, and the tensor tables of weights.
// Ownership: borrows nothing. Threads: const members from any number.
class RecordNeeds {
 public:
  explicit RecordNeeds(const Toc& toc);
  // Returns the records, their weights, and the tensor tables of all of them.
  [[nodiscard]] std::set<std::uint32_t> of(std::set<std::uint32_t> ids) const;

 private:
  using Others = std::map<std::uint32_t, std::vector<std::uint32_t>>;
  static void add(const Others& others, std::set<std::uint32_t>& ids);
  Others weights_;  // by the record that refers to them
  Others tables_;   // by their weights
};

// Returns the records and the description.
[[nodiscard]] std::set<std::uint32_t> with_description(const Toc& toc, const std::vector<std::uint32_t>& ids);

// Returns the records, the description, their weights, and the tensor tables of all of them.
[[nodiscard]] std::set<std::uint32_t> with_what_they_need(const Toc& toc, const std::vector<std::uint32_t>& ids);

}  // namespace fatctx::container
