// Bytes in which something shared may be found: an input of the packer, or a segment that is stored already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

// Threads: every member from any number of threads.
class RecordBytes {
 public:
  virtual ~RecordBytes() = default;
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  // Fills `buffer` from `offset`. May open what is closed. Errors: those of the source.
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const = 0;
  // Lets go of what it holds open; a later read_at opens it again.
  virtual void close() const noexcept = 0;

 protected:
  RecordBytes() = default;
  RecordBytes(const RecordBytes&) = default;
  RecordBytes(RecordBytes&&) = default;
  RecordBytes& operator=(const RecordBytes&) = default;
  RecordBytes& operator=(RecordBytes&&) = default;
};

}  // namespace fatctx::container::sharing
