// References, manifests, challenges and credentials of registries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fatctx/content_hash.h"
#include "support/result_matchers.h"
#include "tools/fetch/push_parts.h"
#include "tools/source/docker_credentials.h"
#include "tools/source/http_url.h"
#include "tools/source/oci_challenge.h"
#include "tools/source/oci_manifest.h"
#include "tools/source/oci_registry.h"

namespace fatctx::tools {
namespace oci_test {

using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

const std::string kDigits(64, 'a');

HttpUrl url_of(std::string_view text) { return parse_http_url(text).value_or(HttpUrl()); }

TEST(OciReference, HasHostRepositoryAndTagOrDigest) {
  const auto tagged = parse_oci_reference("oci://localhost:5000/models/m__n.o-p:v1.0_x");
  ASSERT_TRUE(is_ok(tagged));
  EXPECT_EQ(tagged.value().host, "localhost:5000");
  EXPECT_EQ(tagged.value().repository, "models/m__n.o-p");
  EXPECT_EQ(tagged.value().manifest_name(), "v1.0_x");
  const auto pinned = parse_oci_reference("oci://[::1]:5000/m:1@sha256:" + kDigits);
  ASSERT_TRUE(is_ok(pinned));
  EXPECT_EQ(pinned.value().manifest_name(), "sha256:" + kDigits);
  EXPECT_EQ(pinned.value().text(), "oci://[::1]:5000/m:1@sha256:" + kDigits);
  EXPECT_EQ(pinned.value().by_digest(kDigits).text(), "oci://[::1]:5000/m@sha256:" + kDigits);
}

TEST(OciReference, WhatIsNoneIsRefused) {
  for (const char* wrong : {"oci://", "oci://host", "oci://host/", "oci://host/m", "oci://host/M:1",
                            "oci://host/m//n:1", "oci://host/m:", "oci://host/m:.1", "oci://host/-m:1",
                            "oci://host/m___n:1", "oci://ho st/m:1", "oci://host:99999/m:1", "oci://host/m@sha256:12",
                            "oci://host/../m:1", "oci://user:pass@host/m:1", "oci://host/m:1/n"}) {
    EXPECT_TRUE(fails_with(parse_oci_reference(wrong), ErrorCode::kInvalidArgument)) << wrong;
  }
  EXPECT_TRUE(fails_with(parse_oci_reference("oci://host/m@sha512:12"), ErrorCode::kUnsupported));
  EXPECT_TRUE(fails_with(parse_oci_reference("oci://host/m:" + std::string(129, 'a')), ErrorCode::kInvalidArgument));
}

TEST(RegistryUrl, IsEncryptedButOnThisMachineOrOnRequest) {
  const auto origin = [](const char* reference, const HttpOptions& options) {
    return registry_url(parse_oci_reference(reference).value(), options).origin();
  };
  HttpOptions plain;
  plain.plain_http = true;
  HttpOptions certified;
  certified.ca_file = "ca.pem";
  EXPECT_EQ(origin("oci://example.com/m:1", {}), "https://example.com");
  EXPECT_EQ(origin("oci://example.com/m:1", plain), "http://example.com");
  EXPECT_EQ(origin("oci://docker.io/m:1", {}), "https://registry-1.docker.io");
  EXPECT_EQ(origin("oci://localhost:5000/m:1", {}), "http://localhost:5000");
  EXPECT_EQ(origin("oci://127.0.0.9:5000/m:1", certified), "https://127.0.0.9:5000");
  EXPECT_EQ(origin("oci://127.evil.example.com/m:1", {}), "https://127.evil.example.com");
}

TEST(HttpUrl, LocationsAreResolvedAndOthersAreNone) {
  const HttpUrl base = url_of("https://example.com:5000/v2/m/");
  EXPECT_EQ(resolve_location(base, "/v2/u?a=1")->text(), "https://example.com:5000/v2/u?a=1");
  EXPECT_EQ(resolve_location(base, "u")->text(), "https://example.com:5000/v2/m/u");
  EXPECT_EQ(resolve_location(base, "//other/u")->text(), "https://other/u");
  EXPECT_FALSE(same_origin(base, *resolve_location(base, "http://example.com:5000/u")));
  EXPECT_FALSE(same_origin(base, *resolve_location(base, "https://example.com/u")));
  EXPECT_TRUE(same_origin(url_of("https://EXAMPLE.com/"), url_of("https://example.com:443")));
  for (const char* wrong : {"ftp://host/", "https://user@host/", "https:///x", "https://host:x/", "https://ho\nst/"}) {
    EXPECT_FALSE(parse_http_url(wrong)) << wrong;
  }
  EXPECT_EQ(with_query("https://a/b?c=d", {{"e", "f/g:h"}}), "https://a/b?c=d&e=f%2Fg%3Ah");
}

std::string manifest_of(const std::string& artifact_type, const std::string& layers) {
  return R"({"schemaVersion":2,"artifactType":")" + artifact_type +
         R"(","config":{"mediaType":"c/d","digest":"sha256:)" + kDigits + R"(","size":2},"layers":[)" + layers + "]}";
}

