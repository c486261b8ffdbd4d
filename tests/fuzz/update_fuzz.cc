// Arbitrary bytes as an update: it is refused, or its steps make exactly NEW, read nothing but bytes that their source
// has, and come out the same when the file is read twice.
//
// Input: 1 byte for the form, modulo 3. 0: the rest is an update file. 1: the same, and its hashes are made right. 2:
// 1 byte for the number of OLD files; 3 bytes for the size of each; 3 bytes for the size of the part; 2 bytes for its
// steps; 2 bytes for its raw literals; the coded steps; the raw literals at the end.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/update/part_decoder.h"
#include "container/update/update_file.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "support/forged_update.h"
#include "support/memory_file.h"

namespace {

using namespace fatctx;
using container::DecodedStep;
using container::LiteralForm;
using container::PartDecoder;
using container::UpdateStep;

constexpr std::uint64_t kLargestPart = std::uint64_t{1} << 16;  // more would take too long

std::byte byte_at(std::uint32_t source, std::uint64_t offset) {
  return static_cast<std::byte>((offset * 131 + source) >> 3);
}

// Follows the steps of a part, with bytes of OLD that have a rule. Returns what they make, or nothing.
std::vector<std::byte> made_by(PartDecoder& decoder, const std::vector<std::uint64_t>& olds, std::uint64_t size) {
  std::vector<std::byte> made;
  const auto read = [&](const UpdateStep& step) {
    const std::uint64_t limit = step.source == 0 ? step.target : olds[step.source - 1];
    fuzz::require(within({step.offset, step.size}, limit), "a step reads what its source has",
                  std::to_string(step.offset));
    std::vector<std::byte> bytes(static_cast<std::size_t>(step.size));
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] =
          step.source == 0 ? made[static_cast<std::size_t>(step.offset) + i] : byte_at(step.source, step.offset + i);
    }
    return bytes;
  };
  DecodedStep decoded;
  while (true) {
    const auto more = decoder.next(decoded);
    if (!more.ok()) {
      fuzz::require_good(more.error());
      return {};
    }
    if (!more.value()) break;
    const UpdateStep& step = decoded.step;
    fuzz::require(step.target == made.size() && step.size != 0, "steps follow each other", std::to_string(step.target));
    fuzz::require(step.size <= size - made.size(), "a step makes no more than the part");
    std::vector<std::byte> bytes(static_cast<std::size_t>(step.size), static_cast<std::byte>(step.offset));
    if (step.kind == UpdateStep::Kind::kCopy) bytes = read(step);
    if (step.kind == UpdateStep::Kind::kLiteral) {
      const bool difference = decoded.form == LiteralForm::kDifference;
      const std::vector<std::byte> expected = difference ? read(step) : std::vector<std::byte>();
      const std::size_t half = bytes.size() / 2;
      decoder.literal(decoded, ByteView(expected).first(difference ? half : 0), std::span(bytes).first(half));
      decoder.literal(decoded, ByteView(expected).subspan(difference ? half : 0), std::span(bytes).subspan(half));
    }
    made.insert(made.end(), bytes.begin(), bytes.end());
  }
  fuzz::require(made.size() == size, "the steps make the part", std::to_string(made.size()));
  return made;
}

void try_part(fuzz::Input& input) {
  std::vector<std::uint64_t> olds(input.byte() % container::kMaxOldFiles + 1);
  for (std::uint64_t& size : olds) size = input.number(3) + 1;
  const std::uint64_t size = input.number(3) % kLargestPart + 1;
  container::UpdatePart part = {};
  part.step_count = static_cast<std::uint32_t>(input.number(2));
  const std::uint64_t raw_size = input.number(2);
  const ByteView rest = input.rest();
  const ByteView raw = rest.last(static_cast<std::size_t>(std::min<std::uint64_t>(raw_size, rest.size())));
  const ByteView coded = rest.first(rest.size() - raw.size());
  std::vector<std::byte> before;
  for (int i = 0; i < 2; ++i) {
    PartDecoder decoder(olds);
    auto begun = decoder.begin(part, {0, size}, coded, raw);
    if (!begun.ok()) {
      fuzz::require_good(begun.error());
      return;
    }
    std::vector<std::byte> made = made_by(decoder, olds, size);
    if (i == 0) before = made;
    fuzz::require(made == before, "the same steps make the same bytes");
  }
}

void try_file(std::vector<std::byte> bytes) {
  auto update = container::UpdateFile::open(std::make_unique<support::MemoryFile>(std::move(bytes)), "u");
  if (!update.ok()) {
    fuzz::require_good(update.error());
    return;
  }
  auto checked = update.value().check(nullptr);
  if (!checked.ok()) {
    fuzz::require_good(checked.error());
    return;
  }
  std::vector<std::uint64_t> olds;
  for (const container::ContainerName& old : update.value().olds()) olds.push_back(old.size);
  PartDecoder decoder(olds);
  container::StoredPart part;
  while (true) {
    const auto more = update.value().next(part);
    fuzz::require(more.ok(), "what was checked can be read");
    if (!more.value()) return;
    if (part.made.size > kLargestPart) return;  // it would take too long
    if (decoder.begin(part.part, part.made, part.coded(), part.raw()).ok()) {
      (void)made_by(decoder, olds, part.made.size);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned form = input.byte() % 3;
  if (form == 2) {
    try_part(input);
    return 0;
  }
  const ByteView rest = input.rest();
  std::vector<std::byte> bytes(rest.begin(), rest.end());
  if (form == 1) support::rehash_update(bytes);
  try_file(std::move(bytes));
  return 0;
}
