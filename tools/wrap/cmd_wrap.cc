// fatctx wrap: writes the ONNX model and the file from which an unmodified execution provider of ONNX Runtime
// loads a record.
//
// The binary is published first, so that a visible model always has its binary. All steps that can fail come
// before that, but for the model's own rename; if that fails, a new binary is removed again.
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/device.h"
#include "fatctx/extract.h"
#include "fatctx/select.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/recording.h"
#include "tools/cli/same_bytes.h"
#include "tools/cli/whole_container.h"
#include "tools/device/asked_device.h"
#include "tools/facts/qnn_json.h"
#include "tools/facts/spill_fill.h"
#include "tools/onnx/ep_context_facts.h"
#include "tools/onnx/model_folder.h"
#include "tools/onnx/onnx_whole.h"
#include "tools/wrap/thin_payload.h"
#include "tools/wrap/wrap_plan.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

struct WrapOptions {
  std::string path;
  std::string record;
  DeviceFlags device;
  std::string group;
  std::string output;
  std::string binary;
  std::string qnn_json;
  std::string model;  // a wrapper model, by its name; empty: the record's only one
  WrapWish wish;
  bool embed = false;
  std::uint64_t large_model = kLargeModel;
  bool force = false;
  bool json = false;
};

struct Wrapped {
  std::string record;
  std::string binary;  // as the model names it; empty: inside the model
  std::uint64_t binary_bytes = 0;
  bool written = false;                  // false: it existed already, with the same bytes
  bool thin_dlc = false;                 // the binary is a DLC of the record and its shared weights
  WrapperModel model;                    // without the payload
  std::optional<RecordInfo> whole = {};  // the wrapper model with the nodes between; valid while the container is open
  std::string whole_name = {};           // its name; empty: the model is made of single graphs
  std::string whole_text = {};           // ", 2 nodes of QNN, with these between: Shrink"
  std::vector<std::string> notes;
};

constexpr std::size_t kNamed = 4;  // records that an error names

// Returns the error if the device gets no record. A machine that only writes models seldom is the device.
Error no_record(const Container& container, const WrapOptions& options) {
  std::vector<std::string> names;
  for (const RecordInfo& record : all_records(container)) {
    if (record.type == RecordType::kContextBinary) names.emplace_back(record.name);
  }
  const std::string why = fmt::format("`fatctx select {}` tells why", options.path);
  if (names.empty() || options.device.asked()) {
    return {ErrorCode::kNoMatch, fmt::format("{}: no record for this device; {}", options.path, why)};
  }
  const bool more = names.size() > kNamed;
  if (more) names.resize(kNamed);
  return {ErrorCode::kNoMatch, fmt::format("{}: no record for this machine; name the one to wrap ({}{}), or its device "
                                           "(--device); {}",
                                           options.path, fmt::join(names, ", "), more ? ", ..." : "", why)};
}

// Returns the record that the command line names, or the one that the device gets.
Result<RecordInfo> asked_record(const Container& container, const WrapOptions& options) {
  if (!options.record.empty()) {
    if (options.device.asked() || options.device.stated() || !options.group.empty()) {
      return invalid_argument("give either RECORD, or a device that it is chosen for");
    }
    return find_record(container, options.record);
  }
  FATCTX_ASSIGN(const AskedDevice asked, asked_device(options.device));
  SelectPolicy policy;
  policy.group = options.group;
  policy.soc_table = asked.table;
  const std::vector<Candidate> candidates = all_candidates(container);
  FATCTX_ASSIGN(const Selection selection, container.select(device_for(asked.detection, candidates), policy));
  if (selection.chosen.empty()) return no_record(container, options);
  if (selection.chosen.size() == 1) return container.record(selection.chosen.front());
  std::string names;
  for (const std::uint32_t id : selection.chosen) {
    FATCTX_ASSIGN(const RecordInfo record, container.record(id));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", record.name);
  }
  return invalid_argument(fmt::format("{}: the device gets {} records, one for each unit: {}; name the one to wrap",
                                      options.path, selection.chosen.size(), names));
}

