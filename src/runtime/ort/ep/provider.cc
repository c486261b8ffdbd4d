#include "runtime/ort/ep/provider.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/ort/ep/chosen_graph.h"
#include "runtime/ort/ep/compatibility.h"
#include "runtime/ort/ep/container_place.h"
#include "runtime/ort/ep/context_node.h"
#include "runtime/ort/ep/cpu_graph.h"
#include "runtime/ort/ep/generate.h"
#include "runtime/ort/ep/shared_place.h"

namespace fatctx::ort {
namespace {

// An object that ONNX Runtime holds for a fused node.
class Compute : public OrtNodeComputeInfo {
 public:
  // `has_state` becomes true with the first state; null: not needed.
  Compute(std::unique_ptr<CpuGraph> graph, SharedPlace shared, const ProviderOptions& options,
          std::shared_ptr<const RunWishes> wishes, std::shared_ptr<std::atomic<bool>> has_state = nullptr)
      : OrtNodeComputeInfo{},
        graph_(std::move(graph)),
        shared_(std::move(shared)),
        wishes_(std::move(wishes)),
        has_state_(std::move(has_state)),
        inject_restart_at_run_(options.inject_restart_at_run) {
    ort_version_supported = ORT_API_VERSION;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      auto* const compute = static_cast<Compute*>(self);
      if (compute->has_state_) *compute->has_state_ = true;
      *state = compute;
      return nullptr;
    };
    OrtNodeComputeInfo::Compute = [](OrtNodeComputeInfo*, void* state, OrtKernelContext* kernel) -> OrtStatus* {
      return guarded([&] { return static_cast<Compute*>(state)->run(kernel); });
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};  // the state is the object itself
  }

 private:
  Status run(OrtKernelContext* kernel) {
    if (inject_restart_at_run_ != 0 && ++runs_ >= inject_restart_at_run_) {
      return Error{ErrorCode::kBackendRestarted,
                   fmt::format("the backend has been restarted, and the session is lost: create it again (injected by "
                               "inject_restart_at_run={})",
                               inject_restart_at_run_)};
    }
    graph_->run(kernel, wishes_->frees_memory());
    return Done{};
  }

  std::unique_ptr<CpuGraph> graph_;
  SharedPlace shared_;
  std::shared_ptr<const RunWishes> wishes_;
  std::shared_ptr<std::atomic<bool>> has_state_;
  const std::uint64_t inject_restart_at_run_;
  std::atomic<std::uint64_t> runs_ = 0;
};

std::vector<Ort::ConstNode> context_nodes_of(const std::vector<Ort::ConstNode>& nodes, bool ours) {
  std::vector<Ort::ConstNode> found;
  std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(found),
               [&](const Ort::ConstNode& node) { return ours ? is_ours(node) : is_context_node(node); });
  return found;
}

// Returns true for operators that ONNX Runtime provides itself. Others are local functions of the model, which ONNX
// Runtime inlines if no provider claims them. Or they belong to a library that the inner session lacks.
bool is_built_in(const Ort::ConstNode& node) {
  static constexpr std::string_view kDomains[] = {
      "",
      "ai.onnx",
      "ai.onnx.ml",
      "ai.onnx.training",
      "ai.onnx.preview.training",
      "com.microsoft",
      "com.microsoft.experimental",
      "com.microsoft.nchwc",
      "com.ms.internal.nhwc",
  };
  const std::string domain = node.GetDomain();
  return std::ranges::find(kDomains, domain) != std::end(kDomains);
}

// Returns the provider that has claimed the node; empty if none has. Calls the C function, because the C++ wrapper
// makes a string of a null pointer.
std::string provider_of(const Ort::ConstNode& node) {
  const char* name = nullptr;
  Ort::ThrowOnError(Ort::GetApi().Node_GetEpName(node, &name));
  return name == nullptr ? std::string() : name;
}

bool is_free(const Ort::ConstNode& node) { return is_built_in(node) && provider_of(node).empty(); }

// Returns why a model with this node is not compiled.
std::string why_not(const Ort::ConstNode& node) {
  if (const std::string provider = provider_of(node); !provider.empty()) {
    return fmt::format(
        "{} comes before this provider and has taken a part of the model, node \"{}\", while this "
        "provider compiles whole models: leave the other one out, or add it after this one",
        provider, node.GetName());
  }
  return fmt::format(
      "node \"{}\" ({}:{}) is of a domain that ONNX Runtime does not bring along, and operators of other "
      "libraries cannot be compiled. If it is a local function of the model, leave "
      "session.disable_aot_function_inlining out, or inline it first "
      "(onnx.inliner.inline_local_functions)",
      node.GetName(), node.GetDomain(), node.GetOperatorType());
}

