#include "mapping/page_range.h"

#include <atomic>

#include "mapping/mapped_region.h"

namespace fatctx::mapping {
namespace {

std::uintptr_t down(std::uintptr_t address) noexcept { return address & ~(page_size() - 1); }
std::uintptr_t up(std::uintptr_t address) noexcept { return down(address + page_size() - 1); }

std::uintptr_t start_of(ByteView mapped, ByteRange range) noexcept {
  return reinterpret_cast<std::uintptr_t>(mapped.data()) + static_cast<std::uintptr_t>(range.offset);
}

}  // namespace

std::size_t page_size() noexcept {
  // Not a local static with a guard: see base/immortal.h.
  static constinit std::atomic<std::size_t> known{0};
  std::size_t size = known.load(std::memory_order_relaxed);
  if (size == 0) known.store(size = static_cast<std::size_t>(page_bytes()), std::memory_order_relaxed);
  return size;
}

PageRange pages_around(ByteView mapped, ByteRange range) noexcept {
  const std::uintptr_t start = start_of(mapped, range);
  if (range.size == 0) return {down(start), down(start)};
  return {down(start), up(start + static_cast<std::uintptr_t>(range.size))};
}

PageRange pages_inside(ByteView mapped, ByteRange range) noexcept {
  const std::uintptr_t start = start_of(mapped, range);
  const PageRange pages{up(start), down(start + static_cast<std::uintptr_t>(range.size))};
  return pages.begin < pages.end ? pages : PageRange{pages.begin, pages.begin};
}

}  // namespace fatctx::mapping
