// NEW while it is made: a file without a name that grows from front to back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "container/format/hash.h"
#include "container/read/parse.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Ownership: borrows the file. Memory: 1 MiB. Threads: one at a time.
class MadeFile {
 public:
  explicit MadeFile(mapping::OsFile& file);

  [[nodiscard]] std::uint64_t size() const noexcept { return written_ + used_; }
  // Returns room for the next bytes, at least one and at most `most`. Errors: those of writing.
  [[nodiscard]] Result<std::span<std::byte>> room(std::uint64_t most);
  // Takes the first `size` bytes of the room.
  void filled(std::size_t size) noexcept { used_ += size; }
  // Reads bytes that were made already. Requires: they were. Errors: those of writing and reading.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out);
  // Writes all bytes. Returns the hash of those since the last call. Errors: those of writing.
  [[nodiscard]] Result<Hash128> end_part();

 private:
  [[nodiscard]] Status flush();

  mapping::OsFile& file_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;
  std::size_t hashed_ = 0;  // of the used bytes
  std::uint64_t written_ = 0;
  std::unique_ptr<Hasher> hasher_;
};

// Writes the leaf hashes of a container whose other bytes are in `file`, and checks all of its payload with them: XXH3
// and, where the table names it, SHA-256. Returns the bytes of hashes that were written. `after` is called after each
// piece of payload, with its size.
// Errors: checksum_mismatch (F26), those of `after`, of reading and writing.
[[nodiscard]] Result<std::uint64_t> write_leaf_hashes(mapping::OsFile& file, const Toc& toc,
                                                      const std::function<Status(std::uint64_t)>& after);

}  // namespace fatctx::container
