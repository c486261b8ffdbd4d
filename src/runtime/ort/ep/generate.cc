#include "runtime/ort/ep/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "container/edit/stored_container.h"
#include "fatctx/appender.h"
#include "fatctx/packer.h"
#include "fatctx/version.h"
#include "mapping/file_below.h"
#include "mapping/same_file.h"
#include "mapping/work_folder.h"
#include "runtime/ort/ep/graph_context.h"
#include "runtime/ort/ep/share_group.h"
#include "runtime/ort/ep/weight_location.h"
#include "runtime/ort/ep/weight_pool.h"
#include "runtime/ort/graph/graph_stage.h"
#include "runtime/ort/graph/graph_tensors.h"
#include "runtime/ort/graph/graph_write.h"

namespace fatctx::ort {
namespace {

constexpr std::string_view kExtension = ".fatctx";
constexpr std::string_view kContextSuffix = "_ctx";
constexpr double kMuchLarger = 1.2;
constexpr double kSpareBytes = 64 << 10;  // nodes have more bytes in a graph than in a small model

// Makes a name that is valid for records and units, and that a person can type without quoting it. Names of graphs may
// contain '/' and control characters, and some are sentences: "PaddlePaddle Graph in PIR mode".
std::string name_of_unit(const std::string& prefix, const std::string& graph) {
  constexpr std::string_view kOfShells = "/ \"'`$&|;<>()[]{}*?!#~\\";
  std::string name = prefix + (graph.empty() ? "graph" : graph);
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f || kOfShells.find(c) != std::string_view::npos) c = '_';
  }
  return name;
}

std::size_t name_in(const std::string& path) { return path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1; }

// Returns "out/m" for both "out/m_ctx.onnx" and "out/m.onnx".
std::string stem_of(const std::string& path) {
  const std::size_t name = name_in(path);
  const std::size_t dot = path.rfind('.');
  std::string stem = dot == std::string::npos || dot < name ? path : path.substr(0, dot);
  if (stem.size() > name + kContextSuffix.size() && stem.ends_with(kContextSuffix)) {
    stem.resize(stem.size() - kContextSuffix.size());
  }
  return stem;
}

// Returns the path to which ONNX Runtime writes the context model by default. It cuts at the last dot of the whole
// path, so "v1.2/model" becomes "v1_ctx.onnx" (seen with 1.31).
std::string default_context_model(const std::string& source) {
  return source.substr(0, source.rfind('.')) + std::string(kContextSuffix) + ".onnx";
}

// The output paths. All of them are absolute, except cache_name.
struct Target {
  std::string container;
  std::string model;       // written by ONNX Runtime
  std::string cache_name;  // the path of the container relative to the model
  bool append = false;
};

Error no_place() {
  return {ErrorCode::kInvalidArgument,
          "the model comes from memory, so there is no folder to write the container to: name the model that is to be "
          "written in ep.context_file_path (SetEpContextBinaryInformation of the Compile API), or embed it with "
          "ep.context_embed_mode=1"};
}

std::optional<mapping::FileIdentity> identity_of(const std::string& path) {
  const auto found = mapping::stat_path(path);
  return found.ok() ? std::optional(found.value()) : std::nullopt;
}

// Refuses, before the container is written, a model path that ONNX Runtime would refuse afterwards.
Status check_model_path(const std::string& model) {
  const auto there = mapping::stat_path(model);
  if (there.ok() && !there.value().regular) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: the context model cannot be written there, because something other than a "
                             "regular file exists there; name another one in ep.context_file_path",
                             model)};
  }
  auto probe = mapping::WorkFolder::create_beside(model);
  if (!probe.ok()) return in_context(std::move(probe).error(), model + ": the context model cannot be written");
  return Done{};
}

bool is_same_file(const std::string& a, const std::string& b) {
  if (mapping::absolute_path(a) == mapping::absolute_path(b)) return true;
  const auto first = mapping::stat_path(a);
  const auto second = mapping::stat_path(b);
  return first.ok() && second.ok() && mapping::is_same_file(first.value(), second.value());
}

