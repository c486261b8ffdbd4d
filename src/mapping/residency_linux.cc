#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "mapping/os_file.h"
#include "mapping/page_range.h"
#include "mapping/residency.h"

namespace fatctx::mapping {
namespace {

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;
constexpr std::size_t kWordsPerRead = 4096;

Error not_there(std::string_view file) {
  return Error{ErrorCode::kUnsupported, std::string(file) + " cannot be read: the pages in memory are not known"};
}

// Parses the first line of a map's entry: "7f00-7f01 r--s ...".
std::optional<PageRange> addresses_of(std::string_view line) {
  PageRange range;
  const auto* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, range.begin, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, range.end, 16);
  if (second.ec != std::errc() || second.ptr == end || *second.ptr != ' ') return std::nullopt;
  return range;
}

// Returns 12288 for "Rss: 12 kB", if the line begins with `name`.
std::optional<std::uint64_t> bytes_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  line.remove_prefix(std::min(line.find_first_not_of(' ', name.size()), line.size()));
  std::uint64_t kib = 0;
  if (std::from_chars(line.data(), line.data() + line.size(), kib).ec != std::errc()) return std::nullopt;
  return kib * 1024;
}

}  // namespace

Result<MapUse> use_of_map(ByteView mapped) {
  std::ifstream smaps("/proc/self/smaps");
  if (!smaps) return not_there("/proc/self/smaps");
  const PageRange wanted = pages_around(mapped, {0, mapped.size()});
  MapUse use;
  bool ours = false;
  std::uint64_t resident = 0;  // of the map whose lines are being read
  for (std::string line; std::getline(smaps, line);) {
    if (const auto range = addresses_of(line)) {
      if (range->begin >= wanted.end) return use;
      ours = range->end > wanted.begin;
    } else if (ours) {
      if (const auto rss = bytes_of(line, "Rss:")) use.resident += resident = *rss;
      use.proportional += bytes_of(line, "Pss:").value_or(0);
      // Not from the line "Locked:", which is a proportional share. The flags are the last line of a map.
      if (line.starts_with("VmFlags:") && (line + ' ').find(" lo ") != std::string::npos) use.locked += resident;
    }
  }
  if (smaps.bad()) return Error{ErrorCode::kIo, "cannot read /proc/self/smaps"};
  return use;
}

Result<std::uint64_t> resident_bytes(ByteView bytes) {
  if (bytes.empty()) return std::uint64_t{0};
  auto pagemap = open_for_reading("/proc/self/pagemap");
  if (!pagemap.ok()) return not_there("/proc/self/pagemap");
  const PageRange pages = pages_around(bytes, {0, bytes.size()});
  const auto start = reinterpret_cast<std::uintptr_t>(bytes.data());
  std::array<std::uint64_t, kWordsPerRead> words{};
  std::uint64_t resident = 0;
  for (std::uintptr_t page = pages.begin; page < pages.end;) {
    const std::size_t count = std::min((pages.end - page) / page_size(), kWordsPerRead);
    FATCTX_TRY(pagemap.value()->read_at(page / page_size() * sizeof(std::uint64_t),
                                        std::as_writable_bytes(std::span(words).first(count))));
    for (std::size_t i = 0; i < count; ++i, page += page_size()) {
      if ((words[i] & kPresent) == 0) continue;
      resident += std::min(page + page_size(), start + bytes.size()) - std::max(page, start);
    }
  }
  return resident;
}

}  // namespace fatctx::mapping
