// A container with records of many pages, some of them far from each other, for tests about memory.
#pragma once

#include "fatctx/model.h"
#include "runtime/small_model.h"

namespace fatctx::testing {

inline constexpr std::size_t kMiB = std::size_t{1} << 20;
inline constexpr std::size_t kLargeWeightsSize = 20 * kMiB + 1'000;  // five prefetch steps and a remainder
inline constexpr std::size_t kLargeBinarySize = 3 * kMiB;

// Returns bytes of which no two leaves are equal, quickly.
inline std::vector<std::byte> large_pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes = pattern(64 * 1024, seed);
  bytes.resize(size);
  for (std::size_t at = 64 * 1024; at < size; at += 64 * 1024) {
    std::copy_n(bytes.begin(), std::min<std::size_t>(64 * 1024, size - at),
                bytes.begin() + static_cast<std::ptrdiff_t>(at));
    bytes[at] = static_cast<std::byte>(at >> 16);
    bytes[at + 1] = static_cast<std::byte>(at >> 24);
  }
  return bytes;
}

// Packs binaries for x86-64-v2 and x86-64-v3 and the weights that they share.
inline void pack_large_model(const std::string& path) {
  PackOptions options;
  options.model_name = "large";
  options.sharing = Sharing::kOff;  // the bytes repeat, and the tests are about records in one piece
  Packer packer(options);
  PackRecord weights;
  weights.type = RecordType::kWeightBlob;
  weights.name = "weights";
  weights.source.bytes = large_pattern(kLargeWeightsSize, 1);
  ASSERT_TRUE(packer.add(std::move(weights)).ok());
  std::uint32_t seed = 1;
  for (const char* arch : {"x86-64-v2", "x86-64-v3"}) {
    PackRecord binary;
    binary.type = RecordType::kContextBinary;
    binary.name = std::string("large.") + arch;
    binary.key.backend = "cpu";
    binary.key.arch = arch;
    binary.source.bytes = large_pattern(kLargeBinarySize, ++seed);
    binary.weights = {"weights"};
    ASSERT_TRUE(packer.add(std::move(binary)).ok());
  }
  const auto report = packer.publish(path);
  ASSERT_TRUE(report.ok()) << to_text(report.error());
}

// Returns open options without verification, so that only the test itself brings pages into memory.
inline OpenOptions unverified() { return {.verify = VerifyPolicy::kNone}; }

inline Device cpu(const std::string& arch) {
  Device device;
  device.arch = arch;
  return device;
}

}  // namespace fatctx::testing
