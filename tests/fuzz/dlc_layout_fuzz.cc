// Arbitrary bytes as the layout of a DLC in a container: they are refused, or they are the one form of their content.
// Runs cover every range of the archive without a gap. The archive that the layout makes with payloads is refused or
// cut like any other, and every page of the cut comes from one source.
//
// Input: the record. The payloads are a short metadata text followed by blanks.
#include <algorithm>
#include <string_view>

#include "container/dlc/archive_layout.h"
#include "container/dlc/cut.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "runtime/inspect/thin_plan.h"

namespace fatctx::fuzz {
namespace {

namespace dlc = container::dlc;

constexpr std::string_view kMetadata = R"({"cacheList": [{"cacheName": "htp.cache.57.0", "socModel": 57}],
 "relations": [{"parent": "htp.cache.57.0", "children": ["htp.shared.weights.0"]}]})";
constexpr std::uint64_t kPage = 4096;

void check_runs(const dlc::ArchiveLayout& layout, ByteRange range) {
  std::uint64_t size = 0;
  for (const dlc::LayoutRun& run : dlc::runs_in(layout, range)) {
    const std::uint64_t most =
        run.entry == dlc::LayoutRun::kRest ? layout.rest.size() : layout.entries.at(run.entry).data.size;
    require(run.size != 0 && within({run.offset, run.size}, most), "a run lies in what it is a run of");
    size += run.size;
  }
  require(size == range.size, "runs are as long as their range");
}

void check_cut(const dlc::ArchiveLayout& layout) {
  const dlc::StoredArchive archive(layout, [](std::size_t, std::uint64_t offset, std::span<std::byte> out) -> Status {
    for (std::byte& byte : out) {
      byte = offset < kMetadata.size() ? static_cast<std::byte>(kMetadata[static_cast<std::size_t>(offset)])
                                       : std::byte{' '};
      ++offset;
    }
    return Done{};
  });
  const auto thin = dlc::cut(archive, layout.file_size, {.qnn_socs = {57}, .entries = {}});
  if (!thin.ok()) return require_good(thin.error());
  std::vector<ThinPart> parts;
  std::vector<ThinRun> runs;
  std::uint64_t at = 0;
  for (const DlcPiece& piece : thin.value().pieces) {
    if (piece.bytes.empty()) {
      check_runs(layout, piece.range);
      runs.push_back({at, piece.range.offset, piece.range.size});
    }
    parts.push_back({.target = at, .size = piece.size(), .fresh = !piece.bytes.empty()});
    at += piece.size();
  }
  const ThinPlan plan = plan_thin(parts, runs, kPage, 0, 64);
  std::uint64_t mapped = 0;
  std::uint64_t size = 0;
  for (const mapping::MixedPiece& piece : plan.pieces) {
    require(size % kPage == 0 && piece.offset % kPage == 0 && piece.size != 0, "pieces begin at pages");
    if (!piece.built) mapped += piece.size;
    size += piece.size;
  }
  require(size == at && size == thin.value().size_bytes, "pieces are all of the thin DLC");
  require(mapped + plan.new_bytes + plan.copied_bytes == size, "every byte is mapped, new or copied");
}

}  // namespace
}  // namespace fatctx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  fuzz::Input input(data, size);
  const ByteView bytes = input.rest();

  const auto layout = container::dlc::parse_layout(bytes);

  if (!layout.ok()) {
    fuzz::require_good(layout.error());
    return 0;
  }
  fuzz::require(std::ranges::equal(container::dlc::encode_layout(layout.value()), bytes), "a layout has one form");
  const std::uint64_t all = layout.value().file_size;
  fuzz::check_runs(layout.value(), {0, all});
  fuzz::check_runs(layout.value(), {all / 3, all / 2});
  fuzz::check_cut(layout.value());
  return 0;
}
