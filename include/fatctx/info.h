// The contents of a container as JSON, for `fatctx info --json` and the C interface.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/description.h"

namespace fatctx {

// A choice of parts to add to the file and its records.
struct InfoParts {
  bool graphs = false;
  bool options = false;
  bool sharing = false;                          // reads payload: see measure_sharing()
  std::optional<std::uint32_t> tensors_of = {};  // id of a weight blob
};

// Returns JSON of schema "fatctx.info/1": indented, pure ASCII (so that no name can harm a terminal), without a final
// line feed. `description` is the result of Container::describe(), or an empty one if that is damaged.
// Errors: those of Container::tensors and of measure_sharing.
[[nodiscard]] Result<std::string> info_json(const Container& container, const ContainerDescription& description,
                                            const InfoParts& parts = {});

// Returns the field tables of the format, schema "fatctx.layout/1", in the same form.
[[nodiscard]] std::string layout_json();

// Returns the ids of the other records that are stored in the same bytes as `record`. Looks at all of them: a caller
// that asks about every record makes a SameBytes.
[[nodiscard]] std::vector<std::uint32_t> same_bytes_as(const RecordInfo& record, std::span<const RecordInfo> records);

// A table of the records by the bytes that they are stored in, made in one pass.
class SameBytes {
 public:
  explicit SameBytes(std::span<const RecordInfo> records);

  // Returns the ids of the other records that are stored in the same bytes as `record`, in the order of the records.
  [[nodiscard]] std::vector<std::uint32_t> others(const RecordInfo& record) const;
  // Returns true if a record before `record` is stored in the same bytes.
  [[nodiscard]] bool repeats(const RecordInfo& record) const;

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;  // offset in the file, stored bytes
  [[nodiscard]] std::span<const std::uint32_t> ids_at(const RecordInfo& record) const;

  std::map<Place, std::vector<std::uint32_t>> ids_;
};

}  // namespace fatctx
