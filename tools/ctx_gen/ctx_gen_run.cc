#include "tools/ctx_gen/ctx_gen_run.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/container.h"
#include "fatctx/rewrite.h"
#include "fatctx/select.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/whole_container.h"
#include "tools/compile/compile_cache.h"
#include "tools/ctx_gen/ctx_gen_publish.h"
#include "tools/device/asked_device.h"
#include "tools/facts/provider_options.h"
#include "tools/facts/spill_fill.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/ep_context.h"
#include "tools/pack/pack_run.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCpuBackend = "qnn-cpu";
// The target of the records of our own provider (docs/onnxruntime.md).
constexpr const char* kOwnBackend = "ort-cpu";
constexpr const char* kOwnArch = "onnx";
constexpr std::size_t kMaxSessionEntry = 8192;  // of a session entry; providers get their options as such entries

std::string stem_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

std::string absolute(const std::string& path) {
  std::error_code error;
  return fs::absolute(path, error).lexically_normal().string();
}

// Returns the options that describe how a model was compiled.
std::vector<DescribedOption> described(const CtxGenPlan& plan, const CtxGenModel& model) {
  std::vector<DescribedOption> options = {{"execution_provider", std::string(plan.provider.word), "ctx-gen"}};
  bool prefixed = false;
  for (DescribedOption option : plan.entries.stored) {
    if (option.key == "ep.context_node_name_prefix") {
      option.value = model.prefix;
      prefixed = true;
    }
    options.push_back(std::move(option));
  }
  if (!prefixed && !model.prefix.empty()) options.push_back({"ep.context_node_name_prefix", model.prefix, "session"});
  options.insert(options.end(), plan.options.stored.begin(), plan.options.stored.end());
  return options;
}

// Returns the same as a value of our provider's option record_options.
std::string as_words(const std::vector<DescribedOption>& options) {
  std::string words;
  for (const DescribedOption& option : options) {
    words += fmt::format("{}{}|{}|{}", words.empty() ? "" : " ", option.owner, option.key, option.value);
  }
  return words;
}

Result<EngineRequest> request_for(const CtxGenPlan& plan, const ProviderLibrary& library, const WorkFolder& work) {
  EngineRequest request;
  request.provider = std::string(plan.provider.name);
  request.library = library.path;
  // Our own provider optimises by itself, as far as its option "optimization" says.
  request.optimise_in_session = !plan.provider.is_reference();
  for (const CtxGenModel& model : plan.models) {
    EngineModel made;
    made.input = absolute(model.input);
    made.output = work.file(model.output);
    made.session_entries = plan.entries.for_session;
    made.session_entries.emplace_back("ep.context_enable", "1");
    made.session_entries.emplace_back("ep.context_embed_mode", "0");
    made.session_entries.emplace_back("ep.share_ep_contexts", "1");
    made.session_entries.emplace_back("ep.context_file_path", made.output);
    if (!model.prefix.empty()) made.session_entries.emplace_back("ep.context_node_name_prefix", model.prefix);
    if (&model == &plan.models.back()) made.session_entries.emplace_back("ep.stop_share_ep_contexts", "1");
    made.provider_options = plan.options.for_provider;
    if (plan.provider.is_reference()) {
      std::string words = as_words(described(plan, model));
      if (words.size() > kMaxSessionEntry) {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("-C and -i: {} characters to write down, and ONNX Runtime takes {}; leave some out",
                                 words.size(), kMaxSessionEntry)};
      }
      made.provider_options.emplace_back("container", work.file(plan.container));
      made.provider_options.emplace_back("record_options", std::move(words));
    }
    const bool backend_named =
        std::any_of(made.provider_options.begin(), made.provider_options.end(),
                    [](const auto& o) { return o.first == "backend_type" || o.first == "backend_path"; });
    if (!library.backend_path.empty() && !backend_named) {
      made.provider_options.emplace_back("backend_path", library.backend_path);
    }
    request.models.push_back(std::move(made));
  }
  return request;
}

// Lets an older ONNX Runtime read the models, so that our provider can say which version it needs.
Status lower_versions(const CtxGenPlan& plan, const WorkFolder& work) {
  if (!plan.provider.is_reference()) return Done{};
  for (const CtxGenModel& model : plan.models) {
    FATCTX_TRY(write_onnx_with_versions_of(model.input, work.file(model.output), work.file(model.output)));
  }
  return Done{};
}

