#include "support/sample_files.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "fatctx/extract.h"
#include "fatctx/packer.h"
#include "support/or_stop.h"

namespace fatctx::bench {
namespace {

struct SampleTarget {
  const char* arch;
  const char* feature;  // null: only the level
};

constexpr SampleTarget kTargets[] = {
    {"x86-64-v2", nullptr},       {"x86-64-v3", nullptr}, {"x86-64-v3", "avx-vnni"}, {"x86-64-v4", nullptr},
    {"x86-64-v4", "avx512-vnni"}, {"x86-64-v4", "amx"},   {"aarch64", nullptr},      {"aarch64", "dotprod"},
};

// Returns the next number of splitmix64: a step and a mix, the whole generator.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace

std::vector<std::byte> weights_bytes(std::uint64_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::uint64_t state = seed;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = next_random(state);
    for (std::size_t i = at; i < std::min(at + sizeof(word), bytes.size()); ++i, word >>= 8U) {
      bytes[i] = static_cast<std::byte>(word & 0xffU);
    }
  }
  return bytes;
}

BenchFolder::BenchFolder(const std::filesystem::path& parent)
    : folder_(parent / fmt::format("fatctx-bench-{}", ::getpid())) {
  std::filesystem::create_directories(folder_);
}

BenchFolder::~BenchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void make_cpu_container(const std::string& path, std::uint64_t record_size, std::uint64_t weights_size) {
  PackOptions options;
  options.seal = true;
  options.overwrite = true;
  options.model_name = "bench";
  Packer packer(options);
  std::uint64_t seed = 1;
  if (weights_size != 0) {
    PackRecord weights;
    weights.type = RecordType::kWeightBlob;
    weights.name = "weights";
    weights.key.group = "bench";
    weights.source.bytes = weights_bytes(weights_size, seed++);
    or_stop(packer.add(std::move(weights)));
  }
  for (const SampleTarget& target : kTargets) {
    PackRecord record;
    record.type = RecordType::kContextBinary;
    record.name = target.arch;
    record.key.group = "bench";
    record.key.unit = "main";
    record.key.backend = "cpu";
    record.key.arch = target.arch;
    if (target.feature != nullptr) {
      record.name += fmt::format("-{}", target.feature);
      record.key.features = {target.feature};
    }
    record.source.bytes = weights_bytes(record_size, seed++);
    if (weights_size != 0) record.weights = {"weights"};
    or_stop(packer.add(std::move(record)));
  }
  (void)or_stop(packer.publish(path));
}

SharedWeights make_shared_weights(const BenchFolder& files, std::uint64_t record_size, std::uint64_t weights_size) {
  SharedWeights made{files.path("shared.fatctx"), files.path("weights.bin")};
  make_cpu_container(made.container, record_size, weights_size);
  make_plain_file(made.container, or_stop(or_stop(Container::open(made.container)).find("weights")).id, made.plain);
  return made;
}

ManyNames make_many_records(const std::string& path, std::size_t record_count, std::uint64_t record_size,
                            std::size_t tensor_count, std::uint64_t tensor_size) {
  constexpr std::size_t kOthers = 3;  // description, weights, tensor table
  if (record_count <= kOthers) stop("a container of many records has more than three");
  ManyNames names;
  PackOptions options;
  options.seal = true;
  options.overwrite = true;
  options.model_name = "bench";
  constexpr std::size_t kMostOnLargeExtents = 4096;
  if (record_count > kMostOnLargeExtents) options.extent_log2 = 12;  // else the file takes 64 KiB a record
  Packer packer(options);
  std::uint64_t seed = 1;
  PackRecord weights;
  weights.type = RecordType::kWeightBlob;
  weights.name = "weights";
  weights.key.group = "bench";
  weights.source.bytes = weights_bytes(tensor_count * tensor_size, seed++);
  for (std::size_t i = 0; i < tensor_count; ++i) {
    names.tensors.push_back(fmt::format("model.layers.{}.block.weight", i));
    weights.tensors.push_back({.name = names.tensors.back(),
                               .shape = {tensor_size},
                               .offset_in_blob = i * tensor_size,
                               .size_bytes = tensor_size});
  }
  or_stop(packer.add(std::move(weights)));
  for (std::size_t i = 0; i + kOthers < record_count; ++i) {
    const SampleTarget& target = kTargets[i % std::size(kTargets)];
    PackRecord record;
    record.type = RecordType::kContextBinary;
    record.key.group = "bench";
    record.key.unit = fmt::format("unit-{:04}", i / std::size(kTargets));
    record.key.backend = "cpu";
    record.key.arch = target.arch;
    if (target.feature != nullptr) record.key.features = {target.feature};
    record.name =
        fmt::format("{}-{}-{}", record.key.unit, target.arch, target.feature == nullptr ? "" : target.feature);
    record.source.bytes = weights_bytes(record_size, seed++);
    record.description.producer = "bench 1";
    record.weights = {"weights"};
    names.records.push_back(record.name);
    or_stop(packer.add(std::move(record)));
  }
  (void)or_stop(packer.publish(path));
  return names;
}

Device bench_device() {
  Device device;
  device.arch = "x86-64-v3";
  return device;
}

void make_plain_file(const std::string& container, std::uint32_t record_id, const std::string& path) {
  const Container opened = or_stop(Container::open(container));
  or_stop(extract_record(opened, record_id, path, true));
}

}  // namespace fatctx::bench
