// One request of HTTP with a small answer: what a registry is asked besides its blobs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {

// The bytes that a request sends: of a text, or of a file.
struct RequestBody {
  std::string text;
  std::string file;  // empty: `text`
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // bytes to send from the file

  [[nodiscard]] std::uint64_t bytes() const noexcept { return file.empty() ? text.size() : size; }
};

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  std::vector<std::string> lines;                      // "Accept: text/plain"
  HttpCredentials credentials;                         // for the host of `url` alone
  RequestBody body;                                    // POST, PUT and PATCH send it
  bool follow = false;                                 // redirects; only for GET and HEAD
  bool again = true;                                   // a request that broke off is made again
  std::uint64_t most_bytes = std::uint64_t{1} << 20U;  // a longer answer is refused
  std::function<void(std::uint64_t)> sent;             // is called with the bytes of the body that went out
};

struct HttpReply {
  long status = 0;
  std::vector<std::pair<std::string, std::string>> head;  // names in lower case
  std::string body;
  std::uint32_t requests = 1;  // that it took

  // Returns the first value of a header; empty if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
  // Takes a line of the head. A status line begins a new answer.
  void take_line(std::string_view line);
};

// Makes a request. Any status is an answer; those that may go away (may_recover) are asked for again if `again` is set.
// Errors: limit_exceeded (the answer has more than `most_bytes`, or 64 KiB of headers), cancelled, changed (the file
// became shorter), backend_library_missing, unsupported (this build has no HTTP), io.
[[nodiscard]] Result<HttpReply> http_request(const HttpRequest& request, const HttpOptions& options);

}  // namespace fatctx::tools