bool takes_from_outside(const Ort::ConstNode& node) {
  const std::vector<Ort::ConstValueInfo> inputs = node.GetInputs();
  return std::ranges::any_of(
      inputs, [](const Ort::ConstValueInfo& input) { return input != nullptr && input.IsFromOuterScope(); });
}

// Returns false for the inner graph of an If or a Loop, which belongs to its node. ONNX Runtime 1.23 names no parent of
// an inner graph either, so its name and its inputs decide as well.
bool is_whole_model(const Ort::ConstGraph& graph, const std::vector<Ort::ConstNode>& nodes) {
  if (graph.GetParentNode() != nullptr) return false;
  Ort::AllocatorWithDefaultOptions allocator;
  if (graph.GetName() != graph.GetModelMetadata().GetGraphNameAllocated(allocator).get()) return false;
  return std::ranges::none_of(nodes, takes_from_outside);
}

Status fuse(OrtEpGraphSupportInfo* info, std::span<const Ort::ConstNode> nodes, bool drop_initializers) {
  std::vector<const OrtNode*> raw(nodes.begin(), nodes.end());
  OrtNodeFusionOptions fusion = {};
  fusion.ort_version_supported = ORT_API_VERSION;
  fusion.drop_constant_initializers = drop_initializers;
  Ort::ThrowOnError(Ort::GetApi().GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(info, raw.data(), raw.size(), &fusion));
  return Done{};
}

// Checks the text in the model about the machine that it was compiled for.
Status check_compatibility(const Ort::ConstGraph& graph, const SessionEntries& session, const Ort::Logger& logger) {
  Ort::AllocatorWithDefaultOptions allocator;
  const auto text = graph.GetModelMetadata().LookupCustomMetadataMapAllocated(compatibility_key().c_str(), allocator);
  if (!text) return Done{};
  const Compatibility judged = judge_compatibility(text.get());
  const bool prefers = judged.level == OrtCompiledModelCompatibility_EP_SUPPORTED_PREFER_RECOMPILATION;
  // ONNX Runtime judges the same text itself, but not for sessions that its Python creates.
  if (judged.level == OrtCompiledModelCompatibility_EP_UNSUPPORTED || (prefers && session.fail_on_suboptimal)) {
    return Error{ErrorCode::kNoMatch, judged.why};
  }
  if (prefers) ORT_CXX_LOGF_NOEXCEPT(logger, ORT_LOGGING_LEVEL_WARNING, "fatctx: %s", judged.why.c_str());
  return Done{};
}

// Detects a container with the right name and other bytes: it was renamed, or compiled again without the model.
Status check_digest(const ContextNode& node, const ChosenGraph& graph, const std::string& container) {
  if (node.digest.empty() || node.digest == graph.digest) return Done{};
  return Error{
      ErrorCode::kMalformed,
      fmt::format("EPContext node \"{}\" was written for graph \"{}\" with digest {}, and {} has it with {}: the "
                  "model and its container are from different compilations. Put back the container that belongs "
                  "to the model, or compile the model again",
                  node.name, graph.unit, node.digest, container, graph.digest)};
}

// Logs how convolutions are laid out. A failure does not fail the session, but makes its runs slower.
void log_layout(const CpuGraph& graph, const Ort::Logger& logger) {
  const auto note = graph.layout_note();
  if (!note) return;
  const OrtLoggingLevel level = note->failed ? ORT_LOGGING_LEVEL_WARNING : ORT_LOGGING_LEVEL_INFO;
  ORT_CXX_LOGF_NOEXCEPT(logger, level, "fatctx: %s", note->text.c_str());
}

struct Opened {
  std::optional<Container> container;
  SharedPlace shared;
};

// Returns an equal key for nodes that name the same container. An embedded container belongs to its node only.
std::string place_key(const ContextNode& node, std::size_t number) {
  return node.embedded ? fmt::format("in {}", number) : "file " + node.cache;
}

// A key for one choice: the content of a container, and the requested group.
using ChoiceKey = std::pair<ContainerIdentity, std::string>;