// Adds prefixes to node names afterwards, because ONNX Runtime names the nodes and looks them up by these
// names while it writes the model. Only done for our own provider: others, such as QNN's, may find their
// graph by the node's name.
Status add_node_prefixes(const CtxGenPlan& plan, const WorkFolder& work) {
  if (!plan.provider.is_reference()) return Done{};
  for (const CtxGenModel& model : plan.models) {
    if (model.prefix.empty()) continue;
    FATCTX_ASSIGN([[maybe_unused]] const std::uint64_t changed,
                  write_onnx_with_node_prefix(work.file(model.output), model.prefix, work.file(model.output)));
  }
  return Done{};
}

// Writes the largest spill-fill buffer of the group into every main node, so that sessions may start in any
// order. The nodes hold the providers' values; the records hold those of the graphs (in a DLC).
Status even_out_max_size(const CtxGenPlan& plan, const WorkFolder& work, const Manifest& manifest,
                         std::vector<std::string>& notes) {
  std::int64_t largest = 0;
  for (const CtxGenModel& model : plan.models) {
    FATCTX_ASSIGN(const std::int64_t asked, largest_max_size(work.file(model.output)));
    largest = std::max(largest, asked);
  }
  for (const ManifestRecord& made : manifest.records) {
    FATCTX_ASSIGN(const std::int64_t said, spill_fill_of(made.record.description));
    largest = std::max(largest, said);
  }
  if (largest == 0) return Done{};
  for (const CtxGenModel& model : plan.models) {
    FATCTX_ASSIGN(const std::uint64_t changed,
                  write_onnx_with_max_size(work.file(model.output), largest, work.file(model.output)));
    if (changed != 0) notes.push_back(fmt::format("{}: max_size is that of the group, {}", model.output, largest));
  }
  return Done{};
}

std::string value_of(const CtxGenPlan& plan, std::string_view key) {
  for (const auto& [name, value] : plan.options.for_provider) {
    if (name == key) return value;
  }
  return {};
}

// Returns the device of a requested SoC number; needed if the provider leaves no note about it. A provider
// may know numbers that the table does not have; then only the number is known.
Result<Device> soc_of_number(const std::string& number, const SocTable& table) {
  auto known = device_from_text(number, table);
  if (known.ok()) return known;
  Device device;
  device.qnn_soc = static_cast<std::uint32_t>(std::stoul(number));
  return device;
}

Status add_asked_target(const CtxGenPlan& plan, ManifestRecord& made) {
  PackKey& key = made.record.key;
  const bool noted = key.qnn_soc != 0;
  if (!plan.provider.is_qnn() || key.backend != "htp") return Done{};
  if (asks_for_cpu_backend(plan.options.stored)) {
    key.backend = kCpuBackend;  // otherwise it would be offered to an NPU
    return Done{};
  }
  const std::string soc = value_of(plan, "soc_model");
  const std::string arch = value_of(plan, "htp_arch");
  const std::string vtcm = value_of(plan, "vtcm_mb");
  const auto one = [](const std::string& text) {
    return !text.empty() && text != "0" && text.find(',') == std::string::npos;
  };
  if (one(soc)) {
    FATCTX_ASSIGN(const SocTable table, asked_soc_table());
    FATCTX_ASSIGN(const Device device, soc_of_number(soc, table));
    if (key.qnn_soc == 0) key.qnn_soc = device.qnn_soc.value_or(0);
    if (key.part.empty() && key.qnn_soc == device.qnn_soc) key.part = device.part.value_or("");
    if (key.arch.empty() && !one(arch)) key.arch = device.arch.value_or("");
  }
  if (key.arch.empty() && one(arch)) key.arch = "v" + arch;
  if (key.vtcm_mb == 0 && one(vtcm) && vtcm.size() < 6) key.vtcm_mb = static_cast<std::uint32_t>(std::stoul(vtcm));
  if (noted) add_default_vtcm(made.record);
  return Done{};
}