// Returns the file name of the binary. The stem is the part of the name before the last full stop.
Result<std::string> binary_name(const WrapOptions& options, const std::string& source) {
  if (options.binary.empty()) {
    const std::string suffix = binary_suffix(source);
    if (suffix.find_first_of("/\\") != std::string::npos) {
      return invalid_argument(fmt::format("\"{}\" makes no file name; say it with --binary NAME", source));
    }
    return fs::path(options.output).stem().string() + suffix;
  }
  const fs::path name(options.binary);
  if (leads_down(name) && name.has_filename()) return name.generic_string();
  return invalid_argument(
      fmt::format("--binary {}: a model finds its binary in or below its own folder only; give a relative "
                  "name without ..",
                  options.binary));
}

// Checks that no link on the way leads elsewhere: runtimes refuse such a path.
Status check_below(const std::string& model, const std::string& file) {
  fs::path folders[] = {parent_of(model), parent_of(file)};
  for (fs::path& folder : folders) {
    std::error_code problem;
    const std::string written = folder.string();
    folder = fs::canonical(folder, problem);
    if (problem)
      return Error{ErrorCode::kNotFound, fmt::format("{}: the folder does not exist; make it first", written)};
  }
  if (!path_below(folders[0], folders[1]).empty()) return Done{};
  return invalid_argument(fmt::format("{}: is outside of the model's folder, where no runtime looks for it", file));
}

bool there(const std::string& path) {
  std::error_code problem;
  return fs::exists(fs::symlink_status(path, problem));
}

Error exists_already(const std::string& path) {
  return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", path)};
}

// The bytes that the provider loads: those of the record, or a thin DLC with it and its shared weights.
struct BinaryBytes {
  const Container& container;
  const RecordInfo& record;
  std::optional<ThinDlcView> thin = {};

  [[nodiscard]] std::uint64_t size_bytes() const { return thin ? thin->size_bytes() : record.size_bytes; }
};

// Returns true if the file already holds the bytes. Models of one binary, with one graph each, share it.
Result<bool> holds(const BinaryBytes& source, const std::string& path) {
  std::error_code problem;
  if (!fs::is_regular_file(path, problem) || fs::file_size(path, problem) != source.size_bytes()) return false;
  FATCTX_ASSIGN(const auto difference, source.thin ? first_difference(source.thin->bytes(), path)
                                                   : first_difference(source.container, source.record, path));
  return !difference;
}

Status write_binary(const BinaryBytes& source, const std::string& path, bool overwrite, const Progress& progress) {
  if (source.thin) return publish_bytes(source.thin->bytes(), path, overwrite);
  auto written = extract_record(source.container, source.record.id, path, overwrite, progress);
  if (!written.ok()) return std::move(written).error();
  return Done{};
}

Result<std::string> payload_of(const BinaryBytes& source, const Progress& progress) {
  const auto& [container, record, thin] = source;
  FATCTX_TRY(check_embeddable(source.size_bytes()));
  std::string payload;
  if (thin) {
    const ByteView bytes = thin->bytes();
    payload.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());  // char may alias anything
    return payload;
  }
  payload.reserve(record.size_bytes);
  const ByteSink append = [&payload](ByteView bytes) -> Status {
    payload.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());  // char may alias anything
    return Done{};
  };
  FATCTX_TRY(stream_record(container, record.id, append, progress));
  return payload;
}

Status publish_model(const std::string& bytes, const WrapOptions& options) {
  auto published = publish_bytes(std::as_bytes(std::span(bytes)), options.output, options.force);
  if (published.ok() || published.error().code != ErrorCode::kExists) return published;
  return exists_already(options.output);
}

// Writes both files, or neither.
Status write_with_binary(const BinaryBytes& source, const WrapOptions& options, const std::string& model,
                         Wrapped& wrapped, const Progress& progress) {
  const std::string file = path_beside(options.output, wrapped.binary);
  const bool replaces = there(file);
  FATCTX_ASSIGN(const bool ready, holds(source, file));
  if (!ready) {
    auto written = write_binary(source, file, options.force, progress);
    if (!written.ok() && written.error().code == ErrorCode::kExists) return exists_already(file);
    FATCTX_TRY(std::move(written));
    wrapped.written = true;
  }
  auto published = publish_model(model, options);
  if (!published.ok() && published.error().code != ErrorCode::kCommitUnknown && wrapped.written && !replaces) {
    std::error_code ignored;  // the first error says more
    fs::remove(file, ignored);
  }
  return published;
}

