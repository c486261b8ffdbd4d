// A small real container on disk, made by the packer, for tests of the runtime.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "fatctx/packer.h"
#include "support/process_files.h"

namespace fatctx::testing {

// A folder that is removed at the end of the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "fatctx-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

// Returns bytes that differ from their neighbors and from those of another seed.
inline std::vector<std::byte> pattern(std::size_t size, std::uint32_t seed) {
  std::vector<std::byte> bytes(size);
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

inline constexpr std::size_t kWeightsSize = 200'000;
inline constexpr std::size_t kBinarySize = 5'000;

// Packs context binaries for x86-64-v2, v3, v4 and aarch64, and one weight blob of two tensors that all four refer to.
inline void pack_small_model(const std::string& path, bool seal = false, std::uint32_t seed = 1) {
  PackOptions options;
  options.overwrite = true;
  options.seal = seal;
  options.model_name = "small";
  Packer packer(options);
  const auto add = [&](PackRecord record) {
    const auto status = packer.add(std::move(record));
    ASSERT_TRUE(status.ok()) << to_text(status.error());
  };
  PackRecord weights;
  weights.type = RecordType::kWeightBlob;
  weights.name = "weights";
  weights.source.bytes = pattern(kWeightsSize, seed);
  weights.tensors = {{"layer/0", DType::kF32, {100, 200}, 0, 80'000, false},
                     {"layer/1", DType::kI8, {120'000}, 80'000, 120'000, false}};
  add(std::move(weights));
  std::uint32_t number = 10 * seed;
  for (const char* arch : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    PackRecord binary;
    binary.type = RecordType::kContextBinary;
    binary.name = std::string("small.") + arch;
    binary.key.backend = "cpu";
    binary.key.arch = arch;
    binary.source.bytes = pattern(kBinarySize, ++number);
    binary.weights = {"weights"};
    add(std::move(binary));
  }
  const auto report = packer.publish(path);
  ASSERT_TRUE(report.ok()) << to_text(report.error());
}

inline void flip_byte(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ 0x40);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

// Returns the number of this process's mappings of `path`, as the system counts them.
inline int mappings_of(const std::string& path) { return static_cast<int>(support::maps_of_file(path)); }

inline int open_descriptors() { return static_cast<int>(support::open_descriptors()); }

}  // namespace fatctx::testing
