#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "mapping/file_holes.h"
#include "mapping/uninterrupted.h"
#include "mapping/unique_fd.h"
#include "mapping/write_zeros.h"

namespace fatctx::mapping {

std::vector<ByteRange> holes_of(const OsFile& file, ByteRange range) {
  std::vector<ByteRange> holes;
  if (file.descriptor() < 0 || range.size == 0) return holes;
  // With a description of its own: a seek moves the place in the file for everybody who shares a description.
  const std::string path = "/proc/self/fd/" + std::to_string(file.descriptor());
  const UniqueFd own(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  if (!own.valid()) return holes;
  const std::uint64_t first = file.base() + range.offset;
  const std::uint64_t end = first + range.size;
  for (std::uint64_t at = first; at < end;) {
    const off_t hole = ::lseek(own.get(), static_cast<off_t>(at), SEEK_HOLE);
    if (hole < 0 || static_cast<std::uint64_t>(hole) >= end) break;  // behind the end of the file there is no more
    const off_t data = ::lseek(own.get(), hole, SEEK_DATA);
    const std::uint64_t stop = data < 0 ? end : std::min(static_cast<std::uint64_t>(data), end);
    if (stop <= static_cast<std::uint64_t>(hole)) break;  // the file changes meanwhile
    holes.push_back({static_cast<std::uint64_t>(hole) - file.base(), stop - static_cast<std::uint64_t>(hole)});
    at = stop;
  }
  return holes;
}

bool punch_hole(OsFile& file, ByteRange range) noexcept {
  constexpr int kHole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const auto offset = static_cast<off_t>(file.base() + range.offset);
  return file.descriptor() >= 0 && ::fallocate(file.descriptor(), kHole, offset, static_cast<off_t>(range.size)) == 0;
}

Status make_hole(OsFile& file, ByteRange range) {
  return punch_hole(file, range) ? Status(Done{}) : write_zeros(file, range);
}

}  // namespace fatctx::mapping
