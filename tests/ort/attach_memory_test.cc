// Private memory of eight sessions of a model of 210 MB, measured by the system in a process that does nothing else.
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ort/small_net.h"
#include "support/child_process.h"
#include "support/result_matchers.h"
#include "support/sanitized.h"

namespace fatctx::ort_tests {

namespace attach_memory_test {

constexpr std::uint64_t kWide = 2560;
constexpr std::uint64_t kMatrices = 8;
constexpr int kSessions = 8;
constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr std::uint64_t kAllowed = 16 * kMegabyte;  // for all sessions together

// Heap, stacks and private copies of pages. Pages of the file do not count, however many are mapped.
std::uint64_t anonymous_of_this_process() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Anonymous:")) return std::stoull(line.substr(10)) * 1024;
  }
  throw std::runtime_error("smaps_rollup has no line for anonymous memory");
}

// Returns the megabytes that creating and running the sessions takes; -1 if a result is wrong.
int anonymous_megabytes(const std::string& container, const std::string& model, const AttachOptions& how) {
  const Container open = Container::open(container).value();
  std::vector<Ort::SessionOptions> options;
  std::vector<AttachedWeights> attached;
  std::vector<Ort::Session> sessions;
  std::vector<float> first;
  environment();
  const std::uint64_t before = anonymous_of_this_process();
  for (int i = 0; i < kSessions; ++i) {
    options.push_back(session_options());
    attached.push_back(attach_weights(OrtGetApiBase(), options.back(), open, how).value());
    sessions.push_back(session_of(model, options.back()));
    const std::vector<float> y = run(sessions.back(), kWide);
    if (i == 0) first = y;
    if (y != first || y.size() != kWide || y[0] == 0) return -1;
  }
  return static_cast<int>((anonymous_of_this_process() - before) / kMegabyte);
}

class AttachMemory : public ::testing::Test {
 protected:
  void SetUp() override {
    if (support::kSanitized) GTEST_SKIP() << "a sanitizer's own memory is anonymous too";
    const auto tensors = matrix_tensors(kWide, kMatrices);
    support::write_file(folder_.file("w.bin"), matrix_bytes(kWide, kMatrices, 1));
    const std::string model = support::model(support::matrices(kWide, tensors));
    support::write_file(folder_.file("net.onnx"), view_of(model));
    PackRecord blob = weight_blob("net.weights", tensors);
    blob.source.path = folder_.file("w.bin");
    pack(folder_.file("net.fatctx"), {std::move(blob)});
    support::write_file(folder_.file("w.bin"), {});  // no bytes can come from there
  }
  // Returns the megabytes of a child process, or 255 on failure: an exit status has eight bits.
  int measured(const AttachOptions& how) {
    return support::in_child([&] {
      try {
        const int megabytes = anonymous_megabytes(folder_.file("net.fatctx"), folder_.file("net.onnx"), how);
        return megabytes < 0 ? 255 : std::min(megabytes, 254);
      } catch (...) {
        return 255;
      }
    });
  }

  support::TempDir folder_;
};

TEST_F(AttachMemory, EightSessionsTakeNothingOfTheirOwn) {
  for (const AttachRoute route : routes()) {
    const int megabytes = measured({.route = route});
    RecordProperty(std::string(attach_route_name(route)) + "_megabytes", megabytes);
    EXPECT_LT(megabytes, static_cast<int>(kAllowed / kMegabyte)) << attach_route_name(route);
  }
}

TEST_F(AttachMemory, PrepackingIsWhatTakesMemory) {
  if (!runtime_borrows()) GTEST_SKIP() << kNoBorrowing;
  const int prepacked = measured({.route = AttachRoute::kFileBuffers, .disable_prepacking = false});

  EXPECT_EQ(prepacked, 254) << "the measurement sees no copies";
}

}  // namespace attach_memory_test
}  // namespace fatctx::ort_tests
