// Arbitrary bodies of answers with several ranges: only bytes that were asked for are taken, once and from their place,
// and every cut of the body has the same result.
//
// Input: 2 bytes size of the pieces; 1 byte number of ranges, then 2 bytes distance and 1 byte size of each; 1 byte
// size of the Content-Type, and the Content-Type; the body.
#include <map>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "tools/http/http_answer.h"
#include "tools/http/multipart.h"

namespace {

using namespace fatctx;

constexpr std::uint64_t kFileSize = 1'000'000;

std::vector<ByteRange> ranges_of(fuzz::Input& input) {
  std::vector<ByteRange> ranges;
  std::uint64_t at = 0;
  for (unsigned left = input.byte() % 65U; left != 0; --left) {
    const std::uint64_t distance = input.number(2);
    const ByteRange range{at + distance, input.number(1) + 1};
    if (!within(range, kFileSize)) break;
    ranges.push_back(range);
    at = range.offset + range.size;
  }
  return ranges;
}

struct Outcome {
  std::map<std::uint64_t, std::byte> taken;
  std::vector<ByteRange> missing;
  std::string error;
};

Outcome outcome_of(const std::string& boundary, const std::vector<ByteRange>& asked, ByteView body, std::size_t piece) {
  Outcome outcome;
  const TakeBytes take = [&](std::uint64_t offset, ByteView bytes) -> Status {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const bool is_first = outcome.taken.emplace(offset + i, bytes[i]).second;
      fuzz::require(is_first, "a byte is taken once", std::to_string(offset + i));
    }
    return Done{};
  };
  tools::MultipartReader reader(boundary, asked, kFileSize);
  Status status = Done{};
  while (!body.empty() && status.ok()) {
    const ByteView now = body.first(std::min(piece, body.size()));
    status = reader.feed(now, take);
    body = body.subspan(now.size());
  }
  if (status.ok()) status = reader.finish();
  if (!status.ok()) {
    fuzz::require_good(status.error());
    outcome.error = status.error().message;
  }
  outcome.missing = reader.missing();
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::size_t piece = input.number(2) + 1;
  const std::vector<ByteRange> asked = ranges_of(input);
  const std::string type(fuzz::text_of(input.take(input.byte())));
  (void)tools::is_multipart(type);
  const auto boundary = tools::boundary_of(type);
  if (!boundary || asked.empty()) return 0;
  fuzz::require(!boundary->empty() && boundary->size() <= 70, "a boundary has 1 to 70 characters", *boundary);
  const ByteView body = input.rest();

  const Outcome whole = outcome_of(*boundary, asked, body, body.size() + 1);
  std::size_t wanted = 0;
  for (const ByteRange& range : asked) {
    for (std::uint64_t at = range.offset; at < range.offset + range.size; ++at) wanted += whole.taken.count(at);
  }
  fuzz::require(wanted == whole.taken.size(), "no byte is taken that was not asked for", std::to_string(wanted));
  std::uint64_t missing = 0;
  for (const ByteRange& range : whole.missing) missing += range.size;
  for (const ByteRange& range : asked) missing -= range.size;
  fuzz::require(missing + wanted == 0, "what was not taken is missing", std::to_string(missing));
  for (const std::size_t cut : {piece, std::size_t{1}}) {
    const Outcome cut_up = outcome_of(*boundary, asked, body, cut);
    fuzz::require(cut_up.error == whole.error, "a cut changes no error", cut_up.error);
    fuzz::require(cut_up.taken == whole.taken && cut_up.missing == whole.missing, "a cut changes no result",
                  whole.error);
  }
  return 0;
}
