// The ranges of one request, and which of their bytes have come.
#pragma once

#include <cstdint>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/repair_source.h"

namespace fatctx::tools {

class AskedRanges {
 public:
  // A server may send two ranges as one, with the bytes between them, if these are few. More than so many are refused.
  static constexpr std::uint64_t kMostBetween = std::uint64_t{128} << 10U;

  // Requires: the ranges are ascending and apart, and none is empty.
  explicit AskedRanges(std::vector<ByteRange> asked) : asked_(std::move(asked)), missing_(asked_) {}

  [[nodiscard]] const std::vector<ByteRange>& asked() const noexcept { return asked_; }
  // Returns the bytes that have not come, ascending.
  [[nodiscard]] const std::vector<ByteRange>& missing() const noexcept { return missing_; }
  // Checks that a server may send `range` in one piece: it begins and ends in asked ranges, and none of their bytes in
  // it came before. Errors: io.
  [[nodiscard]] Status check(ByteRange range) const;
  // Hands the bytes to `take` that were asked for; they have come now. Errors: those of `take`.
  [[nodiscard]] Status take(std::uint64_t offset, ByteView bytes, const TakeBytes& take);

 private:
  std::vector<ByteRange> asked_;
  std::vector<ByteRange> missing_;
};

}  // namespace fatctx::tools
