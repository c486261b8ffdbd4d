// Reads the tensors of an IREE parameter archive (`.irpa`), so that a weight blob made of one is a set of tensors by
// name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"

namespace fatctx {

struct IrpaTensors {
  // In the order of the archive. Offsets count from the first byte of the archive, so they are offsets in a weight
  // blob that holds the archive as it is. The archive knows sizes only: every tensor is uint8 with shape {size}, for
  // the caller to refine. Entries that share bytes carry the alias flag.
  std::vector<PackTensor> tensors;
  // Entries without bytes in the file: a pattern that the runtime repeats. They are not among the tensors.
  std::uint64_t splat_count = 0;
  std::uint64_t file_size = 0;
};

// Reads the index of the archive at `path`, never its parameters. The archive may be a chain of several headers.
//
// Errors: not_found, io, not_regular_file, truncated, bad_magic, unsupported (a newer version, entries that are stored
//         in other files), malformed (naming entry and byte), limit_exceeded.
// Cost: the index is read once, at most 256 MiB of it.
[[nodiscard]] Result<IrpaTensors> tensors_from_irpa(const std::string& path);

}  // namespace fatctx