// Fills in the size of the graph from the provider's note, if the binary has one graph. Must run before sizes
// are evened out, because the note then holds the size of the whole group.
void note_spill_fill(RecordDescription& said) {
  if (said.graphs.size() != 1 || said.graphs[0].spill_fill_bytes != 0) return;
  const auto noted = spill_fill_of(said);
  if (noted.ok()) said.graphs[0].spill_fill_bytes = static_cast<std::uint64_t>(noted.value());
}

// Collects the binaries of other providers. They are files beside the models, which name them; the container
// holds them too.
Result<Manifest> binaries_of(const CtxGenPlan& plan, const WorkFolder& work, CtxGenResult& result) {
  Manifest manifest;
  manifest.name = stem_of(plan.container);
  manifest.allow_dynamic = true;
  std::set<std::string> files;
  for (const CtxGenModel& model : plan.models) {
    FATCTX_ASSIGN(ImportedRecords imported,
                  records_from_ep_context(work.file(model.output), manifest.name, plan.provider.name));
    for (ManifestRecord& made : imported.records) {
      made.where = model.output;
      FATCTX_TRY(add_asked_target(plan, made));
      FATCTX_ASSIGN(const bool joined, joined_with(manifest.records, made));
      if (joined) continue;
      files.insert(made.record.source.path);
      made.record.description.producer = fmt::format("{}, ONNX Runtime {}", plan.provider.name, result.engine.runtime);
      const auto options = described(plan, model);
      made.record.description.options.insert(made.record.description.options.end(), options.begin(), options.end());
      manifest.records.push_back(std::move(made));
    }
    result.notes.insert(result.notes.end(), imported.notes.begin(), imported.notes.end());
  }
  if (files.size() > 1 && manifest.records.size() == files.size()) {
    result.notes.push_back(fmt::format("{} wrote {} binaries for {} models: it does not share their weights by itself",
                                       plan.provider.name, files.size(), plan.models.size()));
    for (ManifestRecord& made : manifest.records) {
      if (made.record.key.unit.empty()) made.record.key.unit = stem_of(made.where);
    }
  }
  for (ManifestRecord& made : manifest.records) note_spill_fill(made.record.description);
  return manifest;
}

Status pack_binaries(const CtxGenPlan& plan, const WorkFolder& work, Manifest manifest, CtxGenResult& result) {
  PackRequest request;
  request.manifest = std::move(manifest);
  request.output = work.file(plan.container);
  FATCTX_ASSIGN(const PackSummary packed, pack_manifest(std::move(request)));
  result.notes.insert(result.notes.end(), packed.notes.begin(), packed.notes.end());
  return Done{};
}

// Lists the binaries that the models name, and removes them, because the container holds the same bytes. No provider
// but ours reads a part of a larger file, so each must be written out again where its provider runs.
Status leave_to_the_container(const CtxGenPlan& plan, const CtxGenFlags& flags, const Manifest& manifest,
                              CtxGenResult& result) {
  std::set<std::string> known;
  for (const ManifestRecord& made : manifest.records) {
    const std::string& path = made.record.source.path;
    if (path.empty() || !known.insert(path).second) continue;
    const std::string name = fs::path(path).filename().string();
    const bool archive = format_of(path) == "dlc";
    const std::string what = archive ? fmt::format("export {} --dlc", plan.container)
                                     : fmt::format("extract {} {}", plan.container, made.record.name);
    CtxGenBinary binary{.file = name, .command = fmt::format("fatctx {} -o {}", what, name), .written = flags.binaries};
    if (!flags.binaries) {
      std::error_code error;
      fs::remove(path, error);
      if (error) return Error{ErrorCode::kIo, fmt::format("{}: cannot be removed: {}", path, error.message())};
      result.notes.push_back(
          fmt::format("{} is in {} only, and the models name it; {} reads it as a file of its own, so write it beside "
                      "them where they run: {} (or --binaries here)",
                      name, plan.container, plan.provider.name, binary.command));
    }
    result.binaries.push_back(std::move(binary));
  }
  return Done{};
}

// Writes the container anew if our provider has appended to it, model by model, so that one generation and no dead
// bytes are left.
Status compact(const std::string& path) {
  {
    FATCTX_ASSIGN(const Container container, open_whole(path));
    if (open_report(container).generation < 2) return Done{};
  }
  auto rewritten = rewrite_container(path, path);
  if (!rewritten.ok()) return std::move(rewritten).error();
  return Done{};
}

