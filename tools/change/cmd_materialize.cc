// fatctx materialize: builds, ahead of time and in a cache folder, the views that this machine cannot map
// directly.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/device.h"
#include "fatctx/metrics.h"
#include "fatctx/view_cache.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/recording.h"
#include "tools/cli/whole_container.h"
#include "tools/device/asked_device.h"

namespace fatctx::tools {

namespace {

struct MaterializeOptions {
  std::string path;
  std::string folder;
  std::string record;
  std::string device;
  std::uint64_t limit_bytes = kDefaultCacheLimitBytes;
  bool json = false;
};

struct Materialized {
  std::string name;
  std::uint64_t size_bytes = 0;
  std::uint64_t cached_bytes = 0;
  std::string file;      // empty: nothing had to be built
  std::string rejected;  // why an existing file was thrown away
  bool made = false;     // false: it existed already
};

// Returns the records that the command line names; by default all that have a view.
Result<std::vector<RecordInfo>> asked_records(const Container& container, const MaterializeOptions& options) {
  std::vector<RecordInfo> asked;
  if (!options.record.empty()) {
    FATCTX_ASSIGN(const RecordInfo record, find_record(container, options.record));
    asked.push_back(record);
    return asked;
  }
  if (!options.device.empty()) {
    FATCTX_ASSIGN(const SocTable table, asked_soc_table());
    FATCTX_ASSIGN(const Device device, device_in_words(options.device, table));
    FATCTX_ASSIGN(const Selection selection, container.select(device, {.soc_table = table}));
    if (selection.chosen.empty()) {
      return Error{ErrorCode::kNoMatch, fmt::format("{}: no record for {}; `fatctx select {} --device {}` tells why",
                                                    options.path, options.device, options.path, options.device)};
    }
    std::set<std::uint32_t> ids;
    for (const std::uint32_t id : selection.chosen) {
      FATCTX_ASSIGN(const RecordInfo binary, container.record(id));
      ids.insert(id);
      ids.insert(binary.weights.begin(), binary.weights.end());
    }
    for (const std::uint32_t id : ids) {
      FATCTX_ASSIGN(const RecordInfo record, container.record(id));
      asked.push_back(record);
    }
    return asked;
  }
  for (const RecordInfo& record : all_records(container)) {
    if (record.supported && record.codec == Codec::kNone) asked.push_back(record);
  }
  return asked;
}

Result<Materialized> materialize(const Container& container, const RecordInfo& record) {
  Materialized one;
  one.name = record.name;
  one.size_bytes = record.size_bytes;
  FATCTX_ASSIGN(const AccessPath path, container.access_path_of(record.id));
  if (path != AccessPath::kComposed) return one;
  const std::uint64_t before = view_cache_counts().made;
  FATCTX_ASSIGN(const RecordView view, container.acquire(record.id));
  one.cached_bytes = view.cached_bytes();
  one.made = view_cache_counts().made != before;
  for (const RecordMetrics& metrics : container_metrics(container).records) {
    if (metrics.id != record.id) continue;
    one.file = metrics.cache_file;
    one.rejected = metrics.cache_rejected;
  }
  return one;
}

std::string how_text(const Materialized& one) {
  if (one.file.empty()) return "nothing to build";
  if (!one.rejected.empty()) return "made anew";
  return one.made ? "made" : "was there";
}

std::string report_text(const MaterializeOptions& options, const std::vector<Materialized>& all) {
  using Align = Table::Align;
  Table table({{"record", Align::kLeft}, {"size", Align::kRight}, {"built", Align::kRight}, {"", Align::kLeft}});
  std::uint64_t built = 0;
  std::size_t files = 0;
  std::string notes;
  for (const Materialized& one : all) {
    if (one.file.empty() && options.record.empty()) continue;
    table.add_row({one.name, short_size_text(one.size_bytes), short_size_text(one.cached_bytes), how_text(one)});
    built += one.cached_bytes;
    files += one.file.empty() ? 0U : 1U;
    if (!one.rejected.empty()) notes += escaped("thrown away: " + one.rejected) + "\n";
  }
  return (files == 0 && options.record.empty() ? "" : table.text() + "\n") + notes +
         fmt::format("{}: {} of {}, {}\n", escaped(options.folder), count_text(files, "file"), escaped(options.path),
                     size_text(built));
}

std::string report_json(const MaterializeOptions& options, const std::vector<Materialized>& all) {
  Json records = Json::array();
  std::uint64_t built = 0;
  for (const Materialized& one : all) {
    built += one.cached_bytes;
    records.push_back({{"name", one.name},
                       {"size_bytes", one.size_bytes},
                       {"cached_bytes", one.cached_bytes},
                       {"made", one.made},
                       {"cache_file", text_or_null(one.file)},
                       {"cache_rejected", text_or_null(one.rejected)}});
  }
  return json_text({{"schema", "fatctx.materialize/1"},
                    {"file", options.path},
                    {"folder", options.folder},
                    {"cached_bytes", built},
                    {"records", std::move(records)}});
}

Result<ExitCode> run_materialize(const MaterializeOptions& options) {
  OpenOptions open;
  open.cache_folder = options.folder;
  open.cache_limit_bytes = options.limit_bytes;
  FATCTX_ASSIGN(const Container container, open_whole(options.path, open));
  FATCTX_ASSIGN(const std::vector<RecordInfo> asked, asked_records(container, options));
  // A bad folder is reported even if nothing must be built.
  FATCTX_TRY(list_view_cache(options.folder));
  std::vector<Materialized> all;
  {
    ProgressLine line("materialize");
    for (const RecordInfo& record : asked) {
      line.step(all.size(), asked.size(), record.name);
      FATCTX_ASSIGN(Materialized one, materialize(container, record));
      all.push_back(std::move(one));
    }
  }
  print_result(options.json ? report_json(options, all) : report_text(options, all));
  return ExitCode::kOk;
}

}  // namespace

void add_materialize(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<MaterializeOptions>();
  CLI::App* command = describe(app, "materialize",
                               {.purpose = "Build ahead of time, in a folder, what views cannot map of a container",
                                .synopsis = "fatctx materialize FILE --cache DIR [options]",
                                .examples = {"mkdir -m 700 views && fatctx materialize model.fatctx --cache views",
                                             "fatctx materialize model.fatctx --cache views --device v79 --json"},
                                .more = "docs/cli/change.md, docs/sharing.md"});
  command->add_option("FILE", options->path, "The container")->required();
  command->add_option("--cache", options->folder, "Where to: a folder of mode 0700 that is yours")
      ->required()
      ->type_name("DIR");
  auto* record = command->add_option("--record", options->record, "This record only; a name, or # and an id");
  record->type_name("NAME");
  command->add_option("--device", options->device, "Only what this device gets; a device in words")
      ->type_name("TEXT")
      ->excludes(record);
  command->add_option("--limit", options->limit_bytes, "Size limit of DIR, in bytes, KiB, MiB, GiB; 4GiB")
      ->transform(CLI::AsSizeValue(false))
      ->transform(size_number())
      ->type_name("SIZE");
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.materialize/1)");
  const auto recording = add_recording(*command);
  command->callback([options, recording, &outcome] {
    outcome.finish(recorded(*recording, options->path, [&] { return run_materialize(*options); }));
  });
}

}  // namespace fatctx::tools
