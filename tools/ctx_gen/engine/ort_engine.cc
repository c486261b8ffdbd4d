#include "tools/ctx_gen/engine/ort_engine.h"

#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/command.h"
#include "tools/ctx_gen/engine/ort_library.h"
#include "tools/system/others_output.h"

namespace fatctx::tools {

namespace {

constexpr std::chrono::milliseconds kLookForCancel{50};

ErrorCode code_of(OrtErrorCode code) {
  switch (code) {
    case ORT_NO_SUCHFILE:
      return ErrorCode::kNotFound;
    case ORT_INVALID_PROTOBUF:
    case ORT_INVALID_GRAPH:
    case ORT_NO_MODEL:
      return ErrorCode::kMalformed;
    case ORT_INVALID_ARGUMENT:
      return ErrorCode::kInvalidArgument;
    case ORT_NOT_IMPLEMENTED:
      return ErrorCode::kUnsupported;
    default:
      return ErrorCode::kSerialiseFailed;
  }
}

std::optional<ErrorCode> code_named(std::string_view word) {
  for (std::int32_t number = 1;; ++number) {
    const std::string_view name = error_code_name(ErrorCode{number});
    if (name == "unknown") return std::nullopt;
    if (name == word) return ErrorCode{number};
  }
}

// Converts an exception. Our own provider's texts come from to_text(), with a code; for others ONNX Runtime
// has a code.
Error error_of(const Ort::Exception& problem, std::string_view at) {
  constexpr std::string_view kOurs = "fatctx: ";
  std::string_view text = problem.what();
  ErrorCode code = code_of(problem.GetOrtErrorCode());
  if (text.starts_with(kOurs)) {
    text.remove_prefix(kOurs.size());
    const std::size_t bracket = text.rfind(" (");
    const std::string_view last = bracket == std::string_view::npos ? "" : text.substr(bracket + 2);
    if (const auto said = code_named(last.substr(0, last.find_first_of(",)")))) {
      code = *said;
      text = text.substr(0, bracket);
    }
  }
  return {code, fmt::format("{}: {}", at, text)};
}

// A guard that passes a request to cancel to the session that is being created.
class CancelWatch {
 public:
  CancelWatch(const std::atomic<bool>* cancel, Ort::SessionOptions& options) {
    if (cancel == nullptr) return;
    thread_ = std::thread([this, cancel, &options] {
      std::unique_lock lock(mutex_);
      while (!done_.wait_for(lock, kLookForCancel, [this] { return ended_; })) {
        if (!cancel->load(std::memory_order_relaxed)) continue;
        // NOLINTNEXTLINE(bugprone-empty-catch): if this fails, the model is compiled to its end
        try {
          options.SetLoadCancellationFlag(true);
        } catch (const Ort::Exception&) {
        }
        return;
      }
    });
  }
  ~CancelWatch() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    done_.notify_all();
    thread_.join();
  }
  CancelWatch(const CancelWatch&) = delete;
  CancelWatch& operator=(const CancelWatch&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool ended_ = false;
  std::thread thread_;
};

bool cancelled(const EngineRequest& request) {
  return request.cancel != nullptr && request.cancel->load(std::memory_order_relaxed);
}

std::string type_text(OrtHardwareDeviceType type) {
  switch (type) {
    case OrtHardwareDeviceType_CPU:
      return "CPU";
    case OrtHardwareDeviceType_GPU:
      return "GPU";
    case OrtHardwareDeviceType_NPU:
      return "NPU";
  }
  return "unknown";
}

// Returns the device that the library added. Compilation runs on the host, where providers for other machines
// offer themselves as a device of type CPU.
Result<Ort::ConstEpDevice> device_of(Ort::Env& env, const EngineRequest& request) {
  std::set<const OrtEpDevice*> before;
  for (const auto& device : env.GetEpDevices()) before.insert(device);
  try {
    env.RegisterExecutionProviderLibrary(request.provider.c_str(), request.library);
  } catch (const Ort::Exception& problem) {
    return Error{
        ErrorCode::kBackendLibraryMissing,
        fmt::format("{}: cannot be loaded as a library of an execution provider: {}", request.library, problem.what())};
  }
  Ort::ConstEpDevice chosen{nullptr};
  for (const auto& device : env.GetEpDevices()) {
    if (before.contains(device)) continue;
    const bool cpu = device.Device().Type() == OrtHardwareDeviceType_CPU;
    if (chosen == nullptr || (cpu && chosen.Device().Type() != OrtHardwareDeviceType_CPU)) chosen = device;
  }
  if (chosen != nullptr) return chosen;
  return Error{ErrorCode::kBackendLibraryMissing,
               fmt::format("{}: offers no device to compile on; it may be made for other "
                           "hardware than this machine has",
                           request.library)};
}

Status compile(Ort::Env& env, Ort::ConstEpDevice device, const EngineRequest& request, const EngineModel& model) {
  Ort::SessionOptions options;
  options.SetLogSeverityLevel(request.verbose ? ORT_LOGGING_LEVEL_WARNING : ORT_LOGGING_LEVEL_FATAL);
  if (!request.optimise_in_session) options.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
  for (const auto& [key, value] : model.session_entries) options.AddConfigEntry(key.c_str(), value.c_str());
  std::unordered_map<std::string, std::string> provider_options(model.provider_options.begin(),
                                                                model.provider_options.end());
  options.AppendExecutionProvider_V2(env, {device}, provider_options);
  {
    const CancelWatch watch(request.cancel, options);
    const Ort::Session session(env, model.input.c_str(), options);
  }
  std::error_code error;
  if (std::filesystem::is_regular_file(model.output, error)) return Done{};
  return Error{ErrorCode::kSerialiseFailed,
               fmt::format("{} took no part of the model, so there is nothing to write", request.provider)};
}

}  // namespace

void use_onnxruntime() noexcept { set_ctx_gen_engine(run_sessions); }

Result<EngineReport> run_sessions(const EngineRequest& request) {
  const OthersOutput others;
  FATCTX_ASSIGN(const OrtApiBase* const runtime, onnxruntime_library());
  Ort::InitApi(runtime->GetApi(ORT_API_VERSION));
  EngineReport report;
  report.runtime = runtime->GetVersionString();
  std::string at = request.provider;
  try {
    Ort::Env env(request.verbose ? ORT_LOGGING_LEVEL_WARNING : ORT_LOGGING_LEVEL_FATAL, "ctx-gen");
    FATCTX_ASSIGN(const Ort::ConstEpDevice device, device_of(env, request));
    report.device = fmt::format("{} of {}, {}", device.EpName(), device.EpVendor(), type_text(device.Device().Type()));
    for (std::size_t i = 0; i < request.models.size(); ++i) {
      if (cancelled(request)) return Error{ErrorCode::kCancelled, "ended on request; nothing was written"};
      at = request.models[i].input;
      if (request.begins) request.begins(i);
      const auto start = std::chrono::steady_clock::now();
      const Status compiled = compile(env, device, request, request.models[i]);
      if (!compiled.ok()) return in_context(compiled.error(), at);
      report.seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
  } catch (const Ort::Exception& problem) {
    if (cancelled(request)) return Error{ErrorCode::kCancelled, "ended on request; nothing was written"};
    return error_of(problem, at);
  }
  return report;
}

}  // namespace fatctx::tools