// Refuses paths that must not be overwritten, even with --force.
Status check_places(const WrapOptions& options, const Wrapped& wrapped) {
  const std::string file = path_beside(options.output, wrapped.binary);
  if (!wrapped.binary.empty()) FATCTX_TRY(check_below(options.output, file));
  FATCTX_TRY(check_is_no_input(options.output, {{"container", options.path}}));
  if (!wrapped.binary.empty()) FATCTX_TRY(check_is_no_input(file, {{"container", options.path}}));
  if (!wrapped.binary.empty() && same_file(options.output, file)) {
    return invalid_argument(fmt::format("{}: the model and its binary need names of their own", options.output));
  }
  if (!options.force && there(options.output)) return exists_already(options.output);
  return Done{};
}

// Returns true if the command line describes a model of single graphs.
bool asks_for_graphs(const WrapOptions& options) {
  const WrapWish& wish = options.wish;
  return !wish.graph.empty() || !wish.inputs.empty() || !wish.outputs.empty() || wish.quantised_io ||
         !options.qnn_json.empty();
}

// Returns the wrapper model that is wanted: the one that the binary belongs to, or the named one of several. Returns
// nothing for a binary whose graphs are all of its model.
Result<std::optional<RecordInfo>> wanted_model(const Container& container, const RecordDescription* said,
                                               const RecordInfo& record, const WrapOptions& options) {
  std::size_t stated = 0;
  std::vector<RecordInfo> models;
  for (const DescribedOption& option : said == nullptr ? std::vector<DescribedOption>() : said->options) {
    if (option.owner != kEpContextOwner || option.key != kWholeModelFact) continue;
    ++stated;
    for (const RecordInfo& other : all_records(container)) {
      if (other.type != RecordType::kWrapperModel || to_hex(other.hash.bytes) != option.value) continue;
      if (!options.model.empty() && options.model != other.name) continue;
      models.push_back(other);  // others of the same bytes are the same model
      break;
    }
  }
  if (!options.model.empty() && asks_for_graphs(options)) {
    return invalid_argument("--model takes the graphs of that model as they are; leave out the flags about graphs");
  }
  if (asks_for_graphs(options) || (stated == 0 && options.model.empty())) return std::optional<RecordInfo>();
  if (models.size() == 1) return std::optional<RecordInfo>(models.front());
  if (!options.model.empty()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("record \"{}\" is not a part of a wrapper model \"{}\"; `fatctx info` "
                             "lists those of the file",
                             record.name, options.model)};
  }
  if (models.empty()) {
    return Error{
        ErrorCode::kNotFound,
        fmt::format("record \"{}\" is a part of a model whose other nodes are not in this file any more; write "
                    "single graphs of it with --graph NAME",
                    record.name)};
  }
  std::string names;
  for (const RecordInfo& model : models) names += fmt::format("{}{}", names.empty() ? "" : ", ", model.name);
  return invalid_argument(
      fmt::format("record \"{}\" is a part of {} models: {}; say with --model NAME which one to write, or write single "
                  "graphs with --graph NAME",
                  record.name, models.size(), names));
}

Result<std::string> bytes_of(const Container& container, const RecordInfo& record) {
  FATCTX_TRY(check_embeddable(record.size_bytes));
  std::string bytes;
  bytes.reserve(record.size_bytes);
  const ByteSink append = [&bytes](ByteView more) -> Status {
    bytes.append(reinterpret_cast<const char*>(more.data()), more.size());  // char may alias anything
    return Done{};
  };
  FATCTX_TRY(stream_record(container, record.id, append, {}));
  return bytes;
}

