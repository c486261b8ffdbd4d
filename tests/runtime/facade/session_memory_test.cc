// Memory of the process as sessions are added: the bytes of a mapping belong to the page cache, not to the sessions.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "fatctx/model.h"
#include "runtime/large_model.h"

namespace fatctx {
namespace session_memory_test {

using testing::kMiB;

// Returns the anonymous memory of this process in bytes, as the system counts it.
std::uint64_t anonymous_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("Anonymous:")) return std::stoull(line.substr(10)) * 1024;
  }
  throw std::runtime_error("no Anonymous: in smaps_rollup");
}

unsigned touch_all(const RecordView& view) {
  const auto* data = reinterpret_cast<const volatile unsigned char*>(view.data());
  unsigned sum = 0;
  for (std::size_t at = 0; at < view.size_bytes(); at += 4096) sum += data[at];
  return sum;
}

// Shows S5.3.
TEST(SessionMemory, FourSessionsOn512MiBTakeLessThanTenMegabytes) {
  constexpr std::size_t kWeights = 512 * kMiB;
  const testing::Folder folder;
  const std::string source = folder / "weights.bin";
  {
    // A sparse file: its bytes are zeros, but each page counts when it is mapped.
    std::ofstream file(source, std::ios::binary);
    file.seekp(static_cast<std::streamoff>(kWeights - 1));
    file.put('\1');
  }
  const std::string path = folder / "large.fatctx";
  {
    PackOptions options;
    options.sharing = Sharing::kOff;  // one piece, although it is full of holes
    Packer packer(options);
    PackRecord weights;
    weights.type = RecordType::kWeightBlob;
    weights.name = "weights";
    weights.source.path = source;
    ASSERT_TRUE(packer.add(std::move(weights)).ok());
    PackRecord binary;
    binary.type = RecordType::kContextBinary;
    binary.name = "net";
    binary.key.backend = "cpu";
    binary.key.arch = "x86-64-v2";
    binary.source.bytes = testing::pattern(5'000, 1);
    binary.weights = {"weights"};
    ASSERT_TRUE(packer.add(std::move(binary)).ok());
    const auto report = packer.publish(path);
    ASSERT_TRUE(report.ok()) << to_text(report.error());
  }
  ModelOptions options;
  options.device = testing::cpu("x86-64-v2");
  options.open = testing::unverified();  // verification adds no memory either, only time

  const std::uint64_t before = anonymous_bytes();
  std::vector<Session> sessions;
  for (int i = 0; i < 4; ++i) {
    sessions.push_back(Model::open(path, options).value().begin_session().value());
    EXPECT_EQ(touch_all(sessions.back().weights().front().view), 0U);
  }
  EXPECT_LT(anonymous_bytes() - std::min(before, anonymous_bytes()), 10'000'000U);
  EXPECT_EQ(testing::mappings_of(path), 1);
}

}  // namespace session_memory_test
}  // namespace fatctx
