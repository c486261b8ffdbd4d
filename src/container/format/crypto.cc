#include "container/format/crypto.h"

#include <cstring>
#include <new>

#include <sodium.h>

namespace fatctx::container {
namespace {

const unsigned char* chars(ByteView bytes) noexcept { return reinterpret_cast<const unsigned char*>(bytes.data()); }
unsigned char* out_chars(std::span<std::byte> bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes.data()); }

}  // namespace

static_assert(crypto_hash_sha256_BYTES == sizeof(DiskSha256));
static_assert(crypto_sign_BYTES == sizeof(DiskSignature));
static_assert(crypto_sign_PUBLICKEYBYTES == sizeof(PublicKey::bytes));
static_assert(crypto_sign_SEEDBYTES == kSeedBytes);

DiskSha256 sha256(ByteView bytes) noexcept {
  DiskSha256 digest;
  (void)crypto_hash_sha256(out_chars(digest), chars(bytes), bytes.size());
  return digest;
}

Sha256::Sha256() noexcept {
  static_assert(sizeof(crypto_hash_sha256_state) == kStateBytes && alignof(crypto_hash_sha256_state) <= 8);
  (void)crypto_hash_sha256_init(new (state_.data()) crypto_hash_sha256_state);
}

void Sha256::update(ByteView bytes) noexcept {
  auto* state = std::launder(reinterpret_cast<crypto_hash_sha256_state*>(state_.data()));
  (void)crypto_hash_sha256_update(state, chars(bytes), bytes.size());
}

DiskSha256 Sha256::digest() const noexcept {
  crypto_hash_sha256_state state;  // a copy, because finishing destroys it
  std::memcpy(&state, state_.data(), sizeof(state));
  DiskSha256 digest;
  (void)crypto_hash_sha256_final(&state, out_chars(digest));
  return digest;
}

void wipe(std::span<std::byte> bytes) noexcept { sodium_memzero(bytes.data(), bytes.size()); }

void SigningKey::Wipe::operator()(Secret* secret) const noexcept {
  wipe(*secret);
  delete secret;
}

SigningKey::SigningKey(std::unique_ptr<Secret, Wipe> secret) noexcept : secret_(std::move(secret)) {}
SigningKey::~SigningKey() = default;
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;

Result<SigningKey> SigningKey::generate() {
  if (sodium_init() < 0) return Error{ErrorCode::kInternal, "libsodium does not start; no key can be made"};
  std::array<std::byte, kSeedBytes> seed;
  randombytes_buf(seed.data(), seed.size());
  SigningKey key = of_seed(seed);
  wipe(seed);
  return key;
}

SigningKey SigningKey::of_seed(std::span<const std::byte, kSeedBytes> seed) {
  std::unique_ptr<Secret, Wipe> secret(new Secret);
  PublicKey key;
  static_assert(crypto_sign_SECRETKEYBYTES == kSecretBytes);
  (void)crypto_sign_seed_keypair(out_chars(key.bytes), out_chars(*secret), chars(seed));
  return SigningKey(std::move(secret));
}

PublicKey SigningKey::public_key() const noexcept {
  PublicKey key;
  (void)crypto_sign_ed25519_sk_to_pk(out_chars(key.bytes), chars(*secret_));
  return key;
}

void SigningKey::copy_seed(std::span<std::byte, kSeedBytes> seed) const noexcept {
  (void)crypto_sign_ed25519_sk_to_seed(out_chars(seed), chars(*secret_));
}

DiskSignature SigningKey::sign(ByteView message) const noexcept {
  DiskSignature signature;
  (void)crypto_sign_detached(out_chars(signature), nullptr, chars(message), message.size(), chars(*secret_));
  return signature;
}

bool signature_holds(ByteView message, const DiskSignature& signature, const PublicKey& key) noexcept {
  return crypto_sign_verify_detached(chars(signature), chars(message), message.size(), chars(key.bytes)) == 0;
}

}  // namespace fatctx::container

namespace fatctx {

KeyId PublicKey::id() const noexcept { return container::sha256(bytes); }

}  // namespace fatctx
