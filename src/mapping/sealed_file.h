// A nameless file in memory: written from its first byte to its last, then sealed. Afterwards nobody can change it,
// this process included.
//
// Unlike a SealableBlock it is not mapped while it is filled: writing takes less than half the time of faulting its
// pages in one by one. A reader maps its descriptor.
#pragma once

#include <cstdint>
#include <memory>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::mapping {

// An owner of such a file. Ownership: closes when destroyed; existing maps stay. Threads: one at a time.
class SealedFile {
 public:
  // Makes an empty file. `most_bytes` is the most that will be written. Errors: unsupported (the system has no sealed
  // memory), no_resource, out_of_memory.
  [[nodiscard]] static Result<SealedFile> make(std::uint64_t most_bytes);
  SealedFile(SealedFile&&) noexcept;
  SealedFile& operator=(SealedFile&&) = delete;
  ~SealedFile();
  // Appends to the bytes written before. Errors: out_of_memory, io.
  [[nodiscard]] Status write(ByteView bytes);
  // Forbids all further writes, for good; write() fails from now on.
  [[nodiscard]] Status seal();
  [[nodiscard]] int descriptor() const noexcept;

 private:
  struct Memory;
  explicit SealedFile(std::unique_ptr<Memory> memory) noexcept;
  std::unique_ptr<Memory> memory_;
};

}  // namespace fatctx::mapping
