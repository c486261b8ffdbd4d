// The name of an artifact in an OCI registry: oci://HOST/REPO:TAG or oci://HOST/REPO@sha256:DIGEST.
#pragma once

#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::tools {

struct OciReference {
  std::string host;        // with the port, as it was written: "localhost:5000"
  std::string repository;  // "models/detector"
  std::string tag;         // empty: a digest alone
  std::string sha256;      // 64 hexadecimal digits; empty: a tag alone. It wins over a tag.

  // Returns what the registry knows the manifest by: the digest if there is one, else the tag.
  [[nodiscard]] std::string manifest_name() const { return sha256.empty() ? tag : "sha256:" + sha256; }
  [[nodiscard]] std::string text() const;
  // Returns the reference to another manifest of this repository.
  [[nodiscard]] OciReference by_digest(std::string other_sha256) const;
};

// Returns whether a text begins with oci://.
[[nodiscard]] bool is_oci(std::string_view text) noexcept;
// Errors: invalid_argument (the message names the part that is wrong), unsupported (another digest than sha256).
[[nodiscard]] Result<OciReference> parse_oci_reference(std::string_view text);

}  // namespace fatctx::tools
