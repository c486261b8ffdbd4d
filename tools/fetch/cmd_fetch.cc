// fatctx fetch: brings a device's part of a container here, from a URL or a file, and checks every byte.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/fetch_plan.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/trust_flags.h"
#include "tools/device/asked_device.h"
#include "tools/device/coverage.h"
#include "tools/fetch/beside_source.h"
#include "tools/fetch/temporary_file.h"
#include "tools/source/byte_source.h"
#include "tools/source/fetch_run.h"
#include "tools/source/http_flags.h"

namespace fatctx::tools {

namespace {

struct FetchFlags {
  std::string source;
  std::string out;
  DeviceFlags device;
  std::string devices;  // a list, or @FILE
  std::vector<std::string> records;
  bool all = false;
  std::vector<std::string> from;
  TrustFlags trust;
  SelectPolicy policy;
  bool more = false;
  bool force = false;
  bool dry_run = false;
  bool require_ranges = false;
  std::uint64_t most_bytes = std::uint64_t{1} << 40U;
  HttpOptions http;
  bool json = false;
};

// The result of a run, or of a dry run.
struct Fetched {
  FetchReport report;
  std::uint64_t requests = 0;       // made
  std::uint64_t more_requests = 0;  // that a dry run did not make
  std::uint64_t more_bytes = 0;
  bool whole_file = false;  // the server sends no ranges
  UsedBeside beside;
  bool dry_run = false;
};

Result<FetchOptions> plan_options(const FetchFlags& flags) {
  FetchOptions options;
  options.all = flags.all;
  options.records = flags.records;
  options.more = flags.more;
  options.overwrite = flags.force;
  options.policy = flags.policy;
  options.source_name = flags.source;
  FATCTX_ASSIGN(const OpenOptions open, open_options(flags.trust, 0));
  options.trusted_keys = open.trusted_keys;
  options.minimum_generation = open.minimum_generation;
  for (const std::string& from : flags.from) {
    for (std::string& path : containers_named(from)) options.seeds.push_back(std::move(path));
  }
  const std::string& list = flags.device.device.starts_with('@') ? flags.device.device : flags.devices;
  if (!list.empty()) {
    FATCTX_ASSIGN(SocTable table, asked_soc_table(flags.device.soc_table));
    FATCTX_ASSIGN(const std::vector<NamedDevice> listed, listed_devices(list, flags.device, table));
    for (const NamedDevice& device : listed) options.devices.push_back(device.device);
    options.policy.soc_table = std::move(table);
  } else if (!flags.all && flags.records.empty()) {
    FATCTX_ASSIGN(AskedDevice asked, asked_device(flags.device));
    options.machine = std::move(asked.detection);
    options.policy.soc_table = std::move(asked.table);
  }
  return options;
}

Status check_size(const FetchFlags& flags, std::uint64_t size) {
  if (size <= flags.most_bytes) return Done{};
  return Error{ErrorCode::kLimitExceeded, fmt::format("{}: {}, more than --max-size allows ({})", flags.source,
                                                      size_text(size), size_text(flags.most_bytes))};
}

Result<Fetched> fetch(const FetchFlags& flags, HttpOptions http) {
  FATCTX_ASSIGN(FetchOptions options, plan_options(flags));
  if (std::filesystem::exists(flags.out) && !flags.force && !flags.more) {
    return Error{
        ErrorCode::kExists,
        fmt::format("{} exists already; name --more to add records to it, or --force to replace it", flags.out)};
  }
  FATCTX_TRY(check_is_no_input(flags.out, {{"source", is_url(flags.source) ? "" : flags.source}}));
  Fetched fetched;
  fetched.dry_run = flags.dry_run;
  TemporaryFile copy;
  auto source = is_url(flags.source) ? open_url_source(flags.source, http) : open_file_source(flags.source);
  // A manifest that was read is read again for the whole file, and its table is compared as well.
  if (!source.ok() && source.error().code == ErrorCode::kUnsupported && is_url(flags.source) && !flags.require_ranges &&
      !flags.dry_run) {
    print_note(escaped(fmt::format("note: {}; fetching the whole file", to_text(source.error()))));
    const std::string whole = flags.out + ".whole";
    auto downloaded = download_whole(flags.source, whole, flags.most_bytes, http);
    if (!downloaded.ok()) return in_context(std::move(downloaded).error(), flags.source);
    copy.own(whole);
    source = open_file_source(whole);
    fetched.whole_file = true;
  }
  if (!source.ok()) return in_context(std::move(source).error(), flags.source);
  FATCTX_TRY(check_size(flags, source.value()->size()));
  const bool resumed = std::filesystem::exists(flags.out + ".fetching");
  if (flags.dry_run) options.overwrite = true;
  if (options.toc_sha256.empty()) options.toc_sha256 = source.value()->toc_sha256();
  const std::vector<std::string> seeds = options.seeds;
  FATCTX_ASSIGN(FetchPlan plan, FetchPlan::begin(flags.out, source.value()->size(), std::move(options)));
  ProgressLine line("fetch");
  const auto progressed = [&] {
    const std::uint64_t needed = plan.report().needed_bytes;
    if (plan.stage() == FetchStage::kPayload) line.bytes(needed - plan.missing_bytes(), needed);
  };
  auto run = run_plan(plan, *source.value(), FetchStage::kPayload, progressed);
  if (run.ok()) {
    if (!fetched.whole_file) {
      take_from_beside(plan, {flags.source, flags.out, seeds, *source.value(), fetched.dry_run}, http, fetched.beside);
    }
    if (http.cancel != nullptr && http.cancel->load()) {
      return Error{ErrorCode::kCancelled, "the fetch was cancelled; what came is kept, fetch again to go on"};
    }
    run = run_plan(plan, *source.value(), flags.dry_run ? FetchStage::kPayload : FetchStage::kDone, progressed);
  }
  if (!run.ok()) {
    if (!resumed && plan.stage() < FetchStage::kPayload) plan.discard();  // nothing of value came
    Error error = std::move(run).error();
    return error.message.starts_with(flags.source) ? std::move(error) : in_context(std::move(error), flags.source);
  }
  if (flags.dry_run) {
    if (!fetched.beside.update.empty()) {
      fetched.more_requests = 1;
      fetched.more_bytes = fetched.beside.update_bytes;
    } else {
      const std::vector<ByteRange> wanted = plan.wanted();
      FATCTX_TRY(source.value()->find_out(wanted));
      fetched.more_requests = source.value()->requests_for(wanted);
      for (const ByteRange& range : wanted) fetched.more_bytes += range.size;
    }
    fetched.requests = source.value()->requests() + fetched.beside.requests;
    fetched.report = plan.report();
    if (!resumed) plan.discard();
    return fetched;
  }
  fetched.requests = source.value()->requests() + fetched.beside.requests;
  FATCTX_TRY(plan.publish());
  fetched.report = plan.report();
  return fetched;
}

std::string fetched_text(const Fetched& fetched) {
  const FetchReport& report = fetched.report;
  std::string text;
  for (const std::string& lost : report.degraded) text += escaped(fmt::format("the source is damaged: {}\n", lost));
  const std::string of = fmt::format(
      "{}: {} of {}, {} of the container's {}\n", escaped(report.path), count_text(report.records.size(), "record"),
      fmt::format("generation {}", report.generation), size_text(report.needed_bytes), size_text(report.source_bytes));
  text += of;
  if (report.present_bytes != 0) {
    text += fmt::format("{} were here from a fetch that did not end\n", size_text(report.present_bytes));
  }
  if (report.reused_bytes != 0)
    text += fmt::format("{} came from files that are here\n", size_text(report.reused_bytes));
  const UsedBeside& beside = fetched.beside;
  if (!beside.update.empty()) {
    text += fmt::format("{} of an update: {}\n", size_text(beside.update_bytes), escaped(beside.update));
  }
  if (!beside.index.empty()) {
    text += fmt::format("{} of a block index: {}\n", size_text(beside.index_bytes), escaped(beside.index));
  }
  text += ways_text(beside);
  text += fmt::format("{} fetched in {}\n", size_text(report.fetched_bytes), count_text(fetched.requests, "request"));
  if (fetched.dry_run) {
    text += fmt::format("{} more would be fetched in {}; nothing was written\n", size_text(fetched.more_bytes),
                        count_text(fetched.more_requests, "request"));
  }
  return text;
}

std::string fetched_json(const Fetched& fetched) {
  const FetchReport& report = fetched.report;
  return json_text({{"schema", "fatctx.fetch/1"},
                    {"file", report.path},
                    {"generation", report.generation},
                    {"records", report.records},
                    {"source_bytes", report.source_bytes},
                    {"needed_bytes", report.needed_bytes},
                    {"present_bytes", report.present_bytes},
                    {"reused_bytes", report.reused_bytes},
                    {"fetched_bytes", report.fetched_bytes},
                    {"requests", fetched.requests},
                    {"whole_file", fetched.whole_file},
                    {"update", text_or_null(fetched.beside.update)},
                    {"update_bytes", fetched.beside.update_bytes},
                    {"block_index", text_or_null(fetched.beside.index)},
                    {"block_index_bytes", fetched.beside.index_bytes},
                    {"ways", ways_json(fetched.beside)},
                    {"dry_run", fetched.dry_run},
                    {"more_bytes", fetched.more_bytes},
                    {"more_requests", fetched.more_requests},
                    {"degraded", report.degraded}});
}

Result<ExitCode> run_fetch(const FetchFlags& flags) {
  const Interrupt interrupt;
  HttpOptions http = flags.http;
  http.cancel = interrupt.flag();
  FATCTX_ASSIGN(const Fetched fetched, fetch(flags, http));
  print_result(flags.json ? fetched_json(fetched) : fetched_text(fetched));
  return ExitCode::kOk;
}

}  // namespace

void add_fetch(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<FetchFlags>();
  CLI::App* command = describe(app, "fetch",
                               {.purpose = "Bring a device's part of a container here, and check every byte",
                                .synopsis = "fatctx fetch SOURCE -o FILE [options]",
                                .examples = {"fatctx fetch model.fatctx --device x86-64-v3 -o part.fatctx",
                                             "fatctx fetch model.fatctx --device x86-64-v3 -o part.fatctx --more",
                                             "fatctx fetch model.fatctx --all --from old.fatctx -o new.fatctx"},
                                .more = "docs/cli/fetch.md, docs/delivery.md"});
  command->add_option("SOURCE", flags->source, "A URL (http, https, oci), or a file")->required();
  command->add_option("-o,--output", flags->out, "The file to make")->required()->type_name("FILE");
  add_device_flags(*command, flags->device);
  command->add_option("--devices", flags->devices, "Several devices, or @FILE (--device @FILE is the same)")
      ->type_name("LIST")
      ->excludes("--device")
      ->excludes("--device-file");
  command->add_option("--record", flags->records, "A record by its name, with all that it needs; repeatable")
      ->type_name("NAME");
  command->add_flag("--all", flags->all, "The whole container");
  command->add_option("--from", flags->from, "A container, or a folder of them, to copy equal parts from; repeatable")
      ->type_name("FILE");
  command->add_flag("--more", flags->more, "Add records to a FILE that has a part of the same container");
  command->add_flag("--force", flags->force, "Replace FILE");
  command->add_flag("--dry-run", flags->dry_run, "Only say how many bytes and requests it takes");
  add_trust_flags(*command, flags->trust);
  command->add_option("--group", flags->policy.group, "The graph group, if there are several")->type_name("GROUP");
  command->add_flag("--allow-lower-arch", flags->policy.allow_lower_arch, "Accept records for a lower Hexagon arch");
  command->add_option("--max-size", flags->most_bytes, "Refuse a larger container; default 1 TiB")
      ->transform(CLI::AsSizeValue(false))
      ->transform(size_number())
      ->type_name("SIZE");
  command->add_flag("--require-ranges", flags->require_ranges, "Refuse a server that would send the whole file");
  add_http_flags(*command, flags->http);
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.fetch/1)");
  command->callback([flags, &outcome] { outcome.finish(run_fetch(*flags)); });
}

}  // namespace fatctx::tools
