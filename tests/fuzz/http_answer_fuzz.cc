// Arbitrary heads of HTTP answers: an answer that is taken has the range that was asked for, inside of the file.
//
// Input: 8 bytes offset, 4 bytes size of the asked range; 1 byte for the known facts of the file; the lines of the
// head.
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "tools/http/http_answer.h"

namespace {

using namespace fatctx;

// The promises of an answer to a request for `asked` and a range behind it.
void several_promises(const tools::HttpAnswer& answer, ByteRange asked, const tools::FileVersion& version) {
  std::vector<ByteRange> ranges = {asked};
  if (asked.offset + asked.size + 10 < version.size) ranges.push_back({asked.offset + asked.size + 5, 5});
  const tools::AskedRanges both(ranges);
  const auto judged = tools::judge_several(answer, both, version);
  if (!judged.ok()) return fuzz::require_good(judged.error());
  using Kind = tools::SeveralAnswer::Kind;
  if (judged.value().kind == Kind::kParts) {
    fuzz::require(answer.status == 206 && !judged.value().boundary.empty(), "parts have a boundary",
                  answer.content_type);
  } else if (judged.value().kind == Kind::kOne) {
    fuzz::require(answer.status == 206, "only a part of the file is taken", std::to_string(answer.status));
    fuzz::require(both.check(judged.value().one).ok(), "it is one that was asked for", answer.content_range);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  fuzz::Input input(data, size);
  const ByteRange asked{input.number(8), input.number(4)};
  const unsigned known = input.byte();
  std::string_view head = fuzz::text_of(input.rest());
  tools::HttpAnswer answer;
  while (!head.empty()) {
    const std::size_t end = std::min(head.find('\n'), head.size() - 1) + 1;
    answer.take_line(head.substr(0, end));
    head.remove_prefix(end);
  }
  const tools::FileVersion version{1'000'000, (known & 2U) != 0 ? "\"1\"" : "", (known & 4U) != 0 ? "yesterday" : ""};
  const bool first = (known & 1U) == 0;
  if (asked.size != 0 && within(asked, version.size)) several_promises(answer, asked, version);
  if (const auto range = tools::parse_content_range(answer.content_range)) {
    fuzz::require(within(range->range, range->total), "a range lies in its file", answer.content_range);
    fuzz::require(range->range.size != 0, "a range has bytes", answer.content_range);
  }
  (void)tools::may_recover(answer.status);
  const auto judged = tools::judge_answer(answer, asked, first ? nullptr : &version);
  if (!judged.ok()) {
    fuzz::require_good(judged.error());
    return 0;
  }
  fuzz::require(answer.status == 206, "only a part of the file is taken", std::to_string(answer.status));
  const auto range = tools::parse_content_range(answer.content_range);
  fuzz::require(range.has_value(), "an answer that is taken names its range", answer.content_range);
  fuzz::require(range->range.offset == asked.offset, "it is the range that was asked for", answer.content_range);
  fuzz::require(range->total == judged.value().size, "it names the size of the file", answer.content_range);
  if (first) {
    fuzz::require(range->range.size <= asked.size, "it is no longer than was asked for", answer.content_range);
  } else {
    fuzz::require(range->range.size == asked.size, "it is as long as was asked for", answer.content_range);
    fuzz::require(judged.value().size == version.size, "the file keeps its size", answer.content_range);
  }
  return 0;
}
