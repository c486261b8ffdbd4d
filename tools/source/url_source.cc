// Sources behind URLs of any kind.
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "tools/source/byte_source.h"
#include "tools/source/oci_source.h"
#include "tools/system/new_file.h"

namespace fatctx::tools {

bool is_url(const std::string& source) noexcept {
  return source.starts_with("http://") || source.starts_with("https://") || is_oci(source);
}

Result<std::unique_ptr<ByteSource>> open_url_source(const std::string& url, const HttpOptions& options) {
  return is_oci(url) ? open_oci_source(url, options) : open_http_source(url, options);
}

Status download_whole(const std::string& url, const std::string& path, std::uint64_t most_bytes,
                      const HttpOptions& options) {
  FATCTX_ASSIGN(NewFile file, NewFile::create(path));
  const TakeBytes take = [&](std::uint64_t offset, ByteView bytes) -> Status {
    if (offset + bytes.size() > most_bytes) {
      return Error{ErrorCode::kLimitExceeded, fmt::format("the file has more than {} bytes (--max-size)", most_bytes)};
    }
    file.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // char may alias anything
    if (file.whole()) return Done{};
    return Error{ErrorCode::kNoSpace, fmt::format("{} cannot be written", path)};
  };
  Status done = is_oci(url) ? stream_whole_oci(url, take, options) : stream_whole(url, take, options);
  auto closed = file.close();
  if (done.ok() && !closed.ok()) done = Error{ErrorCode::kNoSpace, fmt::format("{} cannot be written", path)};
  if (!done.ok()) (void)std::remove(path.c_str());
  return done;
}

}  // namespace fatctx::tools
