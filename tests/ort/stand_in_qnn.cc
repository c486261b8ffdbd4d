// A stand-in for the library of ONNX Runtime's QNN execution provider, for tests of the options passed to it.
//
// It compiles nothing. Instead of a context binary it writes a text with the names of the graphs. Sessions that share
// write into one file, as with the real provider. A file ".options" next to it has the options that it received, one
// "KEY=VALUE" a line, and the prefix of names. Its nodes have the attributes of the real provider's nodes. tests/qnn
// shows whether a real provider does what the options ask. There are no handlers: an exception ends the program, and so
// the test.
//
// The variable STAND_IN_QNN turns it into another provider: one for other hardware ("no_device"), one that can run
// nothing ("no_nodes"), or one that always writes a binary for each model ("no_sharing"). As "htp" it takes the nodes
// that the real provider takes, by the two options that decide about it. Both are on unless they are 0, as the
// provider's page says.
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr const char* kName = "QNNExecutionProvider";
constexpr std::string_view kPrefix = "ep.qnnexecutionprovider.";
constexpr std::string_view kNamePrefix = "ep.context_node_name_prefix";

using Entries = std::map<std::string, std::string>;

Entries entries_of(const OrtSessionOptions& options) {
  OrtKeyValuePairs* raw = nullptr;
  Ort::ThrowOnError(Ort::GetApi().GetSessionOptionsConfigEntries(&options, &raw));
  const Ort::KeyValuePairs pairs(raw);
  Entries entries;
  for (auto& [key, value] : pairs.GetKeyValuePairs()) entries.emplace(key, value);
  return entries;
}

std::string entry(const Entries& entries, const char* key) {
  const auto found = entries.find(key);
  return found == entries.end() ? std::string() : found->second;
}

bool behaves_as(std::string_view other) {
  const char* const named = std::getenv("STAND_IN_QNN");
  return named != nullptr && named == other;
}

// The file of the sessions that share; empty between two groups of them.
std::string g_shared_file;

std::string binary_for(const Entries& entries) {
  std::string path = g_shared_file;
  if (path.empty()) path = entry(entries, "ep.context_file_path") + ".qnn.bin";
  const bool goes_on = !behaves_as("no_sharing") && entry(entries, "ep.share_ep_contexts") == "1" &&
                       entry(entries, "ep.stop_share_ep_contexts") != "1";
  g_shared_file = goes_on ? path : std::string();
  return path;
}

// Fails if called: nothing can run the compiled model.
class Compute : public OrtNodeComputeInfo {
 public:
  Compute() : OrtNodeComputeInfo{} {
    ort_version_supported = ORT_API_VERSION;
    CreateState = [](OrtNodeComputeInfo* self, OrtNodeComputeContext*, void** state) -> OrtStatus* {
      *state = self;
      return nullptr;
    };
    OrtNodeComputeInfo::Compute = [](OrtNodeComputeInfo*, void*, OrtKernelContext*) -> OrtStatus* {
      return Ort::GetApi().CreateStatus(ORT_NOT_IMPLEMENTED, "a stand-in runs nothing");
    };
    ReleaseState = [](OrtNodeComputeInfo*, void*) {};
  }
};

std::vector<std::string> names_of(const std::vector<Ort::ConstValueInfo>& values) {
  std::vector<std::string> names;
  names.reserve(values.size());
  for (const auto& value : values) names.push_back(value.GetName());
  return names;
}