Status check_not_the_source(const std::string& context_model, const std::string& source) {
  if (context_model.empty() || source.empty() || !is_same_file(context_model, source)) return Done{};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("{}: the context model would take the place of the model that is compiled; name another file",
                  context_model)};
}

Status check_container_of_group(const std::string& asked, const std::string& shared) {
  if (asked.empty() || is_same_file(asked, shared)) return Done{};
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("the provider option \"container\" is {}, and models that are compiled with "
                  "ep.share_ep_contexts=1 go into that of the first, {}: leave the option out, or end the group "
                  "with ep.stop_share_ep_contexts=1 before",
                  asked, shared)};
}

Status check_container_path(const Target& target, const std::string& source) {
  if (!source.empty() && is_same_file(target.container, source)) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: the container would take the place of the model that is compiled; name another one in "
                    "the provider option \"container\"",
                    target.container)};
  }
  if (!is_same_file(target.container, target.model)) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: the context model and its container would be one file; call the model otherwise, such "
                           "as M_ctx.onnx, or name the container in the provider option \"container\"",
                           target.container)};
}

Result<Target> choose_target(const Ort::ConstGraph& graph, const Options& options, const std::string& shared) {
  const std::string& asked = options.session.context_file_path;
  const std::string source = graph.GetModelPath();
  if (asked.empty() && source.empty()) return no_place();
  Target target;
  target.model = mapping::absolute_path(asked.empty() ? default_context_model(source) : asked);
  const std::string folder = mapping::folders_of(target.model).written;
  FATCTX_TRY(check_model_path(target.model));
  if (!shared.empty()) {
    FATCTX_TRY(check_container_of_group(options.provider.container, shared));
    target.container = shared;
    target.append = true;
  } else if (!options.provider.container.empty()) {
    target.container = mapping::absolute_path(options.provider.container);
  } else {
    target.container = stem_of(target.model) + std::string(kExtension);
  }
  FATCTX_TRY(check_container_path(target, source));
  target.cache_name = mapping::path_below(target.container, folder);
  if (target.cache_name.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("the container {} is not in the folder of the model {} or below it, where a model can "
                             "name it{}",
                             target.container, target.model,
                             shared.empty() ? "" : "; models that share a container are written to one folder")};
  }
  return target;
}

// A graph that is being packed, in files of a work folder.
struct Staged {
  mapping::WorkFolder folder;
  StagedResult result;
  DescribedGraph ports;
};

Result<Staged> stage(mapping::WorkFolder folder, const GraphToCompile& graph, const std::string& unit,
                     const ProviderOptions& options, const Ort::Env& env) {
  const std::string source = graph.graph.GetModelPath();
  FATCTX_ASSIGN(StagedResult staged, stage_graph(folder, {graph.graph, graph.fused, unit, source},
                                                 {options.optimisation, options.grow_constants}, env));
  return Staged{.folder = std::move(folder), .result = std::move(staged), .ports = describe_graph(graph.fused, unit)};
}

std::vector<std::string> warnings_of(const Staged& staged, const GraphToCompile& graph, const Options& options) {
  std::vector<std::string> warnings;
  const std::string source = graph.graph.GetModelPath();
  if (options.provider.optimisation == Optimisation::kNone && staged.result.optimised_by_session) {
    warnings.push_back(fmt::format(
        "\"optimization\" = \"none\" holds for this provider, but the session has optimised {} before it asked: set "
        "the graph optimization level of the session to ORT_DISABLE_ALL, or use the Compile API or fatctx ctx-gen",
        source));
  }
  const std::uint64_t of_file = source.empty() ? 0 : bytes_of_model(source);
  const std::uint64_t of_model = of_file != 0 ? of_file : staged.result.source_bytes;
  std::uint64_t stored = staged.result.graph.size_bytes();
  for (const ExternalTensor& tensor : staged.result.graph.tensors()) stored += tensor.size_bytes;
  if (static_cast<double>(stored) > kMuchLarger * static_cast<double>(of_model) + kSpareBytes) {
    warnings.push_back(fmt::format(
        "the model has {} bytes, and its graph and weights in the container {} bytes, because constants were worked "
        "out beforehand, such as weights that are stored as int8 and used as float32; {}",
        of_model, stored,
        options.provider.grow_constants
            ? "the provider option \"grow_constants\" asks for it"
            : "if the session did it, set its graph optimization level to ORT_DISABLE_ALL; the provider option "
              "\"optimization\" = \"none\" keeps all others as they are"));
  }
  return warnings;
}

