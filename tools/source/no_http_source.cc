// Replaces http_source.cc in a build without the headers of libcurl.
#include <fmt/format.h>

#include "tools/source/byte_source.h"

namespace fatctx::tools {
namespace {

Error no_http(const std::string& url) {
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("{}: this build of fatctx has no HTTP; fetch the file by other means, or build with libcurl", url)};
}

}  // namespace

Result<std::unique_ptr<ByteSource>> open_http_source(const std::string& url, const HttpOptions& /*options*/) {
  return no_http(url);
}

Status download_whole(const std::string& url, const std::string& /*path*/, std::uint64_t /*most_bytes*/,
                      const HttpOptions& /*options*/) {
  return no_http(url);
}

}  // namespace fatctx::tools
