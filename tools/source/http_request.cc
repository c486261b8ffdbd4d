// Requests with small answers, by libcurl, one at a time.
#include "tools/source/http_request.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "tools/http/http_answer.h"
#include "tools/source/curl_easy.h"
#include "tools/source/retry_pause.h"

namespace fatctx::tools {
namespace {

constexpr std::size_t kMostHead = std::size_t{64} << 10U;
// A registry may hash a blob for so long before it answers.
constexpr long kLongestWait = 600;

// A request that is under way.
struct Exchange {
  const HttpRequest* request = nullptr;
  const HttpOptions* options = nullptr;
  HttpReply reply;
  std::size_t head_bytes = 0;
  std::ifstream file;
  std::uint64_t sent = 0;
  std::optional<Error> error;
  std::array<char, CURL_ERROR_SIZE> words = {};

  std::size_t take_head(std::string_view line) {
    head_bytes += line.size();
    if (head_bytes > kMostHead) {
      error = Error{ErrorCode::kLimitExceeded, "the server sends more than 64 KiB of headers"};
      return 0;
    }
    reply.take_line(line);
    return line.size();
  }
  std::size_t take_body(std::string_view piece) {
    if (piece.size() > request->most_bytes - reply.body.size()) {
      error = Error{ErrorCode::kLimitExceeded,
                    fmt::format("the server sends more than {} bytes where less is allowed", request->most_bytes)};
      return 0;
    }
    reply.body += piece;
    return piece.size();
  }
  std::size_t give_body(std::span<char> into) {
    const RequestBody& body = request->body;
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(into.size(), body.bytes() - sent));
    if (body.file.empty()) {
      std::memcpy(into.data(), body.text.data() + sent, size);
    } else if (size != 0) {
      file.clear();
      file.seekg(static_cast<std::streamoff>(body.offset + sent));
      file.read(into.data(), static_cast<std::streamsize>(size));
      if (static_cast<std::size_t>(file.gcount()) != size) {
        error = Error{ErrorCode::kChanged, fmt::format("{}: it became shorter while it was sent", body.file)};
        return CURL_READFUNC_ABORT;
      }
    }
    sent += size;
    if (request->sent) request->sent(sent);
    return size;
  }
};

// No exception may cross libcurl.
template <typename Use>
std::size_t guarded(std::size_t failed, const Use& use) {
  try {
    return use();
  } catch (const std::bad_alloc&) {
    return failed;
  }
}

std::size_t on_head_line(char* data, std::size_t, std::size_t size, void* exchange) {
  return guarded(0, [&] { return static_cast<Exchange*>(exchange)->take_head({data, size}); });
}

std::size_t on_answer_body(char* data, std::size_t, std::size_t size, void* exchange) {
  return guarded(0, [&] { return static_cast<Exchange*>(exchange)->take_body({data, size}); });
}

std::size_t on_request_body(char* data, std::size_t, std::size_t size, void* exchange) {
  return guarded(CURL_READFUNC_ABORT, [&] { return static_cast<Exchange*>(exchange)->give_body({data, size}); });
}

int on_seek(void* exchange, curl_off_t offset, int origin) {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
  static_cast<Exchange*>(exchange)->sent = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

int on_step(void* exchange, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const std::atomic<bool>* const cancel = static_cast<Exchange*>(exchange)->options->cancel;
  return cancel != nullptr && cancel->load() ? 1 : 0;
}

// Makes the request once. Sets the error of the exchange; returns whether another try may succeed.
bool make_once(const CurlLibrary& library, Exchange& exchange) {
  const HttpRequest& request = *exchange.request;
  Easy easy(library.easy_init(), library.easy_cleanup);
  if (!easy) {
    exchange.error = Error{ErrorCode::kNoResource, "libcurl cannot begin a request"};
    return false;
  }
  CURL* const curl = easy.get();
  set_connection(library, curl, request.url, *exchange.options, request.follow);
  set_credentials(library, curl, request.credentials);
  library.easy_setopt(curl, CURLOPT_ERRORBUFFER, exchange.words.data());
  library.easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_head_line);
  library.easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  library.easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_answer_body);
  library.easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  library.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_step);
  library.easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  Lines lines(nullptr, library.slist_free_all);
  for (const std::string& line : request.lines) {
    curl_slist* const longer = library.slist_append(lines.get(), line.c_str());
    if (longer == nullptr) {
      exchange.error = Error{ErrorCode::kNoResource, "libcurl cannot begin a request"};
      return false;
    }
    (void)lines.release();
    lines.reset(longer);
  }
  library.easy_setopt(curl, CURLOPT_HTTPHEADER, lines.get());
  if (request.method == "HEAD") {
    library.easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    library.easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    library.easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
    library.easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.body.bytes()));
    library.easy_setopt(curl, CURLOPT_READFUNCTION, on_request_body);
    library.easy_setopt(curl, CURLOPT_READDATA, &exchange);
    library.easy_setopt(curl, CURLOPT_SEEKFUNCTION, on_seek);
    library.easy_setopt(curl, CURLOPT_SEEKDATA, &exchange);
    if (!request.body.file.empty()) {
      exchange.file.open(request.body.file, std::ios::binary);
      library.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                          std::max<long>(kLongestWait, static_cast<long>(exchange.options->stalled_seconds)));
    }
  }
  const CURLcode code = library.easy_perform(curl);
  library.easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &exchange.reply.status);
  if (exchange.error) return false;
  if (code == CURLE_OK) return may_recover(exchange.reply.status);
  if (code == CURLE_ABORTED_BY_CALLBACK) {
    exchange.error = Error{ErrorCode::kCancelled, "the command was cancelled"};
    return false;
  }
  exchange.error =
      Error{ErrorCode::kIo, exchange.words[0] != '\0' ? exchange.words.data() : library.easy_strerror(code)};
  return !is_final(code);
}

}  // namespace

Result<HttpReply> http_request(const HttpRequest& request, const HttpOptions& options) {
  FATCTX_ASSIGN(const CurlLibrary* const library, CurlLibrary::load());
  for (std::uint32_t tries = 1;; ++tries) {
    Exchange exchange;
    exchange.request = &request;
    exchange.options = &options;
    const bool may_pass = make_once(*library, exchange);
    if (!may_pass || !request.again || tries > options.retries) {
      if (exchange.error) return std::move(*exchange.error);
      exchange.reply.requests = tries;
      return std::move(exchange.reply);
    }
    FATCTX_TRY(pause_before_retry(tries, options));
  }
}

}  // namespace fatctx::tools
