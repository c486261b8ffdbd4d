// A file without a name that lies in memory: written from its first byte to its last, then sealed, so that nobody can
// change it any more, this process included.
//
// Unlike a SealableBlock it is not mapped while it is filled: writing takes less than half the time of faulting its
// pages in one by one. Who wants to read it maps its descriptor.
#pragma once

#include <cstdint>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

// Ownership: closes when destroyed; what is mapped of it stays. Threads: one at a time.
class SealedFile {
 public:
  // Errors: unsupported (no sealed memory on this system), no_resource, out_of_memory.
  [[nodiscard]] static Result<SealedFile> make();
  // Behind what was written before. Errors: out_of_memory, io.
  [[nodiscard]] Status write(ByteView bytes);
  // For good; write() fails from now on.
  [[nodiscard]] Status seal();
  [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }

 private:
  explicit SealedFile(UniqueFd fd) noexcept : fd_(std::move(fd)) {}
  UniqueFd fd_;
  std::uint64_t size_ = 0;
};

// The same file behind the same number, by a descriptor that cannot write: before Linux 6.7 sealed memory gives no
// shared map, not even one to read, through a descriptor that could. Errors: those of open (/proc is needed).
[[nodiscard]] Status make_read_only(int descriptor);

}  // namespace fatctx::mapping
