// How a registry asks for credentials, and who may have them.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/source/http_url.h"

namespace fatctx::tools {

// A WWW-Authenticate header: `Bearer realm="https://auth.example.com/token",service="registry"`.
struct AuthChallenge {
  enum class Kind { kNone, kBasic, kBearer };
  Kind kind = Kind::kNone;
  std::string realm;    // kBearer: where tokens come from
  std::string service;  // kBearer
};

// Reads one header. Other schemes and malformed ones give kNone.
[[nodiscard]] AuthChallenge parse_challenge(std::string_view header);
// Returns the challenge to answer: a Bearer one if there is one.
[[nodiscard]] AuthChallenge best_challenge(const std::vector<std::pair<std::string, std::string>>& head);

// Returns the URL of the realm of a registry. Errors: operation_not_permitted (it cannot be a URL of HTTP; or a
// registry behind https names one that is not).
[[nodiscard]] Result<HttpUrl> token_url(const HttpUrl& registry, const AuthChallenge& challenge);
// Returns whether the realm may have the credentials for the registry: it is the same host, or one of the same domain,
// which is the registry's name without its first label (registry-1.docker.io and auth.docker.io).
[[nodiscard]] bool realm_may_know(const HttpUrl& registry, const HttpUrl& realm);

// Returns the token in the answer of a realm. Errors: malformed (no token, or one that no header may hold).
[[nodiscard]] Result<std::string> token_of(std::string_view json);

}  // namespace fatctx::tools
