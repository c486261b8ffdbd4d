// fatctx info: describes a container. Reads header, table of contents and description; payload only for
// --sharing and --present. It fetches the metadata of a container at a URL.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/device.h"
#include "fatctx/info.h"
#include "fatctx/presence.h"
#include "fatctx/select.h"
#include "fatctx/sharing.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/recording.h"
#include "tools/cli/trust_flags.h"
#include "tools/cli/whole_container.h"
#include "tools/device/asked_device.h"
#include "tools/facts/json_file.h"
#include "tools/inspect/csv_text.h"
#include "tools/inspect/filters.h"
#include "tools/inspect/graph_facts.h"
#include "tools/inspect/info_filter.h"
#include "tools/inspect/info_text.h"
#include "tools/inspect/known_file.h"
#include "tools/inspect/model_views.h"
#include "tools/inspect/qnn_json_text.h"
#include "tools/inspect/sharing_text.h"
#include "tools/inspect/tensor_stats.h"
#include "tools/source/http_flags.h"
#include "tools/source/remote_container.h"

namespace fatctx::tools {

namespace {

struct InfoOptions {
  TrustFlags trust;
  std::string path;
  std::uint64_t generation = 0;
  bool json = false;
  bool records = false;
  bool graphs = false;
  bool options = false;
  bool sharing = false;
  bool extents = false;
  bool present = false;
  bool layout = false;
  bool parts = false;
  bool detect = false;
  bool csv = false;
  bool stats = false;
  bool wide = false;
  bool ops = false;
  bool summary = false;
  std::string device;
  std::string tensors_of;
  std::string sort;
  ViewFilter filter;
  HttpOptions http;