// Returns the bytes of the model to write: around single graphs, or the whole model with the nodes between.
Result<std::string> model_bytes(const Container& container, const Wrapped& wrapped, const WrapWish& wish,
                                WrapperModel model) {
  if (!wrapped.whole) {
    auto bytes = wrapper_bytes(std::move(model));
    if (!bytes.ok()) return in_context(std::move(bytes).error(), fmt::format("record \"{}\"", wrapped.record));
    return bytes;
  }
  FATCTX_ASSIGN(const std::string kept, bytes_of(container, *wrapped.whole));
  auto bytes = whole_model_bytes(kept, {.cache = std::move(model.cache),
                                        .payload = std::move(model.payload),
                                        .source = wish.source,
                                        .sdk_version = std::move(model.sdk_version),
                                        .max_size = model.max_size,
                                        .multi_soc = model.multi_soc,
                                        .metadata = std::move(model.metadata)});
  if (!bytes.ok()) return in_context(std::move(bytes).error(), fmt::format("record \"{}\"", wrapped.whole->name));
  return bytes;
}

// Returns text such as ", 2 nodes of QNN, with these between: Shrink"; empty if the record does not count them.
std::string parts_text(const RecordDescription& whole, std::string_view source) {
  const std::string partitions = ep_context_fact(whole.options, kPartitionsFact);
  if (partitions.empty()) return {};
  std::string text = fmt::format(", {} of {}", partitions == "1" ? "1 node" : partitions + " nodes", source);
  for (const DescribedOption& option : whole.options) {
    if (option.key == "operators" && !option.value.empty()) text += ", with these between: " + option.value;
  }
  return text;
}

// Adds a note if the binary has graphs of other models too.
void note_other_graphs(const RecordDescription* whole, Wrapped& wrapped) {
  const std::string partitions = whole == nullptr ? "" : ep_context_fact(whole->options, kPartitionsFact);
  std::uint64_t used = 0;
  std::from_chars(partitions.data(), partitions.data() + partitions.size(), used);
  if (used == 0 || used >= wrapped.model.graphs.size()) return;
  wrapped.notes.push_back(fmt::format("record \"{}\" has {}, which this model does not use; --graph NAME writes one",
                                      wrapped.record, count_text(wrapped.model.graphs.size() - used, "more graph")));
}

Status check_record(const RecordInfo& record) {
  if (record.type == RecordType::kContextBinary) return Done{};
  return invalid_argument(fmt::format("record \"{}\" is a {}; an EPContext node is for a context_binary", record.name,
                                      record_type_name(record.type)));
}