Opened from_place(const SharedPlace& shared) { return {.container = *shared, .shared = shared}; }

Result<Opened> open_main(const ContextNode& node, const PlaceOfModel& place, const Options& options) {
  auto opened = open_container(node, place, options);
  if (opened.ok()) {
    const bool share = options.session.share && !node.embedded;
    SharedPlace shared = share ? share_container(node, opened.value()) : nullptr;
    return Opened{.container = std::move(opened).value(), .shared = std::move(shared)};
  }
  if (options.session.share && opened.error().code == ErrorCode::kNotFound) {
    if (const SharedPlace shared = find_shared(node)) return from_place(shared);
  }
  return std::move(opened).error();
}

// Opens the container of a node that is not a main node. It is that of a main node in the same model, or one that
// another session shares.
Result<Opened> open_other(const ContextNode& node, const std::map<std::string, Opened>& mains, const Options& options) {
  const Opened* found = nullptr;
  for (const auto& [key, opened] : mains) {
    FATCTX_ASSIGN(const bool has, has_graph(*opened.container, node));
    if (!has) continue;
    if (found != nullptr) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("EPContext node \"{}\" has main_context=0, and more than one container of the model has "
                               "its graph: let the node name its container",
                               node.name)};
    }
    found = &opened;
  }
  if (found != nullptr) return *found;
  // Lets the choice fail: its error lists the existing graphs.
  if (!mains.empty()) return mains.begin()->second;
  if (options.session.share) {
    if (const SharedPlace shared = find_shared(node)) return from_place(shared);
  }
  return Error{
      ErrorCode::kMalformed,
      fmt::format(
          "EPContext node \"{}\" has main_context=0, and the model has no node with main_context=1 that "
          "names a container{}",
          node.name,
          options.session.share ? "; nor does any session that shares one have graph \"" + node.partition + "\"" : "")};
}

}  // namespace

struct Provider::Work {
  const OrtGraph** graphs;
  const OrtNode** nodes;
  std::size_t count;
  OrtNodeComputeInfo** computes;
  OrtNode** context_nodes;
};

Provider::Provider(const OrtSessionOptions& options, const OrtLogger& logger, const OrtLogger* at_end)
    : OrtEp{},
      options_(read_options(options)),
      logger_(&logger),
      at_end_(at_end != nullptr ? std::optional<Ort::Logger>(at_end) : std::nullopt),
      env_(ORT_LOGGING_LEVEL_WARNING, "fatctx"),
      compatibility_(compatibility_text()) {
  ort_version_supported = ORT_API_VERSION;
  GetName = name;
  GetCapability = capability;
  Compile = compile;
  ReleaseNodeComputeInfos = release;
  GetCompiledModelCompatibilityInfo = compatibility;
  OnRunStart = run_begins;
  OnRunEnd = run_ends;
}

// ONNX Runtime creates states after it has written the context model, but none for the Compile API.
Provider::~Provider() {
  if (!left_out_.empty() && at_end_) {
    ORT_CXX_LOGF_NOEXCEPT((*at_end_), ORT_LOGGING_LEVEL_WARNING, "fatctx: nothing was compiled: %s", left_out_.c_str());
  }
  if (!unsettled_ || (has_state_ && *has_state_)) return;
  take_back(options_.value().session.compile_only, at_end_);
}

void Provider::take_back(bool to_memory, const std::optional<Ort::Logger>& logger) noexcept {
  const Unsettled unsettled = std::move(*unsettled_);
  unsettled_.reset();
  std::string why = "out of memory";
  try {
    const Status done = take_back_unless_written(unsettled.written, unsettled.model, unsettled.digest, to_memory);
    if (done.ok()) return;
    why = done.error().message;
  } catch (const std::exception&) {  // std::bad_alloc; it must not leave a destructor
  }
  if (!logger) return;
  ORT_CXX_LOGF_NOEXCEPT((*logger), ORT_LOGGING_LEVEL_WARNING,
                        "fatctx: the compilation failed, and what it wrote into %s could not be taken back: %s",
                        unsettled.written.container().c_str(), why.c_str());
}

const char* Provider::name(const OrtEp*) noexcept { return kProviderName.data(); }

