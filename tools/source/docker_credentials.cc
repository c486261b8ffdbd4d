#include "tools/source/docker_credentials.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"
#include "tools/cli/print.h"
#include "tools/cli/subprocess.h"

namespace fatctx::tools {
namespace {

constexpr std::size_t kMostConfigBytes = std::size_t{1} << 20U;
constexpr std::size_t kMostConfigDepth = 16;
// Docker's own registry has this name in all files of credentials.
constexpr std::string_view kDockerHub = "https://index.docker.io/v1/";

bool is_docker_hub(std::string_view host) {
  return host == "docker.io" || host == "index.docker.io" || host == "registry-1.docker.io";
}

// "https://host:5000/v1/" and "host:5000" name one registry.
std::string_view host_of_key(std::string_view key) {
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) key.remove_prefix(scheme.size());
  }
  return key.substr(0, key.find('/'));
}

const Json* entry_for(const Json* object, std::string_view host) {
  if (object == nullptr || object->members() == nullptr) return nullptr;
  const Json* found = object->find(is_docker_hub(host) ? kDockerHub : host);
  if (found != nullptr) return found;
  for (const Json::Member& member : *object->members()) {
    const std::string_view key = host_of_key(member.key);
    if (key == host || (is_docker_hub(host) && is_docker_hub(key))) return &member.value;
  }
  return nullptr;
}

std::string text_at(const Json& object, std::string_view key) {
  const Json* const value = object.find(key);
  return value != nullptr && value->text() != nullptr ? *value->text() : std::string();
}

Error wrong_config(const std::string& path, std::string_view why) {
  return Error{ErrorCode::kInvalidConfig, fmt::format("{}: {}", path, why)};
}

bool is_helper_name(std::string_view name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; });
}

std::string docker_config_path() {
  const char* const folder = std::getenv("DOCKER_CONFIG");
  if (folder != nullptr && *folder != '\0') return (std::filesystem::path(folder) / "config.json").string();
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return (std::filesystem::path(home) / ".docker" / "config.json").string();
}

// Asks a helper. An empty login: it has none, or it cannot be run.
Result<RegistryLogin> ask_helper(const std::string& helper, const std::string& server, const std::string& path) {
  const std::string name = "docker-credential-" + helper;
  const std::optional<std::string> program = find_program(name, "");
  if (!program) {
    print_note(
        escaped(fmt::format("note: {} names {}, which is not in PATH; going on without credentials", path, name)));
    return RegistryLogin{};
  }
  FATCTX_ASSIGN(const ProcessResult result,
                run_process({.arguments = {*program, "get"}, .working_folder = "", .input = server}));
  if (result.succeeded()) return helper_login(result.output, name);
  // Helpers say so on either stream when they have none.
  const bool none = (result.output + result.error_output).find("not found") != std::string::npos;
  if (!none) print_note(escaped(fmt::format("note: {} fails; going on without credentials", name)));
  return RegistryLogin{};
}

}  // namespace

Result<std::string> base64_decoded(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const std::size_t digit = kDigits.find(c);
    if (digit == std::string_view::npos) return Error{ErrorCode::kMalformed, "not Base64"};
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU);
  }
  return bytes;
}

Result<DockerConfigEntry> docker_config_entry(std::string_view json, std::string_view host, const std::string& path) {
  JsonFault fault;
  const std::optional<Json> document = read_json(json, kMostConfigDepth, fault);
  if (!document || document->members() == nullptr) return wrong_config(path, "not a JSON object");
  DockerConfigEntry entry;
  entry.server = std::string(is_docker_hub(host) ? kDockerHub : host);
  const Json* const helper = entry_for(document->find("credHelpers"), host);
  if (helper != nullptr && helper->text() != nullptr) entry.helper = *helper->text();
  if (entry.helper.empty()) entry.helper = text_at(*document, "credsStore");
  if (!is_helper_name(entry.helper)) {
    return wrong_config(path, fmt::format("\"{}\" is not the name of a credential helper", entry.helper));
  }
  const Json* const login = entry_for(document->find("auths"), host);
  if (login == nullptr) return entry;
  entry.login.user = text_at(*login, "username");
  entry.login.password = text_at(*login, "password");
  entry.login.refresh_token = text_at(*login, "identitytoken");
  const std::string both = text_at(*login, "auth");
  if (both.empty()) return entry;
  const auto decoded = base64_decoded(both);
  const std::size_t colon = decoded.ok() ? decoded.value().find(':') : std::string::npos;
  if (colon == std::string::npos) {
    return wrong_config(path, fmt::format("the credentials for {} are not \"user:password\" in Base64", host));
  }
  entry.login.user = decoded.value().substr(0, colon);
  entry.login.password = decoded.value().substr(colon + 1);
  while (entry.login.password.ends_with('\0')) entry.login.password.pop_back();
  return entry;
}

Result<RegistryLogin> helper_login(std::string_view json, const std::string& helper) {
  JsonFault fault;
  const std::optional<Json> document = read_json(json, kMostConfigDepth, fault);
  if (!document || document->members() == nullptr) return wrong_config(helper, "it does not print a JSON object");
  RegistryLogin login;
  login.user = text_at(*document, "Username");
  const std::string secret = text_at(*document, "Secret");
  if (login.user == "<token>") {
    login.user.clear();
    login.refresh_token = secret;
  } else {
    login.password = secret;
  }
  return login;
}

Result<RegistryLogin> find_registry_login(const std::string& host) {
  const std::string path = docker_config_path();
  std::ifstream file(path, std::ios::binary);
  if (path.empty() || !file) return RegistryLogin{};
  std::string text(kMostConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  if (text.size() > kMostConfigBytes) return wrong_config(path, "it has more than 1 MiB");
  FATCTX_ASSIGN(DockerConfigEntry entry, docker_config_entry(text, host, path));
  if (!entry.helper.empty()) {
    FATCTX_ASSIGN(RegistryLogin login, ask_helper(entry.helper, entry.server, path));
    if (!login.empty()) return login;
  }
  return std::move(entry.login);
}

}  // namespace fatctx::tools