Status read_records(const std::string& path, CtxGenResult& result) {
  FATCTX_ASSIGN(const Container container, open_whole(path));
  result.container_size = open_report(container).file_size;
  for (const RecordInfo& record : all_records(container)) {
    result.records.push_back({.name = std::string(record.name),
                              .type = record.type,
                              .target = record.key.backend.empty() ? std::string() : target_text(record.key),
                              .size_bytes = record.size_bytes});
  }
  return Done{};
}

// Returns the device that our own provider asks for, which is a version of ONNX Runtime and no chip.
Device device_of_runtime(const std::string& runtime) {
  Device device;
  device.backend = kOwnBackend;
  device.arch = kOwnArch;
  if (const auto version = parse_version(runtime.substr(0, runtime.rfind('.'))); version.ok()) {
    device.sdk = version.value();
  }
  return device;
}

// Returns the device that a record was compiled for.
Device device_of_target(const SelectionKey& key) {
  Device device;
  device.backend = std::string(key.backend);
  if (!key.part.empty()) device.part = std::string(key.part);
  if (key.qnn_soc != 0) device.qnn_soc = key.qnn_soc;
  if (!key.arch.empty()) device.arch = std::string(key.arch);
  if (key.vtcm_mb != 0) device.vtcm_mb = key.vtcm_mb;
  if (key.sdk != Version{}) device.sdk = key.sdk;
  return device;
}

// Explains which records this machine chooses. If it has no device of theirs, explains it for the device that the first
// of them was compiled for.
void tell_choice(const CtxGenPlan& plan, const Container& container, const Detection& detection, CtxGenResult& result) {
  const std::vector<Candidate> candidates = all_candidates(container);
  Device device =
      plan.provider.is_reference() ? device_of_runtime(result.engine.runtime) : device_for(detection, candidates);
  auto selection = container.select(device, {});
  if (selection.ok() && selection.value().chosen.empty() && !candidates.empty()) {
    device = device_of_target(candidates.front().key);
    result.provenance.push_back(
        fmt::format("this machine has no such device; on one of the target, {}:", target_text(candidates.front().key)));
    selection = container.select(device, {});
  }
  if (selection.ok()) result.provenance.push_back(explain_text(selection.value(), candidates, device, {}));
}

// Adds the lines of -v: the target of the records and its source, then which of them a device chooses.
Status tell_provenance(const CtxGenPlan& plan, const std::string& path, CtxGenResult& result) {
  result.provenance.push_back(fmt::format("library: {} ({})", result.library.path, result.library.found_by));
  result.provenance.push_back(fmt::format("device: {}, ONNX Runtime {}", result.engine.device, result.engine.runtime));
  for (const DescribedOption& option : plan.options.stored) {
    if (option.key != "soc_model" || option.value == "0" || option.value.find(',') != std::string::npos) continue;
    FATCTX_ASSIGN(const SocTable table, asked_soc_table());
    FATCTX_ASSIGN(const Device device, soc_of_number(option.value, table));
    result.provenance.push_back(fmt::format("soc_model {}: {}, {} (table of SoCs {})", option.value,
                                            device.part.value_or("a part that is not known"),
                                            device.arch.value_or("arch not known"), table.version()));
  }
  FATCTX_ASSIGN(const Container container, open_whole(path));
  FATCTX_ASSIGN(const AskedDevice asked, asked_device({}));
  const Detection& detection = asked.detection;
  const std::vector<Candidate> candidates = all_candidates(container);
  const Device& device = device_for(detection, candidates);
  result.provenance.push_back(fmt::format("this machine: {} {} (known by {})", device.backend,
                                          device.arch.value_or("unknown"), detection.decided_by));
  tell_choice(plan, container, detection, result);
  return Done{};
}

}  // namespace

