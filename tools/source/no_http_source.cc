// Replaces http_source.cc, http_request.cc and the rest of libcurl in a build without its headers.
#include <fmt/format.h>

#include "tools/source/byte_source.h"
#include "tools/source/http_request.h"

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

Result<std::unique_ptr<ByteSource>> open_blob_source(const std::string& url, std::uint64_t /*size*/, bool /*ask*/,
                                                     const HttpOptions& /*options*/) {
  return no_http(url);
}

Status stream_whole(const std::string& url, const TakeBytes& /*take*/, const HttpOptions& /*options*/) {
  return no_http(url);
}

Result<HttpReply> http_request(const HttpRequest& request, const HttpOptions& /*options*/) {
  return no_http(request.url);
}

}  // namespace fatctx::tools
