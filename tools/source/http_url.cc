#include "tools/source/http_url.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace fatctx::tools {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_host(std::string_view text) {
  if (text.starts_with('[')) {
    return text.size() > 2 && text.ends_with(']') && std::all_of(text.begin() + 1, text.end() - 1, [](unsigned char c) {
             return std::isxdigit(c) != 0 || c == ':' || c == '.';
           });
  }
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_';
  });
}

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

std::optional<HttpUrl> parse_http_url(std::string_view text) {
  HttpUrl url;
  const std::size_t colons = text.find("://");
  if (colons == std::string_view::npos) return std::nullopt;
  url.scheme = lower(text.substr(0, colons));
  if (url.scheme != "http" && url.scheme != "https") return std::nullopt;
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f' && c != '\\'; });
  if (!plain) return std::nullopt;
  std::string_view rest = text.substr(colons + 3);
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, end);
  rest.remove_prefix(end);
  const std::size_t colon = authority.find(
      ':', std::min(authority.find(']'), authority.size()) == authority.size() ? 0 : authority.find(']'));
  if (colon != std::string_view::npos) {
    url.port = std::string(authority.substr(colon + 1));
    if (!is_digits(url.port) || url.port.size() > 5 || std::stoul(url.port) > 65535) return std::nullopt;
    authority = authority.substr(0, colon);
  }
  if (!is_host(authority)) return std::nullopt;
  url.host = lower(authority);
  if (url.port == (url.scheme == "https" ? "443" : "80")) url.port.clear();
  url.path = std::string(rest.substr(0, rest.find('#')));
  if (!url.path.starts_with('/')) url.path.insert(0, 1, '/');
  return url;
}

std::optional<HttpUrl> resolve_location(const HttpUrl& base, std::string_view location) {
  if (location.starts_with("//")) return parse_http_url(base.scheme + ":" + std::string(location));
  if (location.starts_with('/')) return parse_http_url(base.origin() + std::string(location));
  if (location.find("://") != std::string_view::npos) return parse_http_url(location);
  const std::string path = base.path.substr(0, base.path.find('?'));
  return parse_http_url(base.origin() + path.substr(0, path.rfind('/') + 1) + std::string(location));
}

bool same_origin(const HttpUrl& a, const HttpUrl& b) {
  return a.scheme == b.scheme && a.host == b.host && a.port == b.port;
}

bool is_loopback(std::string_view host) {
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") && std::count(host.begin(), host.end(), '.') == 3 &&
         std::all_of(host.begin(), host.end(), [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
}

std::string url_encoded(std::string_view text) {
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte < 0x80 && (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~');
    encoded += plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
  }
  return encoded;
}

std::string with_query(std::string url, const std::vector<std::pair<std::string, std::string>>& parameters) {
  for (const auto& [name, value] : parameters) {
    url += url.find('?') == std::string::npos ? '?' : '&';
    url += name + "=" + url_encoded(value);
  }
  return url;
}

}  // namespace fatctx::tools
