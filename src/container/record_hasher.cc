#include "container/record_hasher.h"

#include "container/stored_rows.h"

namespace fatctx::container {

bool RecordHasher::matches(const RecordInfo& record) const {
  if (!toc_.authenticated) return xxh3_.digest() == record.hash;
  return sha256_.digest() == StoredRows(toc_).record(toc_.index_of(*toc_.find(record.id))).logical_sha256;
}

bool matches_record(const Toc& toc, const RecordInfo& record, ByteView bytes) {
  RecordHasher hasher(toc);
  hasher.update(bytes);
  return hasher.matches(record);
}

}  // namespace fatctx::container
