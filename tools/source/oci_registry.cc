#include "tools/source/oci_registry.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "fatctx/content_hash.h"
#include "tools/http/http_answer.h"
#include "tools/source/credentials_file.h"
#include "tools/source/retry_pause.h"

namespace fatctx::tools {
namespace {

constexpr std::string_view kBytes = "Content-Type: application/octet-stream";

std::string sha256_of(std::string_view text) {
  Sha256Sum sum;
  sum.add(std::as_bytes(std::span(text)));
  return sum.hex();
}

Error refused_by(const HttpReply& reply, std::string_view what) {
  ErrorCode code = ErrorCode::kIo;
  if (reply.status == 401 || reply.status == 403) code = ErrorCode::kOperationNotPermitted;
  if (reply.status == 404) code = ErrorCode::kNotFound;
  if (reply.status == 413) code = ErrorCode::kLimitExceeded;
  const std::string words = registry_error_text(reply.body);
  return Error{code, fmt::format("{}: the registry answers with status {}{}{}", what, reply.status,
                                 words.empty() ? "" : ": ", words)};
}

// Returns the bytes that have arrived: "0-99" is 100.
std::optional<std::uint64_t> arrived(std::string_view range) {
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || range.substr(0, dash) != "0") return std::nullopt;
  std::uint64_t last = 0;
  const auto [end, failed] = std::from_chars(range.data() + dash + 1, range.data() + range.size(), last);
  if (failed != std::errc() || end != range.data() + range.size()) return std::nullopt;
  return last + 1;
}

RequestBody part_of(const RequestBody& body, std::uint64_t offset, std::uint64_t size) {
  if (body.file.empty())
    return {.text = body.text.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(size)), .file = {}};
  return {.text = {}, .file = body.file, .offset = body.offset + offset, .size = size};
}

std::string fallback_tag(const std::string& sha256) { return "sha256-" + sha256; }

}  // namespace

HttpUrl registry_url(const OciReference& reference, const HttpOptions& options) {
  // Docker's registry has another name than its images.
  const std::string host = reference.host == "docker.io" ? "registry-1.docker.io" : reference.host;
  HttpUrl url = parse_http_url("https://" + host).value_or(HttpUrl());
  if (options.plain_http || (is_loopback(url.host) && options.ca_file.empty())) {
    url = parse_http_url("http://" + host).value_or(HttpUrl());
  }
  return url;
}

OciRegistry::OciRegistry(OciReference reference, HttpOptions options, RegistryRight right, HttpUrl base)
    : reference_(std::move(reference)), options_(std::move(options)), right_(right), base_(std::move(base)) {}

Result<OciRegistry> OciRegistry::open(OciReference reference, const HttpOptions& options, RegistryRight right) {
  HttpUrl base = registry_url(reference, options);
  OciRegistry registry(std::move(reference), options, right, std::move(base));
  FATCTX_ASSIGN(registry.file_, read_credentials(options.auth_file));
  return registry;
}

std::string OciRegistry::url_of(std::string_view rest) const {
  const bool official = reference_.host == "docker.io" && reference_.repository.find('/') == std::string::npos;
  return fmt::format("{}/v2/{}{}/{}", base_.origin(), official ? "library/" : "", reference_.repository, rest);
}

std::string OciRegistry::blob_url(std::string_view sha256) const {
  return url_of(fmt::format("blobs/sha256:{}", sha256));
}

HttpOptions OciRegistry::blob_options() const {
  HttpOptions options = options_;
  options.auth_file.clear();
  options.credentials = credentials_;
  return options;
}

// Credentials go to the registry alone, and never to where it sends an upload.
Result<HttpReply> OciRegistry::send_once(HttpRequest request) {
  const std::optional<HttpUrl> to = parse_http_url(request.url);
  if (!to) return Error{ErrorCode::kIo, fmt::format("\"{}\" cannot be a URL of HTTP", request.url)};
  request.credentials = same_origin(*to, base_) ? credentials_ : HttpCredentials();
  auto reply = http_request(request, options_);
  if (!reply.ok()) {
    ++requests_;
    return in_context(std::move(reply).error(), base_.authority());
  }
  requests_ += reply.value().requests;
  return reply;
}

Result<HttpReply> OciRegistry::send(HttpRequest request) {
  FATCTX_ASSIGN(HttpReply reply, send_once(request));
  const std::optional<HttpUrl> to = parse_http_url(request.url);
  if (reply.status != 401 || !to || !same_origin(*to, base_)) return reply;
  FATCTX_TRY(answer(best_challenge(reply.head)));
  return send_once(std::move(request));
}