Result<Wrapped> wrap(const WrapOptions& options) {
  WrapWish wish = options.wish;
  if (!options.qnn_json.empty()) {
    FATCTX_ASSIGN(wish.json, read_qnn_json(options.qnn_json));
  }
  // The bytes are copied into a file anyway, so a view of them may be a copy.
  OpenOptions open;
  open.max_copied_bytes = std::numeric_limits<std::uint64_t>::max();
  FATCTX_ASSIGN(const Container container, open_whole(options.path, open));
  FATCTX_ASSIGN(const RecordInfo record, asked_record(container, options));
  FATCTX_TRY(check_record(record));
  FATCTX_ASSIGN(const ContainerDescription description, container.describe());
  if (wish.max_size == 0) {
    auto group = spill_fill_of_group(all_records(container), description, record);
    if (!group.ok()) return in_context(std::move(group).error(), options.path);
    wish.group_max_size = group.value();
  }
  FATCTX_ASSIGN(WrapPlan plan, plan_wrap(record.name, record.key, description.find(record.id), wish));
  Wrapped wrapped{.record = std::string(record.name),
                  .binary = {},
                  .binary_bytes = record.size_bytes,
                  .model = std::move(plan.model),
                  .notes = std::move(plan.notes)};
  FATCTX_ASSIGN(wrapped.whole, wanted_model(container, description.find(record.id), record, options));
  if (wrapped.whole) {
    wrapped.notes.clear();  // they are about graphs that are written anew
    const RecordDescription* const whole = description.find(wrapped.whole->id);
    wrapped.whole_name = wrapped.whole->name;
    if (whole != nullptr) wrapped.whole_text = parts_text(*whole, wrapped.model.source);
    note_other_graphs(whole, wrapped);
  }
  BinaryBytes source{.container = container, .record = record};
  if (!record.weights.empty() && is_qnn(wrapped.model.source)) {
    auto thin = thin_payload(container, record);
    if (!thin.ok()) return in_context(std::move(thin).error(), options.path);
    wrapped.binary_bytes = thin.value().size_bytes();
    wrapped.thin_dlc = true;
    wrapped.model.multi_soc = true;
    source.thin = std::move(thin).value();
  } else if (!record.weights.empty()) {
    wrapped.notes.push_back(fmt::format("record \"{}\" refers to {}, which no execution provider looks for",
                                        record.name, count_text(record.weights.size(), "weight blob")));
  }
  if (!options.embed) {
    FATCTX_ASSIGN(wrapped.binary, binary_name(options, wrapped.model.source));
    wrapped.model.cache = wrapped.binary;
  } else if (source.size_bytes() > options.large_model) {
    wrapped.notes.push_back(
        "a runtime holds embedded data several times in memory; a file beside the model is "
        "read once");
  }
  FATCTX_TRY(check_places(options, wrapped));
  ProgressLine line("wrap");
  WrapperModel model = wrapped.model;
  if (options.embed) {
    FATCTX_ASSIGN(model.payload, payload_of(source, line.callback()));
  }
  FATCTX_ASSIGN(const std::string bytes, model_bytes(container, wrapped, wish, std::move(model)));
  if (options.embed) {
    FATCTX_TRY(publish_model(bytes, options));
  } else {
    FATCTX_TRY(write_with_binary(source, options, bytes, wrapped, line.callback()));
  }
  return wrapped;
}

std::string report_text(const WrapOptions& options, const Wrapped& wrapped) {
  std::string out;
  if (wrapped.whole) {
    out += escaped(fmt::format("{}: model \"{}\"{}", options.output, wrapped.whole_name, wrapped.whole_text)) + "\n";
  }
  for (const WrappedGraph& graph : wrapped.whole ? std::vector<WrappedGraph>() : wrapped.model.graphs) {
    out += escaped(fmt::format("{}: node \"{}\" of {}, {}, {}", options.output, graph.name, wrapped.model.source,
                               count_text(graph.inputs.size(), "input"), count_text(graph.outputs.size(), "output"))) +
           "\n";
  }
  const std::string what =
      fmt::format("{}record \"{}\"{}, {}", wrapped.thin_dlc ? "thin DLC of " : "", wrapped.record,
                  wrapped.thin_dlc ? " with its shared weights" : "", size_text(wrapped.binary_bytes));
  if (wrapped.binary.empty())
    return out + escaped(fmt::format("{}: {}, inside the model", options.output, what)) + "\n";
  const std::string file = path_beside(options.output, wrapped.binary);
  return out + escaped(fmt::format("{}: {}, {}", file, what, wrapped.written ? "written" : "was there")) + "\n";
}

