#include "container/update/part_encoder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "container/format/hash.h"
#include "container/update/update_format.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kLiteralUnit = std::uint64_t{64} << 10;  // a longer literal is several steps
// A literal of so many bytes may be stored raw, or as differences if one of kLeastEqual bytes is equal.
constexpr std::size_t kTried = 64;
constexpr std::size_t kLeastEqual = 8;
constexpr std::size_t kSample = std::size_t{8} << 10;
// A literal is stored raw unless coding saves 1/32 of it: coded bytes take time.
constexpr std::uint64_t kWorthCoding = 32;

void code_plain(RangeEncoder& coder, LiteralModels& models, ByteView bytes) {
  for (const std::byte byte : bytes) {
    auto value = static_cast<unsigned>(byte);
    models.plain().code(coder, value);
  }
}

// Codes the differences of a literal.
template <typename Coder>
void code_differences(Coder& coder, LiteralModels& models, ByteView bytes, ByteView expected) {
  unsigned before = 0;
  unsigned earlier = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    unsigned difference = (static_cast<unsigned>(bytes[i]) - static_cast<unsigned>(expected[i])) & 0xff;
    models.difference(coder, i == 0, before, earlier, difference);
    earlier = std::exchange(before, difference);
  }
}

// The costs of a literal in its two coded forms, in bits.
struct Costs {
  std::uint64_t plain = 0;
  std::uint64_t difference = UINT64_MAX;  // there are no bytes to take it to
};

// The costs if no model learned from the bytes.
Costs prices(LiteralModels& models, ByteView bytes, ByteView expected) {
  Pricer plain;
  models.plain().price(plain, bytes);
  if (expected.empty()) return {plain.bits()};
  Pricer difference;
  code_differences(difference, models, bytes, expected);
  return {plain.bits(), difference.bits()};
}

// The costs if models learn from the bytes.
Costs costs(LiteralModels models, ByteView bytes, ByteView expected) {
  RangeEncoder plain;
  code_plain(plain, models, bytes);
  if (expected.empty()) return {8 * plain.size()};
  RangeEncoder difference;
  code_differences(difference, models, bytes, expected);
  return {8 * plain.size(), 8 * difference.size()};
}

bool enough_are_equal(ByteView bytes, ByteView expected) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) equal += bytes[i] == expected[i] ? 1U : 0U;
  return equal * kLeastEqual >= bytes.size();
}

}  // namespace

struct PartEncoder::Models {
  StepModels steps;
  LiteralModels literals;
};

PartEncoder::PartEncoder(std::span<const sharing::RecordBytes* const> sources, const PartGroups& groups)
    : sources_(sources), groups_(groups), models_(std::make_unique<Models>()) {}
PartEncoder::~PartEncoder() = default;

class PartEncoder::Part {
 public:
  Part(std::span<const sharing::RecordBytes* const> sources, const PartGroups& groups, Models& models)
      : sources_(sources), groups_(groups), models_(models) {}

