// Helpers of the samples for ONNX Runtime: the arguments, an execution provider by its name, inputs of the
// right shape, times. Each sample can be understood without this file.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sample {

constexpr const char* kOurProvider = "FatctxExecutionProvider";

// An exception for a wrong command line: exit status 2.
struct Usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

constexpr const char* kOptionsHelp =
    "  --library PATH          library of the execution provider (default: ours, ../src or ../lib beside the program)\n"
    "  --option KEY=VALUE      option of the execution provider, as often as needed\n"
    "  --shape INPUT=1,3,48    shape of an input that the model leaves open\n";

struct Arguments {
  std::vector<std::string> positional;
  std::string library;
  bool library_given = false;
  std::unordered_map<std::string, std::string> provider_options;
  std::map<std::string, std::vector<std::int64_t>> shapes;
  bool help = false;
};

inline std::pair<std::string, std::string> split(const std::string& text) {
  const auto at = text.find('=');
  if (at == std::string::npos) throw Usage("\"" + text + "\" is not NAME=VALUE");
  return {text.substr(0, at), text.substr(at + 1)};
}

inline std::vector<std::int64_t> read_shape(const std::string& text) {
  std::vector<std::int64_t> shape;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    std::istringstream number(word);
    std::int64_t size = 0;
    if (!(number >> size) || !number.eof() || size < 1) throw Usage("\"" + word + "\" is not a size");
    shape.push_back(size);
  }
  return shape;
}

inline std::string default_library(const char* program) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path place = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  if (place.empty()) place = fs::absolute(program, ignored).parent_path();
#ifdef _WIN32
  const char* const name = "fatctx_ort.dll";
#else
  const char* const name = "libfatctx_ort.so";
#endif
  for (const char* const folder : {"../src", "../lib", "."}) {
    const fs::path found = fs::weakly_canonical(place / folder / name, ignored);
    if (fs::exists(found, ignored)) return found.string();
  }
  return (place / name).string();
}

inline Arguments read_arguments(int argc, char** argv) {
  Arguments read;
  read.library = default_library(argv[0]);
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") read.help = true;
    if (word.substr(0, 2) != "--") read.positional.push_back(word);
    if (word.substr(0, 2) != "--" || word == "--help") continue;
    if (i + 1 == argc) throw Usage(word + " needs a value");
    const std::string value = argv[++i];
    if (word == "--library") {
      read.library_given = true;
      read.library = std::filesystem::absolute(value).string();  // ONNX Runtime resolves relative paths against its own
                                                                 // folder
    } else if (word == "--option") {
      read.provider_options.insert(split(value));
    } else if (word == "--shape") {
      const auto [name, shape] = split(value);
      read.shapes[name] = read_shape(shape);
    } else {
      throw Usage("unknown option " + word);
    }
  }
  return read;
}

// Reads the embed mode: the C++ originals take 0 or 1, the Python one False or True.
inline bool read_embed(const std::string& text) {
  if (text == "0" || text == "False") return false;
  if (text == "1" || text == "True") return true;
  throw Usage("embed mode \"" + text + "\" is neither 0 (a file beside the model) nor 1 (inside of the model)");
}

inline double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

// Refuses an embedded size of 2 GiB or more, the limit of ONNX, which also copies embedded bytes several
// times.
inline void check_embedded_size(std::uint64_t bytes) {
  if (bytes >= std::uint64_t{1} << 31U) {
    throw Usage("the model and its weights have " + std::to_string(bytes) +
                " bytes, and a model can embed 2 GiB at most: use embed mode 0");
  }
  if (bytes > std::uint64_t{1} << 30U) {
    std::fprintf(stderr, "warning: %.0f MB will be embedded, and every session copies them: embed mode 0 maps them\n",
                 megabytes(bytes));
  }
}

// Returns the devices of an execution provider that ONNX Runtime already has, or that --library names.
inline std::vector<Ort::ConstEpDevice> devices_of(Ort::Env& env, const std::string& name, const Arguments& arguments) {
  const auto named = [&] {
    std::vector<Ort::ConstEpDevice> found;
    for (const Ort::ConstEpDevice& device : env.GetEpDevices()) {
      if (name == device.EpName()) found.push_back(device);
    }
    return found;
  };
  std::vector<Ort::ConstEpDevice> found = named();
  if (found.empty() && (name == kOurProvider || arguments.library_given)) {
    env.RegisterExecutionProviderLibrary(name.c_str(), std::filesystem::path(arguments.library).native());
    found = named();
  }
  if (!found.empty()) return found;
  std::string known;
  for (const Ort::ConstEpDevice& device : env.GetEpDevices()) known += std::string(" ") + device.EpName();
  throw Usage("no execution provider is called " + name + "; there are:" + known + ". --library names its library");
}

inline Ort::SessionOptions options_for(Ort::Env& env, const std::vector<Ort::ConstEpDevice>& devices,
                                       const Arguments& arguments) {
  Ort::SessionOptions options;
  options.SetLogSeverityLevel(ORT_LOGGING_LEVEL_ERROR);
  options.AppendExecutionProvider_V2(env, devices, arguments.provider_options);
  return options;
}

