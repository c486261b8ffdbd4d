// Raw calls, because Boost.Interprocess has no populate and reports advice as a bool without the error number.
#include <sys/mman.h>

#include <cerrno>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/page_advice.h"
#include "mapping/page_range.h"
#include "mapping/read_through.h"
#include "mapping/system_calls.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // older headers; the kernel decides
#endif

namespace fatctx::mapping {
namespace {

int advise(PageRange pages, int advice) noexcept {
  for (;;) {
    if (::madvise(pages.start(), pages.size(), advice) == 0) return 0;
    if (errno != EINTR && errno != EAGAIN) return errno;
  }
}

// Halves the range until one page is left: the first one that cannot be brought in.
PageRange first_bad_page(PageRange pages) noexcept {
  while (pages.size() > page_size()) {
    const std::uintptr_t middle = pages.begin + pages.size() / page_size() / 2 * page_size();
    const bool first_half_is_bad = advise({pages.begin, middle}, MADV_POPULATE_READ) != 0;
    (first_half_is_bad ? pages.end : pages.begin) = middle;
  }
  return pages;
}

// Reads, on kernels that cannot populate.
Result<PopulateMethod> read_ahead(const OsFile& file, PageRange pages, ByteRange range) {
  (void)advise(pages, MADV_WILLNEED);  // starts the disk on the whole range; the reads wait and report errors
  FATCTX_TRY(read_through(file, range));
  return PopulateMethod::kReadAhead;
}

}  // namespace

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
  forget_cached(file.descriptor(), static_cast<off_t>(file.base() + range.offset), static_cast<off_t>(range.size));
}

}  // namespace fatctx::mapping
