// Compiles a model from disk for an execution provider, loads the compiled model from disk, and prints the
// times of each:
//
//   ep_context_file <model.onnx> <out_ctx.onnx> <embed mode 0|1> [execution provider]
#include "ort_session.h"

namespace {

constexpr const char* kHelp =
    "ep_context_file <model.onnx> <out_ctx.onnx> <embed mode> [execution provider]\n\n"
    "  embed mode              0: the compiled graph lies in a file beside the model; 1: inside of the model\n"
    "  execution provider      default: FatctxExecutionProvider\n";

// Returns the size of the model and of the file with its weights, if that has one of the usual names.
std::uint64_t size_of(const std::string& model) {
  namespace fs = std::filesystem;
  std::uint64_t size = fs::file_size(model);
  for (const fs::path& data : {fs::path(model + ".data"), fs::path(model).replace_extension(".data")}) {
    if (fs::exists(data)) size += fs::file_size(data);
  }
  return size;
}

int sample_main(const sample::Arguments& arguments) {
  const auto& words = arguments.positional;
  if (words.size() < 3 || words.size() > 4) throw sample::Usage(kHelp);
  const std::string& model = words[0];
  const std::string& out = words[1];
  const bool embed = sample::read_embed(words[2]);
  const std::string provider = words.size() > 3 ? words[3] : sample::kOurProvider;
  if (embed) sample::check_embedded_size(size_of(model));

  Ort::Env env(ORT_LOGGING_LEVEL_ERROR, "ep_context_file");
  const auto devices = sample::devices_of(env, provider, arguments);
  const Ort::SessionOptions options = sample::options_for(env, devices, arguments);
  const auto load = [&](const std::string& path) {
    return Ort::Session(env, std::filesystem::path(path).c_str(), options);
  };
  sample::Times times;

  // 1. The original model.
  Ort::Session normal = sample::timed(times.normal, [&] { return load(model); });
  const auto inputs = sample::inputs_of(normal, arguments);

  // 2. Compiled, and 3. saved.
  Ort::ModelCompilationOptions compilation(env, options);
  compilation.SetInputModelPath(std::filesystem::path(model).c_str());
  compilation.SetOutputModelPath(std::filesystem::path(out).c_str());
  compilation.SetEpContextEmbedMode(embed);
  compilation.SetFlags(OrtCompileApiFlags_ERROR_IF_NO_NODES_COMPILED);
  Ort::Status compiled = sample::timed(times.compile, [&] { return Ort::CompileModel(env, compilation); });
  if (!compiled.IsOK()) throw std::runtime_error(compiled.GetErrorMessage());
  std::printf("compiled for %s, %s: %s, %.3f MB\n", provider.c_str(), embed ? "embedded" : "external", out.c_str(),
              sample::megabytes(std::filesystem::file_size(out)));

  // 4. Loaded again; a second session of the process has the same mapping.
  Ort::Session first = sample::timed(times.context, [&] { return load(out); });
  Ort::Session second = sample::timed(times.further, [&] { return load(out); });

  // 5. Run.
  const auto wanted = sample::run(normal, inputs);
  const double largest = std::max(sample::difference(wanted, sample::run(first, inputs)),
                                  sample::difference(wanted, sample::run(second, inputs)));
  std::printf("largest difference of the results: %g\n", largest);
  sample::print_times(model, times);
  return largest < 1e-3 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return sample::guarded_main(kHelp, argc, argv, sample_main); }
