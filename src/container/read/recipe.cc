#include "container/read/recipe.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/read/recipe_format.h"

namespace fatctx::container {
namespace {

constexpr unsigned kNumberBits = 7;  // payload bits in each byte of a number
constexpr unsigned kWordBits = 64;
constexpr std::byte kMoreFollows{0x80};

Error refuse(ErrorCode code, std::string_view rule, std::uint64_t at, std::string message) {
  return Error{code, std::move(message), {.file_offset = at, .rule = rule}};
}
Error not_canonical(std::uint64_t at, std::string message) {
  return refuse(ErrorCode::kMalformed, "F42", at, std::move(message));
}

void put_number(std::vector<std::byte>& out, std::uint64_t value) {
  while (value >> kNumberBits != 0) {
    out.push_back(static_cast<std::byte>(value) | kMoreFollows);
    value >>= kNumberBits;
  }
  out.push_back(static_cast<std::byte>(value));
}

// Maps small differences of either sign to small numbers. Works modulo 2^64, so any two positions have a difference.
std::uint64_t folded(std::uint64_t difference) noexcept {
  const std::uint64_t sign = difference >> (kWordBits - 1);
  return difference << 1 ^ (0 - sign);
}
std::uint64_t unfolded(std::uint64_t value) noexcept { return value >> 1 ^ (0 - (value & 1)); }

}  // namespace

class RecipeReader {
 public:
  RecipeReader(ByteView program, std::uint64_t logical_size, std::span<const ByteRange> sources)
      : program_(program), logical_size_(logical_size), sources_(sources), used_(sources.size()) {
    for (const ByteRange& source : sources) {
      starts_.push_back(total_);
      total_ += source.size;  // at most 65,536 slices of at most 2^40 bytes: cannot wrap
    }
  }

  Status run(Recipe& recipe) {
    FATCTX_TRY(take_header());
    recipe.steps_.reserve(static_cast<std::size_t>(head_.step_count));
    for (std::uint64_t i = 0; i < head_.step_count; ++i) {
      step_at_ = at_;
      FATCTX_ASSIGN(const RecipeStep step, take_step(recipe.steps_));
      recipe.steps_.push_back(step);
    }
    if (at_ != end_) return not_canonical(at_, "bytes follow its last step");
    if (target_ != logical_size_) {
      return refuse(ErrorCode::kMalformed, "F39", at_,
                    fmt::format("its steps yield {} bytes instead of {}", target_, logical_size_));
    }
    if (literal_ != head_.literals_size) {
      return refuse(ErrorCode::kMalformed, "F39", at_,
                    fmt::format("its steps use {} bytes of literals, but {} exist", literal_,
                                static_cast<std::uint64_t>(head_.literals_size)));
    }
    const auto unused = std::find(used_.begin(), used_.end(), std::uint8_t{0});
    if (unused != used_.end()) {
      return refuse(ErrorCode::kMalformed, "F39", at_,
                    fmt::format("no step reads source {} of {}", unused - used_.begin(), used_.size()));
    }
    recipe.literals_at_ = static_cast<std::size_t>(end_);
    recipe.logical_size_ = logical_size_;
    return Done{};
  }

 private:
  Status take_header() {
    if (program_.size() > kMaxRecipeSize) {
      return refuse(ErrorCode::kLimitExceeded, "F42", 0,
                    fmt::format("its program has {} bytes, at most {} are allowed", program_.size(), kMaxRecipeSize));
    }
    const auto head = copy_out<RecipeHeader>(program_, 0);
    if (!head.ok()) return not_canonical(0, "its program is shorter than a header");
    head_ = head.value();
    if (head_.magic != kRecipeMagic) return not_canonical(0, "its program has no magic");
    if (head_.version != kRecipeVersion) {
      return refuse(ErrorCode::kUnsupported, "F42", offsetof(RecipeHeader, version),
                    fmt::format("its program has version {}, this version reads {}",
                                static_cast<std::uint16_t>(head_.version), kRecipeVersion));
    }
    if (head_.reserved != 0) {
      return refuse(ErrorCode::kMalformed, "F20", offsetof(RecipeHeader, reserved),
                    "reserved bytes of its program are not zero");
    }
    const std::uint64_t most = std::min(kMaxRecipeSteps, logical_size_ / kBytesPerStep + kStepsOnTop);
    if (head_.step_count > most) {
      return refuse(ErrorCode::kLimitExceeded, "F42", offsetof(RecipeHeader, step_count),
                    fmt::format("it has {} steps, at most {} are allowed for {} bytes",
                                static_cast<std::uint64_t>(head_.step_count), most, logical_size_));
    }
    const std::uint64_t body = program_.size() - sizeof(RecipeHeader);
    if (head_.steps_size > body || body - head_.steps_size != head_.literals_size) {
      return not_canonical(offsetof(RecipeHeader, steps_size),
                           fmt::format("steps of {} and literals of {} bytes do not fill its program of {}",
                                       static_cast<std::uint64_t>(head_.steps_size),
                                       static_cast<std::uint64_t>(head_.literals_size), program_.size()));
    }
    // Checked before memory is allocated for the steps: a step takes at least a byte.
    if (head_.step_count > head_.steps_size) {
      return not_canonical(offsetof(RecipeHeader, step_count),
                           fmt::format("{} steps in {} bytes", static_cast<std::uint64_t>(head_.step_count),
                                       static_cast<std::uint64_t>(head_.steps_size)));
    }
    at_ = sizeof(RecipeHeader);
    end_ = at_ + head_.steps_size;
    return Done{};
  }