// Returns the weight blobs of a container, read through a descriptor and not through a map. `only` restricts them to
// the one with this name.
Result<std::vector<PackRecord>> stored_blobs(const Container& container, const std::string& only = {}) {
  const ContainerIdentity identity = container.identity();
  FATCTX_ASSIGN(const auto stored, container::StoredContainer::open(container.path(), identity.generation, 0));
  if (stored->header().toc_hash != identity.toc_hash) return somebody_replaced(container.path());
  std::vector<bool> kept;
  for (const RecordInfo& record : stored->toc().records) {
    kept.push_back(record.type == RecordType::kWeightBlob && record.size_bytes != 0 &&
                   (only.empty() || record.name == only));
  }
  return stored->records(kept);
}

// Returns a pool of the weights that the container has, so that they are not stored again.
Result<WeightPool> know_container(const Container& container) {
  WeightPool pool;
  FATCTX_ASSIGN(const auto blobs, stored_blobs(container));
  for (const PackRecord& blob : blobs) FATCTX_TRY(pool.know(blob));
  return pool;
}

// Returns the pool for the next graph of the container; nothing if the next graph must read the container again.
std::optional<WeightPool> with_new_blob(WeightPool pool, const Container& container) {
  if (pool.new_bytes() == 0) return pool;
  const auto blobs = stored_blobs(container, pool.blob());
  if (!blobs.ok() || blobs.value().size() != 1) return std::nullopt;
  pool.packed(blobs.value().front().source.source);
  return pool;
}

// Makes the records of one graph: the graph itself, and a weight blob if it has new weights.
Result<std::vector<PackRecord>> make_records(Staged& staged, const std::string& unit, const ProviderOptions& options,
                                             const Container* known, WeightPool& pool) {
  pool.begin(unit + ".weights");
  // The name that the graph uses for each weight blob: an earlier compilation may have packed the blob under another
  // name.
  std::map<std::string, std::string> locations;
  if (known != nullptr) {
    FATCTX_ASSIGN(const ContainerDescription description, known->describe());
    FATCTX_ASSIGN(const auto records, known->records());
    for (const RecordInfo& record : records) {
      if (record.type != RecordType::kWeightBlob) continue;
      locations[std::string(record.name)] = location_of_blob(record, description.find(record.id));
    }
  }
  std::set<std::string> blobs;
  for (std::size_t i = 0; i < staged.result.graph.tensors().size(); ++i) {
    const ExternalTensor& tensor = staged.result.graph.tensors()[i];
    FATCTX_ASSIGN(const PlaceInBlob place, pool.place(tensor, staged.folder.path_of(tensor.location)));
    const auto location = locations.find(place.blob);
    staged.result.graph.point(i, location == locations.end() ? place.blob : location->second, place.offset);
    blobs.insert(place.blob);
  }
  PackRecord graph;
  graph.type = RecordType::kContextBinary;
  graph.name = unit;
  graph.key.group = options.group;
  graph.key.unit = unit;
  graph.key.backend = kBackend;
  graph.key.arch = kArch;
  const RuntimeVersion version = runtime_version();
  graph.key.sdk = Version{.major = version.major, .minor = version.minor};
  FATCTX_ASSIGN(graph.source.bytes, staged.result.graph.bytes());
  graph.weights.assign(blobs.begin(), blobs.end());
  graph.description.format = "onnx-graph";
  graph.description.producer =
      fmt::format("fatctx {}, ONNX Runtime {}.{}", FATCTX_VERSION, version.major, version.minor);
  graph.description.options = options.record_options;
  graph.description.graphs.push_back(staged.ports);
  std::vector<PackRecord> records;
  if (pool.new_bytes() != 0) records.push_back(pool.record());
  records.push_back(std::move(graph));
  return records;
}

