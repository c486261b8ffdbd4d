#include "tools/source/oci_challenge.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "base/json.h"

namespace fatctx::tools {
namespace {

bool equal_words(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

void skip(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

// Takes a token of RFC 9110.
std::string_view take_token(std::string_view& text) {
  const auto end = std::find_if(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) == 0 &&
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) == std::string_view::npos;
  });
  const auto size = static_cast<std::size_t>(end - text.begin());
  const std::string_view token = text.substr(0, size);
  text.remove_prefix(size);
  return token;
}

// Takes a token or a quoted text.
std::optional<std::string> take_value(std::string_view& text) {
  if (!text.starts_with('"')) return std::string(take_token(text));
  std::string value;
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == '"') {
      text.remove_prefix(at + 1);
      return value;
    }
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    value += text[at];
  }
  return std::nullopt;
}

bool is_name(std::string_view host) {
  return std::any_of(host.begin(), host.end(), [](unsigned char c) { return std::isalpha(c) != 0; }) &&
         !host.starts_with('[');
}

}  // namespace

AuthChallenge parse_challenge(std::string_view header) {
  AuthChallenge challenge;
  skip(header, " \t");
  const std::string_view scheme = take_token(header);
  if (equal_words(scheme, "Basic")) challenge.kind = AuthChallenge::Kind::kBasic;
  if (!equal_words(scheme, "Bearer")) return challenge;
  while (!header.empty()) {
    skip(header, " \t,");
    const std::string_view name = take_token(header);
    skip(header, " \t");
    if (name.empty() || !header.starts_with('=')) break;
    header.remove_prefix(1);
    skip(header, " \t");
    const std::optional<std::string> value = take_value(header);
    if (!value) break;
    if (equal_words(name, "realm")) challenge.realm = *value;
    if (equal_words(name, "service")) challenge.service = *value;
  }
  if (!challenge.realm.empty()) challenge.kind = AuthChallenge::Kind::kBearer;
  return challenge;
}

AuthChallenge best_challenge(const std::vector<std::pair<std::string, std::string>>& head) {
  AuthChallenge best;
  for (const auto& [name, value] : head) {
    if (name != "www-authenticate") continue;
    AuthChallenge found = parse_challenge(value);
    const bool better = found.kind == AuthChallenge::Kind::kBearer || best.kind == AuthChallenge::Kind::kNone;
    if (better && best.kind != AuthChallenge::Kind::kBearer) best = std::move(found);
  }
  return best;
}

Result<HttpUrl> token_url(const HttpUrl& registry, const AuthChallenge& challenge) {
  std::optional<HttpUrl> url = parse_http_url(challenge.realm);
  if (!url) {
    return Error{ErrorCode::kOperationNotPermitted,
                 fmt::format("{} sends to \"{}\" for a token, and that cannot be a URL of HTTP", registry.authority(),
                             challenge.realm)};
  }
  if (registry.scheme == "https" && url->scheme != "https") {
    return Error{ErrorCode::kOperationNotPermitted, fmt::format("{} sends to {} for a token, which is not encrypted",
                                                                registry.authority(), url->origin())};
  }
  return std::move(*url);
}

bool realm_may_know(const HttpUrl& registry, const HttpUrl& realm) {
  if (registry.host == realm.host) return true;
  const std::size_t dot = registry.host.find('.');
  if (!is_name(registry.host) || dot == std::string::npos) return false;
  const std::string domain = registry.host.substr(dot + 1);
  if (domain.find('.') == std::string::npos) return false;  // a name directly below "com" has no domain of its own
  return realm.host == domain || realm.host.ends_with("." + domain);
}

Result<std::string> token_of(std::string_view json) {
  constexpr std::size_t kMostDepth = 16;
  JsonFault fault;
  const std::optional<Json> document = read_json(json, kMostDepth, fault);
  for (const std::string_view key : {"token", "access_token"}) {
    const Json* const value = document ? document->find(key) : nullptr;
    if (value == nullptr || value->text() == nullptr || value->text()->empty()) continue;
    const std::string& token = *value->text();
    if (std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; })) return token;
  }
  return Error{ErrorCode::kMalformed, "the answer has no token that can be used"};
}

}  // namespace fatctx::tools
