#include "container/sharing/window_scan.h"

#include <algorithm>

#include "container/sharing/anchor_index.h"
#include "container/sharing/gear.h"

namespace fatctx::container::sharing {
namespace {

constexpr std::uint64_t kWindowReadUnit = std::uint64_t{1} << 20;
constexpr std::uint64_t kSampleMask = ~std::uint64_t{0} << (64 - 12);

}  // namespace

Result<std::vector<std::uint64_t>> scan_windows(const RecordBytes& record) {
  std::vector<std::uint64_t> windows;
  std::vector<std::byte> buffer;
  for (std::uint64_t at = 0; at < record.size(); at += kWindowReadUnit) {
    const std::uint64_t from = at - std::min<std::uint64_t>(at, kGearWindow);
    buffer.resize(static_cast<std::size_t>(std::min(record.size(), at + kWindowReadUnit) - from));
    FATCTX_TRY(record.read_at(from, buffer));
    std::uint64_t rolling = 0;
    for (std::size_t i = 0; i < buffer.size(); ++i) {
      rolling = roll(rolling, buffer[i]);
      if ((rolling & kSampleMask) != 0 || i + 1 < kGearWindow) continue;
      if (constant(ByteView(buffer).subspan(i + 1 - kGearWindow, kGearWindow))) continue;
      windows.push_back(rolling);
    }
  }
  record.close();
  std::sort(windows.begin(), windows.end());
  windows.erase(std::unique(windows.begin(), windows.end()), windows.end());
  return windows;
}

}  // namespace fatctx::container::sharing
