// Compares the bytes of a record with its hash.
#pragma once

#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/read/leaves.h"
#include "container/read/parse.h"
#include "container/read/stored_rows.h"

namespace fatctx::container {

// A hasher of one record: SHA-256 if the table is authenticated, else XXH3, unless the caller chooses.
class RecordHasher {
 public:
  explicit RecordHasher(const Toc& toc) : RecordHasher(toc, leaf_hash_of(toc)) {}
  // Requires: the table is signed if `which` includes SHA-256.
  RecordHasher(const Toc& toc, LeafHash which) : toc_(toc), which_(which) {}
  void update(ByteView bytes) noexcept {
    if (which_ != LeafHash::kSha256) xxh3_.update(bytes);
    if (which_ != LeafHash::kXxh3) sha256_.update(bytes);
  }
  // Returns whether these are the bytes of the record. Requires: it is the table's own, not a copy.
  [[nodiscard]] bool matches(const RecordInfo& record) const {
    if (which_ != LeafHash::kSha256 && xxh3_.digest() != record.hash) return false;
    return which_ == LeafHash::kXxh3 || sha256_.digest() == StoredRows(toc_).record_sha256(toc_.index_of(record));
  }

 private:
  const Toc& toc_;
  const LeafHash which_;
  Hasher xxh3_;
  Sha256 sha256_;
};

// Returns the error for bytes that match their leaves and not the record's hash: checksum_mismatch (F37).
[[nodiscard]] inline Error not_its_hash(const RecordInfo& record) {
  return Error{ErrorCode::kChecksumMismatch,
               "its bytes do not match its hash, although every leaf does",
               {.file_offset = record.file_offset, .rule = "F37"}};
}

// Returns whether `bytes` are those of the record, in the same way.
[[nodiscard]] inline bool matches_record(const Toc& toc, const RecordInfo& record, ByteView bytes) {
  RecordHasher hasher(toc);
  hasher.update(bytes);
  return hasher.matches(record);
}

}  // namespace fatctx::container
