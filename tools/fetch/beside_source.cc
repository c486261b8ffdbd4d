#include "tools/fetch/beside_source.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "fatctx/container.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/fetch/temporary_file.h"
#include "tools/source/oci_manifest.h"
#include "tools/source/oci_source.h"
#include "tools/source/temporary_folder.h"

namespace fatctx::tools {
namespace {

constexpr std::uint64_t kWorthARequest = std::uint64_t{128} << 10U;
constexpr std::uint64_t kBytesOfAKey = 128;  // the least bytes of a container that a key stands for
constexpr std::uint64_t kMostOfABlockIndex = std::uint64_t{32} << 20U;

struct Found {
  std::string name;  // empty: none that costs less
  std::uint64_t size = 0;
};

Found found_at(const std::string& name, const HttpOptions& http, UsedBeside& used) {
  const auto source = is_url(name) ? open_url_source(name, http) : open_file_source(name);
  if (is_url(name)) ++used.requests;
  return source.ok() ? Found{name, source.value()->size()} : Found{};
}

Found found_in_registry(const std::string& source, std::string_view artifact_type, const std::string& from,
                        const HttpOptions& http, UsedBeside& used) {
  const auto found = find_oci_beside(source, artifact_type, from, http, used.requests);
  if (found.ok()) return {found.value().reference, found.value().size};
  print_note(
      escaped(fmt::format("note: no {} is looked for: {}", artifact_type == kUpdateMediaType ? "update" : "block index",
                          to_text(found.error()))));
  return {};
}

// Asks for an update from each of the old files, and returns the smallest one. To ask costs a request, so it stops at
// one that is no larger than that.
Found find_update(const BesideSource& beside, const HttpOptions& http, UsedBeside& used) {
  Found best;
  for (const std::string& old : beside.olds) {
    const auto opened = Container::open(old);
    if (!opened.ok()) continue;
    const auto state = opened.value().report();
    if (!state.ok()) continue;
    const std::string from = fmt::format("{}-{}", state.value().uuid, state.value().generation);
    Found found = is_oci(beside.source) ? found_in_registry(beside.source, kUpdateMediaType, from, http, used)
                                        : found_at(fmt::format("{}.from-{}", beside.source, from), http, used);
    if (!found.name.empty() && (best.name.empty() || found.size < best.size)) best = std::move(found);
    if (!best.name.empty() && best.size <= kWorthARequest) break;
  }
  return best;
}

Found find_index(const BesideSource& beside, const HttpOptions& http, UsedBeside& used) {
  return is_oci(beside.source) ? found_in_registry(beside.source, kBlockIndexMediaType, "", http, used)
                               : found_at(beside.source + std::string(kBlockIndexSuffix), http, used);
}

// Brings a file here if it is elsewhere, and returns its path. `copy` owns the file that came.
Result<std::string> brought(const Found& found, const std::string& path, TemporaryFile& copy, const HttpOptions& http,
                            UsedBeside& used) {
  constexpr std::string_view kFileUrl = "file://";
  if (found.name.starts_with(kFileUrl)) return found.name.substr(kFileUrl.size());
  if (!is_url(found.name)) return found.name;
  FATCTX_TRY(download_whole(found.name, path, found.size, http));
  copy.own(path);
  ++used.requests;
  return path;
}

Status take_update(FetchPlan& plan, const BesideSource& beside, const Found& found, const HttpOptions& http,
                   UsedBeside& used) {
  TemporaryFile copy;
  FATCTX_ASSIGN(const std::string update, brought(found, beside.out + ".update", copy, http, used));
  ProgressLine line("follow the update");
  return plan.use_update(update, line.callback(), http.cancel);
}

Status take_blocks(FetchPlan& plan, const Found& found, const HttpOptions& http, UsedBeside& used) {
  TemporaryFile copy;
  FATCTX_ASSIGN(const std::shared_ptr<std::string> folder, temporary_folder());
  FATCTX_ASSIGN(const std::string index, brought(found, *folder + "/index", copy, http, used));
  ProgressLine line("look for blocks");
  return plan.use_blocks(index, line.callback(), http.cancel);
}

void note_unused(std::string_view what, const Found& found, const Error& error) {
  print_note(escaped(fmt::format("note: the {} {} is not used: {}", what, found.name, to_text(error))));
}

// Compares the ways, and takes the cheapest one.
class Chooser {
 public:
  Chooser(FetchPlan& plan, const BesideSource& beside, const HttpOptions& http, UsedBeside& used)
      : plan_(plan), beside_(beside), http_(http), used_(used) {}

