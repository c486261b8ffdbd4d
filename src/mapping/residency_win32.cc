#include <algorithm>
#include <array>
#include <functional>

#include "mapping/os_error.h"
#include "mapping/page_range.h"
#include "mapping/residency.h"
#include "mapping/windows_api.h"

// Must follow windows.h; in this version the function is part of kernel32.
#define PSAPI_VERSION 2
#include <psapi.h>

namespace fatctx::mapping {
namespace {

constexpr std::size_t kPagesPerCall = 512;

// Calls `see` for each page of the working set, with its address.
Status for_each_page(PageRange pages, const std::function<void(std::uintptr_t, PSAPI_WORKING_SET_EX_BLOCK)>& see) {
  std::array<PSAPI_WORKING_SET_EX_INFORMATION, kPagesPerCall> asked{};
  for (std::uintptr_t page = pages.begin; page < pages.end;) {
    const std::size_t count = std::min((pages.end - page) / page_size(), kPagesPerCall);
    for (std::size_t i = 0; i < count; ++i) {
      asked[i] = {};
      asked[i].VirtualAddress = PageRange{page + i * page_size(), 0}.start();
    }
    if (::QueryWorkingSetEx(::GetCurrentProcess(), asked.data(), static_cast<DWORD>(count * sizeof(asked[0]))) == 0) {
      return os_error(static_cast<int>(::GetLastError()), "cannot ask which pages are in memory");
    }
    for (std::size_t i = 0; i < count; ++i, page += page_size()) {
      if (asked[i].VirtualAttributes.Valid != 0) see(page, asked[i].VirtualAttributes);
    }
  }
  return Done{};
}

}  // namespace

// The share count saturates at 7: pages of more processes count as if seven shared them.
Result<MapUse> use_of_map(ByteView mapped) {
  MapUse use;
  FATCTX_TRY(
      for_each_page(pages_around(mapped, {0, mapped.size()}), [&](std::uintptr_t, PSAPI_WORKING_SET_EX_BLOCK page) {
        const std::uint64_t sharers = std::max<std::uint64_t>(page.ShareCount, 1);
        use.resident += page_size();
        use.proportional += page_size() / sharers;
        if (page.Locked != 0) use.locked += page_size();
      }));
  return use;
}

Result<std::uint64_t> resident_bytes(ByteView bytes) {
  if (bytes.empty()) return std::uint64_t{0};
  const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
  std::uint64_t resident = 0;
  FATCTX_TRY(
      for_each_page(pages_around(bytes, {0, bytes.size()}), [&](std::uintptr_t page, PSAPI_WORKING_SET_EX_BLOCK) {
        resident += std::min(page + page_size(), start + bytes.size()) - std::max(page, start);
      }));
  return resident;
}

}  // namespace fatctx::mapping
