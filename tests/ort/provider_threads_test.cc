// Sessions of one container that many threads create, run and destroy at once.
#include <atomic>
#include <thread>

#include "ort/provider_fixture.h"

namespace fatctx::support {
namespace provider_threads_test {

constexpr int kThreads = 8;
constexpr int kRounds = 6;

class ProviderThreads : public ProviderTest {
 protected:
  template <typename Work>
  static void on_threads(const Work& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) threads.emplace_back([&work, i] { work(i); });
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(ProviderThreads, MakeRunAndEndSessionsOfOneContainer) {
  const std::string model = compile("m");
  Ort::Session plain = ordinary(folder_.file("m.onnx"));
  const std::vector<float> want = run(plain, 3);
  std::atomic<int> wrong{0};
  on_threads([&](int number) {
    for (int round = 0; round < kRounds; ++round) {
      Ort::Session made = session(model, {{"memory", (number + round) % 2 == 0 ? "least" : "full_speed"}});
      const std::vector<float> got = run(made, 3);
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::abs(got[i] - want[i]) > 1e-4F) ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(ProviderThreads, RunOneSession) {
  const std::string model = compile("m");
  Ort::Session made = session(model);
  const std::vector<float> want = run(made, 5);
  std::atomic<int> wrong{0};
  on_threads([&](int) {
    for (int round = 0; round < kRounds; ++round) {
      if (run(made, 5) != want) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(ProviderThreads, EndSessionsThatOthersHaveMade) {
  const std::string model = compile("m");
  std::vector<Ort::Session> sessions;
  for (int i = 0; i < kThreads; ++i)
    sessions.push_back(session(model, {{"memory", i % 2 == 0 ? "least" : "full_speed"}}));
  on_threads([&](int number) { const Ort::Session mine = std::move(sessions[static_cast<std::size_t>(number)]); });
  Ort::Session after = session(model);
  EXPECT_EQ(run(after, 1).size(), 32U);
}

TEST_F(ProviderThreads, OfDifferentContainersDoNotMeet) {
  std::vector<std::string> models;
  std::vector<std::vector<float>> wants;
  for (unsigned i = 0; i < 3; ++i) {
    models.push_back(compile("m" + std::to_string(i), {.seed = 10 + i}));
    Ort::Session plain = ordinary(folder_.file("m" + std::to_string(i) + ".onnx"));
    wants.push_back(run(plain, 2));
  }
  std::atomic<int> wrong{0};
  on_threads([&](int number) {
    for (int round = 0; round < kRounds; ++round) {
      const auto which = static_cast<std::size_t>(number + round) % models.size();
      Ort::Session made = session(models[which], {{"memory", "full_speed"}});
      const std::vector<float> got = run(made, 2);
      for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::abs(got[i] - wants[which][i]) > 1e-4F) ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(ProviderThreads, CompileEachAModelOfItsOwn) {
  std::atomic<int> wrong{0};
  on_threads([&](int number) {
    const std::string name = "own" + std::to_string(number);
    const std::string model = compile(name, {.seed = 100 + static_cast<unsigned>(number)});
    Ort::Session plain = ordinary(folder_.file(name + ".onnx"));
    Ort::Session made = session(model);
    const std::vector<float> want = run(plain, 2);
    const std::vector<float> got = run(made, 2);
    for (std::size_t i = 0; i < want.size(); ++i) {
      if (std::abs(got[i] - want[i]) > 1e-4F) ++wrong;
    }
  });
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace provider_threads_test
}  // namespace fatctx::support
