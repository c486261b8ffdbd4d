#include "mapping/read_through.h"

#include <algorithm>
#include <cerrno>
#include <memory>

#include <fmt/format.h>

#include "mapping/os_error.h"

namespace fatctx::mapping {
namespace {

constexpr std::size_t kReadUnit = std::size_t{256} << 10;

}  // namespace

Error bad_page_error(const OsFile& file, std::uint64_t offset, int error_number) {
  std::byte probe{};
  auto read = file.read_at(offset, {&probe, 1});
  if (read.ok()) {
    Error error = os_error(error_number, fmt::format("cannot bring the page at byte {:#x} into memory", offset));
    if (error_number == 0 || error_number == EFAULT) {
      error.code = ErrorCode::kChanged;
      error.message = fmt::format(
          "the page at byte {:#x} was out of reach and can be read again: the file was cut and grown, or its disk "
          "failed for a moment; open it again",
          offset);
    }
    error.where.file_offset = offset;
    return error;
  }
  Error error = std::move(read).error();
  error.where.file_offset = offset;
  if (error.code != ErrorCode::kTruncated) return error;
  error.code = ErrorCode::kChanged;
  error.message = fmt::format("the file was cut before byte {:#x} while it was open; open it again", offset);
  return error;
}

Status read_through(const OsFile& file, ByteRange range) {
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kReadUnit);
  for (std::uint64_t done = 0; done < range.size;) {
    const std::size_t size = std::min<std::uint64_t>(kReadUnit, range.size - done);
    auto read = file.read_at(range.offset + done, {buffer.get(), size});
    if (!read.ok()) return bad_page_error(file, read.error().where.file_offset.value_or(range.offset + done), 0);
    done += size;
  }
  return Done{};
}

}  // namespace fatctx::mapping
