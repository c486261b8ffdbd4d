// fatctx info: describes a container. Reads header, table of contents and description; payload only for
// --sharing.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/device.h"
#include "fatctx/info.h"
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
#include "tools/inspect/info_text.h"
#include "tools/inspect/known_file.h"
#include "tools/inspect/sharing_text.h"

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
  bool layout = false;
  bool parts = false;
  bool detect = false;
  std::string device;
  std::string tensors_of;
};

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
  FATCTX_ASSIGN(const std::optional<std::string> text, known_file_text(options.path, options.json));
  if (!text) {
    if (error.code == ErrorCode::kBadMagic) {
      error.message += fmt::format(
          "; nor a form that info knows besides: {}; a raw binary is opaque without its vendor's tool", known_forms());
    }
    return error;
  }
  const bool view = options.records || options.parts || options.options || options.sharing || options.extents ||
                    options.detect || !options.device.empty() || !options.tensors_of.empty() || options.generation != 0;
  if (options.graphs && !view) {
    FATCTX_ASSIGN(const std::optional<std::string> graphs, known_file_graphs(options.path));
    if (graphs) {
      print_result(options.json ? *text : *graphs);
      return ExitCode::kOk;
    }
  }
  if (view || options.graphs) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: not a container, which is what that view is of; leave it out", options.path)};
  }
  print_result(*text);
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

Result<ExitCode> run_info(const InfoOptions& options) {
  if (options.layout) return print_layout(options.json);
  if (options.path.empty()) {
    return Error{ErrorCode::kInvalidArgument, "info needs a FILE, or --layout; see: fatctx info --help"};
  }
  FATCTX_ASSIGN(const OpenOptions open, open_options(options.trust, options.generation));
  auto opened = open_whole(options.path, open);
  if (!opened.ok()) return no_container(options, std::move(opened).error());
  const Container container = std::move(opened).value();

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
    FATCTX_ASSIGN(tensors, container.tensors(weights->id));
  }

  if (options.json) {
    InfoParts parts{
        .graphs = options.graphs, .options = options.options, .sharing = options.sharing, .extents = options.extents};
    if (weights) parts.tensors_of = weights->id;
    FATCTX_ASSIGN(const std::string json, info_json(container, description, parts));
    print_result(json + '\n');
  } else {
    std::vector<std::string> sections;
    if (options.parts) sections.push_back(parts_text(container));
    if (options.records) sections.push_back(record_details_text(container, description));
    if (tensors) sections.push_back(tensors_text(*tensors));
    if (options.graphs) sections.push_back(graphs_text(container, description));
    if (options.options) sections.push_back(options_text(container, description));
    if (options.extents) sections.push_back(extents_text(container));
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
      sections = {header_text(container, description) + degraded_text(open_report(container)),
                  record_table_text(container)};
    }
    for (std::size_t i = 0; i < sections.size(); ++i) print_result((i == 0 ? "" : "\n") + sections[i]);
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
                                .examples = {"fatctx info model.fatctx", "fatctx info model.fatctx --tensors weights"},
                                .more = "docs/cli/inspect.md, docs/format.md"});
  command->add_option("FILE", options->path, "The container");
  command->add_flag("--parts", options->parts, "Print source models, binaries by target, and shared weights");
  command->add_flag("--records", options->records, "Print every fact of every record");
  command->add_option("--tensors", options->tensors_of, "Print the tensor table of a weight blob")->type_name("RECORD");
  command->add_flag("--graphs", options->graphs, "Print the graphs with inputs and outputs");
  command->add_flag("--options", options->options, "Print the stored compiler and session options");
  command->add_flag("--sharing", options->sharing, "Print what records share, and what they could; reads the payload");
  command->add_flag("--extents", options->extents, "Print where everything is in the file");
  auto* const detect =
      command->add_flag("--detect", options->detect, "Print what this machine gets, and why not the others");
  command->add_option("--for", options->device, "The same for another device: SM8650, v75, x86-64-v3")
      ->type_name("DEVICE")
      ->excludes(detect);
  command->add_flag("--layout", options->layout, "Print the field tables of the format; needs no FILE");
  add_generation(*command, options->generation);
  add_trust_flags(*command, options->trust);
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.info/1)")
      ->excludes(detect)
      ->excludes(command->get_option("--for"));
  const auto recording = add_recording(*command);
  command->callback([options, recording, &outcome] {
    outcome.finish(recorded(*recording, options->path, [&] { return run_info(*options); }));
  });
}

}  // namespace fatctx::tools