Result<RegistryLogin> OciRegistry::login() {
  if (!login_) {
    if (!file_.user.empty()) {
      login_ = RegistryLogin{file_.user, file_.password, ""};
    } else {
      FATCTX_ASSIGN(login_, find_registry_login(reference_.host));
    }
  }
  return *login_;
}

// Sets the credentials that a challenge asks for.
Status OciRegistry::answer(const AuthChallenge& challenge) {
  const auto refused = [&](std::string_view why) {
    return Error{ErrorCode::kOperationNotPermitted, fmt::format("{} {}", base_.authority(), why)};
  };
  if (!file_.bearer.empty()) {
    if (!credentials_.empty()) return refused("refuses the token of --auth-file (status 401)");
    credentials_ = file_;
    return Done{};
  }
  if (challenge.kind == AuthChallenge::Kind::kNone) {
    return refused("wants credentials (status 401), and does not say of which kind");
  }
  FATCTX_ASSIGN(const RegistryLogin known, login());
  if (challenge.kind == AuthChallenge::Kind::kBearer) return take_token(challenge, known);
  if (known.user.empty()) {
    return refused("wants a user and a password; log in with docker, oras or podman, or name --auth-file");
  }
  if (!credentials_.empty()) return refused("refuses the user or the password (status 401)");
  credentials_ = {.user = known.user, .password = known.password, .bearer = {}};
  return Done{};
}

Status OciRegistry::take_token(const AuthChallenge& challenge, const RegistryLogin& login) {
  FATCTX_ASSIGN(const HttpUrl realm, token_url(base_, challenge));
  if (!login.empty() && !realm_may_know(base_, realm)) {
    return Error{
        ErrorCode::kOperationNotPermitted,
        fmt::format("{} sends to {} for a token, which is of another domain: your credentials do not go there; "
                    "get a token by other means, and name it with --auth-file",
                    base_.authority(), realm.authority())};
  }
  const std::string scope =
      fmt::format("repository:{}:{}", reference_.repository, right_ == RegistryRight::kPush ? "pull,push" : "pull");
  HttpRequest request;
  if (login.refresh_token.empty()) {
    request.url = with_query(realm.text(), {{"service", challenge.service}, {"scope", scope}});
    request.credentials = {.user = login.user, .password = login.password, .bearer = {}};
  } else {
    request.method = "POST";
    request.url = realm.text();
    request.lines = {"Content-Type: application/x-www-form-urlencoded"};
    request.body.text = with_query("", {{"grant_type", "refresh_token"},
                                        {"service", challenge.service},
                                        {"client_id", "fatctx"},
                                        {"scope", scope},
                                        {"refresh_token", login.refresh_token}})
                            .substr(1);
  }
  auto reply = http_request(request, options_);
  ++requests_;
  if (!reply.ok()) return in_context(std::move(reply).error(), realm.authority());
  if (reply.value().status != 200) {
    const std::string words = registry_error_text(reply.value().body);
    return Error{ErrorCode::kOperationNotPermitted,
                 fmt::format("{} gives no token for {} (status {}){}{}; {}", realm.authority(), scope,
                             reply.value().status, words.empty() ? "" : ": ", words,
                             login.empty() ? "log in with docker, oras or podman, or name --auth-file"
                                           : "are the credentials right?")};
  }
  auto token = token_of(reply.value().body);
  if (!token.ok()) return in_context(std::move(token).error(), realm.authority());
  credentials_ = {.user = {}, .password = {}, .bearer = std::move(token).value()};
  return Done{};
}

Status OciRegistry::renew(const std::string& blob_sha256) {
  HttpRequest request;
  request.method = "HEAD";
  request.url = blob_url(blob_sha256);
  request.follow = true;
  FATCTX_ASSIGN(const HttpReply reply, send(std::move(request)));
  if (reply.status == 401 || reply.status == 403) return refused_by(reply, fmt::format("blob sha256:{}", blob_sha256));
  return Done{};
}

