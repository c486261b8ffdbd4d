#include "tools/bench/ort/child.h"

#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <unordered_map>

#include "tools/bench/ort/inner_session.h"
#include "tools/bench/process_memory.h"

namespace fatctx::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProvider = "FatctxExecutionProvider";

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Returns the fields of /proc/self/smaps_rollup, in bytes. PSS divides a page by the number of processes that
// share it.
std::map<std::string, std::int64_t> memory_now() {
  give_back_freed_memory();
  std::ifstream file("/proc/self/smaps_rollup");
  std::map<std::string, std::int64_t> found;
  std::string key;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.ends_with(" kB")) continue;
    found[line.substr(0, colon)] = std::stoll(line.substr(colon + 1)) * 1024;
  }
  return found;
}

// Returns the peak resident set of the whole process. It counts pages that other processes share as well.
std::int64_t peak_rss() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) * 1024;
  }
  return 0;
}

Json memory_since(std::map<std::string, std::int64_t> before) {
  auto now = memory_now();
  return {{"anonymous_bytes", now["Anonymous"] - before["Anonymous"]}, {"pss_bytes", now["Pss"] - before["Pss"]}};
}

class Runtime {
 public:
  explicit Runtime(const std::string& library) : env_(ORT_LOGGING_LEVEL_ERROR, "bench") {
    if (!library.empty()) env_.RegisterExecutionProviderLibrary(kProvider, library);
  }
  [[nodiscard]] const Ort::Env& env() const noexcept { return env_; }

  // Returns session options. `memory` is the option of our provider; if it is empty, the session is an
  // ordinary one.
  [[nodiscard]] Ort::SessionOptions options(const std::string& memory) {
    Ort::SessionOptions made;
    if (memory.empty()) return made;
    std::vector<Ort::ConstEpDevice> devices;
    for (const auto& device : env_.GetEpDevices()) {
      if (std::strcmp(device.EpName(), kProvider) == 0) devices.push_back(device);
    }
    made.AppendExecutionProvider_V2(env_, devices, std::unordered_map<std::string, std::string>{{"memory", memory}});
    return made;
  }
  [[nodiscard]] Ort::Session session(const std::string& model, const std::string& memory) {
    return {env_, model.c_str(), options(memory)};
  }

 private:
  Ort::Env env_;
};

std::size_t element_bytes(ONNXTensorElementDataType type) {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64:
      return 8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32:
      return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16:
      return 2;
    default:
      return 1;
  }
}

// A set of inputs for a session. Whole numbers are 1, so that an index is in range and a mask is on; others
// are small.
class Feed {
 public:
  Feed(const Ort::Session& session, std::int64_t dimension) {
    Ort::AllocatorWithDefaultOptions allocator;
    for (std::size_t i = 0; i < session.GetInputCount(); ++i) {
      names_.emplace_back(session.GetInputNameAllocated(i, allocator).get());
      const auto type = session.GetInputTypeInfo(i);
      const auto tensor = type.GetTensorTypeAndShapeInfo();
      std::vector<std::int64_t> shape = tensor.GetShape();
      for (std::int64_t& size : shape) size = size < 0 ? dimension : size;
      auto value = Ort::Value::CreateTensor(allocator, shape.data(), shape.size(), tensor.GetElementType());
      fill(value, tensor.GetElementType());
      values_.push_back(std::move(value));
    }
    for (std::size_t i = 0; i < session.GetOutputCount(); ++i) {
      outputs_.emplace_back(session.GetOutputNameAllocated(i, allocator).get());
    }
  }

  [[nodiscard]] std::vector<Ort::Value> run(Ort::Session& session) const {
    std::vector<const char*> names;
    for (const std::string& name : names_) names.push_back(name.c_str());
    std::vector<const char*> outputs;
    for (const std::string& name : outputs_) outputs.push_back(name.c_str());
    return session.Run(Ort::RunOptions{nullptr}, names.data(), values_.data(), names.size(), outputs.data(),
                       outputs.size());
  }