std::string layer_of(const std::string& media_type, const std::string& size, const std::string& title) {
  return R"({"mediaType":")" + media_type + R"(","digest":"sha256:)" + kDigits + R"(","size":)" + size +
         R"(,"annotations":{"org.opencontainers.image.title":")" + title + R"("}})";
}

Result<std::vector<OciDescriptor>> blobs_in(const std::string& json) {
  FATCTX_ASSIGN(const OciManifest manifest, parse_oci_manifest(json));
  return container_blobs(manifest);
}

TEST(OciManifest, PartsAreOneContainerAndOtherClientsHaveOneFile) {
  const std::string container(kContainerMediaType);
  const std::string part(kPartMediaType);
  const auto parts = blobs_in(manifest_of(container, layer_of(part, "5", "a.0") + "," + layer_of(part, "7", "a.1")));
  ASSERT_TRUE(is_ok(parts));
  EXPECT_EQ(parts.value().size(), 2U);
  EXPECT_EQ(parts.value()[1].size, 7U);
  const auto other =
      blobs_in(manifest_of("x/y", layer_of("t/p", "5", "README") + "," + layer_of("a/b", "7", "m.fatctx")));
  ASSERT_TRUE(is_ok(other));
  EXPECT_EQ(other.value().front().size, 7U);
  EXPECT_TRUE(is_ok(blobs_in(manifest_of("x/y", layer_of("a/b", "7", "model")))));
}

