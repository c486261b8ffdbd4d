#include "container/read_description.h"

#include <algorithm>
#include <vector>

#include "container/metadata_codec.h"
#include "container/open.h"

namespace fatctx::container {

Result<ContainerDescription> read_description(const mapping::OsFile& file, const Toc& toc) {
  const auto record = std::find_if(toc.records.begin(), toc.records.end(), [](const RecordInfo& candidate) {
    return candidate.type == RecordType::kDescription;  // F31: it is there
  });
  FATCTX_ASSIGN(const std::vector<std::byte> bytes, read_metadata_record(file, toc, *record));
  auto description = decode_description(bytes);
  if (description.ok()) return description;
  Error error = in_record(std::move(description).error(), *record);
  error.where.file_offset = record->file_offset;
  return error;
}

}  // namespace fatctx::container
