#include "tools/inspect/tensor_stats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fstream>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/inspect/csv_text.h"
#include "tools/inspect/info_filter.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kSmallBits = 16;

// Returns the number that a half has.
double half_value(std::uint64_t bits) {
  const bool negative = (bits & 0x8000) != 0;
  const auto exponent = static_cast<int>(bits >> 10 & 0x1f);
  const auto mantissa = static_cast<double>(bits & 0x3ff);
  double value = 0;
  if (exponent == 0x1f) {
    value = mantissa == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(mantissa, -24);
  } else {
    value = std::ldexp(1024 + mantissa, exponent - 25);
  }
  return negative ? -value : value;
}

double signed_value(std::uint64_t pattern, unsigned bits) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return static_cast<double>(static_cast<std::int64_t>((pattern ^ sign) - sign));
}

double value_of(DType dtype, std::uint64_t pattern) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(pattern)));
    case DType::kF64:
      return std::bit_cast<double>(pattern);
    case DType::kF16:
      return half_value(pattern);
    case DType::kBF16:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(pattern << 16)));
    case DType::kI4:
      return signed_value(pattern, 4);
    case DType::kI8:
      return signed_value(pattern, 8);
    case DType::kI16:
      return signed_value(pattern, 16);
    case DType::kI32:
      return signed_value(pattern, 32);
    case DType::kI64:
      return static_cast<double>(static_cast<std::int64_t>(pattern));
    default:
      return static_cast<double>(pattern);
  }
}

}  // namespace

StatsCounter::StatsCounter(DType dtype, std::uint64_t elements) : dtype_(dtype), left_(elements) {
  if (dtype_bits(dtype) <= kSmallBits) small_patterns_.resize(std::size_t{1} << dtype_bits(dtype));
}

void StatsCounter::count(std::uint64_t pattern, double value) {
  if (left_ == 0) return;
  --left_;
  ++stats_.elements;
  if (value == 0) ++stats_.zeros;
  if (std::isnan(value)) {
    ++stats_.nans;
  } else if (std::isinf(value)) {
    ++stats_.infinities;
  } else {
    stats_.least = std::min(stats_.least.value_or(value), value);
    stats_.most = std::max(stats_.most.value_or(value), value);
  }
  if (!small_patterns_.empty()) {
    small_patterns_[static_cast<std::size_t>(pattern)] = true;
  } else if (!too_many_) {
    patterns_.insert(pattern);
    too_many_ = patterns_.size() > kMostDistinct;
    if (too_many_) patterns_.clear();
  }
}

void StatsCounter::add(ByteView bytes) {
  const std::uint32_t bits = dtype_bits(dtype_);
  if (bits == 4) {
    for (const std::byte both : bytes) {  // the low half first
      for (const unsigned shift : {0U, 4U}) {
        const std::uint64_t pattern = std::to_integer<std::uint64_t>(both) >> shift & 0xf;
        count(pattern, value_of(dtype_, pattern));
      }
    }
    return;
  }
  const std::size_t size = std::max<std::size_t>(bits / 8, 1);
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    std::uint64_t pattern = 0;
    for (std::size_t i = 0; i < size; ++i) pattern |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
    count(pattern, value_of(dtype_, pattern));
  }
}

TensorStats StatsCounter::stats() const {
  TensorStats stats = stats_;
  if (!small_patterns_.empty()) {
    stats.distinct = static_cast<std::uint64_t>(std::count(small_patterns_.begin(), small_patterns_.end(), true));
  } else if (!too_many_) {
    stats.distinct = patterns_.size();
  }
  return stats;
}

std::string number_text(const std::optional<double>& number) {
  return number ? fmt::format("{:.6g}", *number) : std::string("?");
}

std::string distinct_text(const TensorStats& stats) {
  return stats.distinct ? grouped(*stats.distinct) : fmt::format("> {}", grouped(StatsCounter::kMostDistinct));
}

