// The parts of a URL that decide who gets credentials.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fatctx::tools {

struct HttpUrl {
  std::string scheme;  // "http" or "https"
  std::string host;    // lower case; an address of IPv6 with its brackets
  std::string port;    // digits; empty: the usual one
  std::string path;    // from the first slash on, with query; at least "/"

  [[nodiscard]] std::string authority() const { return port.empty() ? host : host + ":" + port; }
  [[nodiscard]] std::string origin() const { return scheme + "://" + authority(); }
  [[nodiscard]] std::string text() const { return origin() + path; }
};

// Returns the parts of a URL of HTTP; nothing for other texts, for one with a user in it, or with blanks or control
// characters.
[[nodiscard]] std::optional<HttpUrl> parse_http_url(std::string_view text);
// Returns the URL that a Location header names, seen from `base`; nothing if it is none of HTTP.
[[nodiscard]] std::optional<HttpUrl> resolve_location(const HttpUrl& base, std::string_view location);
// Returns whether two URLs have one scheme, host and port. Only then the second one may get credentials of the first.
[[nodiscard]] bool same_origin(const HttpUrl& a, const HttpUrl& b);
// Returns whether a host is this machine: localhost, 127.0.0.0/8 or [::1].
[[nodiscard]] bool is_loopback(std::string_view host);

// Returns the text with all but letters, digits and "-._~" written as %XX.
[[nodiscard]] std::string url_encoded(std::string_view text);
// Adds parameters to the query of a URL.
[[nodiscard]] std::string with_query(std::string url,
                                     const std::vector<std::pair<std::string, std::string>>& parameters);

}  // namespace fatctx::tools