OrtStatus* Provider::run_begins(OrtEp* ep, const OrtRunOptions* options) noexcept {
  return guarded([&]() -> Status {
    auto* const provider = static_cast<Provider*>(ep);
    const std::string foreign = provider->wishes_->begin(*options);
    if (!foreign.empty()) {
      ORT_CXX_LOGF_NOEXCEPT(provider->logger_, ORT_LOGGING_LEVEL_WARNING,
                            "fatctx: run options of QNN's provider have no effect on the CPU: %s", foreign.c_str());
    }
    return Done{};
  });
}

OrtStatus* Provider::run_ends(OrtEp* ep, const OrtRunOptions* options, bool) noexcept {
  static_cast<Provider*>(ep)->wishes_->end(*options);
  return nullptr;
}

const char* Provider::compatibility(OrtEp* ep, const OrtGraph*) noexcept {
  return static_cast<Provider*>(ep)->compatibility_.c_str();
}

OrtStatus* Provider::capability(OrtEp* ep, const OrtGraph* raw, OrtEpGraphSupportInfo* info) noexcept {
  return guarded([&]() -> Status {
    auto& self = *static_cast<Provider*>(ep);
    const Ort::ConstGraph graph(raw);
    const std::vector<Ort::ConstNode> nodes = graph.GetNodes();
    for (const Ort::ConstNode& node : context_nodes_of(nodes, true)) FATCTX_TRY(fuse(info, std::array{node}, false));
    // Claims everything if the options are wrong, so that compile() can report it.
    const bool all = !self.options_.ok() || self.options_.value().session.context_enable;
    if (all && is_whole_model(graph, nodes) && !nodes.empty() && context_nodes_of(nodes, false).empty()) {
      self.graph_name_ = graph.GetName();
      return self.claim_whole(nodes, info);
    }
    return Done{};
  });
}

// ONNX Runtime asks first to learn which functions it may inline, and again after inlining; no node is left out then.
// If a node is left out, all others are claimed one by one, which ONNX Runtime always accepts. It then calls compile(),
// which can report the reason.
Status Provider::claim_whole(std::vector<Ort::ConstNode> nodes, OrtEpGraphSupportInfo* info) {
  const auto others = std::stable_partition(nodes.begin(), nodes.end(), is_free);
  left_out_.clear();
  if (others != nodes.end()) {
    left_out_ = why_not(*others);
    nodes.erase(others, nodes.end());
  }
  if (left_out_.empty()) return fuse(info, nodes, true);
  for (const Ort::ConstNode& node : nodes) FATCTX_TRY(fuse(info, std::array{node}, true));
  return Done{};
}

OrtStatus* Provider::compile(OrtEp* ep, const OrtGraph** graphs, const OrtNode** nodes, std::size_t count,
                             OrtNodeComputeInfo** computes, OrtNode** context_nodes) noexcept {
  const Work work = {
      .graphs = graphs, .nodes = nodes, .count = count, .computes = computes, .context_nodes = context_nodes};
  OrtStatus* const failed = guarded([&] { return static_cast<Provider*>(ep)->compile_all(work); });
  if (failed != nullptr) {
    for (std::size_t i = 0; i < count; ++i) delete static_cast<Compute*>(std::exchange(computes[i], nullptr));
  }
  return failed;
}

void Provider::release(OrtEp*, OrtNodeComputeInfo** computes, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) delete static_cast<Compute*>(computes[i]);
}

Status Provider::compile_all(const Work& work) {
  if (!options_.ok()) return options_.error();
  bool compiled = false;
  for (std::size_t i = 0; i < work.count; ++i) {
    compiled = compiled || !context_nodes_of(Ort::ConstGraph(work.graphs[i]).GetNodes(), true).empty();
  }
  if (!compiled) return generate(work);
  if (options_.value().session.context_enable) {
    return Error{ErrorCode::kMalformed,
                 "ep.context_enable is 1, and the model has EPContext nodes already: it is the result of an earlier "
                 "compilation. Compile the original model, or leave ep.context_enable out to run this one"};
  }
  return load(work);
}