  // Reads a number: seven bits a byte, lowest first, in as few bytes as possible.
  Result<std::uint64_t> take_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += kNumberBits) {
      if (at_ == end_) return not_canonical(step_at_, "its steps end inside a number");
      const std::byte byte = program_[static_cast<std::size_t>(at_++)];
      const auto bits = static_cast<std::uint64_t>(byte & ~kMoreFollows);
      if (shift >= kWordBits || bits << shift >> shift != bits) {
        return not_canonical(step_at_, "a number of more than 64 bits");
      }
      value |= bits << shift;
      if ((byte & kMoreFollows) != std::byte{0}) continue;
      if (bits == 0 && shift != 0) return not_canonical(step_at_, "a number in more bytes than it takes");
      return value;
    }
  }

  Result<RecipeStep> take_step(std::span<const RecipeStep> before) {
    FATCTX_ASSIGN(const std::uint64_t first, take_number());
    RecipeStep step;
    step.target = target_;
    step.size = first >> kStepKindBits;
    if (step.size == 0) return not_canonical(step_at_, "an empty step");
    if (step.size > logical_size_ - target_) {
      return refuse(ErrorCode::kMalformed, "F39", step_at_,
                    fmt::format("its steps yield more than {} bytes", logical_size_));
    }
    target_ += step.size;
    const RecipeStep* previous = before.empty() ? nullptr : &before.back();
    switch (first & ((std::uint64_t{1} << kStepKindBits) - 1)) {
      case kStepCopy:
        FATCTX_TRY(take_copy(step, previous));
        return step;
      case kStepLiteral:
        step.kind = RecipeStep::Kind::kLiteral;
        if (previous != nullptr && previous->kind == step.kind) {
          return not_canonical(step_at_, "two literals in a row, which could be one");
        }
        step.source = literal_;
        if (step.size > head_.literals_size - literal_) {
          return refuse(ErrorCode::kMalformed, "F39", step_at_, "a literal leaves the literals");
        }
        literal_ += step.size;
        return step;
      case kStepFill:
        step.kind = RecipeStep::Kind::kFill;
        if (at_ == end_) return not_canonical(step_at_, "its steps end before the byte of a fill");
        step.source = static_cast<std::uint64_t>(program_[static_cast<std::size_t>(at_++)]);
        if (previous != nullptr && previous->kind == step.kind && previous->source == step.source) {
          return not_canonical(step_at_, "two fills with one byte in a row, which could be one");
        }
        return step;
      default:
        return not_canonical(step_at_, "a step of an unknown kind");
    }
  }

  Status take_copy(RecipeStep& step, const RecipeStep* previous) {
    FATCTX_ASSIGN(const std::uint64_t difference, take_number());
    const std::uint64_t from = copied_to_ + unfolded(difference);  // may wrap: the result is checked
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), from);
    const auto index = static_cast<std::size_t>(next - starts_.begin());
    if (index == 0 || !within({from - starts_[index - 1], step.size}, sources_[index - 1].size)) {
      return refuse(ErrorCode::kMalformed, "F39", step_at_,
                    fmt::format("a copy of {} bytes from {} is not inside one of its {} sources", step.size, from,
                                sources_.size()));
    }
    // Copies that touch where one source ends and the next begins stay two: a copy is inside one source.
    if (previous != nullptr && previous->kind == RecipeStep::Kind::kCopy && from == copied_to_ &&
        from != starts_[index - 1]) {
      return not_canonical(step_at_, "two copies in a row, which could be one");
    }
    used_[index - 1] = 1;
    copied_to_ = from + step.size;
    step.source = sources_[index - 1].offset + (from - starts_[index - 1]);
    return Done{};
  }

  ByteView program_;
  std::uint64_t logical_size_;
  std::span<const ByteRange> sources_;
  std::vector<std::uint64_t> starts_;  // of each source, with all sources concatenated
  std::uint64_t total_ = 0;
  std::vector<std::uint8_t> used_;
  RecipeHeader head_ = {};
  std::uint64_t at_ = 0;       // offset in the program
  std::uint64_t end_ = 0;      // of the steps
  std::uint64_t step_at_ = 0;  // offset of the current step
  std::uint64_t target_ = 0;
  std::uint64_t literal_ = 0;
  std::uint64_t copied_to_ = 0;  // where the last copy ended
};

