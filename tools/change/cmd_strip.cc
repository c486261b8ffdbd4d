// fatctx strip: reduces a container to some of its targets, or to the records that one device takes.
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "tools/change/rewrite_run.h"
#include "tools/cli/command.h"
#include "tools/cli/whole_container.h"
#include "tools/device/asked_device.h"
#include "tools/onnx/ep_context_facts.h"
#include "tools/pack/manifest.h"
#include "tools/pack/manifest_flags.h"

namespace fatctx::tools {

namespace {

struct StripFlags {
  RewriteFlags rewrite;
  std::vector<std::string> keep;
  DeviceFlags device;
  bool no_source_models = false;
};

using Ids = std::set<std::uint32_t>;

Error none(const std::string& path, std::string why) {
  return Error{ErrorCode::kNoMatch, fmt::format("{}: {}; nothing was written", path, why)};
}

// Returns the records that the device gets from every group.
Result<Ids> chosen_for(const Container& container, const std::string& path, const Device& device,
                       const SocTable& table) {
  std::set<std::string> groups;
  for (const RecordInfo& record : all_records(container)) {
    if (record.type == RecordType::kContextBinary) groups.emplace(record.key.group);
  }
  Ids chosen;
  for (const std::string& group : groups) {
    SelectPolicy policy;
    policy.group = group;
    policy.soc_table = table;
    FATCTX_ASSIGN(const Selection selection, container.select(device, policy));
    if (selection.chosen.empty()) {
      return none(path, fmt::format("no record of group \"{}\" fits the device; `fatctx select` says why", group));
    }
    chosen.insert(selection.chosen.begin(), selection.chosen.end());
  }
  return chosen;
}

Result<std::vector<std::uint32_t>> left_for_device(const Container& container, const StripFlags& flags) {
  FATCTX_ASSIGN(const AskedDevice asked, asked_device(flags.device));
  const Device& device = device_for(asked.detection, all_candidates(container));
  FATCTX_ASSIGN(const Ids stays, chosen_for(container, flags.rewrite.path, device, asked.table));
  return records_left(all_records(container), [&](const RecordInfo& record) { return stays.contains(record.id); });
}

// Leaves out wrapper models that only binaries name which go.
Status leave_out_models(const Container& container, std::vector<std::uint32_t>& left) {
  FATCTX_ASSIGN(const ContainerDescription description, container.describe());
  std::set<std::string> of_those_that_go;
  std::set<std::string> of_those_that_stay;
  for (const RecordDescription& said : description.records) {
    const bool stays = std::find(left.begin(), left.end(), said.record_id) != left.end();
    for (const DescribedOption& option : said.options) {
      if (option.owner != kEpContextOwner || option.key != kWholeModelFact) continue;
      (stays ? of_those_that_stay : of_those_that_go).insert(option.value);
    }
  }
  std::erase_if(left, [&](std::uint32_t id) {
    const auto record = container.record(id);
    if (!record.ok() || record.value().type != RecordType::kWrapperModel) return false;
    const std::string hash = to_hex(record.value().hash.bytes);
    return of_those_that_go.contains(hash) && !of_those_that_stay.contains(hash);
  });
  return Done{};
}

Result<std::vector<std::uint32_t>> left_for_targets(const Container& container, const StripFlags& flags) {
  FATCTX_ASSIGN(const SocTable table, asked_soc_table());
  std::vector<TargetFilter> filters;
  for (const std::string& text : flags.keep) {
    FATCTX_ASSIGN(TargetFilter filter, parse_target_filter("--keep", text, table));
    filters.push_back(std::move(filter));
  }
  auto left = records_left(all_records(container), filters);
  return left.ok() ? left : none(flags.rewrite.path, left.error().message);
}

Result<ExitCode> run_strip(const StripFlags& flags) {
  if (flags.keep.empty() == !flags.device.asked()) {
    return Error{ErrorCode::kInvalidArgument,
                 flags.keep.empty() ? "nothing says what stays: give --keep TARGET, --device or --device-file"
                                    : "--keep and a device both say what stays; leave one of them out"};
  }
  if (!flags.keep.empty() && flags.device.stated()) {
    return Error{
        ErrorCode::kInvalidArgument,
        "--sdk, --api, --blob, --vtcm-mb and --soc-table say something of a device, and --keep of targets; leave "
        "them out, or give --device"};
  }
  std::vector<std::uint32_t> left;
  {
    FATCTX_ASSIGN(const Container container, open_whole(flags.rewrite.path));
    FATCTX_ASSIGN(left, flags.keep.empty() ? left_for_device(container, flags) : left_for_targets(container, flags));
    FATCTX_TRY(leave_out_models(container, left));
    if (flags.no_source_models) {
      std::erase_if(left, [&](std::uint32_t id) {
        const auto record = container.record(id);
        return record.ok() && record.value().type == RecordType::kSourceModel;
      });
    }
  }
  return run_rewrite("strip", flags.rewrite, {.keep = std::move(left)});
}

}  // namespace

void add_strip(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<StripFlags>();
  CLI::App* command = describe(app, "strip",
                               {.purpose = "Write a container anew for some targets only",
                                .synopsis = "fatctx strip FILE --keep TARGET... [-o OUT] [options]",
                                .examples = {"fatctx strip model.fatctx --keep cpu:x86-64-v3 -o v3.fatctx",
                                             "fatctx strip model.fatctx --device aarch64+dotprod -o phone.fatctx"},
                                .more = "docs/cli/change.md; weights that no binary refers to any more go too"});
  add_rewrite_flags(*command, flags->rewrite, false);
  command->add_option("--keep", flags->keep, "A target that stays: SM8650, v75, htp, cpu:aarch64+i8mm; repeatable")
      ->type_name("TARGET");
  add_device_flags(*command, flags->device);
  command->add_flag("--no-source-models", flags->no_source_models, "Source models go too");
  command->callback([flags, &outcome] { outcome.finish(run_strip(*flags)); });
}

}  // namespace fatctx::tools
