// fatctx select: tells which record a device gets, and why it does not get each of the others. The device may
// be described, so none is needed.
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/device.h"
#include "fatctx/model.h"
#include "fatctx/select.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/print.h"
#include "tools/cli/recording.h"
#include "tools/cli/whole_container.h"
#include "tools/device/asked_device.h"
#include "tools/device/coverage.h"
#include "tools/source/http_flags.h"
#include "tools/source/remote_container.h"

namespace fatctx::tools {

namespace {

struct SelectOptions {
  std::string path;
  std::uint64_t generation = 0;
  DeviceFlags device;
  std::string record;
  SelectPolicy policy;
  std::string on_damage = "fail";
  std::string max_sdk;
  bool no_generic = false;
  bool all_devices = false;
  std::string require_coverage;
  bool json = false;
  HttpOptions http;
};

// Prints the coverage of the listed devices, or of all known ones. Fails if a listed device gets no record.
Result<ExitCode> run_coverage(const SelectOptions& options, const Container& container, const SelectPolicy& policy) {
  const std::vector<Candidate> candidates = all_candidates(container);
  std::vector<NamedDevice> listed;
  if (!options.require_coverage.empty()) {
    FATCTX_ASSIGN(listed, listed_devices(options.require_coverage, options.device, *policy.soc_table));
  }
  std::vector<NamedDevice> shown = listed;
  if (options.all_devices) {
    FATCTX_ASSIGN(shown, known_devices(candidates, options.device, *policy.soc_table));
  }
  FATCTX_ASSIGN(const std::vector<CoveredDevice> matrix, cover(container, std::move(shown), policy));
  print_result(options.json ? json_text(coverage_json(container, matrix)) : coverage_text(container, matrix));
  FATCTX_ASSIGN(const std::vector<CoveredDevice> required, cover(container, std::move(listed), policy));
  std::string missing;
  for (const CoveredDevice& row : required) {
    if (row.selection.chosen.empty()) missing += (missing.empty() ? "" : ", ") + row.asked.name;
  }
  if (missing.empty()) return ExitCode::kOk;
  print_note(escaped(fmt::format("{}: no record for {}; `fatctx select {} --device NAME` tells why", options.path,
                                 missing, options.path)));
  return ExitCode::kCheckFailed;
}

// For a matrix of devices, only the table of SoCs is needed.
Result<AskedDevice> device_of(const SelectOptions& options, bool matrix) {
  if (!matrix) return asked_device(options.device);
  FATCTX_ASSIGN(SocTable table, asked_soc_table(options.device.soc_table));
  return AskedDevice{std::move(table), {}};
}

// Colours the verdict of an explanation.
std::string explained(const std::string& text, bool chosen) {
  return chosen ? with_good(escaped_lines(text), "chosen:") : with_bad(escaped_lines(text), "chosen: none");
}

// Opens the file, or the metadata of one at a URL.
Result<RemoteContainer> opened_container(const SelectOptions& options, bool checks_payload) {
  // A checked record is built in memory if it cannot be memory-mapped, and is freed when the command ends.
  const OpenOptions open{.max_copied_bytes = checks_payload ? UINT64_MAX : 0, .generation = options.generation};
  if (!is_url(options.path)) {
    FATCTX_ASSIGN(Container container, open_whole(options.path, open));
    return RemoteContainer{std::move(container), nullptr};
  }
  if (checks_payload) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: --on-damage next reads payload, which is not here; bring it first: fatctx fetch {} "
                             "-o FILE",
                             options.path, options.path)};
  }
  return open_remote(options.path, open, {}, options.http);
}

