#include "container/update/part_decoder.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fatctx::container {

struct PartDecoder::Models {
  StepModels steps;
  LiteralModels literals;
};

PartDecoder::PartDecoder(std::vector<std::uint64_t> old_sizes)
    : old_sizes_(std::move(old_sizes)), models_(std::make_unique<Models>()) {}
PartDecoder::~PartDecoder() = default;

Error PartDecoder::malformed(const char* what) const {
  return Error{ErrorCode::kMalformed, fmt::format("the step for byte {:#x} of the new file: {}", target_, what)};
}

Status PartDecoder::begin(const UpdatePart& part, ByteRange made, ByteView coded, ByteView raw) {
  made_ = made;
  raw_ = raw;
  target_ = made.offset;
  steps_left_ = part.step_count;
  coder_ = std::make_unique<RangeDecoder>(coded);
  if (steps_left_ > most_steps_of_part(made.size)) return malformed("more steps than a part may have");
  return Done{};
}

Result<bool> PartDecoder::next(DecodedStep& decoded) {
  const std::uint64_t end = made_.offset + made_.size;
  if (coder_->past_end()) return malformed("the coded steps end before it");
  if (steps_left_ == 0) {
    if (target_ != end) return malformed("there is none");
    if (!coder_->all_taken() || !raw_.empty()) return malformed("bytes follow the last one");
    return false;
  }
  --steps_left_;
  StepModels::Head head;
  if (!models_->steps.code(*coder_, head)) return malformed("not a step");
  if (head.size == 0) return malformed("it makes nothing");
  if (head.size > end - target_) return malformed("it makes more bytes than its part has");
  UpdateStep& step = decoded.step;
  step = {.kind = head.kind, .target = target_, .size = head.size};
  decoded.form = head.form;
  if (head.kind == UpdateStep::Kind::kFill) step.offset = head.fill;
  if (decoded.reads_source()) {
    const Displacement& from = models_->steps.recent().newest();
    step.source = from.source;
    step.offset = target_ + from.distance;  // may wrap: the result is checked
    if (step.source > old_sizes_.size()) return malformed("it copies from a file that the update does not name");
    const std::uint64_t limit = step.source == 0 ? target_ : old_sizes_[step.source - 1];
    if (!within({step.offset, step.size}, limit)) return malformed("it copies bytes that its source does not have");
  }
  if (head.kind == UpdateStep::Kind::kLiteral && head.form == LiteralForm::kRaw && head.size > raw_.size()) {
    return malformed("it takes more raw bytes than its part has");
  }
  target_ += step.size;
  first_ = true;
  before_ = earlier_ = 0;
  return true;
}

void PartDecoder::literal(const DecodedStep& decoded, ByteView expected, std::span<std::byte> bytes) {
  if (decoded.form == LiteralForm::kRaw) {
    std::copy_n(raw_.begin(), bytes.size(), bytes.begin());
    raw_ = raw_.subspan(bytes.size());
    return;
  }
  if (decoded.form == LiteralForm::kPlain) {
    for (std::byte& byte : bytes) {
      unsigned value = 0;
      models_->literals.plain().code(*coder_, value);
      byte = static_cast<std::byte>(value);
    }
    return;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned difference = 0;
    models_->literals.difference(*coder_, first_, before_, earlier_, difference);
    bytes[i] = static_cast<std::byte>(static_cast<unsigned>(expected[i]) + difference);
    earlier_ = std::exchange(before_, difference);
    first_ = false;
  }
}

}  // namespace fatctx::container
