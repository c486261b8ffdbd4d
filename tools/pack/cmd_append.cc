// fatctx append: adds records to an existing container, in place.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/content_hash.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/threads_flag.h"
#include "tools/cli/whole_container.h"
#include "tools/pack/gather.h"
#include "tools/pack/record_flags.h"

namespace fatctx::tools {

namespace {

struct AppendFlags {
  RecordFlags records;
  std::string container;
  bool replace = false;
  std::uint32_t threads = 0;
  bool json = false;
  bool one_per_soc = false;
  bool strict_sharing = false;
  std::string sharing;
};

using WeightNames = std::vector<std::string>;

WeightNames names_of(const Container& container, std::span<const std::uint32_t> ids) {
  WeightNames names;
  for (const std::uint32_t id : ids) {
    if (const auto record = container.record(id); record.ok()) names.emplace_back(record.value().name);
  }
  return names;
}

// Gives an added binary the weights of its group and unit, if flags add it without weights. It is one more
// target of an existing model, so it refers to the same weights as the others.
Status adopt_weights(const Container& container, ManifestRecord& added) {
  PackRecord& record = added.record;
  if (record.type != RecordType::kContextBinary || !record.weights.empty()) return Done{};
  std::optional<WeightNames> agreed;
  for (const RecordInfo& there : all_records(container)) {
    if (there.type != RecordType::kContextBinary || there.key.group != record.key.group ||
        there.key.unit != record.key.unit) {
      continue;
    }
    WeightNames names = names_of(container, there.weights);
    if (agreed && *agreed != names) {
      return invalid_argument(
          fmt::format("{}: the binaries of group \"{}\" refer to different weights; say in a manifest which it "
                      "uses",
                      added.where, record.key.group));
    }
    agreed = std::move(names);
  }
  if (agreed) record.weights = std::move(*agreed);
  return Done{};
}

// Leaves out wrapper models that the container has already: those of several chips are often equal, and binaries name
// them by their hash.
void leave_out_known_models(const Container& container, Manifest& manifest) {
  std::erase_if(manifest.records, [&](const ManifestRecord& added) {
    if (added.record.type != RecordType::kWrapperModel || !added.record.source.path.empty()) return false;
    const Hash128 hash = content_hash(added.record.source.bytes);
    const auto records = all_records(container);
    return std::any_of(records.begin(), records.end(), [&](const RecordInfo& there) {
      return there.type == RecordType::kWrapperModel && there.hash == hash;
    });
  });
}

// Returns the groups of context binaries and weight blobs; other records are ignored.
std::set<std::string> groups_of(const Container& container) {
  std::set<std::string> groups;
  for (const RecordInfo& record : all_records(container)) {
    const bool grouped = record.type == RecordType::kContextBinary || record.type == RecordType::kWeightBlob;
    if (grouped && !record.key.group.empty()) groups.emplace(record.key.group);
  }
  return groups;
}

// Fills in names: by default the record is one more target of the existing model.
Status settle_names(const Container& container, RecordFlags& flags) {
  const bool named = !flags.name.empty();
  if (!named) {
    FATCTX_ASSIGN(const ContainerDescription description, container.describe());
    flags.name = description.name;
  }
  if (named || !flags.group.empty() || every_group_named(flags)) return Done{};
  const std::set<std::string> groups = groups_of(container);
  if (groups.size() == 1) flags.group = *groups.begin();
  if (groups.size() < 2) return Done{};
  return invalid_argument(fmt::format("{}: has the groups \"{}\"; say with --group which one it is for",
                                      container.path(), fmt::join(groups, "\", \"")));
}

// Adds a note for each new group, because selection never mixes groups, and weights of another group are not
// adopted.
void note_new_groups(const Container& container, const Manifest& manifest, std::vector<std::string>& notes) {
  const std::set<std::string> there = groups_of(container);
  std::set<std::string> told = there;
  for (const ManifestRecord& added : manifest.records) {
    if (added.record.type != RecordType::kContextBinary || there.empty()) continue;
    if (!told.emplace(added.record.key.group).second) continue;
    notes.push_back(fmt::format("group \"{}\" is new in this file, which has \"{}\"", added.record.key.group,
                                fmt::join(there, "\", \"")));
  }
}

// Refuses settings that are fixed when a container is packed and hold for all of it.
Status check_manifest(const Manifest& manifest, const std::string& file) {
  const bool quant = !manifest.quant.options.empty() || !manifest.quant.overrides_from.empty();
  if (!manifest.options.empty() || quant) {
    return invalid_argument(
        fmt::format("{}: /{}: they are those of the whole container and were set when it was packed; leave them out{}",
                    file, quant ? "quant" : "options", quant ? ", or say them of the records" : ""));
  }
  const SharingWish& wish = manifest.sharing;
  if (!wish.sharing && !wish.max_pieces && !wish.granule_log2) return Done{};
  return invalid_argument(
      fmt::format("{}: sharing, max_pieces and granule are for packing and compacting; leave them out, and say "
                  "--sharing pages or bytes",
                  file));
}

std::string report_text(const AppendReport& report) {
  std::string text =
      fmt::format("{}: generation {}, {}\n", escaped(report.path), report.generation, size_text(report.file_size));
  Block block;
  block.add("added", fmt::format("{}, {}", count_text(report.records.size(), "record"), size_text(report.input_bytes)));
  block.add("stored", size_text(report.stored_bytes));
  if (report.shared_bytes != 0) block.add("shared", size_text(report.shared_bytes));
  block.add("dead", fmt::format("{}, given back by `fatctx compact`", size_text(report.dead_bytes)));
  for (const std::string& name : report.superseded) block.add("replaced", name);
  for (const std::string& copy : report.restored) block.add("restored", copy);
  return text + block.text();
}

Json report_json(const AppendReport& report) {
  Json records = Json::array();
  for (const PackedRecordReport& record : report.records) {
    records.push_back({{"name", record.name},
                       {"id", record.id},
                       {"size_bytes", record.size_bytes},
                       {"stored_bytes", record.stored_bytes},
                       {"shared_bytes", record.shared_bytes},
                       {"pieces", record.pieces}});
  }
  return {{"schema", "fatctx.append/1"},
          {"path", report.path},
          {"uuid", report.uuid},
          {"generation", report.generation},
          {"file_size_before", report.file_size_before},
          {"file_size", report.file_size},
          {"input_bytes", report.input_bytes},
          {"stored_bytes", report.stored_bytes},
          {"shared_bytes", report.shared_bytes},
          {"dead_bytes", report.dead_bytes},
          {"records", std::move(records)},
          {"superseded", report.superseded},
          {"restored", report.restored},
          {"notes", report.warnings}};
}

Result<ExitCode> run_append(AppendFlags flags) {
  std::vector<std::string> notes;
  std::optional<Manifest> manifest;
  {
    FATCTX_ASSIGN(const Container container, open_whole(flags.container));
    for (const RecordInfo& record : all_records(container)) {
      if (record.type == RecordType::kWeightBlob) flags.records.known_weights.emplace(record.name);
    }
    const bool by_flags = flags.records.manifest.empty();
    if (by_flags) FATCTX_TRY(settle_names(container, flags.records));
    FATCTX_ASSIGN(manifest, manifest_of(flags.records));
    if (!by_flags) FATCTX_TRY(check_manifest(*manifest, flags.records.manifest));
    for (ManifestRecord& record : manifest->records) {
      if (by_flags) FATCTX_TRY(adopt_weights(container, record));
    }
    if (by_flags) leave_out_known_models(container, *manifest);
    // Facts of the whole file need not be repeated for an added record.
    if (auto said = container.describe(); said.ok()) manifest->options = std::move(said).value().options;
    notes = manifest->notes;
    note_new_groups(container, *manifest, notes);
  }
  FATCTX_ASSIGN(GatheredRecords gathered, gather_records(*manifest, {}));
  notes.insert(notes.end(), gathered.notes.begin(), gathered.notes.end());
  ProgressLine line("append");
  const Interrupt interrupt;
  FATCTX_ASSIGN(Appender appender, Appender::open(flags.container, {.replace = flags.replace,
                                                                    .progress = line.callback(),
                                                                    .threads = flags.threads,
                                                                    .cancel = interrupt.flag(),
                                                                    .one_per_soc = flags.one_per_soc,
                                                                    .strict_sharing = flags.strict_sharing,
                                                                    .sharing = sharing_from_name(flags.sharing)}));
  for (std::size_t i = 0; i < gathered.records.size(); ++i) {
    auto added = appender.add(std::move(gathered.records[i]));
    if (!added.ok()) return in_context(std::move(added).error(), manifest->records[i].where);
  }
  FATCTX_ASSIGN(AppendReport report, appender.commit());
  report.warnings.insert(report.warnings.begin(), notes.begin(), notes.end());
  for (const std::string& note : report.warnings) print_note("note: " + escaped(note));
  print_result(flags.json ? json_text(report_json(report)) : report_text(report));
  return ExitCode::kOk;
}

}  // namespace

void add_append(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<AppendFlags>();
  CLI::App* command = describe(app, "append",
                               {.purpose = "Add records to a container in place, without writing the rest again",
                                .synopsis = "fatctx append FILE [MANIFEST] [options]",
                                .examples = {"fatctx append model.fatctx --binary new.vmfb@cpu:aarch64+sve",
                                             "fatctx append model.fatctx more.json --replace"},
                                .more = "docs/cli/pack.md, docs/manifest.md"});
  command->add_option("FILE", flags->container, "The container, not sealed")->required();
  add_manifest_argument(*command, flags->records);
  add_record_flags(*command, flags->records);
  command->add_option("--group", flags->records.group, "Without MANIFEST: group of what does not say it")
      ->type_name("GROUP");
  command->add_flag("--replace", flags->replace, "Supersede records that are for the same target");
  command->add_option("--sharing", flags->sharing, "How new records share bytes: pages or bytes; default: as the file")
      ->check(CLI::IsMember({"pages", "bytes"}))
      ->type_name("HOW");
  add_adding_rules(*command, flags->one_per_soc, flags->strict_sharing);
  add_threads(*command, flags->threads, "compare and hash");
  command->add_flag("--json", flags->json, "Print the summary as JSON (schema fatctx.append/1)");
  command->callback([flags, &outcome] { outcome.finish(run_append(*flags)); });
}

}  // namespace fatctx::tools