Result<ManifestText> OciRegistry::manifest(const std::string& name) {
  HttpRequest request;
  request.url = url_of("manifests/" + name);
  request.lines = {fmt::format("Accept: {}, {}", kManifestMediaType, kIndexMediaType)};
  request.follow = true;
  request.most_bytes = kMostManifestBytes;
  FATCTX_ASSIGN(HttpReply reply, send(std::move(request)));
  if (reply.status != 200) return refused_by(reply, fmt::format("manifest {}", name));
  ManifestText manifest{std::move(reply.body), ""};
  manifest.sha256 = sha256_of(manifest.json);
  const std::string digest = "sha256:" + manifest.sha256;
  const std::string_view said = reply.header("docker-content-digest");
  const bool other_than_said = said.starts_with("sha256:") && said != digest;
  if ((name.starts_with("sha256:") && name != digest) || other_than_said) {
    return Error{ErrorCode::kChecksumMismatch,
                 fmt::format("the registry sends another manifest than {}: its bytes have the digest {}",
                             name.starts_with("sha256:") ? name : std::string(said), digest)};
  }
  return manifest;
}

Result<bool> OciRegistry::has_blob(const OciDescriptor& blob) {
  HttpRequest request;
  request.method = "HEAD";
  request.url = blob_url(blob.sha256);
  request.follow = true;
  FATCTX_ASSIGN(const HttpReply reply, send(std::move(request)));
  if (reply.status == 404) return false;
  if (reply.status != 200) return refused_by(reply, fmt::format("blob sha256:{}", blob.sha256));
  const std::string_view size = reply.header("content-length");
  if (!size.empty() && size != std::to_string(blob.size)) {
    return Error{ErrorCode::kChanged, fmt::format("the registry has the blob sha256:{} with {} bytes instead of {}",
                                                  blob.sha256, size, blob.size)};
  }
  return true;
}

Result<HttpUrl> OciRegistry::begin_upload() {
  HttpRequest request;
  request.method = "POST";
  request.url = url_of("blobs/uploads/");
  FATCTX_ASSIGN(const HttpReply reply, send(std::move(request)));
  if (reply.status != 202) return refused_by(reply, "an upload");
  const std::optional<HttpUrl> to = resolve_location(base_, reply.header("location"));
  if (!to) return Error{ErrorCode::kIo, "an upload: the registry does not say where the bytes go"};
  if (base_.scheme == "https" && to->scheme != "https") {
    return Error{ErrorCode::kOperationNotPermitted,
                 fmt::format("an upload: the registry sends to {}, which is not encrypted", to->origin())};
  }
  return *to;
}

// Sends the bytes in chunks. Returns where the upload is ended.
Result<HttpUrl> OciRegistry::send_chunks(HttpUrl to, const RequestBody& body, std::uint64_t chunk_bytes,
                                         const std::function<void(std::uint64_t)>& sent, bool& may_pass) {
  std::uint32_t tries = 0;
  for (std::uint64_t done = 0; done < body.bytes();) {
    const std::uint64_t size = std::min(chunk_bytes, body.bytes() - done);
    HttpRequest request;
    request.method = "PATCH";
    request.url = to.text();
    request.lines = {std::string(kBytes), fmt::format("Content-Range: {}-{}", done, done + size - 1)};
    request.body = part_of(body, done, size);
    request.again = false;
    request.sent = [&](std::uint64_t bytes) { sent(done + bytes); };
    auto reply = send(request);
    if (!reply.ok() && reply.error().code != ErrorCode::kIo) return std::move(reply).error();
    const bool broke = !reply.ok() || may_recover(reply.value().status) || reply.value().status == 416;
    if (!broke && reply.value().status != 202) {
      may_pass = false;
      return refused_by(reply.value(), "an upload");
    }
    if (broke) {
      if (++tries > options_.retries)
        return reply.ok() ? refused_by(reply.value(), "an upload") : std::move(reply).error();
      FATCTX_TRY(pause_before_retry(tries, options_));
      HttpRequest ask;
      ask.url = to.text();
      FATCTX_ASSIGN(HttpReply state, send(std::move(ask)));
      if (state.status != 204) return refused_by(state, "an upload");
      const auto so_far = arrived(state.header("range"));
      done = so_far && *so_far <= body.bytes() ? *so_far : 0;
      if (const auto next = resolve_location(to, state.header("location")); next && !state.header("location").empty())
        to = *next;
      continue;
    }
    tries = 0;
    done += size;
    const auto next = resolve_location(to, reply.value().header("location"));
    if (!next) return Error{ErrorCode::kIo, "an upload: the registry does not say where the bytes go"};
    to = *next;
  }
  return to;
}