Result<PackReport> pack(std::vector<PackRecord> records, const std::string& path, const std::string& model,
                        bool overwrite) {
  PackOptions options;
  options.overwrite = overwrite;
  options.model_name = model;
  Packer packer(std::move(options));
  for (PackRecord& record : records) FATCTX_TRY(packer.add(std::move(record)));
  return packer.publish(path);
}

Result<AppendReport> append(std::vector<PackRecord> records, const std::string& path) {
  FATCTX_ASSIGN(Appender appender, Appender::open(path));
  for (PackRecord& record : records) {
    auto added = appender.add(std::move(record));
    if (added.ok()) continue;
    if (added.error().code != ErrorCode::kExists) return added.error();
    return Error{ErrorCode::kExists, added.error().message +
                                         "; models that share a container need graphs of different names: give each a "
                                         "prefix of its own in ep.context_node_name_prefix"};
  }
  return appender.commit();
}

Result<std::string> read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file.bad() && !bytes.empty()) return bytes;
  return Error{ErrorCode::kIo, fmt::format("{}: cannot be read", path)};
}

Result<Generated> generate_embedded(const GraphToCompile& graph, const Options& options, const Ort::Env& env,
                                    const std::string& unit) {
  FATCTX_ASSIGN(auto folder, mapping::WorkFolder::create_temporary());
  FATCTX_ASSIGN(Staged staged, stage(std::move(folder), graph, unit, options.provider, env));
  WeightPool pool;
  FATCTX_ASSIGN(auto records, make_records(staged, unit, options.provider, nullptr, pool));
  const std::string path = staged.folder.path_of("embedded.fatctx");
  FATCTX_ASSIGN(const PackReport report, pack(std::move(records), path, unit, false));
  ContextNode node;
  node.name = graph.fused.GetName();
  node.partition = unit;
  node.group = options.provider.group;
  FATCTX_ASSIGN(node.cache, read_whole(path));
  FATCTX_ASSIGN(Container container, Container::open(path));
  return Generated{.container = std::move(container),
                   .node = std::move(node),
                   .written = std::nullopt,
                   .model = {},
                   .warnings = warnings_of(staged, graph, options)};
}

Error already_exists(const Target& target, std::string_view why = {}) {
  return {ErrorCode::kExists,
          fmt::format("{}: this file already exists{}; remove it to compile it again, or name another one in the "
                      "provider option \"container\"",
                      target.container, why)};
}

enum class Overwrite : std::uint8_t {
  kNo,
  kIfKept,  // only if the old container can come back, because ONNX Runtime may refuse to write the model
  kYes,
};

Result<Written> write(Staged& staged, const Target& target, Overwrite overwrite, const std::string& unit,
                      const ProviderOptions& options, ShareGroup* sharing, WeightPool& pool) {
  if (target.append) {
    FATCTX_ASSIGN(const Container known, Container::open(target.container));
    if (auto kept = sharing->take_pool(known)) {
      pool = std::move(*kept);
    } else {
      FATCTX_ASSIGN(pool, know_container(known));
    }
    FATCTX_ASSIGN(auto records, make_records(staged, unit, options, &known, pool));
    FATCTX_ASSIGN(const AppendReport report, append(std::move(records), target.container));
    return Written::appended(report);
  }
  FATCTX_ASSIGN(auto records, make_records(staged, unit, options, nullptr, pool));
  std::optional<Replaced> replaced;
  if (overwrite != Overwrite::kNo) replaced = Replaced::keep(target.container, target.model);
  if (overwrite == Overwrite::kIfKept && !replaced) return already_exists(target);
  FATCTX_ASSIGN(const PackReport report, pack(std::move(records), target.container, unit, overwrite != Overwrite::kNo));
  return Written::packed(report, std::move(replaced));
}

