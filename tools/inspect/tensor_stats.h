// Computes statistics of the numbers of a tensor, for `fatctx info --stats`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/json.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/record.h"
#include "tools/inspect/filters.h"

namespace fatctx::tools {

struct TensorStats {
  std::uint64_t elements = 0;
  std::uint64_t zeros = 0;
  std::uint64_t nans = 0;
  std::uint64_t infinities = 0;
  std::optional<double> least;  // of the finite numbers; nothing: there are none
  std::optional<double> most;
  std::optional<std::uint64_t> distinct;  // nothing: more than kMostDistinct
};

// Counts the elements of one tensor, whose bytes arrive in pieces.
class StatsCounter {
 public:
  static constexpr std::size_t kMostDistinct = std::size_t{1} << 20;

  // `elements` is their number: of an odd number of 4-bit ones, the last half byte is none.
  StatsCounter(DType dtype, std::uint64_t elements);
  // Takes the next bytes. Requires: whole elements, in whole bytes.
  void add(ByteView bytes);
  [[nodiscard]] TensorStats stats() const;

 private:
  void count(std::uint64_t pattern, double value);

  DType dtype_;
  std::uint64_t left_;  // elements that are still to come
  TensorStats stats_;
  std::vector<bool> small_patterns_;  // of elements of at most 16 bits
  std::unordered_set<std::uint64_t> patterns_;
  bool too_many_ = false;
};

// A tensor with its statistics.
struct CountedTensor {
  std::string name;
  std::string dtype;
  TensorStats stats;
};

// Returns the product of the sizes. Requires: a shape that an importer or a tensor table has checked.
[[nodiscard]] std::uint64_t elements_of(std::span<const std::uint64_t> shape);

// Computes the statistics of a range of a file. Errors: io; truncated, if the range leaves the file.
[[nodiscard]] Result<TensorStats> stats_of_range(const std::string& path, ByteRange range, DType dtype,
                                                 std::uint64_t elements);
// Computes those of the tensors of a weight blob that fit the filter, each checked against its hash. Shows progress.
// Errors: those of Container::tensor.
[[nodiscard]] Result<std::vector<CountedTensor>> stats_of_blob(const Container& container, std::uint32_t weights_id,
                                                               const TensorTable& tensors, const ViewFilter& filter);

[[nodiscard]] std::string stats_text(const std::vector<CountedTensor>& tensors, std::size_t width);
[[nodiscard]] Json stats_json(const std::vector<CountedTensor>& tensors);
[[nodiscard]] std::string stats_csv(const std::vector<CountedTensor>& tensors);

// Returns "?" for a fact that is not known.
[[nodiscard]] std::string number_text(const std::optional<double>& number);
[[nodiscard]] std::string distinct_text(const TensorStats& stats);

}  // namespace fatctx::tools