std::uint64_t elements_of(std::span<const std::uint64_t> shape) {
  std::uint64_t count = 1;
  for (const std::uint64_t size : shape) count *= size;  // a tensor table has been checked
  return count;
}

Result<TensorStats> stats_of_range(const std::string& path, ByteRange range, DType dtype, std::uint64_t elements) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(range.offset));
  if (!in) return Error{ErrorCode::kIo, fmt::format("{}: cannot be read", path)};
  StatsCounter counter(dtype, elements);
  std::vector<std::byte> piece(kPiece);
  for (std::uint64_t left = range.size; left != 0;) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left, kPiece));
    in.read(reinterpret_cast<char*>(piece.data()), static_cast<std::streamsize>(size));
    if (!in) return Error{ErrorCode::kTruncated, fmt::format("{}: ends inside a tensor", path)};
    counter.add({piece.data(), size});
    left -= size;
  }
  return counter.stats();
}

Result<std::vector<CountedTensor>> stats_of_blob(const Container& container, std::uint32_t weights_id,
                                                 const TensorTable& tensors, const ViewFilter& filter) {
  const std::vector<std::size_t> chosen = chosen_tensors(tensors, filter);
  std::uint64_t all = 0;
  for (const std::size_t i : chosen) all += tensors.at(i).size_bytes;
  ProgressLine line("stats");
  std::uint64_t done = 0;
  std::vector<CountedTensor> counted;
  for (const std::size_t i : chosen) {
    const TensorInfo tensor = tensors.at(i);
    FATCTX_ASSIGN(const WeightView view, container.tensor(weights_id, tensor.name));
    StatsCounter counter(tensor.dtype, elements_of(tensor.shape));
    counter.add(view.bytes());
    counted.push_back({std::string(tensor.name), std::string(dtype_name(tensor.dtype)), counter.stats()});
    done += tensor.size_bytes;
    line.bytes(done, all);
  }
  return counted;
}

std::string stats_text(const std::vector<CountedTensor>& tensors, std::size_t width) {
  using Align = Table::Align;
  Table table({{"name"},
               {"dtype"},
               {"elements", Align::kRight},
               {"least", Align::kRight},
               {"most", Align::kRight},
               {"zeros", Align::kRight},
               {"NaN", Align::kRight},
               {"distinct", Align::kRight}});
  for (const CountedTensor& tensor : tensors) {
    const TensorStats& stats = tensor.stats;
    table.add_row({tensor.name, tensor.dtype, grouped(stats.elements), number_text(stats.least),
                   number_text(stats.most), grouped(stats.zeros), grouped(stats.nans), distinct_text(stats)});
  }
  return table.text("", width);
}

Json stats_json(const std::vector<CountedTensor>& tensors) {
  Json list = Json::array();
  for (const CountedTensor& tensor : tensors) {
    const TensorStats& stats = tensor.stats;
    list.push_back({{"name", tensor.name},
                    {"elements", stats.elements},
                    {"least", stats.least},
                    {"most", stats.most},
                    {"zeros", stats.zeros},
                    {"nans", stats.nans},
                    {"infinities", stats.infinities},
                    {"distinct", stats.distinct}});
  }
  return list;
}

std::string stats_csv(const std::vector<CountedTensor>& tensors) {
  CsvText csv({"name", "dtype", "elements", "least", "most", "zeros", "nans", "infinities", "distinct"});
  for (const CountedTensor& tensor : tensors) {
    const TensorStats& stats = tensor.stats;
    csv.add_row({tensor.name, tensor.dtype, fmt::format("{}", stats.elements), number_text(stats.least),
                 number_text(stats.most), fmt::format("{}", stats.zeros), fmt::format("{}", stats.nans),
                 fmt::format("{}", stats.infinities),
                 stats.distinct ? fmt::format("{}", *stats.distinct) : std::string()});
  }
  return csv.text();
}

}  // namespace fatctx::tools
