#include "container/check/needed_records.h"

namespace fatctx::container {

RecordNeeds::RecordNeeds(const Toc& toc) {
  for (const Reference& reference : toc.references) {
    if (reference.kind == ReferenceKind::kWeights) weights_[reference.from_record].push_back(reference.to_record);
    if (reference.kind == ReferenceKind::kTensorTable) tables_[reference.to_record].push_back(reference.from_record);
  }
}

void RecordNeeds::add(const Others& others, std::set<std::uint32_t>& ids) {
  const std::vector<std::uint32_t> before(ids.begin(), ids.end());
  for (const std::uint32_t id : before) {
    const auto found = others.find(id);
    if (found != others.end()) ids.insert(found->second.begin(), found->second.end());
  }
}

std::set<std::uint32_t> RecordNeeds::of(std::set<std::uint32_t> ids) const {
  add(weights_, ids);
  add(tables_, ids);
  return ids;
}

std::set<std::uint32_t> with_description(const Toc& toc, const std::vector<std::uint32_t>& ids) {
  std::set<std::uint32_t> all(ids.begin(), ids.end());
  for (const RecordInfo& record : toc.records) {
    if (record.type == RecordType::kDescription) all.insert(record.id);
  }
  return all;
}

std::set<std::uint32_t> with_what_they_need(const Toc& toc, const std::vector<std::uint32_t>& ids) {
  return RecordNeeds(toc).of(with_description(toc, ids));
}

}  // namespace fatctx::container
