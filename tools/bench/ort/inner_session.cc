#include "tools/bench/ort/inner_session.h"

#include <onnxruntime_session_options_config_keys.h>

#include <stdexcept>
#include <string_view>
#include <utility>

#include "fatctx/description.h"
#include "tools/cli/whole_container.h"

namespace fatctx::tools {
namespace {

// The provider stores this option with a weight blob. The headers of ONNX Runtime 1.23 have no name for it.
constexpr std::string_view kLocationOption = "onnx.location";
constexpr const char* kBorrowBuffers = "session.use_external_initializer_file_buffers_directly";

template <typename T>
T value_of(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(to_text(result.error()));
  return std::move(result).value();
}

const RecordInfo& graph_in(const Container& container) {
  for (const RecordInfo& record : all_records(container)) {
    if (record.type == RecordType::kContextBinary) return record;
  }
  throw std::runtime_error(container.path() + ": no context binary in it");
}

std::string location_of(const RecordInfo& blob, const RecordDescription* said) {
  if (said != nullptr) {
    for (const DescribedOption& option : said->options) {
      if (option.key == kLocationOption) return option.value;
    }
  }
  return std::string(blob.name);
}

}  // namespace

InnerSessions::InnerSessions(const std::string& container)
    : container_(value_of(open_whole(container))), graph_(value_of(container_.acquire(graph_in(container_).id))) {
  const ContainerDescription description = value_of(container_.describe());
  for (const std::uint32_t id : graph_in(container_).weights) {
    const RecordInfo blob = value_of(container_.record(id));
    weights_.push_back({location_of(blob, description.find(id)), value_of(container_.acquire(id))});
  }
}

// Uses the options of the provider's inner session with the least memory: src/runtime/ort/ep/cpu_graph.cc.
Ort::Session InnerSessions::session(const Ort::Env& env) const {
  Ort::SessionOptions options;
  options.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
  options.AddConfigEntry(kBorrowBuffers, "1");
  options.AddConfigEntry(kOrtSessionOptionsConfigDisablePrepacking, "1");
  options.DisableCpuMemArena();
  std::vector<std::string> names;
  std::vector<char*> buffers;
  std::vector<std::size_t> sizes;
  for (const Weights& weights : weights_) {
    names.push_back(weights.location);
    // The parameter is not const, but the call only reads.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast,cppcoreguidelines-pro-type-reinterpret-cast)
    buffers.push_back(const_cast<char*>(reinterpret_cast<const char*>(weights.bytes.data())));
    sizes.push_back(weights.bytes.size_bytes());
  }
  if (!names.empty()) options.AddExternalInitializersFromFilesInMemory(names, buffers, sizes);
  const ByteView model = graph_.bytes();
  return {env, model.data(), model.size(), options};
}

}  // namespace fatctx::tools
