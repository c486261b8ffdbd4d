// SHA-256 and Ed25519, which protect against attackers. Only crypto.cc uses libsodium.
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

// A SHA-256 of bytes that come in pieces.
class Sha256 {
 public:
  Sha256() noexcept;
  void update(ByteView bytes) noexcept;
  [[nodiscard]] DiskSha256 digest() const noexcept;

 private:
  static constexpr std::size_t kStateBytes = 104;
  alignas(8) std::array<std::byte, kStateBytes> state_;
};

// Overwrites the bytes with zeros; the compiler cannot remove it.
void wipe(std::span<std::byte> bytes) noexcept;

inline constexpr std::size_t kSeedBytes = 32;

// A secret key that is wiped when it is destroyed.
class SigningKey {
 public:
  // Returns a new key from random bytes of the system. Errors: internal (the system provides none).
  [[nodiscard]] static Result<SigningKey> generate();
  // Returns the key of the 32 bytes in a key file (the seed of RFC 8032).
  [[nodiscard]] static SigningKey of_seed(std::span<const std::byte, kSeedBytes> seed);
  ~SigningKey();
  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;

  [[nodiscard]] PublicKey public_key() const noexcept;
  // Copies the seed out; the caller must wipe the copy.
  void copy_seed(std::span<std::byte, kSeedBytes> seed) const noexcept;
  [[nodiscard]] DiskSignature sign(ByteView message) const noexcept;

 private:
  static constexpr std::size_t kSecretBytes = 64;
  using Secret = std::array<std::byte, kSecretBytes>;
  struct Wipe {
    void operator()(Secret* secret) const noexcept;
  };
  explicit SigningKey(std::unique_ptr<Secret, Wipe> secret) noexcept;
  std::unique_ptr<Secret, Wipe> secret_;  // keeps its address when the key is moved
};

// Strict verification: rejects small-order keys and nonces and non-canonical scalars.
[[nodiscard]] bool signature_holds(ByteView message, const DiskSignature& signature, const PublicKey& key) noexcept;

}  // namespace fatctx::container
