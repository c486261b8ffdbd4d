// Sessions that many threads create at once, of one open container and of their own opens of it.
#include <atomic>
#include <barrier>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ort/small_net.h"
#include "support/process_files.h"

namespace fatctx::ort_tests {

namespace attach_threads_test {

constexpr int kThreads = 6;
constexpr int kRounds = 5;
constexpr float kTolerance = 1e-5F;

TEST(AttachThreads, SessionsMayBeMadeAllAtOnce) {
  const support::TempDir folder;
  const auto tensors = matrix_tensors(kWidth, 3);
  PackRecord blob = weight_blob("net.weights", tensors);
  blob.source.bytes = matrix_bytes(kWidth, 3, 1);
  support::write_file(folder.file("w.bin"), blob.source.bytes);
  const std::string model = support::model(support::matrices(kWidth, tensors));
  support::write_file(folder.file("net.onnx"), view_of(model));
  const std::string path = pack(folder.file("net.fatctx"), {std::move(blob)});
  Ort::Session ordinary = session_of(folder.file("net.onnx"), session_options());
  const std::vector<float> expected = run(ordinary);

  std::atomic<int> right = 0;
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        const std::vector<AttachRoute> known = routes();
        const AttachRoute route = known[static_cast<std::size_t>(i + round) % known.size()];
        std::optional<Container> open = Container::open(path).value();
        Ort::SessionOptions options = session_options();
        const auto attached =
            attach_weights(OrtGetApiBase(), options, *open, {.route = route, .model = view_of(model)});
        if (!attached.ok()) continue;
        open.reset();
        Ort::Session session = session_of(folder.file("net.onnx"), options);
        if (greatest_difference(run(session), expected) <= kTolerance) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(right, kThreads * kRounds);
  EXPECT_EQ(support::maps_of(path), 0U);
}

TEST(AttachThreads, SessionsOfOneAttachmentMayBeMadeAndRunAllAtOnce) {
  const support::TempDir folder;
  const auto tensors = matrix_tensors(kWidth, 3);
  PackRecord blob = weight_blob("net.weights", tensors);
  blob.source.bytes = matrix_bytes(kWidth, 3, 1);
  support::write_file(folder.file("w.bin"), blob.source.bytes);
  support::write_file(folder.file("net.onnx"), view_of(support::model(support::matrices(kWidth, tensors))));
  const Container open = Container::open(pack(folder.file("net.fatctx"), {std::move(blob)})).value();
  Ort::Session ordinary = session_of(folder.file("net.onnx"), session_options());
  const std::vector<float> expected = run(ordinary);
  Ort::SessionOptions options = session_options();
  const AttachedWeights attached = attach_weights(OrtGetApiBase(), options, open).value();

  std::atomic<int> right = 0;
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      const AttachedWeights mine = attached;
      start.arrive_and_wait();
      for (int round = 0; round < kRounds; ++round) {
        Ort::Session session = session_of(folder.file("net.onnx"), options);
        if (greatest_difference(run(session), expected) <= kTolerance) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(right, kThreads * kRounds);
}

}  // namespace attach_threads_test
}  // namespace fatctx::ort_tests