Result<ExitCode> run_select(const SelectOptions& options) {
  const bool matrix = options.all_devices || !options.require_coverage.empty();
  FATCTX_ASSIGN(const AskedDevice asked, device_of(options, matrix));
  const bool next = options.on_damage == "next";
  FATCTX_ASSIGN(const RemoteContainer opened, opened_container(options, next));
  const Container& container = opened.container;
  const std::vector<Candidate> candidates = all_candidates(container);
  const Device& device = device_for(asked.detection, candidates);
  SelectPolicy policy = options.policy;
  policy.allow_generic = !options.no_generic;
  if (!options.max_sdk.empty()) {
    auto version = parse_version(options.max_sdk);
    if (!version.ok()) return in_context(std::move(version).error(), "--max-sdk");
    policy.max_sdk = version.value();
  }
  policy.soc_table = asked.table;
  if (!options.record.empty()) {
    FATCTX_ASSIGN(const RecordInfo record, find_record(container, options.record));
    policy.record_override = std::string(record.name);
  }
  if (matrix) return run_coverage(options, container, policy);
  if (next) {
    auto model = Model::choose(container, {.policy = policy, .device = device, .on_damage = OnDamage::kNext});
    // A record that does not fit is reported below, like every other.
    if (!model.ok() && model.error().code != ErrorCode::kNoMatch) return std::move(model).error();
    if (model.ok()) {
      print_result(options.json ? model.value().explain_json() + '\n' : explained(model.value().explain(), true));
      return ExitCode::kOk;
    }
  }
  FATCTX_ASSIGN(const Selection selection, container.select(device, policy));
  if (options.json) {
    print_result(explain_json(selection, candidates, device, policy) + '\n');
  } else {
    print_result(explained(explain_text(selection, candidates, device, policy), !selection.chosen.empty()));
  }
  return selection.chosen.empty() ? ExitCode::kNoMatch : ExitCode::kOk;
}

}  // namespace

void add_select(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<SelectOptions>();
  CLI::App* command = describe(
      app, "select",
      {.purpose = "Say which record a device gets, and why not the others",
       .synopsis = "fatctx select FILE [options]",
       .examples = {"fatctx select model.fatctx", "fatctx select model.fatctx --device SM8650 --sdk 2.51 --vtcm 8",
                    "fatctx select model.fatctx --require-coverage SM8550,SM8650,SM8750"},
       .more = "docs/cli/device.md, docs/selection.md; exit code 4: nothing fits, 1: a device is not covered"});
  command->add_option("FILE", options->path, "The container, or its URL (http, https, oci)")->required();
  add_device_flags(*command, options->device);
  command->add_option("--group", options->policy.group, "The graph group, if there are several")->type_name("GROUP");
  command->add_option("--record", options->record, "Take this context binary, if it fits")->type_name("NAME");
  command->add_flag("--strict", options->policy.strict, "Only records that fully use the device");
  command->add_flag("--allow-lower-arch", options->policy.allow_lower_arch, "Accept records for a lower Hexagon arch");
  command->add_flag("--no-generic", options->no_generic, "Do not fall back to generic records");
  command->add_option("--max-sdk", options->max_sdk, "Refuse records of a newer SDK, to go back to an older one")
      ->type_name("VERSION");
  command->add_flag("--prepare-hook", options->policy.prepare_hook,
                    "As for an application that compiles stored source models");
  auto* all = command->add_flag("--all-devices", options->all_devices,
                                "Every device that is known: which record it gets, or what refuses");
  auto* coverage = command->add_option("--require-coverage", options->require_coverage,
                                       "Devices, or @FILE: exit code 1 unless each gets a record");
  coverage->type_name("LIST");
  for (auto* const of_many : {static_cast<CLI::Option*>(all), coverage}) {
    of_many->excludes("--device")->excludes("--device-file");
  }
  auto* const hook = command->get_option("--prepare-hook");
  command
      ->add_option("--on-damage", options->on_damage,
                   "fail (the default): read no payload; next: pass over damaged records")
      ->type_name("WHAT")
      ->check(CLI::IsMember({"fail", "next"}))
      ->excludes(hook);
  add_generation(*command, options->generation);
  add_http_access_flags(*command, options->http);
  add_plain_http_flag(*command, options->http);
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.selection/1)");
  const auto recording = add_recording(*command);
  command->callback([options, recording, &outcome] {
    outcome.finish(recorded(*recording, options->path, [&] { return run_select(*options); }));
  });
}

}  // namespace fatctx::tools
