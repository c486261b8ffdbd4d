// Raw calls, because Boost.Interprocess has no populate and reports advice as a bool without the error number.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/page_advice.h"
#include "mapping/page_range.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // older headers; the kernel decides
#endif

namespace fatctx::mapping {
namespace {

constexpr std::size_t kReadUnit = std::size_t{256} << 10;

int advise(PageRange pages, int advice) noexcept {
  for (;;) {
    if (::madvise(pages.start(), pages.size(), advice) == 0) return 0;
    if (errno != EINTR && errno != EAGAIN) return errno;
  }
}

// Halves the range until one page is left: the first that cannot be brought in.
PageRange first_bad_page(PageRange pages) noexcept {
  while (pages.size() > page_size()) {
    const std::uintptr_t middle = pages.begin + pages.size() / page_size() / 2 * page_size();
    const bool first_half_is_bad = advise({pages.begin, middle}, MADV_POPULATE_READ) != 0;
    (first_half_is_bad ? pages.end : pages.begin) = middle;
  }
  return pages;
}

// pread knows what a fault does not say: whether the file ends there, or the disk fails.
Error bad_page_error(const OsFile& file, std::uint64_t offset, int error_number) {
  std::byte probe{};
  auto read = file.read_at(offset, {&probe, 1});
  if (read.ok()) {
    Error error = os_error(error_number, fmt::format("cannot bring the page at byte {:#x} into memory", offset));
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

Result<PopulateMethod> read_ahead(const OsFile& file, PageRange pages, ByteRange range) {
  (void)advise(pages, MADV_WILLNEED);  // starts the disk on all of it; the reads below wait and learn of errors
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(kReadUnit);
  for (std::uint64_t done = 0; done < range.size;) {
    const std::size_t size = std::min<std::uint64_t>(kReadUnit, range.size - done);
    auto read = file.read_at(range.offset + done, {buffer.get(), size});
    if (!read.ok()) return bad_page_error(file, read.error().where.file_offset.value_or(range.offset + done), 0);
    done += size;
  }
  return PopulateMethod::kReadAhead;
}

}  // namespace

Result<PopulateMethod> populate(const OsFile& file, ByteView mapped, ByteRange range) {
  return populate_at(file, mapped.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size)),
                     range.offset);
}

Result<PopulateMethod> populate_at(const OsFile& file, ByteView bytes, std::uint64_t file_offset) {
  if (bytes.empty()) return PopulateMethod::kPopulate;
  const PageRange pages = pages_around(bytes, {0, bytes.size()});
  const int error_number = advise(pages, MADV_POPULATE_READ);
  if (error_number == 0) return PopulateMethod::kPopulate;
  if (error_number == EINVAL || error_number == ENOSYS) return read_ahead(file, pages, {file_offset, bytes.size()});
  const PageRange bad = first_bad_page(pages);
  const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uint64_t offset = file_offset + (bad.begin > start ? bad.begin - start : 0);
  return bad_page_error(file, offset, error_number);
}

Result<std::uint64_t> drop_pages(ByteView mapped, ByteRange range) {
  const PageRange pages = pages_inside(mapped, range);
  if (pages.size() == 0) return std::uint64_t{0};
  const int error_number = advise(pages, MADV_DONTNEED);
  if (error_number == EINVAL) {
    return Error{
        ErrorCode::kOperationNotPermitted,
        fmt::format("{} bytes from byte {:#x} are locked into memory; drop the lock first", range.size, range.offset),
        {.file_offset = range.offset, .os_error = error_number}};
  }
  if (error_number != 0) return os_error(error_number, "cannot give back mapped pages");
  return std::uint64_t{pages.size()};
}

void drop_cache(const OsFile& file, ByteRange range) noexcept {
  if (file.descriptor() < 0 || range.size == 0) return;
  (void)::posix_fadvise(file.descriptor(), static_cast<off_t>(file.base() + range.offset),
                        static_cast<off_t>(range.size), POSIX_FADV_DONTNEED);
}

}  // namespace fatctx::mapping
