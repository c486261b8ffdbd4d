#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "mapping/map_count.h"
#include "mapping/small_file.h"
#include "mapping/uninterrupted.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

// Reads without streams of the C++ library, which would double the size of a small program.
std::optional<MapCount> count_maps() {
  MapCount count;
  constexpr std::size_t kLongestNumber = 32;
  const auto limit = read_small_file("/proc/sys/vm/max_map_count", kLongestNumber);
  if (!limit.ok()) return std::nullopt;
  const std::string& digits = limit.value();
  if (std::from_chars(digits.data(), digits.data() + digits.size(), count.limit).ec != std::errc{}) return std::nullopt;
  const UniqueFd maps(uninterrupted([] { return ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC); }));
  if (maps.get() < 0) return std::nullopt;
  std::array<char, 16384> piece{};
  for (;;) {
    const ssize_t got = uninterrupted([&] { return ::read(maps.get(), piece.data(), piece.size()); });
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    count.in_use += static_cast<std::uint64_t>(std::count(piece.data(), piece.data() + got, '\n'));
  }
  if (count.in_use == 0) return std::nullopt;
  return count;
}

}  // namespace fatctx::mapping
