// Recipes that our writers never make: programs assembled number by number, and containers that hold them with every
// checksum correct.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/read/recipe_format.h"
#include "support/hostile_file.h"

namespace fatctx::support {

// A sequence of steps; nothing is checked.
struct ProgramText {
  Bytes steps;
  Bytes literals;
  std::uint64_t count = 0;
  container::RecipeHeader head = {container::kRecipeMagic, container::kRecipeVersion, 0, 0, 0, 0};

  ProgramText& number(std::uint64_t value) {
    for (; value > 127; value >>= 7) steps.push_back(static_cast<std::byte>(value | 128));
    steps.push_back(static_cast<std::byte>(value));
    return *this;
  }
  // Adds a copy. `difference` is relative to the end of the last copy.
  ProgramText& copy(std::uint64_t size, std::int64_t difference) {
    ++count;
    number(size << 2);
    const auto value = static_cast<std::uint64_t>(difference);
    return number(difference < 0 ? ~(value << 1) : value << 1);
  }
  ProgramText& literal(const Bytes& bytes) {
    ++count;
    literals.insert(literals.end(), bytes.begin(), bytes.end());
    return number(bytes.size() << 2 | 1);
  }
  ProgramText& fill(std::uint64_t size, std::uint8_t byte) {
    ++count;
    number(size << 2 | 2);
    steps.push_back(std::byte{byte});
    return *this;
  }
  ProgramText& step(Bytes bytes) {
    ++count;
    steps.insert(steps.end(), bytes.begin(), bytes.end());
    return *this;
  }
  // Returns header, steps and literals. Header numbers that were not set get their true values.
  [[nodiscard]] Bytes bytes() const {
    container::RecipeHeader header = head;
    if (header.step_count == 0) header.step_count = count;
    if (header.steps_size == 0) header.steps_size = steps.size();
    if (header.literals_size == 0) header.literals_size = literals.size();
    Bytes all;
    container::append_struct(all, header);
    all.insert(all.end(), steps.begin(), steps.end());
    all.insert(all.end(), literals.begin(), literals.end());
    return all;
  }
};

// Adds a record that `program` makes from the sample's weights (segment 5), and stores the program behind the small
// records. Requires: `file` is unsealed_sample().
inline container::RecordEntry& add_recipe(HostileFile& file, Bytes program, const Bytes& made) {
  constexpr std::uint32_t kPackedSegment = 0;
  constexpr std::uint32_t kSource = 5;
  container::SegmentEntry& packed = file.segments.at(kPackedSegment);
  const std::uint64_t at = (packed.size + 63) / 64 * 64;
  const std::uint64_t in_file = packed.offset + at;
  const std::uint64_t size = program.size();
  packed.size = at + size;
  container::RecordEntry& record = file.append_record(RecordType::kOpaque, 2, made.size());
  record.flags = container::kRecordRecipe;
  record.alignment_log2 = 6;
  record.stored_size = size + file.segments.at(kSource).size;
  record.logical_hash = container::hash128(made).bytes;
  file.append_slice(kPackedSegment, at, size);
  file.append_slice(kSource, 0, file.segments.at(kSource).size);
  file.in_payload = [in_file, program = std::move(program)](Bytes& out) {
    std::memcpy(out.data() + in_file, program.data(), program.size());
  };
  file.rehash_payload = true;
  return record;
}

}  // namespace fatctx::support
