// Keys for signatures (fatctx/signature.h): Ed25519 key pairs, each key in a file with one line of text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx {

// A SHA-256 of a public key. A file names its signer by it, which does not establish trust.
using KeyId = std::array<std::byte, 32>;

struct PublicKey {
  std::array<std::byte, 32> bytes = {};

  [[nodiscard]] KeyId id() const noexcept;
  friend bool operator==(const PublicKey&, const PublicKey&) noexcept = default;
};

// Reads the line of a .pub file: "fatctx-public-key-v1 " and 64 hexadecimal digits. Errors: invalid_argument.
[[nodiscard]] Result<PublicKey> parse_public_key(std::string_view text);
[[nodiscard]] std::string to_text(const PublicKey& key);
// Reads a .pub file. Errors: those of parse_public_key, not_found, io.
[[nodiscard]] Result<PublicKey> read_public_key(const std::string& path);

struct KeyFiles {
  std::string secret_path;  // mode 0600
  std::string public_path;
  PublicKey public_key;
};

// Makes a key pair of random bytes and writes `name`.key and `name`.pub. The secret key is not encrypted: every reader
// of the file can sign.
// Errors: invalid_argument (no name), exists (one of the files exists; nothing is written), not_found (no such folder),
//         no_space, io, internal, commit_unknown (the folder was not synced). There are both files or none.
[[nodiscard]] Result<KeyFiles> make_keys(const std::string& name);

}  // namespace fatctx
