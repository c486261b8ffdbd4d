// Who has signed a generation, and whether that is somebody whom the caller trusts.
#pragma once

#include <cstdint>
#include <span>

#include "container/read/parse.h"
#include "fatctx/base/result.h"
#include "fatctx/keys.h"

namespace fatctx::container {

class SigningKey;

// What a caller asks of a file. A file never supplies its own trust.
struct Trust {
  std::span<const PublicKey> keys = {};  // none: signatures are not asked for
  std::uint64_t minimum_generation = 0;

  [[nodiscard]] bool wants_signature() const noexcept { return !keys.empty(); }
};

// What is signed of a generation whose table of contents has this SHA-256.
[[nodiscard]] SignedMessage signed_message(const Header& header, const DiskSha256& toc_sha256,
                                           const DiskSha256& previous_toc_sha256) noexcept;
// The signature fields of the slot. Requires: `header` is what the slot will say.
[[nodiscard]] SlotSignature sign_generation(const Header& header, ByteView toc, const DiskSha256& previous_toc_sha256,
                                            const SigningKey& key) noexcept;

// Whether the generation is new enough and signed in the name of one of the keys; the signature is not looked at.
// Errors: rollback, signature_missing, signature_bad.
[[nodiscard]] Status check_claims(const Header& header, const Trust& trust);
// The same, and the signature over the table of contents, `toc`. To be asked before anything in it is believed.
// Errors: rollback, signature_missing, signature_bad.
[[nodiscard]] Status check_trust(const Header& header, ByteView toc, const Trust& trust);

}  // namespace fatctx::container
