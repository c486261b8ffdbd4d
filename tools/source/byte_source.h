// Where `fetch` and `repair` read a container from: ranges of a file here, or of a URL.
#pragma once

#include <atomic>
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
};

// Errors: not_found, io.
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_file_source(const std::string& path);

struct HttpOptions {
  std::string ca_file;                 // PEM; empty: the system's
  std::string auth_file;               // "user:password" or "Bearer TOKEN"; empty: none
  std::uint64_t bytes_per_second = 0;  // 0: no limit
  std::uint32_t parallel = 4;          // requests at the same time
  std::uint32_t retries = 5;           // in a row without a byte of progress
  std::uint32_t stalled_seconds = 30;  // below 1 KiB/s for so long is a broken connection
  const std::atomic<bool>* cancel = nullptr;
};

// Asks the server for the first bytes, which says size and version of the file.
// Errors: unsupported (this build has no HTTP; or the server does not send ranges), those of read().
[[nodiscard]] Result<std::unique_ptr<ByteSource>> open_http_source(const std::string& url, const HttpOptions& options);
// Writes the whole file to `path`, which must not exist, from a server that does not send ranges. Leaves nothing behind
// after an error. Errors: those of read(); exists, limit_exceeded (more than `most_bytes`), no_space.
[[nodiscard]] Status download_whole(const std::string& url, const std::string& path, std::uint64_t most_bytes,
                                    const HttpOptions& options);

[[nodiscard]] bool is_url(const std::string& source) noexcept;
// Returns the containers that `from` names: itself, or those in the folder that it is, in the order of their names.
// Prints a note for each file there that cannot be opened.
[[nodiscard]] std::vector<std::string> containers_named(const std::string& from);

}  // namespace fatctx::tools
