// The bytes of a record against its hash.
#pragma once

#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"

namespace fatctx::container {

// SHA-256 where the table is authenticated, else XXH3; or whatever is asked for.
class RecordHasher {
 public:
  explicit RecordHasher(const Toc& toc) : RecordHasher(toc, leaf_hash_of(toc)) {}
  // Requires: SHA-256 only of a table that is signed.
  RecordHasher(const Toc& toc, LeafHash which) : toc_(toc), which_(which) {}
  void update(ByteView bytes) noexcept {
    if (which_ != LeafHash::kSha256) xxh3_.update(bytes);
    if (which_ != LeafHash::kXxh3) sha256_.update(bytes);
  }
  // Are these the bytes of the record? Requires: it is one of the table's.
  [[nodiscard]] bool matches(const RecordInfo& record) const;

 private:
  const Toc& toc_;
  const LeafHash which_;
  Hasher xxh3_;
  Sha256 sha256_;
};

[[nodiscard]] bool matches_record(const Toc& toc, const RecordInfo& record, ByteView bytes);

}  // namespace fatctx::container