Status Provider::load(const Work& work) {
  const Options& options = options_.value();
  const Ort::ConstGraph first(work.graphs[0]);
  FATCTX_TRY(check_compatibility(first, options.session, logger_));
  const PlaceOfModel place = {.model_path = first.GetModelPath()};
  std::vector<Ort::ConstNode> inner;
  std::vector<ContextNode> nodes;
  std::map<std::string, Opened> mains;  // by place_key(), so that each is opened once
  std::map<ChoiceKey, ChosenTarget> targets;
  for (std::size_t i = 0; i < work.count; ++i) {
    inner.push_back(context_nodes_of(Ort::ConstGraph(work.graphs[i]).GetNodes(), true).front());
    FATCTX_ASSIGN(ContextNode node, read_context_node(inner.back()));
    if (node.main_context && !mains.contains(place_key(node, i))) {
      FATCTX_ASSIGN(Opened opened, open_main(node, place, options));
      mains.emplace(place_key(node, i), std::move(opened));
    }
    nodes.push_back(std::move(node));
  }
  for (std::size_t i = 0; i < work.count; ++i) {
    const ContextNode& node = nodes[i];
    FATCTX_ASSIGN(Opened opened,
                  node.main_context ? Result<Opened>(mains.at(place_key(node, i))) : open_other(node, mains, options));
    const std::string& group = options.provider.group.empty() ? node.group : options.provider.group;
    const ChoiceKey of_choice(opened.container->identity(), group);
    if (!targets.contains(of_choice)) {
      FATCTX_ASSIGN(ChosenTarget target, choose_target(*opened.container, group));
      targets.emplace(of_choice, std::move(target));
    }
    FATCTX_ASSIGN(ChosenGraph graph, chosen_graph(targets.at(of_choice), {node.partition, node.name}));
    FATCTX_TRY(check_digest(node, graph, opened.container->path()));
    ORT_CXX_LOGF_NOEXCEPT(logger_, ORT_LOGGING_LEVEL_INFO, "fatctx: EPContext node \"%s\": record \"%s\"\n%s",
                          node.name.c_str(), graph.record.c_str(), graph.explanation.c_str());
    for (const std::string& warning : graph.warnings) {
      ORT_CXX_LOGF_NOEXCEPT(logger_, ORT_LOGGING_LEVEL_WARNING, "fatctx: record \"%s\": %s", graph.record.c_str(),
                            warning.c_str());
    }
    FATCTX_ASSIGN(auto made,
                  CpuGraph::create(env_, std::move(graph), options.provider, inner[i], Ort::ConstNode(work.nodes[i])));
    log_layout(*made, logger_);
    work.computes[i] = new Compute(std::move(made), std::move(opened.shared), options.provider, wishes_);
  }
  return Done{};
}

Status Provider::generate(const Work& work) {
  if (std::string left_out = std::exchange(left_out_, {}); !left_out.empty()) {
    return Error{ErrorCode::kUnsupported, std::move(left_out)};
  }
  // The graph was claimed as a whole, so there is one node.
  const Ort::ConstNode fused(work.nodes[0]);
  FATCTX_ASSIGN(Generated generated,
                generate_context({Ort::ConstGraph(work.graphs[0]), fused, graph_name_}, options_.value(), env_));
  for (const std::string& warning : generated.warnings) {
    ORT_CXX_LOGF_NOEXCEPT(logger_, ORT_LOGGING_LEVEL_WARNING, "fatctx: %s", warning.c_str());
  }
  if (generated.written) {
    unsettled_.emplace(Unsettled{.written = std::move(*generated.written), .model = generated.model, .digest = {}});
  }
  Status done = take_generated(work, generated);
  if (!done.ok() && unsettled_) take_back(false, logger_);
  return done;
}

Status Provider::take_generated(const Work& work, Generated& generated) {
  const Ort::ConstNode fused(work.nodes[0]);
  // If the session is run afterwards, it runs the written graph.
  FATCTX_ASSIGN(const ChosenTarget target, choose_target(generated.container, generated.node.group));
  FATCTX_ASSIGN(ChosenGraph graph, chosen_graph(target, {generated.node.partition, {}}));
  generated.node.digest = graph.digest;
  FATCTX_ASSIGN(auto made, CpuGraph::create(env_, std::move(graph), options_.value().provider, fused, fused));
  log_layout(*made, logger_);
  FATCTX_ASSIGN(Ort::Node node, make_context_node(fused, generated.node));
  has_state_ = std::make_shared<std::atomic<bool>>(false);
  work.computes[0] = new Compute(std::move(made), nullptr, options_.value().provider, wishes_, has_state_);
  work.context_nodes[0] = node.release();
  if (unsettled_) unsettled_->digest = generated.node.digest;
  return Done{};
}

}  // namespace fatctx::ort
