// SHA-256 and Ed25519: what protects against authors. The one place that knows libsodium.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "container/format/disk_format.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/keys.h"

namespace fatctx::container {

[[nodiscard]] DiskSha256 sha256(ByteView bytes) noexcept;

// The same hash in pieces.
class Sha256 {
 public:
  Sha256() noexcept;
  void update(ByteView bytes) noexcept;
  [[nodiscard]] DiskSha256 digest() const noexcept;

 private:
  static constexpr std::size_t kStateBytes = 104;
  alignas(8) std::array<std::byte, kStateBytes> state_;
};

// Overwritten with zeros in a way that no compiler leaves out.
void wipe(std::span<std::byte> bytes) noexcept;

inline constexpr std::size_t kSeedBytes = 32;

// The secret half of a key pair, which is wiped when it goes.
class SigningKey {
 public:
  // A new one, of random bytes of the system. Errors: internal (the system gives none).
  [[nodiscard]] static Result<SigningKey> generate();
  // Of the 32 bytes that a key file holds (the seed of RFC 8032).
  [[nodiscard]] static SigningKey of_seed(std::span<const std::byte, kSeedBytes> seed);
  ~SigningKey();
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;

  [[nodiscard]] PublicKey public_key() const noexcept;
  // Copies the seed out; wiping that copy is the caller's.
  void copy_seed(std::span<std::byte, kSeedBytes> seed) const noexcept;
  [[nodiscard]] DiskSignature sign(ByteView message) const noexcept;

 private:
  static constexpr std::size_t kSecretBytes = 64;
  using Secret = std::array<std::byte, kSecretBytes>;
  struct Wipe {
    void operator()(Secret* secret) const noexcept;
  };
  explicit SigningKey(std::unique_ptr<Secret, Wipe> secret) noexcept;
  std::unique_ptr<Secret, Wipe> secret_;  // one place in memory, whoever is moved where
};

// Strict: no key and no nonce of small order, no number that is not the smallest of its kind.
[[nodiscard]] bool signature_holds(ByteView message, const DiskSignature& signature, const PublicKey& key) noexcept;

}  // namespace fatctx::container
