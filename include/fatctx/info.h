// What is in a container, as JSON: what `fatctx info --json` prints and the C interface hands out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx {

// Parts besides the file and its records.
struct InfoParts {
  bool graphs = false;
  bool options = false;
  bool sharing = false;                          // reads payload: see measure_sharing()
  std::optional<std::uint32_t> tensors_of = {};  // id of a weight blob
};

// Schema "fatctx.info/1": indented, pure ASCII (so that no name can harm a terminal), without a final line feed.
// `description` is what Container::describe() says, or an empty one if that is damaged.
// Errors: those of Container::tensors and of measure_sharing.
[[nodiscard]] Result<std::string> info_json(const Container& container, const ContainerDescription& description,
                                            const InfoParts& parts = {});

// The field tables of the format, schema "fatctx.layout/1"; form as above.
[[nodiscard]] std::string layout_json();

// Ids of the records that lie on the same bytes as `record`, without itself.
[[nodiscard]] std::vector<std::uint32_t> same_bytes_as(const RecordInfo& record, std::span<const RecordInfo> records);

}  // namespace fatctx