  void copy(const UpdateStep& step) {
    put_head({.kind = UpdateStep::Kind::kCopy, .size = step.size, .from = {step.source, step.offset - step.target}});
  }
  void fill(const UpdateStep& step) {
    put_head({.kind = UpdateStep::Kind::kFill, .size = step.size, .fill = static_cast<unsigned>(step.offset)});
  }
  Status literal(const UpdateStep& step, ByteView bytes) {
    for (std::uint64_t done = 0; done < step.size; done += kLiteralUnit) {
      const std::uint64_t size = std::min(kLiteralUnit, step.size - done);
      const ByteView piece = bytes.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(size));
      FATCTX_TRY(literal_piece(step.target + done, piece));
    }
    return Done{};
  }
  void raw(ByteView bytes) {
    for (std::size_t done = 0; done < bytes.size(); done += kLiteralUnit) {
      put_raw(bytes.subspan(done, std::min<std::size_t>(kLiteralUnit, bytes.size() - done)));
    }
  }
  EncodedPart finish() {
    part_.coded = coder_.finish();
    return std::move(part_);
  }

 private:
  void put_head(StepModels::Head head) {
    (void)models_.steps.code(coder_, head);
    ++part_.step_count;
  }
  void put_raw(ByteView bytes) {
    put_head({.kind = UpdateStep::Kind::kLiteral, .size = bytes.size(), .form = LiteralForm::kRaw});
    part_.raw.insert(part_.raw.end(), bytes.begin(), bytes.end());
  }

  // Returns the bytes where the last copy would go on; empty if the source or the group ends before.
  Result<ByteView> expected_at(std::uint64_t target, std::uint64_t size) {
    const Displacement& last = models_.steps.recent().newest();
    const std::uint64_t offset = target + last.distance;
    const std::uint64_t end = last.source == 0 ? target : sources_[last.source]->size();
    if (!within({offset, size}, end) || !groups_.may_copy({target, size}, last.source, offset)) return ByteView{};
    expected_.resize(static_cast<std::size_t>(size));
    FATCTX_TRY(sources_[last.source]->read_at(offset, expected_));
    return ByteView(expected_);
  }

  static bool is_worth_coding(const Costs& costs, std::size_t size) {
    return std::min(costs.plain, costs.difference) / 8 + size / kWorthCoding < size;
  }

  Status literal_piece(std::uint64_t target, ByteView bytes) {
    FATCTX_ASSIGN(const ByteView expected, expected_at(target, bytes.size()));
    const std::size_t tried = std::min(bytes.size(), kSample);
    const ByteView sample = bytes.first(tried);
    ByteView expected_of_sample = expected.first(std::min(expected.size(), tried));
    if (tried >= kTried && !enough_are_equal(sample, expected_of_sample)) expected_of_sample = {};
    Costs cost = prices(models_.literals, sample, expected_of_sample);
    if (tried >= kTried && (!expected_of_sample.empty() || !is_worth_coding(cost, tried))) {
      cost = costs(models_.literals, sample, expected_of_sample);
      if (!is_worth_coding(cost, tried)) {
        put_raw(bytes);
        return Done{};
      }
    }
    const bool difference = cost.difference < cost.plain;
    put_head({.kind = UpdateStep::Kind::kLiteral,
              .size = bytes.size(),
              .form = difference ? LiteralForm::kDifference : LiteralForm::kPlain});
    if (difference) {
      code_differences(coder_, models_.literals, bytes, expected);
      return Done{};
    }
    code_plain(coder_, models_.literals, bytes);
    return Done{};
  }

  std::span<const sharing::RecordBytes* const> sources_;
  const PartGroups& groups_;
  Models& models_;
  RangeEncoder coder_;
  EncodedPart part_;
  std::vector<std::byte> expected_;
};

Result<EncodedPart> PartEncoder::encode(ByteRange part, std::span<const UpdateStep> steps) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(part.size));
  FATCTX_TRY(sources_[0]->read_at(part.offset, bytes));
  const Models before = *models_;
  Part encoding(sources_, groups_, *models_);
  for (const UpdateStep& step : steps) {
    switch (step.kind) {
      case UpdateStep::Kind::kCopy:
        encoding.copy(step);
        break;
      case UpdateStep::Kind::kFill:
        encoding.fill(step);
        break;
      case UpdateStep::Kind::kLiteral:
        FATCTX_TRY(encoding.literal(step, ByteView(bytes).subspan(static_cast<std::size_t>(step.target - part.offset),
                                                                  static_cast<std::size_t>(step.size))));
        break;
    }
  }
  EncodedPart encoded = encoding.finish();
  if (encoded.step_count > most_steps_of_part(part.size) ||
      encoded.coded.size() + encoded.raw.size() > most_stored_of_part(part.size)) {
    *models_ = before;
    Part raw(sources_, groups_, *models_);
    raw.raw(bytes);
    encoded = raw.finish();
  }
  encoded.made_hash = hash128(bytes);
  return encoded;
}

}  // namespace fatctx::container
