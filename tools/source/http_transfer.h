// One request for ranges of a file, from its start to its end.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/http/asked_ranges.h"
#include "tools/http/http_answer.h"
#include "tools/http/multipart.h"
#include "tools/source/byte_source.h"
#include "tools/source/curl_easy.h"

namespace fatctx::tools {

// The parts that all requests to one URL have in common.
struct HttpConnection {
  const CurlLibrary* curl = nullptr;
  std::string url;
  HttpOptions options;
  HttpCredentials credentials;
};

struct Transfer {
  std::vector<ByteRange> ranges;  // ascending and apart; empty: the whole file
  const FileVersion* known = nullptr;
  const TakeBytes* take = nullptr;
  const std::atomic<bool>* cancel = nullptr;
  SeveralRanges* several = nullptr;  // learns how the server answers
  bool is_probe = false;             // asks how the server answers; what it brings is not used

  HttpAnswer answer;
  std::optional<FileVersion> version;    // set once the answer is judged
  std::optional<AskedRanges> one;        // several were asked for, and one piece comes
  std::optional<MultipartReader> parts;  // several were asked for, and come in parts
  bool refused = false;                  // the server does not send several ranges
  std::uint64_t offset = 0;              // place of the body in the file, unless it has parts
  std::uint64_t expected = 0;            // bytes of the body, unless it has parts
  std::uint64_t received = 0;            // bytes of the body
  std::optional<Error> error;
  bool may_recover = false;  // another try may succeed
  std::array<char, CURL_ERROR_SIZE> words = {};

  [[nodiscard]] bool asks_several() const noexcept { return ranges.size() > 1; }
  // Returns whether bytes came that were asked for.
  [[nodiscard]] bool brought() const { return parts ? parts->missing() != ranges : received != 0; }
  // Returns the ranges that the server left out of a good answer, or did not send together.
  [[nodiscard]] std::vector<ByteRange> rest() const;
  // Sets the error of a transfer that has ended.
  void end(const CurlLibrary& curl, CURLcode code);
  // Takes bytes of the body. Returns whether the request goes on.
  [[nodiscard]] bool take_body(ByteView bytes);

 private:
  [[nodiscard]] bool judge();
  [[nodiscard]] bool judge_several_ranges();
  [[nodiscard]] bool fail(Error why, bool recovers);
  [[nodiscard]] Status check_end();
};

// Prepares a request. `lines` and the transfer must live as long as the request.
[[nodiscard]] Easy prepare_transfer(const HttpConnection& connection, Transfer& transfer, Lines& lines);

}  // namespace fatctx::tools
