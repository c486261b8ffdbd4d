// Hashes bytes outside of containers: with the hash that containers use (XXH3-128, which detects accidents, not
// forgeries), for caches and for comparing files; and with SHA-256, by which registries name what they store.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx {

class Container;
struct RecordInfo;

[[nodiscard]] Hash128 content_hash(ByteView bytes) noexcept;

// Hashes a file. Reads it once, in pieces of a fixed size. Errors: not_found, io, not_regular_file, changed.
[[nodiscard]] Result<Hash128> content_hash_of_file(const std::string& path);

// Hashes the hashes that the container states for a record and for the weight blobs it needs: two compilations of one
// name differ in it. It stays the same if the container is compacted. Reads no payload. Errors: not_found.
[[nodiscard]] Result<Hash128> content_hash_with_weights(const Container& container, const RecordInfo& record);

// A SHA-256 of bytes that come in pieces.
class Sha256Sum {
 public:
  Sha256Sum();
  ~Sha256Sum();
  Sha256Sum(Sha256Sum&&) noexcept;
  Sha256Sum& operator=(Sha256Sum&&) noexcept;

  void add(ByteView bytes) noexcept;
  // Returns 64 lower-case hexadecimal digits. More bytes may follow.
  [[nodiscard]] std::string hex() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns whether a text is 64 lower-case hexadecimal digits.
[[nodiscard]] bool is_sha256_text(std::string_view text) noexcept;

}  // namespace fatctx
