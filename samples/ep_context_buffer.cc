// Compiles a model and its weights from memory into memory, and loads the result from there:
//
//   ep_context_buffer <model.onnx> <model.onnx.data> <out_ctx.onnx> <data name> <embed mode 0|1> [execution provider]
//
// <data name> is the name that the model uses for the file of its weights; such a file need not exist.
#include <cstddef>
#include <iterator>
#include <memory>
#include <string_view>

#include "ort_session.h"

namespace {

constexpr const char* kHelp =
    "ep_context_buffer <model.onnx> <model.onnx.data> <out_ctx.onnx> <data name> <embed mode> [execution provider]\n\n"
    "  data name               what the model calls the file of its weights\n"
    "  embed mode              0: the compiled graph lies in a file beside the model; 1: inside of the model\n"
    "  execution provider      default: FatctxExecutionProvider\n";

using Buffer = std::vector<char>;

// An initializer whose bytes are stored in a file: its location there, its type and its shape.
struct External {
  std::string name, file;
  ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  std::vector<std::int64_t> dims;
  std::uint64_t offset = 0, length = 0;
};

// A reader for the subset of protobuf that the initializers of an ONNX model need.
class Message {
 public:
  explicit Message(std::string_view bytes) : rest_(bytes) {}

  // Reads the next field; field() then has its number, number() or bytes() its content.
  bool next() {
    if (rest_.empty()) return false;
    const std::uint64_t key = varint();
    field_ = key >> 3U;
    switch (key & 7U) {
      case 0:
        number_ = varint();
        break;
      case 1:
        bytes_ = take(8);
        break;
      case 2:
        bytes_ = take(varint());
        break;
      case 5:
        bytes_ = take(4);
        break;
      default:
        throw std::runtime_error("the model is not an ONNX file");
    }
    packed_ = (key & 7U) == 2;
    return true;
  }

  [[nodiscard]] std::uint64_t field() const { return field_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool packed() const { return packed_; }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte < 0x80) return value;
    }
    throw std::runtime_error("the model is not an ONNX file");
  }

  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) throw std::runtime_error("the model is cut off");
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  std::string_view rest_, bytes_;
  std::uint64_t field_ = 0, number_ = 0;
  bool packed_ = false;
};

// Reads TensorProto: dims 1, data_type 2, name 8, external_data 13 (key 1, value 2).
External read_tensor(std::string_view bytes) {
  External tensor;
  for (Message message(bytes); message.next();) {
    if (message.field() == 1 && !message.packed()) tensor.dims.push_back(static_cast<std::int64_t>(message.number()));
    if (message.field() == 1 && message.packed()) {
      for (Message dims(message.bytes()); !dims.empty();)
        tensor.dims.push_back(static_cast<std::int64_t>(dims.varint()));
    }
    if (message.field() == 2) tensor.type = static_cast<ONNXTensorElementDataType>(message.number());
    if (message.field() == 8) tensor.name = message.bytes();
    if (message.field() != 13) continue;
    std::string key, value;
    for (Message entry(message.bytes()); entry.next();) (entry.field() == 1 ? key : value) = entry.bytes();
    if (key == "location") tensor.file = value;
    if (key == "offset") tensor.offset = std::stoull(value);
    if (key == "length") tensor.length = std::stoull(value);
  }
  return tensor;
}

// Reads ModelProto: graph 7; GraphProto: initializer 5.
std::vector<External> external_tensors(const Buffer& model, const std::string& file) {
  std::vector<External> found;
  for (Message message({model.data(), model.size()}); message.next();) {
    if (message.field() != 7) continue;
    for (Message graph(message.bytes()); graph.next();) {
      if (graph.field() != 5) continue;
      External tensor = read_tensor(graph.bytes());
      if (tensor.file == file) found.push_back(std::move(tensor));
    }
  }
  return found;
}

// Returns values that point into the buffer, which must outlive them. They must outlive the session.
std::vector<Ort::Value> views_of(const std::vector<External>& tensors, Buffer& data) {
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  std::vector<Ort::Value> views;
  for (const External& tensor : tensors) {
    if (tensor.offset > data.size() || tensor.length > data.size() - tensor.offset) {
      throw std::runtime_error("\"" + tensor.name + "\" is not inside of the data");
    }
    views.push_back(Ort::Value::CreateTensor(memory, data.data() + tensor.offset, tensor.length, tensor.dims.data(),
                                             tensor.dims.size(), tensor.type));
  }
  return views;
}

// Gives ONNX Runtime the file from memory, because it would otherwise search the disk. It copies the bytes
// that it needs.
void add_file(Ort::SessionOptions& options, const std::string& name, Buffer& data) {
  options.AddExternalInitializersFromFilesInMemory({std::filesystem::path(name).native()}, {data.data()},
                                                   {data.size()});
}

// Does the same without copying, with ONNX Runtime 1.31 or newer; older ones ignore the entry and copy.
void borrow_file(Ort::SessionOptions& options, const std::string& name, Buffer& data) {
  options.AddConfigEntry("session.use_external_initializer_file_buffers_directly", "1");
  add_file(options, name, data);
}

// Returns the memory of this process that no file backs; 0 if the system does not report it.
std::uint64_t anonymous_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  std::uint64_t kilobytes = 0;
  for (std::string word; rollup >> word;) {
    if (word == "Anonymous:") rollup >> kilobytes;
  }
  return kilobytes * 1024;
}

