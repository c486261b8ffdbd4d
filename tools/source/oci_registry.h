// A client of one repository of an OCI registry (OCI distribution specification 1.1).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/source/byte_source.h"
#include "tools/source/docker_credentials.h"
#include "tools/source/http_request.h"
#include "tools/source/http_url.h"
#include "tools/source/oci_challenge.h"
#include "tools/source/oci_manifest.h"
#include "tools/source/oci_reference.h"

namespace fatctx::tools {

enum class RegistryRight { kPull, kPush };

struct ManifestText {
  std::string json;
  std::string sha256;  // digest of `json`
};

// Asks without credentials first. If the registry wants some, it gets those of --auth-file, else those that docker
// keeps for it. They go to the registry, and to the realm that it names if that may know them (realm_may_know).
//
// Errors of all calls: operation_not_permitted (the registry wants other credentials; or it sends elsewhere with them),
// not_found, invalid_config (docker's file), cancelled, io; malformed, limit_exceeded (an answer).
// Threads: one at a time.
class OciRegistry {
 public:
  // Asks nothing yet. Errors: those of --auth-file.
  [[nodiscard]] static Result<OciRegistry> open(OciReference reference, const HttpOptions& options,
                                                RegistryRight right);

  [[nodiscard]] const OciReference& reference() const noexcept { return reference_; }
  [[nodiscard]] std::uint64_t requests() const noexcept { return requests_; }
  [[nodiscard]] std::string blob_url(std::string_view sha256) const;
  // Returns the options for requests to blob_url(): with the credentials that the registry wanted so far.
  [[nodiscard]] HttpOptions blob_options() const;

  // Reads a manifest or an index by tag or digest, and compares it with the digest.
  // Errors: also checksum_mismatch (it has another digest).
  [[nodiscard]] Result<ManifestText> manifest(const std::string& name);
  // Returns whether a blob is there. Errors: also changed (with another size).
  [[nodiscard]] Result<bool> has_blob(const OciDescriptor& blob);
  // Uploads a blob, whose bytes the registry compares with the digest. `chunk_bytes`: most bytes a request, 0: all of
  // them. An upload that broke off begins again, or goes on behind the last chunk that arrived.
  [[nodiscard]] Status upload(const OciDescriptor& blob, const RequestBody& body, std::uint64_t chunk_bytes,
                              const std::function<void(std::uint64_t)>& sent);
  // Publishes a manifest or an index under a tag or its digest. Returns whether the registry says that it has noted the
  // subject. Errors: also checksum_mismatch (the registry has understood other bytes).
  [[nodiscard]] Result<bool> put_manifest(const std::string& name, const std::string& json,
                                          std::string_view media_type);
  // Returns the manifests of a kind whose subject is the manifest with this digest: from the registry's list, or from
  // the tag that clients keep where the registry has none.
  [[nodiscard]] Result<std::vector<OciDescriptor>> referrers(const std::string& sha256, std::string_view artifact_type);
  // Adds a manifest to that tag.
  [[nodiscard]] Status add_referrer_by_tag(const std::string& sha256, const OciDescriptor& referrer);
  // Renews the credentials after a request to blob_url() was refused.
  [[nodiscard]] Status renew(const std::string& blob_sha256);

 private:
  OciRegistry(OciReference reference, HttpOptions options, RegistryRight right, HttpUrl base);

  [[nodiscard]] std::string url_of(std::string_view rest) const;
  [[nodiscard]] Result<HttpReply> send(HttpRequest request);
  [[nodiscard]] Result<HttpReply> send_once(HttpRequest request);
  [[nodiscard]] Status answer(const AuthChallenge& challenge);
  [[nodiscard]] Result<RegistryLogin> login();
  [[nodiscard]] Status take_token(const AuthChallenge& challenge, const RegistryLogin& login);
  [[nodiscard]] Result<HttpUrl> begin_upload();
  [[nodiscard]] Status upload_once(const OciDescriptor& blob, const RequestBody& body, std::uint64_t chunk_bytes,
                                   const std::function<void(std::uint64_t)>& sent, bool& may_pass);
  [[nodiscard]] Result<HttpUrl> send_chunks(HttpUrl to, const RequestBody& body, std::uint64_t chunk_bytes,
                                            const std::function<void(std::uint64_t)>& sent, bool& may_pass);

  OciReference reference_;
  HttpOptions options_;
  RegistryRight right_;
  HttpUrl base_;
  HttpCredentials file_;         // read from --auth-file
  HttpCredentials credentials_;  // that requests carry now
  std::optional<RegistryLogin> login_;
  std::uint64_t requests_ = 0;
};

// Returns where a registry is asked: by https, but a registry on this machine, or one of --plain-http, by http. A
// registry on this machine is asked by https if certificates are named.
[[nodiscard]] HttpUrl registry_url(const OciReference& reference, const HttpOptions& options);

}  // namespace fatctx::tools
