// Shows a backend that restarts under a running session (a "subsystem restart" of the NPU), and how an
// application recovers:
//
//   recreate_session <model_ctx.onnx> [runs]
//
// Every run of the lost session ends with ORT_ENGINE_ERROR. Its weights are not lost: they are a mapped file.
// The new session is created before the old one is destroyed, so that one of them always holds the mapping;
// nothing is read again.
//
// A restart cannot be requested, so it is injected: --option inject_restart_at_run=3.
#include "ort_session.h"

namespace {

constexpr const char* kHelp = "recreate_session <model_ctx.onnx> [runs, default 5]\n\n";

// Returns where containers are mapped, as far as the system reports it.
std::string mapped_containers() {
  std::string found;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(".fatctx")) found += (found.empty() ? "" : ", ") + line.substr(0, line.find(' '));
  }
  return found.empty() ? "unknown" : found;
}

class Recreated {
 public:
  Recreated(Ort::Env& env, std::filesystem::path model, const Ort::SessionOptions& options)
      : env_(env), model_(std::move(model)), session_(env, model_.c_str(), options) {}

  Ort::Session& session() { return session_; }

  // A fault that persists after `kAttempts` new sessions is not a restart.
  std::vector<Ort::Value> run(const std::vector<sample::Input>& inputs, const Ort::SessionOptions& options) {
    for (int attempt = 0;; ++attempt) {
      try {
        return sample::run(session_, inputs);
      } catch (const Ort::Exception& error) {
        if (error.GetOrtErrorCode() != ORT_ENGINE_ERROR || attempt == kAttempts) throw;
        std::printf("engine error: %s\n", error.what());
      }
      const std::string before = mapped_containers();
      double seconds = 0;
      Ort::Session made = sample::timed(seconds, [&] { return Ort::Session(env_, model_.c_str(), options); });
      session_ = std::move(made);  // destroys the lost one
      const std::string after = mapped_containers();
      std::printf("created again in %.4f s, mapping %s: %s\n", seconds, before == after ? "kept" : "changed",
                  after.c_str());
    }
  }

 private:
  static constexpr int kAttempts = 2;

  Ort::Env& env_;
  std::filesystem::path model_;
  Ort::Session session_;
};

int sample_main(const sample::Arguments& arguments) {
  const auto& words = arguments.positional;
  if (words.empty() || words.size() > 2) throw sample::Usage(kHelp);
  const int runs = words.size() > 1 ? static_cast<int>(sample::read_shape(words[1]).at(0)) : 5;

  Ort::Env env(ORT_LOGGING_LEVEL_FATAL, "recreate_session");
  const auto devices = sample::devices_of(env, sample::kOurProvider, arguments);
  Recreated model(env, words[0], sample::options_for(env, devices, arguments));
  // The new session runs on a backend that works: the fault was injected only into the first.
  sample::Arguments without = arguments;
  without.provider_options.erase("inject_restart_at_run");
  const Ort::SessionOptions options = sample::options_for(env, devices, without);

  const auto inputs = sample::inputs_of(model.session(), arguments);
  std::vector<Ort::Value> first;
  for (int i = 1; i <= runs; ++i) {
    std::vector<Ort::Value> results = model.run(inputs, options);
    const bool equal = first.empty() || sample::difference(first, results) == 0;
    if (first.empty()) first = std::move(results);
    std::printf("run %d: %s\n", i, equal ? "right" : "wrong");
    if (!equal) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return sample::guarded_main(kHelp, argc, argv, sample_main); }