Ort::Session load(Ort::Env& env, const Buffer& model, const Ort::SessionOptions& options, double& seconds,
                  const char* how) {
  const std::uint64_t before = anonymous_bytes();
  Ort::Session session = sample::timed(seconds, [&] { return Ort::Session(env, model.data(), model.size(), options); });
  const std::uint64_t after = anonymous_bytes();
  std::printf("%-46s %8.4f s, %8.3f MB more memory\n", how, seconds,
              after > before ? sample::megabytes(after - before) : 0);
  return session;
}

int sample_main(const sample::Arguments& arguments) {
  const auto& words = arguments.positional;
  if (words.size() < 5 || words.size() > 6) throw sample::Usage(kHelp);
  const std::filesystem::path out = words[2];
  const std::string& data_name = words[3];
  const bool embed = sample::read_embed(words[4]);
  const std::string provider = words.size() > 5 ? words[5] : sample::kOurProvider;
  if (embed) sample::check_embedded_size(std::filesystem::file_size(words[0]) + std::filesystem::file_size(words[1]));

  // Only these two files are read.
  const Buffer model = sample::read_file(words[0]);
  Buffer data = sample::read_file(words[1]);
  const std::vector<External> tensors = external_tensors(model, data_name);
  if (tensors.empty()) throw sample::Usage("the model has no weights in a file called \"" + data_name + "\"");

  Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "ep_context_buffer");
  const auto devices = sample::devices_of(env, provider, arguments);
  const auto options = [&] {
    Ort::SessionOptions made = sample::options_for(env, devices, arguments);
    made.AddConfigEntry("session.disable_prepacking", "1");  // prepacked weights are copies, too
    return made;
  };
  sample::Times times;

  // 1. The original model: with copies of the weights, with the file borrowed, and with a view for every
  // tensor.
  Ort::SessionOptions copying = options();
  add_file(copying, data_name, data);
  Ort::Session copied = load(env, model, copying, times.normal, "copied (files in memory):");
  Ort::SessionOptions borrowing = options();
  borrow_file(borrowing, data_name, data);
  double seconds = 0;
  Ort::Session borrowed = load(env, model, borrowing, seconds, "borrowed (files in memory, used directly):");
  const std::vector<Ort::Value> views = views_of(tensors, data);
  Ort::SessionOptions viewing = options();
  borrow_file(viewing, data_name, data);  // otherwise the file must exist on the disk, although it is not read
  for (std::size_t i = 0; i < tensors.size(); ++i) viewing.AddInitializer(tensors[i].name.c_str(), views[i]);
  Ort::Session viewed = load(env, model, viewing, seconds, "views (AddInitializer):");
  const auto inputs = sample::inputs_of(viewed, arguments);

  // 2. Compiled into memory. In embed mode 0 the compiled graph is stored in a file, in the folder of `out`.
  Ort::ModelCompilationOptions compilation(env, borrowing);
  Ort::AllocatorWithDefaultOptions allocator;
  void* bytes = nullptr;
  std::size_t size = 0;
  compilation.SetInputModelFromBuffer(model.data(), model.size());
  compilation.SetOutputModelBuffer(allocator, &bytes, &size);
  compilation.SetEpContextEmbedMode(embed);
  compilation.SetFlags(OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED);
  const std::filesystem::path folder = std::filesystem::absolute(out).parent_path() / "";
  if (!embed) compilation.SetEpContextBinaryInformation(folder.c_str(), out.filename().c_str());
  Ort::Status status = sample::timed(times.compile, [&] { return Ort::CompileModel(env, compilation); });
  if (!status.IsOK()) throw std::runtime_error(status.GetErrorMessage());
  const auto release = [&](void* allocated) { allocator.Free(allocated); };
  const std::unique_ptr<void, decltype(release)> owner(bytes, release);
  const Buffer compiled(static_cast<const char*>(bytes), static_cast<const char*>(bytes) + size);
  std::printf("compiled for %s, %s: %.3f MB in memory\n", provider.c_str(), embed ? "embedded" : "external",
              sample::megabytes(size));

  // 3. Saved to disk, which is optional.
  std::ofstream file(out, std::ios::binary);
  file.write(compiled.data(), static_cast<std::streamsize>(compiled.size()));
  file.close();
  if (!file) throw std::runtime_error(out.string() + ": cannot be written");

  // 4. Loaded from memory.
  Ort::SessionOptions loading = options();
  if (!embed) loading.AddConfigEntry("ep.context_file_path", (folder / out.filename()).string().c_str());
  Ort::Session first = load(env, compiled, loading, times.context, "compiled model from memory:");
  Ort::Session second = load(env, compiled, loading, times.further, "compiled model from memory, once more:");

  // 5. Run.
  const auto wanted = sample::run(copied, inputs);
  double largest = sample::difference(wanted, sample::run(viewed, inputs));
  for (Ort::Session* session : {&borrowed, &first, &second}) {
    largest = std::max(largest, sample::difference(wanted, sample::run(*session, inputs)));
  }
  std::printf("largest difference of the results: %g\n", largest);
  sample::print_times(words[0], times);
  return largest < 1e-3 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return sample::guarded_main(kHelp, argc, argv, sample_main); }
