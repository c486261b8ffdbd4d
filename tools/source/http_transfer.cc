#include "tools/source/http_transfer.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace fatctx::tools {
namespace {

std::size_t on_line(char* data, std::size_t, std::size_t size, void* transfer) {
  try {
    static_cast<Transfer*>(transfer)->answer.take_line({data, size});
    return size;
  } catch (const std::bad_alloc&) {
    return 0;  // no exception may cross libcurl
  }
}

std::size_t on_body(char* data, std::size_t, std::size_t size, void* transfer) {
  try {
    return static_cast<Transfer*>(transfer)->take_body(std::as_bytes(std::span(data, size))) ? size : 0;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

int on_progress(void* transfer, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const std::atomic<bool>* const cancel = static_cast<Transfer*>(transfer)->cancel;
  return cancel != nullptr && cancel->load() ? 1 : 0;
}

// Returns "0-99,200-299".
std::string range_words(const std::vector<ByteRange>& ranges) {
  std::string words;
  for (const ByteRange& range : ranges) {
    words += fmt::format("{}{}-{}", words.empty() ? "" : ",", range.offset, range.offset + range.size - 1);
  }
  return words;
}

}  // namespace

bool Transfer::fail(Error why, bool recovers) {
  error = std::move(why);
  may_recover = recovers;
  return false;
}

bool Transfer::judge() {
  if (asks_several()) return judge_several_ranges();
  auto judged = judge_answer(answer, ranges.front(), known);
  if (!judged.ok()) return fail(std::move(judged).error(), tools::may_recover(answer.status));
  version = std::move(judged).value();
  offset = ranges.front().offset;
  expected = known == nullptr ? std::min(ranges.front().size, version->size) : ranges.front().size;
  return true;
}

bool Transfer::judge_several_ranges() {
  AskedRanges asked(ranges);
  auto judged = judge_several(answer, asked, *known);
  if (!judged.ok()) return fail(std::move(judged).error(), tools::may_recover(answer.status));
  switch (judged.value().kind) {
    case SeveralAnswer::Kind::kRefused:
      refused = true;
      several->refuse(ranges.size());
      return false;
    case SeveralAnswer::Kind::kOne:
      one.emplace(std::move(asked));
      offset = judged.value().one.offset;
      expected = judged.value().one.size;
      break;
    case SeveralAnswer::Kind::kParts:
      parts.emplace(judged.value().boundary, ranges, known->size);
      several->send(ranges.size());
      break;
  }
  version = *known;
  return true;
}

bool Transfer::take_body(ByteView bytes) {
  if (!version && !judge()) return false;
  received += bytes.size();
  if (parts) {
    auto taken = parts->feed(bytes, *take);
    return taken.ok() || fail(std::move(taken).error(), false);
  }
  if (received > expected) {
    return fail(Error{ErrorCode::kIo, "the server sends more bytes than were asked for"}, false);
  }
  const std::uint64_t at = offset + received - bytes.size();
  auto taken = one ? one->take(at, bytes, *take) : (*take)(at, bytes);
  return taken.ok() || fail(std::move(taken).error(), false);
}

std::vector<ByteRange> Transfer::rest() const {
  if (error || is_probe) return {};
  if (refused) return ranges;
  if (one) return one->missing();
  return parts ? parts->missing() : std::vector<ByteRange>();
}

// Checks that the body that has ended is complete.
Status Transfer::check_end() {
  if (parts) return parts->missing().empty() ? Status(Done{}) : parts->finish();
  if (received == expected) return Done{};
  return Error{ErrorCode::kIo, fmt::format("the answer ends after {} of {} bytes", received, expected)};
}

void Transfer::end(const CurlLibrary& curl, CURLcode code) {
  if (error || refused) return;
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    (void)fail(Error{ErrorCode::kCancelled, "the fetch was cancelled; what came is kept, fetch again to go on"}, false);
    return;
  }
  if (code == CURLE_OK && !version && !judge()) return;
  if (code != CURLE_OK) {
    const std::string text = words[0] != '\0' ? words.data() : curl.easy_strerror(code);
    (void)fail(Error{ErrorCode::kIo, text}, !is_final(code));
    return;
  }
  auto complete = check_end();
  if (!complete.ok()) {
    (void)fail(std::move(complete).error(), true);
  } else if (asks_several()) {
    const bool all_came = one ? one->missing().empty() : parts->missing().empty();
    all_came ? several->send(ranges.size()) : several->refuse(ranges.size());
  }
}

Easy prepare_transfer(const HttpConnection& connection, Transfer& transfer, Lines& lines) {
  const CurlLibrary& library = *connection.curl;
  Easy easy(library.easy_init(), library.easy_cleanup);
  if (!easy) return easy;
  CURL* const curl = easy.get();
  set_connection(library, curl, connection.url, connection.options, true);
  library.easy_setopt(curl, CURLOPT_ERRORBUFFER, transfer.words.data());
  library.easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_line);
  library.easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  library.easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  library.easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  library.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
  library.easy_setopt(curl, CURLOPT_XFERINFODATA, &transfer);
  library.easy_setopt(curl, CURLOPT_PRIVATE, &transfer);
  set_credentials(library, curl, connection.credentials);
  if (!transfer.ranges.empty()) {
    library.easy_setopt(curl, CURLOPT_RANGE, range_words(transfer.ranges).c_str());
    if (transfer.known != nullptr && !transfer.known->etag.empty()) {
      lines.reset(library.slist_append(nullptr, fmt::format("If-Range: {}", transfer.known->etag).c_str()));
      library.easy_setopt(curl, CURLOPT_HTTPHEADER, lines.get());
    }
  }
  return easy;
}

}  // namespace fatctx::tools
