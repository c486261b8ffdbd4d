#include "container/edit/file_sharing.h"

#include <cstddef>
#include <cstdint>
#include <set>

namespace fatctx::container {

Sharing sharing_of(const Toc& toc, const std::vector<bool>& left_out) {
  std::set<std::uint32_t> with_tables;
  for (const Reference& reference : toc.references) {
    if (reference.kind == ReferenceKind::kTensorTable) with_tables.insert(reference.to_record);
  }
  for (std::size_t i = 0; i < toc.records.size(); ++i) {
    const RecordInfo& record = toc.records[i];
    if (!left_out.empty() && left_out[i]) continue;
    if (record.recipe && !with_tables.contains(record.id)) return Sharing::kBytes;
  }
  return Sharing::kPages;
}

}  // namespace fatctx::container
