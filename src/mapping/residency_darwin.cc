// mincore() of macOS reports which part of a map is in memory, not the page table of this process: an upper bound.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "mapping/os_error.h"
#include "mapping/page_range.h"
#include "mapping/residency.h"

namespace fatctx::mapping {
namespace {

constexpr std::size_t kPagesPerCall = 4096;

}  // namespace

Result<MapUse> use_of_map(ByteView mapped) {
  FATCTX_ASSIGN(const std::uint64_t resident, resident_bytes(mapped));
  // The system does not report other processes' maps of a page, nor locks.
  return MapUse{.resident = resident, .proportional = resident, .locked = 0};
}

Result<std::uint64_t> resident_bytes(ByteView bytes) {
  if (bytes.empty()) return std::uint64_t{0};
  const PageRange pages = pages_around(bytes, {0, bytes.size()});
  const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
  std::array<char, kPagesPerCall> states{};
  std::uint64_t resident = 0;
  for (std::uintptr_t page = pages.begin; page < pages.end;) {
    const std::size_t count = std::min((pages.end - page) / page_size(), kPagesPerCall);
    const PageRange asked{page, page + count * page_size()};
    if (::mincore(asked.start(), asked.size(), states.data()) != 0) {
      return os_error(errno, "cannot ask which pages are in memory");
    }
    for (std::size_t i = 0; i < count; ++i, page += page_size()) {
      if ((states[i] & MINCORE_INCORE) == 0) continue;
      resident += std::min<std::uintptr_t>(page + page_size(), start + bytes.size()) - std::max(page, start);
    }
  }
  return resident;
}

}  // namespace fatctx::mapping
