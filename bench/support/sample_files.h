// Makes the files that benches read, from seeded bytes and all in the same way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fatctx/select.h"

namespace fatctx::bench {

// Returns `size` bytes that do not compress (G-weights). Equal seeds produce equal bytes, on every host.
[[nodiscard]] std::vector<std::byte> weights_bytes(std::uint64_t size, std::uint64_t seed);

// A folder for one run; it is removed with its content.
class BenchFolder {
 public:
  explicit BenchFolder(const std::filesystem::path& parent);
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

// Writes a sealed container of eight CPU context binaries of one unit: four instruction sets and levels, with
// and without required features (G-file). If `weights_size` is not 0, all of them refer to one weight blob,
// called "weights".
void make_cpu_container(const std::string& path, std::uint64_t record_size, std::uint64_t weights_size = 0);

// A pair of files: one weight blob in a container of make_cpu_container(), and the same bytes as a plain
// file.
struct SharedWeights {
  std::string container;
  std::string plain;
};
[[nodiscard]] SharedWeights make_shared_weights(const BenchFolder& files, std::uint64_t record_size,
                                                std::uint64_t weights_size);

// The names of the records and of the tensors of a container of many.
struct ManyNames {
  std::vector<std::string> records;
  std::vector<std::string> tensors;
};
// Writes a sealed container of `record_count` records, the description among them. One weight blob has
// `tensor_count` tensors of `tensor_size` bytes (and their table). The others are CPU context binaries of
// `record_size` bytes that refer to it: for every unit of one group, one binary per target of
// make_cpu_container.
ManyNames make_many_records(const std::string& path, std::size_t record_count, std::uint64_t record_size,
                            std::size_t tensor_count, std::uint64_t tensor_size);

// Returns the device that the records above are chosen for: "x86-64-v3", so that every host makes the same
// choice.
[[nodiscard]] Device bench_device();

// Writes the bytes of a record to a plain file, in the pieces in which the packer writes.
void make_plain_file(const std::string& container, std::uint32_t record_id, const std::string& path);

}  // namespace fatctx::bench
