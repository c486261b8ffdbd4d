// Block indexes: by the index of a new container, a device finds the parts of it that its old files have, at any
// offset. One index serves every old file; an update (fatctx/update.h) serves one, and costs less
// (docs/block_index_format.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "fatctx/base/result.h"
#include "fatctx/progress.h"

namespace fatctx {

struct MakeBlockIndexOptions {
  bool overwrite = false;                     // replace the index if it exists
  std::uint32_t threads = 0;                  // that check the payload; 0: the number of processors, at most 8
  Progress progress = {};                     // called in two passes: the check, the hashes
  const std::atomic<bool>* cancel = nullptr;  // true: stop with `cancelled`
};

struct BlockIndexReport {
  std::string path = {};  // the index
  std::uint64_t index_bytes = 0;
  std::uint64_t block_bytes = 0;  // size of a block: 1 KiB for containers up to 4 GiB
  std::string uuid = {};          // names the container: hexadecimal with dashes
  std::uint64_t generation = 0;
  std::uint64_t file_size = 0;  // bytes of the container, up to its committed end
};

// Writes the block index of the newest generation of a container: 1/128 of its size. Checks every leaf first. The index
// appears whole or not at all.
//
// Memory: 1 MiB a thread. Time: linear in the size.
//
// Errors: not_present (the container is partial), checksum_mismatch (it is damaged), limit_exceeded (it has more than
//         256 GiB), exists, changed (it was written to meanwhile), cancelled, no_space, io; those of opening a
//         container.
[[nodiscard]] Result<BlockIndexReport> make_block_index(const std::string& container, const std::string& target,
                                                        const MakeBlockIndexOptions& options = {});

}  // namespace fatctx
