#include "container/read/read_description.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "container/format/metadata_codec.h"
#include "container/read/open.h"

namespace fatctx::container {
namespace {

struct Described {
  const RecordInfo& record;
  std::vector<std::byte> bytes;
  ContainerDescription description;
};

Result<Described> read_and_decode(const mapping::OsFile& file, const Toc& toc) {
  const auto record = std::find_if(toc.records.begin(), toc.records.end(), [](const RecordInfo& candidate) {
    return candidate.type == RecordType::kDescription;  // F31: it exists
  });
  FATCTX_ASSIGN(MetadataBytes read, read_metadata_record(file, toc, *record, WorkBudget(toc)));
  auto description = decode_description(read.bytes);
  if (description.ok()) return Described{*record, std::move(read.bytes), std::move(description).value()};
  Error error = in_record(std::move(description).error(), *record);
  error.where.file_offset = record->file_offset;
  return error;
}

}  // namespace

Result<ContainerDescription> read_description(const mapping::OsFile& file, const Toc& toc) {
  FATCTX_ASSIGN(Described described, read_and_decode(file, toc));
  return std::move(described.description);
}

Result<ContainerDescription> read_whole_description(const mapping::OsFile& file, const Toc& toc) {
  FATCTX_ASSIGN(Described described, read_and_decode(file, toc));
  const auto again = encode_description(described.description);
  if (again.ok() && again.value() == described.bytes) return std::move(described.description);
  return in_record(
      Error{ErrorCode::kUnsupported,
            "it is not as this version would write it and may say more than this version knows, which would "
            "be lost; update fatctx to write to this file"},
      described.record);
}

}  // namespace fatctx::container
