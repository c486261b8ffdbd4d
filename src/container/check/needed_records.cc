#include "container/check/needed_records.h"

namespace fatctx::container {

std::set<std::uint32_t> with_description(const Toc& toc, const std::vector<std::uint32_t>& ids) {
  std::set<std::uint32_t> all(ids.begin(), ids.end());
  for (const RecordInfo& record : toc.records) {
    if (record.type == RecordType::kDescription) all.insert(record.id);
  }
  return all;
}

std::set<std::uint32_t> with_what_they_need(const Toc& toc, const std::vector<std::uint32_t>& ids) {
  std::set<std::uint32_t> all = with_description(toc, ids);
  for (const Reference& reference : toc.references) {
    if (reference.kind == ReferenceKind::kWeights && all.contains(reference.from_record)) {
      all.insert(reference.to_record);
    }
  }
  for (const Reference& reference : toc.references) {
    if (reference.kind == ReferenceKind::kTensorTable && all.contains(reference.to_record)) {
      all.insert(reference.from_record);
    }
  }
  return all;
}

}  // namespace fatctx::container
