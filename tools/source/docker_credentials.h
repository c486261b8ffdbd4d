// Credentials for registries, as docker, oras and podman keep them: DOCKER_CONFIG/config.json and credential helpers.
#pragma once

#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::tools {

struct RegistryLogin {
  std::string user;
  std::string password;
  std::string refresh_token;  // an identity token instead of a password

  [[nodiscard]] bool empty() const noexcept { return user.empty() && refresh_token.empty(); }
};

// The part of config.json about one registry.
struct DockerConfigEntry {
  std::string helper;  // "secretservice": the program docker-credential-secretservice knows
  std::string server;  // the name that the helper knows the registry by
  RegistryLogin login;
};

// Reads the text of config.json. `host`: of the registry, with its port. `path` is for messages.
// Errors: invalid_config (not JSON; credentials that cannot be decoded; a helper whose name is a path).
[[nodiscard]] Result<DockerConfigEntry> docker_config_entry(std::string_view json, std::string_view host,
                                                            const std::string& path);
// Reads what a credential helper prints. Errors: invalid_config.
[[nodiscard]] Result<RegistryLogin> helper_login(std::string_view json, const std::string& helper);

// Looks for the credentials of a registry; an empty login means that there are none. A helper that is named and cannot
// be run is a note, and the registry is asked without credentials.
// Errors: invalid_config.
[[nodiscard]] Result<RegistryLogin> find_registry_login(const std::string& host);

// Returns the bytes that Base64 stands for; fails for other text. Errors: malformed.
[[nodiscard]] Result<std::string> base64_decoded(std::string_view text);

}  // namespace fatctx::tools
