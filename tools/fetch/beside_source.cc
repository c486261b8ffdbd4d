#include "tools/fetch/beside_source.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "fatctx/container.h"
#include "fatctx/update.h"
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

// Asks for an update from each of the old files, and returns one that is smaller than the missing bytes.
Found find_update(const BesideSource& beside, std::uint64_t missing, const HttpOptions& http, UsedBeside& used) {
  for (const std::string& old : beside.olds) {
    const auto opened = Container::open(old);
    if (!opened.ok()) continue;
    const auto state = opened.value().report();
    if (!state.ok()) continue;
    const std::string from = fmt::format("{}-{}", state.value().uuid, state.value().generation);
    Found found = is_oci(beside.source) ? found_in_registry(beside.source, kUpdateMediaType, from, http, used)
                                        : found_at(fmt::format("{}.from-{}", beside.source, from), http, used);
    if (!found.name.empty() && found.size < missing) return found;
  }
  return {};
}

Found find_index(const BesideSource& beside, std::uint64_t missing, const HttpOptions& http, UsedBeside& used) {
  const Found found = is_oci(beside.source) ? found_in_registry(beside.source, kBlockIndexMediaType, "", http, used)
                                            : found_at(beside.source + std::string(kBlockIndexSuffix), http, used);
  return found.size < missing / 2 ? found : Found{};
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

// Makes the new file by an update, as a file whose leaves the plan takes. So nothing depends on what the update makes.
Status take_update(FetchPlan& plan, const BesideSource& beside, const Found& found, const HttpOptions& http,
                   UsedBeside& used) {
  TemporaryFile copy;
  TemporaryFile made;
  FATCTX_ASSIGN(const std::string update, brought(found, beside.out + ".update", copy, http, used));
  ProgressLine line("apply the update");
  const std::string path = beside.out + ".updated";
  FATCTX_TRY(apply_update(update, beside.olds, path, {.progress = line.callback(), .cancel = http.cancel}));
  made.own(path);
  return plan.use(path);
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

}  // namespace

void take_from_beside(FetchPlan& plan, const BesideSource& beside, const HttpOptions& http, UsedBeside& used) {
  if (plan.stage() != FetchStage::kPayload || beside.olds.empty() || plan.missing_bytes() <= kWorthARequest) return;
  const std::uint64_t missing = plan.missing_bytes();
  const Found update = find_update(beside, missing, http, used);
  if (!update.name.empty()) {
    const Status taken = beside.dry_run ? Status(Done{}) : take_update(plan, beside, update, http, used);
    if (!taken.ok()) {
      note_unused("update", update, taken.error());
    } else if (beside.dry_run || plan.missing_bytes() < missing) {
      used.update = update.name;
      used.update_bytes = update.size;
    }
    if (plan.stage() != FetchStage::kPayload || !used.update.empty()) return;
  }
  const std::uint64_t size = std::min(plan.report().source_bytes / kBytesOfAKey, kMostOfABlockIndex);
  if (size >= plan.missing_bytes() / 2) return;
  const Found index = find_index(beside, plan.missing_bytes(), http, used);
  if (index.name.empty()) return;
  const Status taken = take_blocks(plan, index, http, used);
  if (!taken.ok()) return note_unused("block index", index, taken.error());
  used.index = index.name;
  used.index_bytes = index.size;
}

}  // namespace fatctx::tools
