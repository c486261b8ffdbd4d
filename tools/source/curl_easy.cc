#include "tools/source/curl_easy.h"

#include <algorithm>

namespace fatctx::tools {
namespace {

constexpr long kSlowest = 1024;  // bytes a second
constexpr long kMostRedirects = 5;

}  // namespace

void set_connection(const CurlLibrary& library, CURL* curl, const std::string& url, const HttpOptions& options,
                    bool follow) {
  const char* const protocols = url.starts_with("https://") ? "https" : "http,https";
  library.easy_setopt(curl, CURLOPT_URL, url.c_str());
  library.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  library.easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, protocols);  // never from https to http
  library.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, follow ? 1L : 0L);
  library.easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  library.easy_setopt(curl, CURLOPT_UNRESTRICTED_AUTH, 0L);  // credentials are for the first host alone
  library.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  library.easy_setopt(curl, CURLOPT_USERAGENT, "fatctx");
  library.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options.stalled_seconds));
  library.easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, kSlowest);
  library.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options.stalled_seconds));
  library.easy_setopt(curl, CURLOPT_BUFFERSIZE, 512L << 10U);
  library.easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  if (!options.ca_file.empty()) library.easy_setopt(curl, CURLOPT_CAINFO, options.ca_file.c_str());
  if (options.bytes_per_second != 0) {
    const std::uint64_t share = std::max<std::uint64_t>(options.bytes_per_second / options.parallel, 2 * kSlowest);
    library.easy_setopt(curl, CURLOPT_MAX_RECV_SPEED_LARGE, static_cast<curl_off_t>(share));
    // Uploads go one after the other.
    library.easy_setopt(curl, CURLOPT_MAX_SEND_SPEED_LARGE,
                        static_cast<curl_off_t>(std::max<std::uint64_t>(options.bytes_per_second, 2 * kSlowest)));
  }
}

void set_credentials(const CurlLibrary& library, CURL* curl, const HttpCredentials& credentials) {
  if (!credentials.bearer.empty()) {
    library.easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    library.easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, credentials.bearer.c_str());
  } else if (!credentials.user.empty()) {
    library.easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    library.easy_setopt(curl, CURLOPT_USERNAME, credentials.user.c_str());
    library.easy_setopt(curl, CURLOPT_PASSWORD, credentials.password.c_str());
  }
}

bool is_final(CURLcode code) noexcept {
  switch (code) {
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
      return true;
    default:
      return false;
  }
}

}  // namespace fatctx::tools