class Provider : public OrtEp {
 public:
  explicit Provider(const OrtSessionOptions& options) : OrtEp{}, entries_(entries_of(options)) {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEp*) noexcept { return kName; };
    GetCapability = capability;
    Compile = compile;
    OnRunStart = run_begins;
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo** computes, std::size_t count) noexcept {
      for (std::size_t i = 0; i < count; ++i) delete static_cast<Compute*>(computes[i]);
    };
  }

 private:
  static OrtStatus* ORT_API_CALL capability(OrtEp* ep, const OrtGraph* raw, OrtEpGraphSupportInfo* info) noexcept {
    if (behaves_as("no_nodes")) return nullptr;
    // A session may make it leave the rest of a model to other providers.
    const std::string only = entry(static_cast<Provider*>(ep)->entries_, "ep.qnnexecutionprovider.stand_in_takes_only");
    const Entries& entries = static_cast<Provider*>(ep)->entries_;
    const Ort::ConstGraph graph(raw);
    std::vector<const OrtNode*> all;
    for (const Ort::ConstNode& node : graph.GetNodes()) {
      if (behaves_as("htp") && !takes_as_htp(graph, node, entries)) continue;
      if (only.empty() || node.GetOperatorType() == only) all.push_back(node);
    }
    if (all.empty()) return nullptr;
    OrtNodeFusionOptions fusion = {};
    fusion.ort_version_supported = ORT_API_VERSION;
    fusion.drop_constant_initializers = true;
    return Ort::GetApi().GetEpApi()->EpGraphSupportInfo_AddNodesToFuse(info, all.data(), all.size(), &fusion);
  }

  static OrtStatus* ORT_API_CALL compile(OrtEp* ep, const OrtGraph** graphs, const OrtNode** nodes, std::size_t count,
                                         OrtNodeComputeInfo** computes, OrtNode** context_nodes) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      computes[i] = new Compute();
      if (is_compiled(Ort::ConstGraph(graphs[i]))) continue;
      context_nodes[i] = static_cast<Provider*>(ep)->write(Ort::ConstNode(nodes[i])).release();
    }
    return nullptr;
  }

  static bool is_on(const Entries& entries, const char* key) {
    return entry(entries, (std::string(kPrefix) + key).c_str()) != "0";
  }

  // Leaves conversions at the model's inputs and outputs to others while offload_graph_io_quantization is on. The NPU
  // computes in float16 and integers, so without enable_htp_fp16_precision it takes no model without conversions.
  static bool takes_as_htp(const Ort::ConstGraph& graph, const Ort::ConstNode& node, const Entries& entries) {
    const std::vector<Ort::ConstNode> nodes = graph.GetNodes();
    const bool quantised = std::any_of(nodes.begin(), nodes.end(), [](const Ort::ConstNode& one) {
      return one.GetOperatorType() == "DequantizeLinear";
    });
    if (!quantised) return is_on(entries, "enable_htp_fp16_precision");
    if (!is_on(entries, "offload_graph_io_quantization")) return true;
    const auto among = [](const std::vector<Ort::ConstValueInfo>& values, const std::string& name) {
      return std::any_of(values.begin(), values.end(), [&](const auto& value) { return value.GetName() == name; });
    };
    if (node.GetOperatorType() == "QuantizeLinear") return !among(graph.GetInputs(), node.GetInputs()[0].GetName());
    if (node.GetOperatorType() == "DequantizeLinear") return !among(graph.GetOutputs(), node.GetOutputs()[0].GetName());
    return true;
  }

  // Returns true for the graph of a context model.
  static bool is_compiled(const Ort::ConstGraph& graph) {
    const std::vector<Ort::ConstNode> nodes = graph.GetNodes();
    return nodes.size() == 1 && nodes.front().GetOperatorType() == "EPContext";
  }

  // Prints the entries of a run, which are options of the run and not of the session.
  static OrtStatus* ORT_API_CALL run_begins(OrtEp*, const OrtRunOptions* options) noexcept {
    for (const char* key : {"qnn.htp_perf_mode", "qnn.htp_perf_mode_post_run", "qnn.rpc_control_latency"}) {
      const char* const value = Ort::GetApi().GetRunConfigEntry(options, key);
      if (value != nullptr) std::fprintf(stderr, "stand-in: %s=%s\n", key, value);
    }
    return nullptr;
  }

  // Returns the node for `fused` and adds the graph to the binary.
  Ort::Node write(const Ort::ConstNode& fused) {
    const std::string path = binary_for(entries_);
    const std::string graph = fused.GetName();  // as QNN's provider, which finds its graph by the node's name
    std::ofstream(path, std::ios::app) << "graph " << graph << '\n';
    std::ofstream given(path + ".options");
    for (const auto& [key, value] : entries_) {
      if (key.starts_with(kPrefix)) given << key.substr(kPrefix.size()) << '=' << value << '\n';
      if (key == kNamePrefix) given << key << '=' << value << '\n';
    }
    const std::string name = path.substr(path.rfind('/') + 1);
    const std::int64_t yes = 1;
    const std::int64_t no = 0;
    std::vector<Ort::OpAttr> attributes;
    attributes.emplace_back("main_context", &yes, 1, ORT_OP_ATTR_INT);
    attributes.emplace_back("embed_mode", &no, 1, ORT_OP_ATTR_INT);
    const auto add = [&](const char* key, std::string_view text) {
      attributes.emplace_back(key, text.data(), static_cast<int>(text.size()), ORT_OP_ATTR_STRING);
    };
    add("ep_cache_context", name);
    add("partition_name", graph);
    add("source", behaves_as("tensorrt") ? "TensorrtExecutionProvider" : "Qnn");
    return {"EPContext", "com.microsoft", fused.GetName(), names_of(fused.GetInputs()), names_of(fused.GetOutputs()),
            attributes};
  }

  Entries entries_;
};

class Factory : public OrtEpFactory {
 public:
  Factory() : OrtEpFactory{} {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEpFactory*) noexcept { return kName; };
    GetVendor = [](const OrtEpFactory*) noexcept { return "stand-in"; };
    GetVendorId = [](const OrtEpFactory*) noexcept -> std::uint32_t { return 0; };
    GetVersion = [](const OrtEpFactory*) noexcept { return "0.0.0"; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, std::size_t count,
                             OrtEpDevice** made, std::size_t, std::size_t* number) noexcept -> OrtStatus* {
      *number = 0;
      if (behaves_as("no_device")) return nullptr;
      for (std::size_t i = 0; i < count && *number == 0; ++i) {
        if (Ort::GetApi().HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        *number = 1;
        return Ort::GetApi().GetEpApi()->CreateEpDevice(self, devices[i], nullptr, nullptr, made);
      }
      return nullptr;
    };
    CreateEp = [](OrtEpFactory*, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, std::size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** ep) noexcept -> OrtStatus* {
      *ep = std::make_unique<Provider>(*options).release();
      return nullptr;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) noexcept { delete static_cast<Provider*>(ep); };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) noexcept -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) noexcept { return false; };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) noexcept {};
  }
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) OrtStatus* CreateEpFactories(const char*, const OrtApiBase* base,
                                                                    const OrtLogger*, OrtEpFactory** factories,
                                                                    std::size_t, std::size_t* made) noexcept {
  Ort::InitApi(base->GetApi(ORT_API_VERSION));
  factories[0] = std::make_unique<Factory>().release();
  *made = 1;
  return nullptr;
}

__attribute__((visibility("default"))) OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) noexcept {
  delete static_cast<Factory*>(factory);
  return nullptr;
}

}  // extern "C"
