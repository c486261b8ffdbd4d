// Decodes the steps of an update, part by part, and checks each one before anybody follows it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "container/update/step_models.h"
#include "container/update/update_format.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// A step, and the form of its bytes if it is a literal. A difference has the `source` and `offset` of the bytes that it
// is taken to.
struct DecodedStep {
  UpdateStep step;
  LiteralForm form = LiteralForm::kPlain;

  // Returns whether it reads bytes of its source: `size` of them at `offset`.
  [[nodiscard]] bool reads_source() const noexcept {
    return step.kind == UpdateStep::Kind::kCopy ||
           (step.kind == UpdateStep::Kind::kLiteral && form == LiteralForm::kDifference);
  }
};

// Threads: one at a time.
class PartDecoder {
 public:
  // The sizes of the OLD files, in their order.
  explicit PartDecoder(std::vector<std::uint64_t> old_sizes);
  ~PartDecoder();

  // Begins the next part, which makes `made` of NEW. Errors: malformed (its sizes). Lifetime: borrows the bytes until
  // the part ends.
  [[nodiscard]] Status begin(const UpdatePart& part, ByteRange made, ByteView coded, ByteView raw);
  // Returns false at the end of the part, once everything in it was used. A copy reads only bytes that its source has;
  // of NEW only those in front of the step. Requires: the bytes of a literal were taken.
  // Errors: malformed.
  [[nodiscard]] Result<bool> next(DecodedStep& decoded);
  // Makes the next bytes of a literal, in one call or in several. `expected` has as many bytes for a difference; it is
  // not used otherwise. Requires: all calls for one literal have its size in sum.
  void literal(const DecodedStep& decoded, ByteView expected, std::span<std::byte> bytes);

 private:
  struct Models;
  [[nodiscard]] Error malformed(const char* what) const;

  std::vector<std::uint64_t> old_sizes_;
  std::unique_ptr<Models> models_;
  std::unique_ptr<RangeDecoder> coder_;
  ByteRange made_;
  ByteView raw_;
  std::uint64_t target_ = 0;
  std::uint64_t steps_left_ = 0;
  // State of the literal that is being made.
  bool first_ = true;
  unsigned before_ = 0;
  unsigned earlier_ = 0;
};

}  // namespace fatctx::container
