#include "tools/source/oci_reference.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "fatctx/content_hash.h"
#include "tools/source/http_url.h"

namespace fatctx::tools {
namespace {

constexpr std::string_view kOciScheme = "oci://";
constexpr std::size_t kMostRepository = 255;
constexpr std::size_t kMostTag = 128;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// Letters and digits, with ".", "_", "__" or any number of "-" between them.
bool is_repository_part(std::string_view part) {
  if (part.empty() || !is_lower_or_digit(part.front()) || !is_lower_or_digit(part.back())) return false;
  for (std::size_t at = 0; at < part.size();) {
    if (is_lower_or_digit(part[at])) {
      ++at;
      continue;
    }
    const std::size_t end = static_cast<std::size_t>(
        std::find_if(part.begin() + static_cast<std::ptrdiff_t>(at), part.end(), is_lower_or_digit) - part.begin());
    const std::string_view between = part.substr(at, end - at);
    const bool dashes = between.find_first_not_of('-') == std::string_view::npos;
    if (!dashes && between != "." && between != "_" && between != "__") return false;
    at = end;
  }
  return true;
}

bool is_repository(std::string_view text) {
  if (text.empty() || text.size() > kMostRepository) return false;
  for (std::string_view rest = text;;) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    if (!is_repository_part(rest.substr(0, slash))) return false;
    if (slash == rest.size()) return true;
    rest.remove_prefix(slash + 1);
  }
}

bool is_tag(std::string_view text) {
  const auto is_word = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) != 0 || c == '_'); };
  return !text.empty() && text.size() <= kMostTag && is_word(static_cast<unsigned char>(text.front())) &&
         std::all_of(text.begin(), text.end(), [&](unsigned char c) { return is_word(c) || c == '.' || c == '-'; });
}

Error wrong_reference(std::string_view text, std::string_view why) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: {}; a reference is oci://HOST/REPO:TAG or oci://HOST/REPO@sha256:DIGEST", text, why)};
}

}  // namespace

bool is_oci(std::string_view text) noexcept { return text.starts_with(kOciScheme); }

std::string OciReference::text() const {
  return fmt::format("{}{}/{}{}{}", kOciScheme, host, repository, tag.empty() ? "" : ":" + tag,
                     sha256.empty() ? "" : "@sha256:" + sha256);
}

OciReference OciReference::by_digest(std::string other_sha256) const {
  return {host, repository, "", std::move(other_sha256)};
}

Result<OciReference> parse_oci_reference(std::string_view text) {
  if (!is_oci(text)) return wrong_reference(text, "it does not begin with oci://");
  std::string_view rest = text.substr(kOciScheme.size());
  const std::size_t slash = rest.find('/');
  if (slash == std::string_view::npos) return wrong_reference(text, "it names no repository");
  OciReference reference;
  reference.host = std::string(rest.substr(0, slash));
  if (reference.host.find('@') != std::string::npos) {
    return Error{ErrorCode::kInvalidArgument,
                 "credentials do not belong into a reference; log in with docker, oras or podman, or name --auth-file"};
  }
  if (!parse_http_url("https://" + reference.host)) return wrong_reference(text, "its host is none");
  rest.remove_prefix(slash + 1);
  const std::size_t at = rest.find('@');
  if (at != std::string_view::npos) {
    const std::string_view digest = rest.substr(at + 1);
    constexpr std::string_view kSha256 = "sha256:";
    if (!digest.starts_with(kSha256)) {
      return Error{ErrorCode::kUnsupported, fmt::format("{}: only digests of sha256 are known", text)};
    }
    reference.sha256 = std::string(digest.substr(kSha256.size()));
    if (!is_sha256_text(reference.sha256)) {
      return wrong_reference(text, "its digest does not have 64 lower-case hexadecimal digits");
    }
    rest = rest.substr(0, at);
  }
  const std::size_t colon = rest.find(':');
  if (colon != std::string_view::npos) {
    reference.tag = std::string(rest.substr(colon + 1));
    if (!is_tag(reference.tag)) return wrong_reference(text, "its tag is none");
    rest = rest.substr(0, colon);
  } else if (reference.sha256.empty()) {
    return wrong_reference(text, "it names no tag");
  }
  reference.repository = std::string(rest);
  if (!is_repository(rest)) {
    return wrong_reference(text, "its repository is none: lower-case words, with slashes between them");
  }
  return reference;
}

}  // namespace fatctx::tools
