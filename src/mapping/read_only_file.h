// The base of read-only files: parts, copies and views of other files.
#pragma once

#include <cstdint>

#include "mapping/os_file.h"

namespace fatctx::mapping {

// A file that refuses every change with `internal`: our own code never tries one.
class ReadOnlyFile : public OsFile {
 public:
  Status write_at(std::uint64_t, ByteView) final { return refused(); }
  Status allocate(std::uint64_t) final { return refused(); }
  Status sync() final { return refused(); }
  int descriptor() const noexcept override { return -1; }

 private:
  static Error refused() { return Error{ErrorCode::kInternal, "this file is only read"}; }
};

}  // namespace fatctx::mapping
