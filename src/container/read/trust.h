// Checks who signed a generation, and whether the caller trusts that key.
#pragma once

#include <cstdint>
#include <span>

#include "container/read/parse.h"
#include "fatctx/base/result.h"
#include "fatctx/keys.h"

namespace fatctx::container {

class SigningKey;

// A set of requirements that the caller makes of a file. A file never supplies its own trust.
struct Trust {
  std::span<const PublicKey> keys = {};  // if empty, signatures are not checked
  std::uint64_t minimum_generation = 0;

  [[nodiscard]] bool wants_signature() const noexcept { return !keys.empty(); }
};

// Returns the message that is signed for a generation whose table of contents has a head with this SHA-256.
[[nodiscard]] SignedMessage signed_message(const Header& header, const DiskSha256& toc_sha256,
                                           const DiskSha256& previous_toc_sha256) noexcept;
// Returns the signature fields of the slot. Requires: `header` holds the values that the slot will have.
[[nodiscard]] SlotSignature sign_generation(const Header& header, ByteView toc_head,
                                            const DiskSha256& previous_toc_sha256, const SigningKey& key) noexcept;

// Returns whether the table of contents matches the SHA-256 of the slot: its head, and each page the SHA-256 in the
// head. Requires: header.signature.
[[nodiscard]] bool toc_sha256_matches(ByteView toc, const Header& header);

// Checks that the generation is new enough and names one of the keys as its signer; does not verify the signature.
// Errors: rollback, signature_missing, signature_bad.
[[nodiscard]] Status check_claims(const Header& header, const Trust& trust);
// Checks the claims, and verifies the signature over the head of the table of contents. It covers a page of the table
// if the page matches its SHA-256 in the head, which the caller compares.
// Errors: rollback, signature_missing, signature_bad.
[[nodiscard]] Status check_trust_in_head(const Header& header, ByteView head, const Trust& trust);
// Checks the claims, and verifies the signature over the table of contents, `toc`. Must be called before anything in
// the table is used.
// Errors: rollback, signature_missing, signature_bad.
[[nodiscard]] Status check_trust(const Header& header, ByteView toc, const Trust& trust);

}  // namespace fatctx::container
