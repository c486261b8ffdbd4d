// The interface of files for the rest of the project, through which tests inject faults.
//
// Implementations: the real one (os_file_posix.cc), a part of a file (windowed_file.h), a buffer (buffer_file.h), and
// in the tests one in memory that fails or is truncated on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "mapping/file_identity.h"

namespace fatctx::mapping {

class MappedRegion;

// A computation over bytes that stay where they are until it returns. It only computes. It must not wait, open files or
// call code of others, because a writer of the file may have to wait for it.
using Look = std::function<void(ByteView)>;

// Where a range of a file is mapped already: `bytes` are those of the range, a part of `region`. Empty: nowhere.
struct MappedPlace {
  ByteView bytes;
  const MappedRegion* region = nullptr;
};

// An open file. Threads: read_at, show and identity from any number of threads; the writing members from one.
class OsFile {
 public:
  virtual ~OsFile() = default;

  // Fills `buffer` from `offset`; continues after short reads and interruptions.
  // Errors: truncated (the file ends before the buffer is full), io.
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const = 0;
  // Shows `look` the bytes of `range` in memory, without a copy, if a file that is cut meanwhile cannot turn that into
  // a signal. Uses `mapped` if the caller has a map of the range, else maps it for the call. Returns false if it showed
  // nothing: the caller then reads, and learns the reason if bytes are missing. Errors: changed (only with the
  // guard of bus_guard.h: bytes went away, and `look` saw zeros).
  [[nodiscard]] virtual Result<bool> show(ByteRange range, const MappedPlace& mapped, const Look& look) const {
    (void)range, (void)mapped, (void)look;
    return false;
  }
  // Errors: no_space, io.
  [[nodiscard]] virtual Status write_at(std::uint64_t offset, ByteView bytes) = 0;
  // Reserves space without changing the size, if the filesystem can, so that no_space comes early. Errors: no_space.
  [[nodiscard]] virtual Status allocate(std::uint64_t size) = 0;
  // Writes data and size to the disk before it returns. A failed sync must not be retried and then trusted.
  [[nodiscard]] virtual Status sync() = 0;
  [[nodiscard]] virtual Result<FileIdentity> identity() const = 0;
  // Returns the descriptor of the file; -1 if there is none.
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // Returns the offset of byte 0 in the file behind the descriptor.
  [[nodiscard]] virtual std::uint64_t base() const noexcept { return 0; }
  // Returns the bytes themselves if they are in memory already and need no mapping; else empty.
  [[nodiscard]] virtual ByteView memory() const noexcept { return {}; }
};

struct OpenFlags {
  bool follow_symlinks = true;
};

// Opens for reading; never blocks on a fifo or device. The result may be of any kind: check identity().regular.
[[nodiscard]] Result<std::unique_ptr<OsFile>> open_for_reading(const std::string& path, OpenFlags flags = {});
// Duplicates the caller's descriptor, so that the caller may close it.
[[nodiscard]] Result<std::unique_ptr<OsFile>> duplicate_for_reading(int descriptor);
// Makes one stat call; follows links unless `flags` forbid it. Errors: not_found, io.
[[nodiscard]] Result<FileIdentity> stat_path(const std::string& path, OpenFlags flags = {});
[[nodiscard]] Result<FileIdentity> stat_descriptor(int descriptor);

}  // namespace fatctx::mapping
