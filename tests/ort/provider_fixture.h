// ONNX Runtime with our execution provider, set up as an application does it.
#pragma once

#include <gtest/gtest.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "ort/dense_model.h"
#include "support/temp_dir.h"

namespace fatctx::support {

using ProviderOptions = std::unordered_map<std::string, std::string>;

class ProviderTest : public ::testing::Test {
 protected:
  static constexpr const char* kName = "FatctxExecutionProvider";

  ProviderTest() : env_(ORT_LOGGING_LEVEL_ERROR, "test") {
    env_.RegisterExecutionProviderLibrary(kName, FATCTX_ORT_LIBRARY);
  }
  ~ProviderTest() override { env_.UnregisterExecutionProviderLibrary(kName); }

  [[nodiscard]] Ort::SessionOptions options(const ProviderOptions& provider = {}) {
    Ort::SessionOptions made;
    // One thread only: the thread sanitizer does not see how ONNX Runtime synchronizes its own threads.
    made.SetIntraOpNumThreads(1);
    ProviderOptions all = provider;
    all.emplace("intra_op_num_threads", "1");
    std::vector<Ort::ConstEpDevice> devices;
    for (const auto& device : env_.GetEpDevices()) {
      if (std::string(device.EpName()) == kName) devices.push_back(device);
    }
    EXPECT_EQ(devices.size(), 1U);
    made.AppendExecutionProvider_V2(env_, devices, all);
    return made;
  }

  // Writes a model with this name and compiles it. Returns the path of the context model, which an application loads.
  std::string compile(const std::string& name, const DenseModel& model = {}, const ProviderOptions& provider = {}) {
    write_dense_model(model, folder_.file(name + ".onnx"));
    return compile_file(folder_.file(name + ".onnx"), folder_.file(name + "_ctx.onnx"), provider);
  }
  std::string compile_file(const std::string& path, const std::string& out, const ProviderOptions& provider = {}) {
    Ort::ModelCompilationOptions compilation(env_, options(provider));
    compilation.SetInputModelPath(path.c_str());
    compilation.SetOutputModelPath(out.c_str());
    const Ort::Status compiled = Ort::CompileModel(env_, compilation);
    EXPECT_TRUE(compiled.IsOK()) << compiled.GetErrorMessage();
    return out;
  }

  // Compiles from memory to memory; `more` sets further options.
  template <typename More>
  std::string compile_in_memory(const More& more) {
    const std::string bytes = dense_model_bytes({});
    Ort::ModelCompilationOptions compilation(env_, options());
    compilation.SetInputModelFromBuffer(bytes.data(), bytes.size());
    Ort::AllocatorWithDefaultOptions allocator;
    void* made = nullptr;
    std::size_t size = 0;
    compilation.SetOutputModelBuffer(allocator, &made, &size);
    more(compilation);
    const Ort::Status compiled = Ort::CompileModel(env_, compilation);
    EXPECT_TRUE(compiled.IsOK()) << compiled.GetErrorMessage();
    std::string model(static_cast<const char*>(made), size);
    allocator.Free(made);
    return model;
  }

  [[nodiscard]] Ort::Session session(const std::string& model, const ProviderOptions& provider = {}) {
    return {env_, model.c_str(), options(provider)};
  }
  [[nodiscard]] Ort::Session ordinary(const std::string& model) {
    Ort::SessionOptions plain;
    plain.SetIntraOpNumThreads(1);
    return {env_, model.c_str(), plain};
  }

  // Returns y for an x of `rows` rows.
  static std::vector<float> run(Ort::Session& session, std::int64_t rows, std::int64_t columns = 64) {
    std::vector<float> x(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 17.0F;
    const std::int64_t shape[] = {rows, columns};
    const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
    const auto input = Ort::Value::CreateTensor<float>(memory, x.data(), x.size(), shape, 2);
    const char* const input_name = "x";
    const char* const output_name = "y";
    const auto outputs = session.Run(Ort::RunOptions{nullptr}, &input_name, &input, 1, &output_name, 1);
    const auto* const data = outputs[0].GetTensorData<float>();
    return {data, data + outputs[0].GetTensorTypeAndShapeInfo().GetElementCount()};
  }
  static void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4F) << "element " << i;
  }

  TempDir folder_;
  Ort::Env env_;
};

}  // namespace fatctx::support
