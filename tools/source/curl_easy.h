// Requests of libcurl: what all of them have in common.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <string>

#include "tools/source/byte_source.h"
#include "tools/source/curl_library.h"

namespace fatctx::tools {

using Easy = std::unique_ptr<CURL, decltype(CurlLibrary::easy_cleanup)>;
using Lines = std::unique_ptr<curl_slist, decltype(CurlLibrary::slist_free_all)>;

// Sets URL, protocols, limits of time and certificates. Redirects are followed if `follow` is set: never from https to
// http, and never with the credentials to another host. Requires: the URL outlives no more than this call.
void set_connection(const CurlLibrary& library, CURL* curl, const std::string& url, const HttpOptions& options,
                    bool follow);
void set_credentials(const CurlLibrary& library, CURL* curl, const HttpCredentials& credentials);

// Returns whether another try cannot succeed.
[[nodiscard]] bool is_final(CURLcode code) noexcept;

}  // namespace fatctx::tools