  [[nodiscard]] bool remote() const noexcept { return is_url(path); }
};

std::size_t width_of(const InfoOptions& options) { return options.wide ? 0 : kTerminalWidth; }

void print_view(const InfoOptions& options, const std::string& text) {
  options.wide || options.csv ? print_as_it_is(text) : print_result(text);
}

ExitCode print_layout(bool json) {
  print_result(json ? layout_json() + '\n' : layout_text());
  return ExitCode::kOk;
}

// Describes a file of another form, unless an option asks for a view of containers.
Result<ExitCode> no_container(const InfoOptions& options, Error error) {
  const bool other_form = error.code == ErrorCode::kBadMagic || error.code == ErrorCode::kTruncated;
  // A caller that asks for a signature does not want a file that cannot have one.
  const bool trust_asked = !options.trust.keys.empty() || options.trust.minimum_generation != 0;
  if (!other_form || trust_asked) return error;
  const bool view = options.records || options.parts || options.options || options.sharing || options.extents ||
                    options.present || options.detect || !options.device.empty() || options.generation != 0;
  FileViews views{.graphs = options.graphs,
                  .ops = options.ops,
                  .summary = options.summary,
                  .json = options.json,
                  .csv = options.csv,
                  .stats = options.stats,
                  .width = width_of(options),
                  .tensors = {},
                  .filter = options.filter};
  if (!options.tensors_of.empty()) views.tensors = options.tensors_of;
  if (view) views = FileViews();  // the form decides which error it is
  FATCTX_ASSIGN(const std::optional<std::string> text, known_file_text(options.path, views));
  if (!text) {
    if (error.code != ErrorCode::kBadMagic) return error;
    FATCTX_ASSIGN(const std::optional<std::string> described, binary_with_json_text(options.path, views));
    if (described && !view) {
      print_view(options, *described);
      return ExitCode::kOk;
    }
    error.message += fmt::format(
        "; nor a form that info knows besides: {}; a raw binary is opaque, but info shows its graphs if the JSON that "
        "qnn-context-binary-utility writes is beside it, as NET.json for NET.bin",
        known_forms());
    return error;
  }
  if (view) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: not a container, which is what that view is of; leave it out", options.path)};
  }
  print_view(options, *text);
  return ExitCode::kOk;
}

// Returns the text of `select` for a container and a device.
Result<std::string> detection_text(const Container& container, const std::string& device) {
  DeviceFlags flags;
  flags.device = device;
  FATCTX_ASSIGN(const AskedDevice asked, asked_device(flags));
  const std::vector<Candidate> candidates = all_candidates(container);
  const Device& found = device_for(asked.detection, candidates);
  const SelectPolicy policy{.soc_table = asked.table};
  FATCTX_ASSIGN(const Selection selection, container.select(found, policy));
  return escaped_lines(explain_text(selection, candidates, found, policy));
}

// The parts that --ops and --summary show of a container.
struct ModelParts {
  std::vector<ModelView> models;
  std::vector<OpRange> ranges;  // of graphs that a DLC had
};

std::vector<OpRange> op_ranges_of(const Container& container, const ContainerDescription& description,
                                  const ViewFilter& filter) {
  std::vector<OpRange> ranges;
  for (const RecordInfo& record : chosen_records(container, filter)) {
    const RecordDescription* const said = description.find(record.id);
    if (said == nullptr) continue;
    for (const DescribedGraph& graph : said->graphs) {
      if (!fits_pattern(filter.graph, graph.name)) continue;
      auto range = op_range(record.name.empty() ? fmt::format("#{}", record.id) : std::string(record.name), graph);
      if (!range) continue;
      range->record = record.id;
      ranges.push_back(*std::move(range));
    }
  }
  return ranges;
}

Result<ModelParts> model_parts(const Container& container, const ContainerDescription& description,
                               const InfoOptions& options) {
  ModelParts parts;
  if (options.ops) parts.ranges = op_ranges_of(container, description, options.filter);
  const bool other = !parts.ranges.empty() && !options.summary && options.filter.op.empty();
  if (!other || has_models(container, description, options.filter)) {
    FATCTX_ASSIGN(parts.models, models_of_container(container, description, options.filter, options.generation));
  }
  return parts;
}

// Returns one view as CSV: the records, unless another one is asked for.
Result<std::string> csv_of(const Container& container, const ContainerDescription& description,
                           const InfoOptions& options, const ModelParts& parts,
                           const std::optional<TensorTable>& tensors, const std::vector<CountedTensor>& counted) {
  const bool other = options.parts || options.options || options.extents || options.summary;
  const int views = (options.records ? 1 : 0) + (options.graphs ? 1 : 0) + (options.ops ? 1 : 0) +
                    (options.sharing ? 1 : 0) + (tensors ? 1 : 0);
  if (other || views > 1) {
    return invalid_argument("--csv prints one table: of records, or with one of --graphs, --tensors, --ops, --sharing");
  }
  if (options.graphs) return graphs_csv(graphs_by_record(container, description, options.filter));
  if (options.ops && !parts.models.empty()) return ops_csv(parts.models, options.filter);
  if (options.ops) return op_ranges_csv(parts.ranges, "record");
  if (options.stats) return stats_csv(counted);
  if (tensors) return tensors_csv(*tensors, options.filter);
  if (!options.sharing) return records_csv(container, description, options.filter);
  ProgressLine line("info");
  FATCTX_ASSIGN(const SharingReport report, measure_sharing(container, line.callback()));
  return sharing_csv(container, report);
}

// Returns the document with the nodes and the summary of models, and with the records that fit the filter.
std::string with_models(const std::string& json, const InfoOptions& options, const ModelParts& parts,
                        const std::vector<CountedTensor>& counted, const Container& container) {
  ViewFilter filter = options.filter;
  if (!options.tensors_of.empty()) filter.type.clear();  // it is that of tensors
  const bool filtered = filter.any_of_records() || filter.by_size || !filter.graph.empty();
  if (!options.ops && !options.summary && !options.stats && !filtered) return json + '\n';
  auto parsed = parse_json(json, options.path);
  if (!parsed.ok()) return json + '\n';  // a document of ours parses
  Json document = filtered ? filtered_info(parsed.value(), container, filter) : std::move(parsed).value();
  if (options.ops) {
    document.add("ops", ops_json(parts.models, options.filter));
    document.add("op_ranges", op_ranges_json(parts.ranges));
  }
  if (options.stats) document.add("tensor_stats", stats_json(counted));
  if (options.summary) document.add("summary", models_summary_json(parts.models));
  return json_text(document);
}

// Opens the file, or the metadata of one at a URL.
Result<RemoteContainer> opened_container(const InfoOptions& options) {
  FATCTX_ASSIGN(const OpenOptions open, open_options(options.trust, options.generation));
  if (!options.remote()) {
    FATCTX_ASSIGN(Container container, open_whole(options.path, open));
    return RemoteContainer{std::move(container), nullptr};
  }
  if (options.sharing || options.stats || options.ops || options.summary || options.present) {
    return invalid_argument(
        fmt::format("{}: --sharing, --stats, --ops, --summary and --present read payload, which is not here; bring it "
                    "first: fatctx fetch {} --all -o FILE",
                    options.path, options.path));
  }
  std::vector<std::string> tensors_of;
  if (!options.tensors_of.empty()) tensors_of.push_back(options.tensors_of);
  return open_remote(options.path, open, tensors_of, options.http);
}

Result<ExitCode> run_info(const InfoOptions& options) {
  if (options.layout) return print_layout(options.json);
  if (options.path.empty()) {
    return Error{ErrorCode::kInvalidArgument, "info needs a FILE, or --layout; see: fatctx info --help"};
  }
  auto opened = opened_container(options);
  if (!opened.ok() && options.remote()) return std::move(opened).error();
  if (!opened.ok()) return no_container(options, std::move(opened).error());
  const RemoteContainer found = std::move(opened).value();
  const Container& container = found.container;

  // A damaged description costs only names and options: the rest is still worth printing.
  ContainerDescription description;
  std::optional<Error> description_error;
  if (auto described = container.describe(); described.ok()) {
    description = std::move(described).value();
  } else {
    description_error = std::move(described).error();
  }

  std::optional<RecordInfo> weights;
  std::optional<TensorTable> tensors;
  if (!options.tensors_of.empty()) {
    FATCTX_ASSIGN(weights, find_record(container, options.tensors_of));
    if (options.remote() && weights->recipe) {
      return Error{
          ErrorCode::kNotPresent,
          fmt::format("{}: record \"{}\" is a recipe, whose tensors are known with its payload alone; bring it "
                      "first: fatctx fetch {} --record {} -o FILE",
                      options.path, weights->name, options.path, weights->name)};
    }
    FATCTX_ASSIGN(tensors, container.tensors(weights->id));
  }

  std::vector<CountedTensor> counted;
  if (options.stats) {
    if (!tensors) {
      return invalid_argument(fmt::format("{}: --stats needs --tensors RECORD, a weight blob", options.path));
    }
    FATCTX_ASSIGN(counted, stats_of_blob(container, weights->id, *tensors, options.filter));
  }
  ModelParts models;
  if (options.ops || options.summary) {
    FATCTX_ASSIGN(models, model_parts(container, description, options));
  }
  if (options.csv) {
    FATCTX_ASSIGN(const std::string text, csv_of(container, description, options, models, tensors, counted));
    print_view(options, text);
  } else if (options.json) {
    InfoParts parts{.graphs = options.graphs,
                    .options = options.options,
                    .sharing = options.sharing,
                    .extents = options.extents,
                    .present = options.present,
                    .metadata_alone = options.remote()};
    if (weights) parts.tensors_of = weights->id;
    FATCTX_ASSIGN(const std::string json, info_json(container, description, parts));
    print_result(with_models(json, options, models, counted, container));
  } else {
    const std::size_t width = width_of(options);
    std::vector<std::string> sections;
    if (options.parts) sections.push_back(parts_text(container, width));
    if (options.records) sections.push_back(record_details_text(container, description, options.filter, width));
    if (tensors) {
      sections.push_back(options.stats ? stats_text(counted, width) : tensors_text(*tensors, options.filter, width));
    }
    if (options.graphs) sections.push_back(graphs_text(container, description, options.filter, width));
    if (!models.ranges.empty()) sections.push_back(op_ranges_text(models.ranges, width));
    if (options.ops && !models.models.empty()) sections.push_back(ops_text(models.models, options.filter, width));
    if (options.summary) sections.push_back(models_summary_text(models.models, width));
    if (options.options) sections.push_back(options_text(container, description));
    if (options.extents) sections.push_back(extents_text(container, width));
    if (options.present) {
      ProgressLine line("info");
      FATCTX_ASSIGN(const PresenceReport presence,
                    find_absent(container, {.read_payload = true, .progress = line.callback()}));
      sections.push_back(presence_text(container, presence));
    }
    if (options.sharing) {
      ProgressLine line("info");
      FATCTX_ASSIGN(const SharingReport report, measure_sharing(container, line.callback()));
      sections.push_back(sharing_report_text(container, report, bars_of_terminal()));
    }
    if (options.detect || !options.device.empty()) {
      FATCTX_ASSIGN(std::string text, detection_text(container, options.device));
      sections.push_back(std::move(text));
    }
    if (sections.empty()) {
      PresenceReport presence;
      if (!options.remote()) {
        FATCTX_ASSIGN(presence, find_absent(container));
      }
      sections = {header_text(container, description, presence, width) + degraded_text(open_report(container)),
                  record_table_text(container, presence, options.filter, width)};
    }
    for (std::size_t i = 0; i < sections.size(); ++i) print_view(options, (i == 0 ? "" : "\n") + sections[i]);
  }
  if (description_error) return in_context(std::move(*description_error), options.path);
  return ExitCode::kOk;
}

}  // namespace

