// Arbitrary answers of a registry: manifests, indexes, tokens, challenges, errors; and Docker's file of credentials.
//
// Input: 1 byte chooses what it is; the text.
#include <string>

#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "tools/source/docker_credentials.h"
#include "tools/source/http_request.h"
#include "tools/source/http_url.h"
#include "tools/source/oci_challenge.h"
#include "tools/source/oci_manifest.h"
#include "tools/source/oci_reference.h"

namespace {

using namespace fatctx;

void manifest_promises(std::string_view text) {
  const auto manifest = tools::parse_oci_manifest(text);
  if (!manifest.ok()) return fuzz::require_good(manifest.error());
  const auto again = tools::parse_oci_manifest(tools::oci_manifest_json(manifest.value()));
  fuzz::require(again.ok(), "a manifest that is written can be read", "");
  fuzz::require(again.value().layers.size() == manifest.value().layers.size(), "it keeps its layers", "");
  const auto blobs = tools::container_blobs(manifest.value());
  if (!blobs.ok()) return fuzz::require_good(blobs.error());
  fuzz::require(!blobs.value().empty(), "a container has a blob", "");
  std::uint64_t sum = 0;
  for (const tools::OciDescriptor& blob : blobs.value()) {
    fuzz::require(sum + blob.size >= sum, "the sizes have a sum", std::to_string(blob.size));
    fuzz::require(blob.sha256.size() == 64, "a digest is one of SHA-256", blob.sha256);
    sum += blob.size;
  }
}

void challenge_promises(std::string_view text) {
  const tools::AuthChallenge challenge = tools::parse_challenge(text);
  tools::HttpUrl registry;
  registry.scheme = "https";
  registry.host = "registry.example.com";
  registry.path = "/";
  const auto realm = tools::token_url(registry, challenge);
  if (!realm.ok()) return fuzz::require_good(realm.error());
  fuzz::require(realm.value().scheme == "https", "no token is asked for without encryption", realm.value().text());
  const bool ours = realm.value().host == "example.com" || realm.value().host.ends_with(".example.com");
  fuzz::require(tools::realm_may_know(registry, realm.value()) == ours, "credentials stay in their domain",
                realm.value().text());
}

void location_promises(std::string_view text) {
  tools::HttpUrl base;
  base.scheme = "https";
  base.host = "registry.example.com";
  base.path = "/v2/a/";
  const auto url = tools::resolve_location(base, text);
  if (!url) return;
  const auto again = tools::parse_http_url(url->text());
  fuzz::require(again.has_value() && tools::same_origin(*again, *url), "a URL that is written is the same one",
                url->text());
}

void token_promises(std::string_view text) {
  const auto token = tools::token_of(text);
  if (!token.ok()) return fuzz::require_good(token.error());
  for (const char c : token.value()) fuzz::require(c > ' ' && c < '\x7f', "a token fits into a header", token.value());
}

void reference_promises(const std::string& text) {
  const auto reference = tools::parse_oci_reference(text);
  if (!reference.ok()) return fuzz::require_good(reference.error());
  fuzz::require(reference.value().text() == text, "a reference is written as it was read", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const unsigned kind = input.byte() % 8U;
  const std::string_view text = fuzz::text_of(input.rest());
  switch (kind) {
    case 0:
      manifest_promises(text);
      break;
    case 1:
      (void)tools::parse_oci_index(text);
      break;
    case 2:
      challenge_promises(text);
      break;
    case 3:
      token_promises(text);
      break;
    case 4:
      (void)tools::docker_config_entry(text, "localhost:5000", "config.json");
      (void)tools::helper_login(text, "helper");
      break;
    case 5:
      reference_promises(std::string(text));
      break;
    case 6:
      location_promises(text);
      break;
    default:
      (void)tools::registry_error_text(text);
      break;
  }
  return 0;
}
