// Replaces src/container/format/crypto.cc in a loader without FATCTX_LOADER_TRUST. Nothing is ever trusted:
// open_options_in() refuses trusted keys, and without them no signature and no SHA-256 is compared.
#include "container/format/crypto.h"

namespace fatctx::container {

DiskSha256 sha256(ByteView /*bytes*/) noexcept { return {}; }
Sha256::Sha256() noexcept : state_{} {}
void Sha256::update(ByteView /*bytes*/) noexcept {}
DiskSha256 Sha256::digest() const noexcept { return {}; }
bool signature_holds(ByteView /*message*/, const DiskSignature& /*signature*/, const PublicKey& /*key*/) noexcept {
  return false;
}

PublicKey SigningKey::public_key() const noexcept { return {}; }
DiskSignature SigningKey::sign(ByteView /*message*/) const noexcept { return {}; }

}  // namespace fatctx::container

namespace fatctx {

KeyId PublicKey::id() const noexcept { return {}; }

}  // namespace fatctx