Result<Recipe> Recipe::read(std::vector<std::byte> program, std::uint64_t logical_size,
                            std::span<const ByteRange> sources) {
  Recipe recipe;
  recipe.program_ = std::move(program);
  FATCTX_TRY(RecipeReader(recipe.program_, logical_size, sources).run(recipe));
  return recipe;
}

std::span<const RecipeStep> Recipe::steps_in(ByteRange range) const& noexcept {
  if (range.size == 0) return {};
  const auto first = std::upper_bound(steps_.begin(), steps_.end(), range.offset,
                                      [](std::uint64_t at, const RecipeStep& step) { return at < step.target; }) -
                     1;  // the first step begins at 0
  const auto end = std::lower_bound(first, steps_.end(), range.offset + range.size,
                                    [](const RecipeStep& step, std::uint64_t at) { return step.target < at; });
  return {first, end};
}

Status Recipe::apply(ByteRange range, const FileBytes& file, std::span<std::byte> out) const {
  if (!within(range, logical_size_) || out.size() != range.size) {
    return Error{ErrorCode::kMalformed, fmt::format("bytes {} to {} are requested of a record that has {}",
                                                    range.offset, range.offset + range.size, logical_size_)};
  }
  for (const RecipeStep& step : steps_in(range)) {
    const std::uint64_t from = std::max(step.target, range.offset);
    const std::uint64_t to = std::min(step.target + step.size, range.offset + range.size);
    const auto piece = out.subspan(static_cast<std::size_t>(from - range.offset), static_cast<std::size_t>(to - from));
    const std::uint64_t skipped = from - step.target;
    switch (step.kind) {
      case RecipeStep::Kind::kCopy:
        FATCTX_TRY(file(step.source + skipped, piece));
        break;
      case RecipeStep::Kind::kLiteral:
        std::memcpy(piece.data(), literals().data() + step.source + skipped, piece.size());
        break;
      case RecipeStep::Kind::kFill:
        std::memset(piece.data(), static_cast<int>(step.source), piece.size());
        break;
    }
  }
  return Done{};
}

std::vector<CongruentRun> Recipe::congruent_runs(std::uint64_t page, std::uint64_t min_pages) const {
  std::vector<CongruentRun> runs;
  for (const RecipeStep& step : steps_) {
    if (step.kind != RecipeStep::Kind::kCopy || (step.source - step.target) % page != 0) continue;
    const std::uint64_t first = (step.target + page - 1) / page * page;
    const std::uint64_t end = (step.target + step.size) / page * page;
    if (first >= end || (end - first) / page < min_pages) continue;
    runs.push_back({first, step.source + (first - step.target), end - first});
  }
  return runs;
}

std::vector<std::byte> encode_recipe(std::span<const RecipeStep> steps, ByteView literals) {
  std::vector<std::byte> body;
  std::uint64_t copied_to = 0;
  for (const RecipeStep& step : steps) {
    const std::uint64_t size = step.size << kStepKindBits;
    switch (step.kind) {
      case RecipeStep::Kind::kCopy:
        put_number(body, size | kStepCopy);
        put_number(body, folded(step.source - copied_to));
        copied_to = step.source + step.size;
        break;
      case RecipeStep::Kind::kLiteral:
        put_number(body, size | kStepLiteral);
        break;
      case RecipeStep::Kind::kFill:
        put_number(body, size | kStepFill);
        body.push_back(static_cast<std::byte>(step.source));
        break;
    }
  }
  RecipeHeader head = {};
  head.magic = kRecipeMagic;
  head.version = kRecipeVersion;
  head.step_count = steps.size();
  head.steps_size = body.size();
  head.literals_size = literals.size();
  std::vector<std::byte> program;
  program.reserve(sizeof(head) + body.size() + literals.size());
  append_struct(program, head);
  program.insert(program.end(), body.begin(), body.end());
  program.insert(program.end(), literals.begin(), literals.end());
  return program;
}

}  // namespace fatctx::container