Status OciRegistry::upload_once(const OciDescriptor& blob, const RequestBody& body, std::uint64_t chunk_bytes,
                                const std::function<void(std::uint64_t)>& sent, bool& may_pass) {
  may_pass = true;
  FATCTX_ASSIGN(HttpUrl to, begin_upload());
  const bool chunks = chunk_bytes != 0 && body.bytes() > chunk_bytes;
  if (chunks) {
    FATCTX_ASSIGN(to, send_chunks(std::move(to), body, chunk_bytes, sent, may_pass));
  }
  HttpRequest request;
  request.method = "PUT";
  request.url = with_query(to.text(), {{"digest", "sha256:" + blob.sha256}});
  request.lines = {std::string(kBytes)};
  if (!chunks) request.body = body;
  request.again = false;
  if (!chunks) request.sent = sent;
  FATCTX_ASSIGN(const HttpReply reply, send(std::move(request)));
  if (reply.status == 201) return Done{};
  may_pass = may_recover(reply.status);
  return refused_by(reply, fmt::format("blob sha256:{}", blob.sha256));
}

Status OciRegistry::upload(const OciDescriptor& blob, const RequestBody& body, std::uint64_t chunk_bytes,
                           const std::function<void(std::uint64_t)>& sent) {
  for (std::uint32_t tries = 1;; ++tries) {
    bool may_pass = true;
    auto done = upload_once(blob, body, chunk_bytes, sent, may_pass);
    if (done.ok()) return done;
    if (!may_pass || done.error().code != ErrorCode::kIo || tries > options_.retries) return done;
    FATCTX_TRY(pause_before_retry(tries, options_));
    // The bytes may have arrived although the answer was lost.
    FATCTX_ASSIGN(const bool there, has_blob(blob));
    if (there) return Done{};
  }
}

Result<bool> OciRegistry::put_manifest(const std::string& name, const std::string& json, std::string_view media_type) {
  HttpRequest request;
  request.method = "PUT";
  request.url = url_of("manifests/" + name);
  request.lines = {fmt::format("Content-Type: {}", media_type)};
  request.body.text = json;
  FATCTX_ASSIGN(const HttpReply reply, send(std::move(request)));
  if (reply.status != 201) return refused_by(reply, fmt::format("manifest {}", name));
  const std::string digest = "sha256:" + sha256_of(json);
  const std::string_view said = reply.header("docker-content-digest");
  if (said.starts_with("sha256:") && said != digest) {
    return Error{ErrorCode::kChecksumMismatch,
                 fmt::format("the registry has stored a manifest of the digest {} instead of {}", said, digest)};
  }
  return !reply.header("oci-subject").empty();
}

Result<std::vector<OciDescriptor>> OciRegistry::referrers(const std::string& sha256, std::string_view artifact_type) {
  HttpRequest request;
  request.url = with_query(url_of("referrers/sha256:" + sha256), {{"artifactType", std::string(artifact_type)}});
  request.lines = {fmt::format("Accept: {}", kIndexMediaType)};
  request.follow = true;
  request.most_bytes = kMostManifestBytes;
  FATCTX_ASSIGN(const HttpReply reply, send(std::move(request)));
  std::string json = reply.body;
  if (reply.status != 200) {
    auto by_tag = manifest(fallback_tag(sha256));
    if (!by_tag.ok() && by_tag.error().code == ErrorCode::kNotFound) return std::vector<OciDescriptor>();
    if (!by_tag.ok()) return std::move(by_tag).error();
    json = std::move(by_tag).value().json;
  }
  FATCTX_ASSIGN(std::vector<OciDescriptor> found, parse_oci_index(json));
  std::erase_if(found, [&](const OciDescriptor& one) { return one.artifact_type != artifact_type; });
  return found;
}

Status OciRegistry::add_referrer_by_tag(const std::string& sha256, const OciDescriptor& referrer) {
  std::vector<OciDescriptor> all;
  auto before = manifest(fallback_tag(sha256));
  if (before.ok()) {
    FATCTX_ASSIGN(all, parse_oci_index(before.value().json));
  } else if (before.error().code != ErrorCode::kNotFound) {
    return std::move(before).error();
  }
  std::erase_if(all, [&](const OciDescriptor& one) { return one.sha256 == referrer.sha256; });
  all.push_back(referrer);
  FATCTX_TRY(put_manifest(fallback_tag(sha256), oci_index_json(all), kIndexMediaType));
  return Done{};
}

}  // namespace fatctx::tools