struct Input {
  std::string name;
  ONNXTensorElementDataType type;
  std::vector<std::int64_t> shape;
};

// Returns the inputs with the model's shapes; the arguments must give the sizes that the model leaves open.
inline std::vector<Input> inputs_of(const Ort::Session& session, const Arguments& arguments) {
  std::vector<Input> inputs;
  const Ort::AllocatorWithDefaultOptions allocator;
  for (std::size_t i = 0; i < session.GetInputCount(); ++i) {
    const std::string name = session.GetInputNameAllocated(i, allocator).get();
    const Ort::TypeInfo type = session.GetInputTypeInfo(i);
    const auto tensor = type.GetTensorTypeAndShapeInfo();
    std::vector<std::int64_t> shape = tensor.GetShape();
    if (const auto given = arguments.shapes.find(name); given != arguments.shapes.end()) shape = given->second;
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) {
      throw Usage("input \"" + name + "\" has no fixed shape in the model; give one: --shape " + name + "=...");
    }
    inputs.push_back({name, tensor.GetElementType(), std::move(shape)});
  }
  return inputs;
}

// Fills an input with numbers between -1 and 1, or with ones. The values are the same in every run.
inline Ort::Value filled(const Input& input) {
  Ort::AllocatorWithDefaultOptions allocator;
  Ort::Value value = Ort::Value::CreateTensor(allocator, input.shape.data(), input.shape.size(), input.type);
  const std::size_t count = value.GetTensorTypeAndShapeInfo().GetElementCount();
  std::memset(value.GetTensorMutableRawData(), 0, value.GetTensorSizeInBytes());
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const float number = static_cast<float>(state >> 8U) / 8388608.0F - 1.0F;
    if (input.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) value.GetTensorMutableData<float>()[i] = number;
    if (input.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64) value.GetTensorMutableData<std::int64_t>()[i] = 1;
    if (input.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32) value.GetTensorMutableData<std::int32_t>()[i] = 1;
  }
  return value;
}

inline std::vector<Ort::Value> run(Ort::Session& session, const std::vector<Input>& inputs) {
  std::vector<Ort::Value> values;
  std::vector<const char*> names;
  for (const Input& input : inputs) {
    values.push_back(filled(input));
    names.push_back(input.name.c_str());
  }
  const std::vector<std::string> outputs = session.GetOutputNames();
  std::vector<const char*> output_names;
  for (const std::string& name : outputs) output_names.push_back(name.c_str());
  return session.Run(Ort::RunOptions(), names.data(), values.data(), values.size(), output_names.data(),
                     output_names.size());
}

// Returns the largest difference of two results; types other than float must be equal.
inline double difference(const std::vector<Ort::Value>& a, const std::vector<Ort::Value>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::size_t size = a[i].GetTensorSizeInBytes();
    if (size != b[i].GetTensorSizeInBytes()) return HUGE_VAL;
    if (a[i].GetTensorTypeAndShapeInfo().GetElementType() != ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT) {
      if (std::memcmp(a[i].GetTensorRawData(), b[i].GetTensorRawData(), size) != 0) return HUGE_VAL;
      continue;
    }
    for (std::size_t k = 0; k < size / sizeof(float); ++k) {
      const float one = a[i].GetTensorData<float>()[k];
      largest = std::max(largest, static_cast<double>(std::fabs(one - b[i].GetTensorData<float>()[k])));
    }
  }
  return largest;
}

// Runs `work`, measures its time, and returns its result.
template <typename Work>
auto timed(double& seconds, Work&& work) {
  const auto start = std::chrono::steady_clock::now();
  auto made = work();
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return made;
}

struct Times {
  double normal = 0, compile = 0, context = 0, further = 0;
};

inline void print_times(const std::string& model, const Times& times) {
  std::printf("| Model | Normal load (s) | Compile (s) | EPContext load (s) | Further EPContext load (s) |\n");
  std::printf("|---|---|---|---|---|\n");
  std::printf("| %s | %.4f | %.4f | %.4f | %.4f |\n", std::filesystem::path(model).filename().string().c_str(),
              times.normal, times.compile, times.context, times.further);
}

inline std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes(file ? std::filesystem::file_size(path) : 0);
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    throw std::runtime_error(path + ": cannot be read");
  }
  return bytes;
}

// Runs main() of a sample. Returns 0, 1 for a failure, 2 for a wrong command line.
template <typename Sample>
int guarded_main(const char* help, int argc, char** argv, Sample&& body) {
  try {
    const Arguments arguments = read_arguments(argc, argv);
    if (arguments.help) return std::printf("%s%s", help, kOptionsHelp), 0;
    return body(arguments);
  } catch (const Usage& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 2;
  } catch (const std::exception& error) {  // Ort::Exception derives from it
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}

}  // namespace sample
