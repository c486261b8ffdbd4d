// Bytes in which the search for shared bytes looks: an input of the packer, or a segment that is stored already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

// A source of bytes that opens itself when it is read. Threads: every member from any number of threads.
class RecordBytes {
 public:
  virtual ~RecordBytes() = default;
  [[nodiscard]] virtual std::uint64_t size() const noexcept = 0;
  // Fills `buffer` from `offset`. Opens the source if it is closed. Errors: those of the source.
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const = 0;
  // Releases the resources that it holds open; a later read_at opens them again.
  virtual void close() const noexcept = 0;

 protected:
  RecordBytes() = default;
  RecordBytes(const RecordBytes&) = default;
  RecordBytes(RecordBytes&&) = default;
  RecordBytes& operator=(const RecordBytes&) = default;
  RecordBytes& operator=(RecordBytes&&) = default;
};

}  // namespace fatctx::container::sharing