// Checks that the model is complete: a full disk leaves a truncated one.
bool is_written(const std::string& model, const std::string& digest) {
  return std::ranges::any_of(said_by_context_nodes(model, kDigestAttribute),
                             [&](const std::string& said) { return said == digest; });
}

// Returns true if the existing context model names the existing container.
bool names_container(const Target& target) {
  return std::ranges::any_of(said_by_context_nodes(target.model, kCacheAttribute), [&](const std::string& name) {
    const auto named = mapping::file_below(mapping::folders_of(target.model).written, name);
    return named.ok() && is_same_file(named.value(), target.container);
  });
}

}  // namespace

Status take_back_unless_written(const Written& written, const ModelFile& model, const std::string& digest,
                                bool to_memory) {
  if (!digest.empty()) {
    const bool untouched = identity_of(model.path) == model.before;
    if (untouched ? to_memory : is_written(model.path, digest)) return Done{};
  }
  ShareGroup group(false);
  FATCTX_ASSIGN(const bool as_before, written.take_back());
  if (as_before && written.is_new()) group.forget(written.container());
  return Done{};
}

Result<Generated> generate_context(const GraphToCompile& graph, const Options& options, const Ort::Env& env) {
  const SessionEntries& session = options.session;
  FATCTX_TRY(check_not_the_source(session.context_file_path, graph.graph.GetModelPath()));
  const std::string unit = name_of_unit(session.node_name_prefix, graph.name);
  if (session.embed) return generate_embedded(graph, options, env, unit);
  std::optional<ShareGroup> sharing;
  if (session.share) sharing.emplace(session.stop_share);
  std::vector<std::string> warnings;
  if (sharing && !sharing->container().empty() && !mapping::stat_path(sharing->container()).ok()) {
    warnings.push_back(fmt::format("{}: the container that models share has gone; this model begins another one",
                                   sharing->container()));
    sharing->forget(sharing->container());
  }
  FATCTX_ASSIGN(const Target target,
                choose_target(graph.graph, options, sharing ? sharing->container() : std::string()));
  const bool exists = !target.append && mapping::stat_path(target.container).ok();
  // Does what ONNX Runtime does with the model itself: the Compile API overwrites, a session does not. A file that the
  // model does not name may have another owner, and is kept. If the two cannot be told apart, ONNX Runtime decides: it
  // refuses to write the model of a session, and the old container comes back.
  Overwrite overwrite = Overwrite::kNo;
  if (exists && session.may_be_compile_api && names_container(target)) {
    overwrite = session.compile_only ? Overwrite::kYes : Overwrite::kIfKept;
  }
  if (exists && overwrite == Overwrite::kNo) {
    return already_exists(target, session.compile_only
                                      ? fmt::format(", and {} is not a context model that names it", target.model)
                                      : std::string());
  }
  ModelFile model = {.path = target.model, .before = identity_of(target.model)};
  FATCTX_ASSIGN(auto folder, mapping::WorkFolder::create_beside(target.container));
  FATCTX_ASSIGN(Staged staged, stage(std::move(folder), graph, unit, options.provider, env));
  WeightPool pool;
  FATCTX_ASSIGN(Written written,
                write(staged, target, overwrite, unit, options.provider, sharing ? &*sharing : nullptr, pool));
  // Opens without the options of the session: their demands on a container must not fail after it was written.
  auto opened = Container::open(target.container);
  if (!opened.ok()) {
    (void)written.take_back();  // needs to open it, too
    return std::move(opened).error();
  }
  if (sharing) sharing->written(opened.value(), with_new_blob(std::move(pool), opened.value()));
  for (std::string& warning : warnings_of(staged, graph, options)) warnings.push_back(std::move(warning));
  warnings.insert(warnings.end(), written.warnings().begin(), written.warnings().end());
  ContextNode node;
  node.name = graph.fused.GetName();
  node.embedded = false;
  node.cache = target.cache_name;
  node.partition = unit;
  node.group = options.provider.group;
  return Generated{.container = std::move(opened).value(),
                   .node = std::move(node),
                   .written = std::move(written),
                   .model = std::move(model),
                   .warnings = std::move(warnings)};
}

}  // namespace fatctx::ort