  void run() {
    Way leaves = rest_as(Way::Kind::kLeaves);
    const Found update = find_update(beside_, http_, used_);
    std::optional<Way> by_update;
    if (!update.name.empty()) by_update = Way{Way::Kind::kUpdate, update.size, 1, false, false};
    std::optional<Way> by_index = by_blocks(std::min(leaves.price(), by_update ? by_update->price() : UINT64_MAX));
    if (by_update && by_update->price() < rest_as(Way::Kind::kLeaves).price()) {
      by_update->used = take(update);
      if (by_update->used && !beside_.dry_run) {
        const Way rest = rest_as(Way::Kind::kUpdate);  // from what a partial old file lacks
        by_update->bytes += rest.bytes;
        by_update->requests += rest.requests;
      }
      const bool all_told = by_update->used && beside_.dry_run;  // nobody knows yet what it would leave over
      if (!all_told && !(by_index && by_index->used)) add_blocks(by_index);
    }
    leaves.used = !(by_update && by_update->used) && !(by_index && by_index->used);
    used_.ways.push_back(leaves);
    if (by_update) used_.ways.push_back(*by_update);
    if (by_index) used_.ways.push_back(*by_index);
    std::sort(used_.ways.begin(), used_.ways.end(), [](const Way& a, const Way& b) { return a.price() < b.price(); });
  }

 private:
  // Returns the price of all that is missing now, from the source.
  [[nodiscard]] Way rest_as(Way::Kind kind) const {
    Way way{kind, 0, 0, false, false};
    const std::vector<ByteRange> wanted = plan_.wanted();
    for (const ByteRange& range : wanted) way.bytes += range.size;
    way.requests = beside_.leaves.requests_for(wanted);
    return way;
  }

  // The same for the bytes that are missing now.
  void add_blocks(std::optional<Way>& before) {
    std::optional<Way> found = by_blocks(rest_as(Way::Kind::kLeaves).price());
    if (found) before = found;
  }

  // Brings the block index and searches the old files, if that costs less than half of the best other way.
  std::optional<Way> by_blocks(std::uint64_t best) {
    const Way least{Way::Kind::kBlockIndex, std::min(plan_.report().source_bytes / kBytesOfAKey, kMostOfABlockIndex), 1,
                    true, false};
    if (least.price() >= best / 2) return std::nullopt;
    if (!index_) index_ = find_index(beside_, http_, used_);
    const Found& index = *index_;
    if (index.name.empty()) return std::nullopt;
    const Way way{Way::Kind::kBlockIndex, index.size, 1, true, false};
    if (way.price() >= best / 2) return way;
    const Status taken = take_blocks(plan_, index, http_, used_);
    if (!taken.ok()) {
      note_unused("block index", index, taken.error());
      return std::nullopt;
    }
    used_.index = index.name;
    used_.index_bytes = index.size;
    const Way rest = rest_as(Way::Kind::kBlockIndex);
    return Way{Way::Kind::kBlockIndex, index.size + rest.bytes, 1 + rest.requests, false, true};
  }

  // Returns whether the update brought bytes, or would.
  bool take(const Found& update) {
    const std::uint64_t missing = plan_.missing_bytes();
    const Status taken = beside_.dry_run ? Status(Done{}) : take_update(plan_, beside_, update, http_, used_);
    if (!taken.ok()) {
      note_unused("update", update, taken.error());
      return false;
    }
    if (!beside_.dry_run && plan_.missing_bytes() == missing) return false;
    used_.update = update.name;
    used_.update_bytes = update.size;
    return true;
  }

  FetchPlan& plan_;
  const BesideSource& beside_;
  const HttpOptions& http_;
  UsedBeside& used_;
  std::optional<Found> index_;  // set once it was looked for
};

}  // namespace

void take_from_beside(FetchPlan& plan, const BesideSource& beside, const HttpOptions& http, UsedBeside& used) {
  if (plan.stage() != FetchStage::kPayload || beside.olds.empty() || plan.missing_bytes() <= kWorthARequest) return;
  Chooser(plan, beside, http, used).run();
}

namespace {

std::string_view name_of(Way::Kind kind) noexcept {
  switch (kind) {
    case Way::Kind::kUpdate:
      return "update";
    case Way::Kind::kBlockIndex:
      return "block index";
    case Way::Kind::kLeaves:
      break;
  }
  return "leaves";
}

}  // namespace

std::string ways_text(const UsedBeside& used) {
  if (used.ways.size() < 2) return {};
  std::string text = "prices: ";
  for (const Way& way : used.ways) {
    text += fmt::format("{}{}{} {}{} in {}", &way == used.ways.data() ? "" : "; ", way.used ? "used " : "",
                        name_of(way.kind), way.at_least ? "at least " : "", size_text(way.bytes),
                        count_text(way.requests, "request"));
  }
  return text + "\n";
}

Json ways_json(const UsedBeside& used) {
  Json ways = Json::array();
  for (const Way& way : used.ways) {
    ways.push_back(Json{{"way", way.kind == Way::Kind::kBlockIndex ? "block_index" : name_of(way.kind)},
                        {"bytes", way.bytes},
                        {"requests", way.requests},
                        {"price", way.price()},
                        {"at_least", way.at_least},
                        {"used", way.used}});
  }
  return ways;
}

}  // namespace fatctx::tools