 private:
  static void fill(Ort::Value& value, ONNXTensorElementDataType type) {
    const std::size_t count = value.GetTensorTypeAndShapeInfo().GetElementCount();
    auto* const bytes = static_cast<char*>(value.GetTensorMutableRawData());
    const std::size_t size = element_bytes(type);
    std::memset(bytes, 0, value.GetTensorSizeInBytes());
    if (value.GetTensorSizeInBytes() != count * size) return;  // several elements share a byte
    for (std::size_t i = 0; i < count; ++i) {
      if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
        const float number = static_cast<float>(i % 13) / 13.0F;
        std::memcpy(bytes + i * size, &number, sizeof number);
      } else if (size != 2 && type != ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE) {
        bytes[i * size] = 1;  // little-endian
      }
    }
  }

  std::vector<std::string> names_;
  std::vector<std::string> outputs_;
  std::vector<Ort::Value> values_;
};

// Measures our sessions and their inner sessions in turn, so that other load on the machine affects both. The
// first of each pays for the one-time work of the process.
Json inner(const ChildOptions& options) {
  Runtime runtime(options.library);
  const InnerSessions made_of(options.output);
  std::vector<Ort::Session> sessions;
  Json inner_seconds = Json::array();
  Json ours_seconds = Json::array();
  for (std::uint32_t i = 0; i < std::max(2U, options.sessions); ++i) {
    auto start = Clock::now();
    sessions.push_back(made_of.session(runtime.env()));
    const double of_inner = seconds_since(start);
    start = Clock::now();
    sessions.push_back(runtime.session(options.model, options.memory));
    if (i == 0) continue;
    ours_seconds.push_back(seconds_since(start));
    inner_seconds.push_back(of_inner);
  }
  return {{"inner_seconds", std::move(inner_seconds)}, {"ours_seconds", std::move(ours_seconds)}};
}

Json load(const ChildOptions& options) {
  Runtime runtime(options.library);
  // The first session of any model costs the process something that is not the model's.
  (void)runtime.options(options.memory);
  const auto before = memory_now();
  std::vector<Ort::Session> sessions;
  Json further_seconds = Json::array();
  Json result = Json::object();
  for (std::uint32_t i = 0; i < options.sessions; ++i) {
    const auto start = Clock::now();
    sessions.push_back(runtime.session(options.model, options.memory));
    const double seconds = seconds_since(start);
    // Runs once so that every weight is read, the pages of the file are resident, and a run's memory is
    // allocated.
    (void)Feed(sessions.back(), options.dimension).run(sessions.back());
    if (i == 0) {
      result.add("seconds", seconds);
      result.add("first", memory_since(before));
    } else {
      further_seconds.push_back(seconds);
    }
  }
  result.add("further_seconds", std::move(further_seconds));
  result.add("all", memory_since(before));
  result.add("peak_rss_bytes", peak_rss());
  return result;
}

Json compile(const ChildOptions& options) {
  Runtime runtime(options.library);
  const auto start = Clock::now();
  Ort::ModelCompilationOptions compilation(runtime.env(), runtime.options(options.memory));
  compilation.SetInputModelPath(options.model.c_str());
  compilation.SetOutputModelPath(options.output.c_str());
  compilation.SetEpContextEmbedMode(options.embed);
  const Ort::Status done = Ort::CompileModel(runtime.env(), compilation);
  if (!done.IsOK()) throw Ort::Exception(done.GetErrorMessage(), done.GetErrorCode());
  return {{"seconds", seconds_since(start)}};
}

// Runs the ordinary session and ours in turn, so that other load on the machine affects both.
Json run(const ChildOptions& options) {
  Runtime runtime(options.library);
  Ort::Session ordinary = runtime.session(options.model, "");
  Ort::Session ours = runtime.session(options.output, options.memory);
  const Feed feed(ordinary, options.dimension);
  Json ordinary_seconds = Json::array();
  Json ours_seconds = Json::array();
  for (std::uint32_t i = 0; i < options.runs + 2; ++i) {
    for (const bool is_ours : {false, true}) {
      const auto start = Clock::now();
      const auto outputs = feed.run(is_ours ? ours : ordinary);
      const double seconds = seconds_since(start);
      if (i >= 2) (is_ours ? ours_seconds : ordinary_seconds).push_back(seconds);
    }
  }
  return {{"ordinary_seconds", std::move(ordinary_seconds)}, {"ours_seconds", std::move(ours_seconds)}};
}

}  // namespace

Json run_child(const ChildOptions& options) {
  if (options.way == "compile") return compile(options);
  if (options.way == "run") return run(options);
  if (options.way == "inner") return inner(options);
  return load(options);
}

}  // namespace fatctx::tools
