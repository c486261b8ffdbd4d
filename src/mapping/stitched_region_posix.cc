// Raw calls: destroying a mapped_region of Boost.Interprocess would leave a hole, into which other code could map while
// the rest is still in use.
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mapping/bus_guard.h"
#include "mapping/os_error.h"
#include "mapping/page_range.h"
#include "mapping/stitched_region.h"
#include "mapping/system_calls.h"

namespace fatctx::mapping {
namespace {

struct UnmapRange {
  std::size_t size = 0;
  void operator()(void* address) const noexcept { (void)::munmap(address, size); }
};
using Addresses = std::unique_ptr<void, UnmapRange>;  // unmapped in one call, whatever the number of maps

class StitchedRegion final : public MappedRegion {
 public:
  StitchedRegion(Addresses addresses, std::size_t size, std::atomic<bool>* also_lost)
      : addresses_(std::move(addresses)), size_(size), watch_(bytes(), also_lost) {}
  [[nodiscard]] ByteView bytes() const noexcept override {
    return {static_cast<const std::byte*>(addresses_.get()), size_};
  }
  [[nodiscard]] bool backed_by_file() const noexcept override { return true; }
  [[nodiscard]] bool lost() const noexcept override { return watch_.lost(); }

 private:
  Addresses addresses_;
  std::size_t size_;
  BusWatch watch_;  // must be last: it ends before the bytes are unmapped
};

// A map of one call. It shows pieces `first` and `last`, and those between them that continue the first one.
struct Call {
  std::size_t first = 0;
  std::size_t last = 0;
};

// Plans the calls that map all pieces, each over those before it. Records often go back to where they left a segment,
// after bytes of their own. One map of the whole stretch and one for each own piece take half the calls.
std::vector<Call> plan_calls(std::span<const MixedPiece> pieces) {
  // By origin: the place in its source that the first byte of the range would have.
  std::vector<std::pair<std::tuple<bool, std::uint8_t, std::uint64_t>, std::size_t>> by_origin;
  by_origin.reserve(pieces.size());
  std::uint64_t start = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    by_origin.push_back({{pieces[i].built, pieces[i].block, pieces[i].offset - start}, i});  // may wrap: only compared
    start += pieces[i].size;
  }
  std::sort(by_origin.begin(), by_origin.end());
  std::vector<std::size_t> next(pieces.size(), pieces.size());  // the next piece of the same origin
  for (std::size_t i = 1; i < by_origin.size(); ++i) {
    if (by_origin[i - 1].first == by_origin[i].first) next[by_origin[i - 1].second] = by_origin[i].second;
  }
  std::vector<Call> calls;
  calls.reserve(pieces.size());
  std::vector<std::pair<std::size_t, std::size_t>> stretches = {{0, pieces.size()}};  // not mapped yet
  while (!stretches.empty()) {
    const auto [begin, end] = stretches.back();
    stretches.pop_back();
    if (begin == end) continue;
    std::size_t last = begin;
    for (std::size_t following = next[begin]; following < end; following = next[following]) {
      stretches.emplace_back(last + 1, following);
      last = following;
    }
    stretches.emplace_back(last + 1, end);
    calls.push_back({begin, last});
  }
  return calls;
}

}  // namespace

Result<std::unique_ptr<MappedRegion>> map_mixed(const OsFile& file, std::span<const MixedPiece> pieces,
                                                const SealableBlock* built, std::atomic<bool>* also_lost) {
  std::uint64_t size = 0;
  std::uint64_t end = 0;  // in the file; 0 if no piece is of the file
  for (const MixedPiece& piece : pieces) {
    if (piece.size > std::numeric_limits<std::size_t>::max() / 2 - size) {
      return Error{ErrorCode::kNoResource, "the pieces together do not fit into this address space"};
    }
    size += piece.size;
    if (!piece.built) end = std::max(end, piece.offset + piece.size);
  }
  if (end != 0) FATCTX_TRY(check_mappable(file, end));
  const auto whole = static_cast<std::size_t>((size + page_size() - 1) / page_size() * page_size());
  void* const reserved = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return os_error(errno, fmt::format("cannot reserve {} bytes of addresses", whole));
  Addresses addresses(reserved, UnmapRange{whole});
  std::vector<std::uint64_t> ends;  // of the pieces, in the range
  ends.reserve(pieces.size());
  for (const MixedPiece& piece : pieces) ends.push_back((ends.empty() ? 0 : ends.back()) + piece.size);
  for (const Call& call : plan_calls(pieces)) {
    const MixedPiece& piece = pieces[call.first];
    const std::uint64_t start = ends[call.first] - piece.size;
    const auto length = static_cast<std::size_t>(ends[call.last] - start);
    const bool from_memory = piece.built && built != nullptr;
    const int descriptor = from_memory ? built[piece.block].descriptor : file.descriptor();
    const std::uint64_t offset = from_memory ? piece.offset : file.base() + piece.offset;
    if (::mmap(static_cast<std::byte*>(reserved) + start, length, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor,
               static_cast<off_t>(offset)) == MAP_FAILED) {
      return os_error(errno, fmt::format("cannot map {} bytes from byte {:#x} of {}", length, piece.offset,
                                         piece.built ? "sealed memory" : "the file"));
    }
  }
  keep_out_of_core_dumps(reserved, whole);
  if (end != 0) FATCTX_TRY(check_mappable(file, end));
  return std::unique_ptr<MappedRegion>(
      std::make_unique<StitchedRegion>(std::move(addresses), static_cast<std::size_t>(size), also_lost));
}

}  // namespace fatctx::mapping
