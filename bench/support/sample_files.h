// The files that benches read: made of seeded bytes, all of them written the same way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fatctx/select.h"

namespace fatctx::bench {

// `size` bytes that do not compress (G-weights). Equal seeds give equal bytes, on every host.
[[nodiscard]] std::vector<std::byte> weights_bytes(std::uint64_t size, std::uint64_t seed);

// A folder for one run; removed with all that is in it.
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

// A sealed container of eight CPU context binaries of one unit: four instruction sets and levels, with and without
// required features (G-file). With `weights_size` all of them refer to one weight blob, called "weights".
void make_cpu_container(const std::string& path, std::uint64_t record_size, std::uint64_t weights_size = 0);

// One weight blob in a container of make_cpu_container(), and the same bytes as a file of their own.
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
// A sealed container of `record_count` records, the description among them: one weight blob with `tensor_count` tensors
// of `tensor_size` bytes (and their table), and CPU context binaries of `record_size` bytes that refer to it: for every
// unit of one group one binary a target, over the targets of make_cpu_container.
ManyNames make_many_records(const std::string& path, std::size_t record_count, std::uint64_t record_size,
                            std::size_t tensor_count, std::uint64_t tensor_size);

// The device that the records above are chosen for, so that every host makes the same choice: "x86-64-v3".
[[nodiscard]] Device bench_device();

// The bytes of a record as a file of its own, written in the pieces in which the packer writes.
void make_plain_file(const std::string& container, std::uint32_t record_id, const std::string& path);

}  // namespace fatctx::bench
