// Sessions at full speed that begin at the same moment: one of them lays out the convolutions, and all use the result.
#include <atomic>
#include <barrier>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "ort/provider_fixture.h"
#include "support/onnx_file.h"

namespace fatctx::support {
namespace convolution_threads_test {

constexpr int kThreads = 8;
constexpr int kRounds = 4;
constexpr std::uint64_t kChannels = 32;
constexpr std::uint64_t kSide = 12;

Message weights(const std::string& name, std::mt19937& random) {
  std::uniform_real_distribution<float> value(-0.1F, 0.1F);
  std::string bytes(kChannels * kChannels * 9 * sizeof(float), '\0');
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const float element = value(random);
    std::memcpy(&bytes[at], &element, sizeof element);
  }
  Message tensor;
  for (const std::uint64_t dim : {kChannels, kChannels, std::uint64_t{3}, std::uint64_t{3}}) tensor.number(1, dim);
  return tensor.number(2, kOnnxFloat).text(8, name).text(9, bytes);
}

// Returns two convolutions, one after the other.
std::string convolutions() {
  std::mt19937 random(3);
  OnnxGraph graph;
  graph.initializers = {weights("w", random), weights("v", random)};
  graph.nodes = {node("Conv", {"x", "w"}, "h"), node("Conv", {"h", "v"}, "y")};
  graph.inputs = {value("x", {1, kChannels, kSide, kSide})};
  graph.outputs = {value("y", {1, kChannels, kSide - 4, kSide - 4})};
  return model(graph);
}

std::vector<float> run_pictures(Ort::Session& session) {
  std::vector<float> x(kChannels * kSide * kSide);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17) / 17.0F;
  const std::int64_t shape[] = {1, kChannels, kSide, kSide};
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  const auto input = Ort::Value::CreateTensor<float>(memory, x.data(), x.size(), shape, 4);
  const char* const input_name = "x";
  const char* const output_name = "y";
  const auto outputs = session.Run(Ort::RunOptions{nullptr}, &input_name, &input, 1, &output_name, 1);
  const auto* const data = outputs[0].GetTensorData<float>();
  return {data, data + outputs[0].GetTensorTypeAndShapeInfo().GetElementCount()};
}

class Convolutions : public ProviderTest {
 protected:
  std::string compile_convolutions() {
    const std::string path = folder_.file("conv.onnx");
    std::ofstream(path, std::ios::binary) << convolutions();
    return compile_file(path, folder_.file("conv_ctx.onnx"));
  }

  // Returns true if an ordinary session arranges blocks of channels on this processor.
  bool has_blocks() {
    Ort::SessionOptions options;
    options.SetIntraOpNumThreads(1);
    options.SetOptimizedModelFilePath(folder_.file("optimised.onnx").c_str());
    const Ort::Session writes(env_, folder_.file("conv.onnx").c_str(), options);
    std::ifstream file(folder_.file("optimised.onnx"), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    return bytes.find("ReorderInput") != std::string::npos;
  }

  Ort::Session heard_session(const std::string& model) {
    Ort::SessionOptions made = options({{"memory", "full_speed"}});
    made.SetLogSeverityLevel(ORT_LOGGING_LEVEL_INFO);
    Ort::ThrowOnError(Ort::GetApi().SetUserLoggingFunction(made, hear, this));
    return {env_, model.c_str(), made};
  }

  std::atomic<int> made_{0};
  std::atomic<int> used_{0};
  std::atomic<int> failed_{0};

 private:
  static void hear(void* self, OrtLoggingLevel, const char*, const char*, const char*, const char* message) {
    auto& test = *static_cast<Convolutions*>(self);
    const std::string text = message;
    if (text.find("could not be laid out") != std::string::npos) ++test.failed_;
    if (text.find("layout of this processor") == std::string::npos) return;
    ++(text.find("made by this session") != std::string::npos ? test.made_ : test.used_);
  }
};

TEST_F(Convolutions, AreLaidOutOnceForSessionsThatBeginAtOnce) {
  const std::string model = compile_convolutions();
  Ort::Session plain = ordinary(folder_.file("conv.onnx"));
  const std::vector<float> want = run_pictures(plain);
  if (!has_blocks()) GTEST_SKIP() << "this processor has no kernels for blocks of channels";
  std::atomic<int> wrong{0};
  for (int round = 1; round <= kRounds; ++round) {
    std::barrier together(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        together.arrive_and_wait();
        Ort::Session mine = heard_session(model);
        if (run_pictures(mine) != want) ++wrong;
        together.arrive_and_wait();  // all sessions exist until the last one has begun
      });
    }
    for (std::thread& thread : threads) thread.join();
    // With the last session the result goes, so each round makes it again.
    EXPECT_EQ(made_.load(), round);
    EXPECT_EQ(used_.load(), round * (kThreads - 1));
  }
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(failed_.load(), 0);
}

}  // namespace convolution_threads_test
}  // namespace fatctx::support
