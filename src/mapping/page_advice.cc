#include "mapping/page_advice.h"

namespace fatctx::mapping {

Result<PopulateMethod> populate(const OsFile& file, ByteView mapped, ByteRange range) {
  return populate_at(file, mapped.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size)),
                     range.offset);
}

}  // namespace fatctx::mapping
