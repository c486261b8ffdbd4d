// Makes NEW by the steps of an update, from front to back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "container/update/part_decoder.h"
#include "container/update/update_file.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// The caller of follow_steps(): it reads old files, and hears of steps and parts.
struct StepCaller {
  // Reads bytes of an OLD, counted from 0. They are within the size that the update names.
  std::function<Status(std::size_t old, std::uint64_t offset, std::span<std::byte> out)> read_old;
  // Hears of each step before its bytes are made.
  std::function<Status(const DecodedStep&)> step;
  // Hears of each part when its bytes are in the file, with their hash.
  std::function<Status(const StoredPart&, const Hash128& made)> part;
};

// Follows all steps of an update that was checked. Writes NEW into the empty `file`.
// Memory: 1 MiB, and a part of the update. Errors: malformed, with the path of the update; those of the caller, of
// reading the update, and of writing.
[[nodiscard]] Status follow_steps(UpdateFile& update, mapping::OsFile& file, const StepCaller& caller);

}  // namespace fatctx::container