Result<CtxGenResult> run_ctx_gen(const CtxGenPlan& plan, const CtxGenFlags& flags, CtxGenEngine engine) {
  CtxGenResult result;
  FATCTX_ASSIGN(result.library, find_provider_library(plan.provider, flags.library));
  const Interrupt interrupt;
  FATCTX_ASSIGN(OutputFolder folder, OutputFolder::open(plan.folder));
  FATCTX_ASSIGN(const WorkFolder work, WorkFolder::create_in(folder.path()));
  FATCTX_ASSIGN(EngineRequest request, request_for(plan, result.library, work));
  ProgressLine line("ctx-gen");
  request.verbose = flags.verbose;
  request.cancel = interrupt.flag();
  request.begins = [&](std::size_t index) {
    line.step(index, plan.models.size(), fs::path(plan.models[index].input).filename().string());
  };
  FATCTX_ASSIGN(result.engine, engine(request));
  FATCTX_TRY(lower_versions(plan, work));
  FATCTX_TRY(add_node_prefixes(plan, work));
  if (!plan.provider.is_reference()) {
    FATCTX_ASSIGN(Manifest manifest, binaries_of(plan, work, result));
    FATCTX_TRY(even_out_max_size(plan, work, manifest, result.notes));
    FATCTX_TRY(pack_binaries(plan, work, manifest, result));
    FATCTX_TRY(leave_to_the_container(plan, flags, manifest, result));
  }
  FATCTX_TRY(compact(work.file(plan.container)));
  FATCTX_TRY(read_records(work.file(plan.container), result));
  if (flags.verbose) FATCTX_TRY(tell_provenance(plan, work.file(plan.container), result));
  if (interrupt.flag()->load()) return Error{ErrorCode::kCancelled, "ended on request; nothing was written"};
  FATCTX_ASSIGN(result.files, publish_files(work, plan.folder, flags.force));
  folder.keep();
  result.container = output_path(plan, plan.container);
  return result;
}

std::string ctx_gen_text(const CtxGenPlan& plan, const CtxGenResult& result) {
  std::string text = fmt::format("{}: {}, {} of {}\n", escaped(result.container), size_text(result.container_size),
                                 count_text(result.records.size(), "record"), count_text(plan.models.size(), "model"));
  Table models({{"model"}, {"written"}, {"graph"}, {"seconds", Table::Align::kRight}});
  for (std::size_t i = 0; i < plan.models.size(); ++i) {
    const CtxGenModel& model = plan.models[i];
    models.add_row({model.input, output_path(plan, model.output), model.prefix + model.graph,
                    fmt::format("{:.2f}", result.engine.seconds[i])});
  }
  text += models.text("  ");
  Table records({{"record"}, {"type"}, {"target"}, {"size", Table::Align::kRight}});
  for (const CtxGenRecord& record : result.records) {
    records.add_row(
        {record.name, std::string(record_type_name(record.type)), record.target, size_text(record.size_bytes)});
  }
  return text + records.text("  ");
}

Json ctx_gen_json(const CtxGenPlan& plan, const CtxGenResult& result) {
  Json models = Json::array();
  for (std::size_t i = 0; i < plan.models.size(); ++i) {
    const CtxGenModel& model = plan.models[i];
    models.push_back({{"model", model.input},
                      {"output", output_path(plan, model.output)},
                      {"graph", model.prefix + model.graph},
                      {"seconds", result.engine.seconds[i]}});
  }
  Json records = Json::array();
  for (const CtxGenRecord& record : result.records) {
    records.push_back({{"name", record.name},
                       {"type", record_type_name(record.type)},
                       {"target", record.target},
                       {"size_bytes", record.size_bytes}});
  }
  Json binaries = Json::array();
  for (const CtxGenBinary& binary : result.binaries) {
    binaries.push_back({{"file", binary.file}, {"written", binary.written}, {"command", binary.command}});
  }
  std::vector<std::string> notes = plan.notes;
  notes.insert(notes.end(), result.notes.begin(), result.notes.end());
  return {{"schema", "fatctx.ctx_gen/1"},
          {"provider", plan.provider.word},
          {"execution_provider", plan.provider.name},
          {"runtime", result.engine.runtime},
          {"models", std::move(models)},
          {"container", {{"path", result.container}, {"file_size", result.container_size}}},
          {"files", result.files},
          {"records", std::move(records)},
          {"binaries", std::move(binaries)},
          {"notes", notes}};
}

}  // namespace fatctx::tools