void add_info(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = describe(app, "info",
                               {.purpose = "Print what a container holds",
                                .synopsis = "fatctx info FILE [options]",
                                .examples = {"fatctx info model.fatctx --tensors weights"},
                                .more = "docs/cli/inspect.md, docs/format.md"});
  command->add_option("FILE", options->path, "The container, or its URL (http, https, oci)");
  command->add_flag("--parts", options->parts, "Print source models, binaries by target, and shared weights");
  command->add_flag("--records", options->records, "Print every fact of every record");
  command->add_option("--tensors", options->tensors_of, "Print the tensors of a weight blob; of another file: PATTERN")
      ->type_name("RECORD");
  command->add_flag("--stats", options->stats, "With --tensors: least, most, zeros, NaN, distinct");
  command->add_flag("--graphs", options->graphs, "Print the graphs with inputs and outputs");
  command->add_flag("--ops", options->ops, "Print the nodes of source models with inferred shapes");
  command->add_flag("--summary", options->summary, "Print what source models consist of and cost");
  command->add_flag("--options", options->options, "Print the stored compiler and session options");
  command->add_flag("--sharing", options->sharing, "Print what records share, and what they could; reads the payload");
  command->add_flag("--extents", options->extents, "Print where everything is in the file");
  command->add_flag("--present", options->present, "Print which records the file has, if it has only a part of them");
  auto* const detect =
      command->add_flag("--detect", options->detect, "Print what this machine gets, and why not the others");
  command->add_option("--for", options->device, "The same for another device: SM8650, v75, x86-64-v3")
      ->type_name("DEVICE")
      ->excludes(detect);
  command->add_flag("--layout", options->layout, "Print the field tables of the format; needs no FILE");
  command->add_option("--record", options->filter.record, "Only records of this name; * stands for any text")
      ->type_name("PATTERN");
  command->add_option("--type", options->filter.type, "Only records of this type; with --tensors, tensors")
      ->type_name("PATTERN");
  command->add_option("--target", options->filter.target, "Only binaries whose target has this word")
      ->type_name("PATTERN");
  command->add_option("--graph", options->filter.graph, "Only graphs of this name")->type_name("PATTERN");
  command->add_option("--op", options->filter.op, "Only nodes of this operator")->type_name("PATTERN");
  command->add_option("--sort", options->sort, "Print the largest records or tensors first")
      ->check(CLI::IsMember({"size"}))
      ->type_name("WHAT");
  add_generation(*command, options->generation);
  add_trust_flags(*command, options->trust);
  add_http_access_flags(*command, options->http);
  add_plain_http_flag(*command, options->http);
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.info/1)")
      ->excludes(detect)
      ->excludes(command->get_option("--for"));
  command->add_flag("--csv", options->csv, "Print one view as CSV: records, graphs, tensors, ops or sharing")
      ->excludes(command->get_option("--json"))
      ->excludes(detect)
      ->excludes(command->get_option("--for"));
  command->add_flag("--wide", options->wide, "Do not shorten names to 80 columns");
  const auto recording = add_recording(*command);
  command->callback([options, recording, &outcome] {
    options->filter.by_size = !options->sort.empty();
    outcome.finish(recorded(*recording, options->path, [&] { return run_info(*options); }));
  });
}

}  // namespace fatctx::tools
