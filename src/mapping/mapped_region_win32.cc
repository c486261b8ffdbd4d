// Uses plain system calls instead of Boost.Interprocess, whose Windows side relies on undocumented functions and hides
// the error.
//
// While a file is mapped, Windows refuses to truncate it (ERROR_USER_MAPPED_FILE), so mapped bytes do not disappear.
#include "mapping/mapped_region.h"

#include "mapping/file_section.h"
#include "mapping/os_error.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

struct Unmap {
  std::size_t size = 0;
  void operator()(void* address) const noexcept { (void)::UnmapViewOfFile(address); }
};

class Win32Region final : public MappedRegion {
 public:
  Win32Region(std::unique_ptr<void, Unmap> address, std::size_t before)
      : address_(std::move(address)), before_(before) {}
  [[nodiscard]] ByteView bytes() const noexcept override {
    return ByteView(static_cast<const std::byte*>(address_.get()), address_.get_deleter().size).subspan(before_);
  }
  [[nodiscard]] bool backed_by_file() const noexcept override { return true; }

 private:
  std::unique_ptr<void, Unmap> address_;
  std::size_t before_;  // bytes of the first granule in front of the data; not handed out
};

SYSTEM_INFO system_info() noexcept {
  SYSTEM_INFO info = {};
  ::GetSystemInfo(&info);
  return info;
}

}  // namespace

std::string_view provider_name() noexcept { return "win32"; }

std::string_view raw_mapping_method() noexcept { return "MapViewOfFile"; }

std::uint64_t page_bytes() noexcept { return system_info().dwPageSize; }

std::uint64_t map_granule_bytes() noexcept { return system_info().dwAllocationGranularity; }

Result<UniqueHandle> section_of(const OsFile& file) {
  void* const handle = handle_of(file.descriptor());
  if (!is_handle(handle)) return Error{ErrorCode::kInvalidArgument, "there is no file to map"};
  UniqueHandle section(::CreateFileMappingW(handle, nullptr, PAGE_READONLY, 0, 0, nullptr));
  if (!section.valid()) return os_error(static_cast<int>(::GetLastError()), "cannot map the file");
  return section;
}

Result<std::unique_ptr<MappedRegion>> map_file_raw(const OsFile& file, std::uint64_t size) {
  FATCTX_TRY(check_mappable(file, size));
  FATCTX_ASSIGN(const UniqueHandle section, section_of(file));
  const std::uint64_t before = file.base() % map_granule_bytes();
  const std::uint64_t from = file.base() - before;
  const auto length = static_cast<std::size_t>(before + size);
  void* const address =
      ::MapViewOfFile(section.get(), FILE_MAP_READ, static_cast<DWORD>(from >> 32), static_cast<DWORD>(from), length);
  if (address == nullptr) return os_error(static_cast<int>(::GetLastError()), "cannot map the file");
  std::unique_ptr<void, Unmap> owner(address, Unmap{length});
  FATCTX_TRY(check_mappable(file, size));
  return std::unique_ptr<MappedRegion>(
      std::make_unique<Win32Region>(std::move(owner), static_cast<std::size_t>(before)));
}

}  // namespace fatctx::mapping
