// The bytes of a record against its hash.
#pragma once

#include "container/crypto.h"
#include "container/hash.h"
#include "container/parse.h"

namespace fatctx::container {

// SHA-256 where the table is authenticated, else XXH3.
class RecordHasher {
 public:
  explicit RecordHasher(const Toc& toc) : toc_(toc) {}
  void update(ByteView bytes) noexcept { toc_.authenticated ? sha256_.update(bytes) : xxh3_.update(bytes); }
  // Are these the bytes of the record? Requires: it is one of the table's.
  [[nodiscard]] bool matches(const RecordInfo& record) const;

 private:
  const Toc& toc_;
  Hasher xxh3_;
  Sha256 sha256_;
};

[[nodiscard]] bool matches_record(const Toc& toc, const RecordInfo& record, ByteView bytes);

}  // namespace fatctx::container