TEST(OciManifest, LiesAreErrors) {
  const std::string container(kContainerMediaType);
  const std::string part(kPartMediaType);
  const std::string huge = "4611686018427387904";
  EXPECT_TRUE(fails_with(blobs_in(manifest_of(container, layer_of(part, huge, "a") + "," + layer_of(part, huge, "b"))),
                         ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(blobs_in(manifest_of(container, layer_of(part, "-1", "a"))), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(blobs_in(manifest_of(container, layer_of("a/b", "1", "a"))), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(blobs_in(manifest_of(container, "")), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(blobs_in(manifest_of("x/y", layer_of("a/b", "1", "a") + "," + layer_of("a/b", "1", "b"))),
                         ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(blobs_in(manifest_of(std::string(kUpdateMediaType), layer_of("a/b", "1", "a"))),
                         ErrorCode::kUnsupported));
  for (const char* wrong : {"", "{}", "[]", R"({"schemaVersion":1})", R"({"schemaVersion":2,"layers":[]})",
                            R"({"schemaVersion":2,"layers":{},"config":{}})"}) {
    EXPECT_TRUE(fails_with(parse_oci_manifest(wrong), ErrorCode::kMalformed)) << wrong;
  }
  EXPECT_TRUE(fails_with(parse_oci_manifest(R"({"schemaVersion":2,"manifests":[]})"), ErrorCode::kUnsupported));
  EXPECT_TRUE(fails_with(parse_oci_manifest(std::string(kMostManifestBytes + 1, ' ')), ErrorCode::kLimitExceeded));
  std::string many = layer_of(part, "1", "a");
  for (std::size_t i = 0; i < kMostLayers; ++i) many += "," + layer_of(part, "1", "a");
  EXPECT_TRUE(fails_with(parse_oci_manifest(manifest_of(container, many)), ErrorCode::kLimitExceeded));
}

TEST(OciChallenge, ARealmIsReadFromAnyOfTheHeaders) {
  const AuthChallenge challenge =
      best_challenge({{"www-authenticate", "Basic realm=\"r\""},
                      {"www-authenticate", "bearer Service=s , realm=\"https://a/t\\\"\",x=\"y"}});
  EXPECT_EQ(challenge.kind, AuthChallenge::Kind::kBearer);
  EXPECT_EQ(challenge.realm, "https://a/t\"");
  EXPECT_EQ(challenge.service, "s");
  EXPECT_EQ(parse_challenge("Negotiate abc").kind, AuthChallenge::Kind::kNone);
  EXPECT_EQ(parse_challenge("Bearer").kind, AuthChallenge::Kind::kNone);
}

TEST(OciChallenge, CredentialsStayInTheirDomain) {
  const HttpUrl hub = url_of("https://registry-1.docker.io");
  EXPECT_TRUE(realm_may_know(hub, url_of("https://auth.docker.io/token")));
  EXPECT_TRUE(realm_may_know(url_of("https://registry.gitlab.com"), url_of("https://gitlab.com/jwt/auth")));
  EXPECT_TRUE(realm_may_know(url_of("https://ghcr.io"), url_of("https://ghcr.io/token")));
  EXPECT_TRUE(realm_may_know(url_of("http://127.0.0.1:5000"), url_of("http://127.0.0.1:5001/token")));
  EXPECT_FALSE(realm_may_know(hub, url_of("https://evil.example.org/token")));
  EXPECT_FALSE(realm_may_know(hub, url_of("https://notdocker.io/token")));
  EXPECT_FALSE(realm_may_know(url_of("https://ghcr.io"), url_of("https://evil.io/token")));
  EXPECT_FALSE(realm_may_know(url_of("http://127.0.0.1:5000"), url_of("http://1.0.0.1/token")));
  EXPECT_FALSE(realm_may_know(url_of("http://127.0.0.1:5000"), url_of("http://localhost:5000/token")));
  AuthChallenge challenge{AuthChallenge::Kind::kBearer, "http://auth.docker.io/token", ""};
  EXPECT_TRUE(fails_with(token_url(hub, challenge), ErrorCode::kOperationNotPermitted));
}

TEST(OciChallenge, ATokenFitsIntoAHeader) {
  EXPECT_EQ(token_of(R"({"token":"a.b"})").value(), "a.b");
  EXPECT_EQ(token_of(R"({"access_token":"c"})").value(), "c");
  EXPECT_TRUE(fails_with(token_of(R"({"token":"a\r\nX: y"})"), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(token_of("no"), ErrorCode::kMalformed));
}

TEST(DockerCredentials, AreFoundByTheHostAlone) {
  const std::string json = R"({"auths":{"https://example.com:5000/v1/":{"auth":"dXNlcjpwYTpzcw=="},
    "https://index.docker.io/v1/":{"identitytoken":"t"}},"credHelpers":{"other.example.com":"pass"}})";
  const auto entry = docker_config_entry(json, "example.com:5000", "config.json");
  ASSERT_TRUE(is_ok(entry));
  EXPECT_EQ(entry.value().login.user, "user");
  EXPECT_EQ(entry.value().login.password, "pa:ss");
  EXPECT_EQ(entry.value().helper, "");
  EXPECT_TRUE(docker_config_entry(json, "example.com", "c").value().login.empty());
  EXPECT_EQ(docker_config_entry(json, "docker.io", "c").value().login.refresh_token, "t");
  EXPECT_EQ(docker_config_entry(json, "other.example.com", "c").value().helper, "pass");
  EXPECT_TRUE(fails_with(docker_config_entry(R"({"credsStore":"../sh"})", "a", "c"), ErrorCode::kInvalidConfig));
  EXPECT_TRUE(fails_with(docker_config_entry(R"({"auths":{"a":{"auth":"!"}}})", "a", "c"), ErrorCode::kInvalidConfig));
  EXPECT_EQ(helper_login(R"({"Username":"<token>","Secret":"s"})", "h").value().refresh_token, "s");
}

TEST(PushParts, CutAtSegmentsAndJoinToTheFile) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
  const std::vector<FileExtent> extents = {{.kind = "header", .range = {0, 65536}},
                                           {.kind = "payload", .range = {kMiB, 130 * kMiB - 7}},
                                           {.kind = "packed", .range = {131 * kMiB, 100}},
                                           {.kind = "payload", .range = {132 * kMiB, 2 * kMiB}},
                                           {.kind = "toc copy 1", .range = {135 * kMiB, 500}}};
  const std::vector<ByteRange> parts = push_parts(extents, 135 * kMiB + 500);
  const std::vector<ByteRange> expected = {
      {0, kMiB},          {kMiB, 64 * kMiB},      {65 * kMiB, 64 * kMiB}, {129 * kMiB, 2 * kMiB},
      {131 * kMiB, kMiB}, {132 * kMiB, 3 * kMiB}, {135 * kMiB, 500}};
  EXPECT_EQ(parts, expected);
  std::vector<FileExtent> many;
  for (std::uint64_t i = 0; i < 1000; ++i) many.push_back({.kind = "payload", .range = {i * kMiB, kMiB}});
  const std::vector<ByteRange> few = push_parts(many, 1000 * kMiB);
  EXPECT_LE(few.size(), kMostParts);
  std::uint64_t at = 0;
  for (const ByteRange& part : few) {
    EXPECT_EQ(part.offset, at);
    at += part.size;
  }
  EXPECT_EQ(at, 1000 * kMiB);
}

TEST(Sha256Sum, IsThatOfTheStandard) {
  Sha256Sum sum;
  sum.add(std::as_bytes(std::span("ab", 2)));
  sum.add(std::as_bytes(std::span("c", 1)));
  EXPECT_EQ(sum.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_TRUE(is_sha256_text(sum.hex()));
  EXPECT_FALSE(is_sha256_text("BA" + sum.hex().substr(2)));
}

}  // namespace oci_test
}  // namespace fatctx::tools