Json tensors_json(const std::vector<WrappedTensor>& tensors) {
  Json list = Json::array();
  for (const WrappedTensor& tensor : tensors) {
    Json json = {{"name", tensor.name},
                 {"dtype", dtype_name(tensor.dtype)},
                 {"shape", tensor.shape},
                 {"model_name", outer_name(tensor)}};
    if (tensor.quantisation) {
      json.add("scale", tensor.quantisation->scale);
      json.add("zero_point", tensor.quantisation->zero_point);
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::string report_json(const WrapOptions& options, const Wrapped& wrapped) {
  Json graphs = Json::array();
  for (const WrappedGraph& graph : wrapped.model.graphs) {
    graphs.push_back(
        {{"name", graph.name}, {"inputs", tensors_json(graph.inputs)}, {"outputs", tensors_json(graph.outputs)}});
  }
  return json_text({{"schema", "fatctx.wrap/1"},
                    {"file", options.path},
                    {"record", wrapped.record},
                    {"model", options.output},
                    {"source", wrapped.model.source},
                    {"whole_model", text_or_null(wrapped.whole_name)},
                    {"embedded", wrapped.binary.empty()},
                    {"binary", text_or_null(wrapped.binary)},
                    {"binary_bytes", wrapped.binary_bytes},
                    {"binary_format", wrapped.thin_dlc ? "dlc" : "record"},
                    {"binary_written", wrapped.written},
                    {"graphs", std::move(graphs)},
                    {"notes", wrapped.notes}});
}

Result<ExitCode> run_wrap(const WrapOptions& options) {
  FATCTX_ASSIGN(const Wrapped wrapped, wrap(options));
  for (const std::string& note : wrapped.notes) print_note(escaped("note: " + note));
  print_result(options.json ? report_json(options, wrapped) : report_text(options, wrapped));
  return ExitCode::kOk;
}

void add_graph_flags(CLI::App& command, WrapOptions& options) {
  command.add_option("--graph", options.wish.graph, "This graph only, or the name of the one that flags describe")
      ->type_name("NAME");
  auto* json = command.add_option("--qnn-json", options.qnn_json, "Graphs as the vendor's tools write them: JSON");
  json->type_name("FILE");
  for (const auto& [name, texts, help] :
       {std::tuple("--graph-input", &options.wish.inputs, "Input of the graph: NAME:TYPE[SIZE,...]"),
        std::tuple("--graph-output", &options.wish.outputs,
                   "Output of the graph; ,scale=S,zero_point=Z if quantised")}) {
    command.add_option(name, *texts, help)
        ->type_name("SPEC")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->excludes(json);
  }
  command.add_flag("--quantized-io,--quantized-IO", options.wish.quantised_io,
                   "Leave quantised inputs and outputs as they are");
}

}  // namespace

void add_wrap(CLI::App& app, Outcome& outcome) { add_wrap(app, outcome, kLargeModel); }

void add_wrap(CLI::App& app, Outcome& outcome, std::uint64_t large_model) {
  auto options = std::make_shared<WrapOptions>();
  options->large_model = large_model;
  CLI::App* command = describe(app, "wrap",
                               {.purpose = "Write an ONNX model around a record, for any execution provider",
                                .synopsis = "fatctx wrap FILE [RECORD] -o OUT [options]",
                                .examples = {"fatctx wrap model.fatctx --device SM8650 -o model_ctx.onnx",
                                             "fatctx wrap model.fatctx raw --qnn-json net.json -o net_ctx.onnx"},
                                .more = "docs/cli/wrap.md, docs/snapdragon.md"});
  command->add_option("FILE", options->path, "The container")->required();
  command->add_option("RECORD", options->record, "A context binary, by name or # and its id; else a device's");
  command->add_option("-o,--output", options->output, "The model to write; its binary goes beside it")
      ->required()
      ->type_name("OUT");
  add_device_flags(*command, options->device);
  command->add_option("--group", options->group, "The graph group, if there are several")->type_name("GROUP");
  add_graph_flags(*command, *options);
  command->add_option("--model", options->model, "The wrapper model, if the binary is a part of several")
      ->type_name("NAME");
  command->add_option("--source", options->wish.source, "The execution provider, if it is not the record's own")
      ->type_name("NAME");
  command->add_option("--max-size", options->wish.max_size, "Largest spill-fill buffer of a group of models, in bytes")
      ->type_name("N")
      ->check(whole_number(1, std::numeric_limits<std::int64_t>::max()));
  auto* binary = command->add_option("--binary", options->binary, "Name of the binary; default OUT's with _qnn.bin");
  binary->type_name("NAME");
  command->add_flag("--embed", options->embed, "Put the binary into the model, up to 2 GB")->excludes(binary);
  command->add_flag("--force", options->force, "Replace OUT and its binary if they exist");
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.wrap/1)");
  const auto recording = add_recording(*command);
  command->callback([options, recording, &outcome] {
    outcome.finish(recorded(*recording, options->path, [&] { return run_wrap(*options); }));
  });
}

}  // namespace fatctx::tools
