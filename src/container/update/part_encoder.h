// Encodes the steps of an update, part by part.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "container/sharing/record_bytes.h"
#include "container/update/part_groups.h"
#include "container/update/step_models.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx::container {

struct EncodedPart {
  std::uint32_t step_count = 0;
  std::vector<std::byte> coded;
  std::vector<std::byte> raw;
  Hash128 made_hash;
};

// Ownership: borrows all bytes, and the groups. Threads: one at a time.
class PartEncoder {
 public:
  // `sources` are NEW itself and each OLD, as UpdateStep::source counts them. Literals are differences to bytes of the
  // same group only.
  PartEncoder(std::span<const sharing::RecordBytes* const> sources, const PartGroups& groups);
  ~PartEncoder();

  // Encodes the next part of NEW. Requires: the steps make `part` from front to back, and begin where the last part
  // ended. Memory: the part, twice. Errors: those of reading.
  [[nodiscard]] Result<EncodedPart> encode(ByteRange part, std::span<const UpdateStep> steps);

 private:
  struct Models;
  class Part;

  std::span<const sharing::RecordBytes* const> sources_;
  const PartGroups& groups_;
  std::unique_ptr<Models> models_;
};

}  // namespace fatctx::container
