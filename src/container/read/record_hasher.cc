#include "container/read/record_hasher.h"

#include "container/read/stored_rows.h"

namespace fatctx::container {

bool RecordHasher::matches(const RecordInfo& record) const {
  if (which_ != LeafHash::kSha256 && xxh3_.digest() != record.hash) return false;
  return which_ == LeafHash::kXxh3 ||
         sha256_.digest() == StoredRows(toc_).record_sha256(toc_.index_of(*toc_.find(record.id)));
}

bool matches_record(const Toc& toc, const RecordInfo& record, ByteView bytes) {
  RecordHasher hasher(toc);
  hasher.update(bytes);
  return hasher.matches(record);
}

}  // namespace fatctx::container
