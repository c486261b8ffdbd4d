// Where `fetch` and `repair` read a container from: ranges of a file here, or of a URL.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/repair_source.h"

namespace fatctx::tools {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  // Reads ranges and hands their bytes to `take`, in any order. A request that broke off is not an error as long as
  // another one may succeed: the caller asks again for the bytes that it lacks.
  // Errors: those of `take`; not_found, operation_not_permitted, changed (the file was replaced meanwhile), cancelled;
  // io (the connection broke again and again, or the server answers wrongly).
  [[nodiscard]] virtual Status read(const std::vector<ByteRange>& ranges, const TakeBytes& take) = 0;
  [[nodiscard]] virtual std::uint64_t requests() const noexcept = 0;
  // Returns the number of requests that read() takes for the ranges, as far as is known now and if none breaks off.
  [[nodiscard]] virtual std::uint64_t requests_for(const std::vector<ByteRange>& ranges) const = 0;
  // Finds out for requests_for() whether the server sends so many ranges in one answer. A request for that is counted
  // in requests() only if read() would make it too. Errors: those of read().
  [[nodiscard]] virtual Status find_out(const std::vector<ByteRange>& ranges) = 0;
  // Returns the SHA-256 that the table of contents of the container must have, in hexadecimal, if the source says it.
  [[nodiscard]] virtual std::string toc_sha256() const { return {}; }
};

// Errors: not_found, io.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_file_source(const std::string& path);

struct HttpCredentials {
  std::string user;
  std::string password;
  std::string bearer;  // a token; instead of a user

  [[nodiscard]] bool empty() const noexcept { return user.empty() && bearer.empty(); }
};

// The answers of one server to requests for several ranges, as far as they are known. A server may answer with the
// whole file, with one of them, or with an error.
struct SeveralRanges {
  std::size_t sent = 1;  // the most that one answer has brought
  bool refused = false;  // more than `sent` were refused

  // Returns whether it is not known if an answer brings so many.
  [[nodiscard]] bool is_new(std::size_t count) const noexcept { return count > sent && !refused; }
  void send(std::size_t count) noexcept { sent = std::max(sent, count); }
  void refuse(std::size_t count) noexcept {
    refused = true;
    if (count <= sent) sent = std::max<std::size_t>(count / 2, 1);
  }
};

struct HttpOptions {
  std::string ca_file;                 // PEM; empty: the system's
  std::string auth_file;               // "user:password" or "Bearer TOKEN"; empty: none
  HttpCredentials credentials;         // instead of those in auth_file
  bool plain_http = false;             // a registry is asked by http, also if it is on another machine
  std::uint64_t bytes_per_second = 0;  // 0: no limit
  std::uint32_t parallel = 4;          // requests at the same time
  std::uint32_t retries = 5;           // in a row without a byte of progress
  std::uint32_t stalled_seconds = 30;  // below 1 KiB/s for so long is a broken connection
  const std::atomic<bool>* cancel = nullptr;
  // Shared by the sources on one server, so that one of them asks for all. Null: each source asks by itself.
  std::shared_ptr<SeveralRanges> several = nullptr;
};

// Asks the server for the first bytes, which says size and version of the file.
// Errors: unsupported (this build has no HTTP; or the server does not send ranges), those of read().
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_http_source(const std::string& url, const HttpOptions& options);
// The same for a blob of a registry, whose URL names its content: the blob must have `size` bytes. `ask`: whether to
// ask for the first bytes now; otherwise the first request is that of the first read(). Errors: also changed (another
// size).
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_blob_source(const std::string& url, std::uint64_t size, bool ask,
                                                                   const HttpOptions& options);
// Hands the whole file behind a URL to `take`, in order. Errors: those of read().
[[nodiscard]] Status stream_whole(const std::string& url, const TakeBytes& take, const HttpOptions& options);

// A source behind a URL of any kind: http, https, or an artifact of a registry (oci).
// Errors: those of open_http_source() and open_oci_source().
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_url_source(const std::string& url, const HttpOptions& options);
// Writes the whole file to `path`, which must not exist, from a server that does not send ranges. Leaves nothing behind
// after an error. Errors: those of read(); exists, limit_exceeded (more than `most_bytes`), no_space.
[[nodiscard]] Status download_whole(const std::string& url, const std::string& path, std::uint64_t most_bytes,
                                    const HttpOptions& options);

// Returns whether a text names something behind HTTP: http://, https:// or oci://.
[[nodiscard]] bool is_url(const std::string& source) noexcept;
// Returns the containers that `from` names: itself, or those in the folder that it is, in the order of their names.
// Prints a note for each file there that cannot be opened.
[[nodiscard]] std::vector<std::string> containers_named(const std::string& from);

}  // namespace fatctx::tools
