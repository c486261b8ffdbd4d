// Weight blobs with the same tensors at other offsets and in another order. Deterministic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "fatctx/packer.h"
#include "support/chip_corpus.h"
#include "support/irpa_file.h"
#include "support/sample_container.h"

namespace fatctx::support {

struct CorpusTensor {
  std::string name;
  Bytes bytes;
};

// Returns float32 tensors of a few bytes to 160 kB, all different.
[[nodiscard]] inline std::vector<CorpusTensor> corpus_tensors(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::vector<CorpusTensor> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t elements = i % 5 == 4 ? 1 + random() % 64 : 1'000 + random() % 40'000;
    tensors.push_back({"t" + std::to_string(seed) + "." + std::to_string(i), random_bytes(random, elements * 4)});
  }
  return tensors;
}

[[nodiscard]] inline std::vector<CorpusTensor> shuffled(std::vector<CorpusTensor> tensors, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::shuffle(tensors.begin(), tensors.end(), random);
  return tensors;
}

[[nodiscard]] inline std::uint64_t bytes_of(const std::vector<CorpusTensor>& tensors) {
  std::uint64_t sum = 0;
  for (const CorpusTensor& tensor : tensors) sum += tensor.bytes.size();
  return sum;
}

// Returns a blob of the tensors one after another, each aligned to `alignment`, behind `front` other bytes.
[[nodiscard]] inline PackRecord blob_record(const std::string& name, const std::vector<CorpusTensor>& tensors,
                                            std::size_t alignment = 64, std::size_t front = 0) {
  PackRecord record = plain_record(RecordType::kWeightBlob, name, pattern(front, 5));
  Bytes& bytes = record.source.bytes;
  for (const CorpusTensor& tensor : tensors) {
    bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    record.tensors.push_back({.name = tensor.name,
                              .dtype = DType::kF32,
                              .shape = {tensor.bytes.size() / 4},
                              .offset_in_blob = bytes.size(),
                              .size_bytes = tensor.bytes.size()});
    bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
  return record;
}

// Returns a safetensors file as its own library writes it: the header ends at a multiple of 8, tensors have no gaps.
[[nodiscard]] inline Bytes safetensors_bytes(const std::vector<CorpusTensor>& tensors) {
  std::string header = "{";
  std::uint64_t at = 0;
  for (const CorpusTensor& tensor : tensors) {
    if (at != 0) header += ",";
    header += "\"" + tensor.name + "\":{\"dtype\":\"F32\",\"shape\":[" + std::to_string(tensor.bytes.size() / 4) +
              "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + tensor.bytes.size()) + "]}";
    at += tensor.bytes.size();
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  Bytes file(8 + header.size());
  set_le<std::uint64_t>(file, 0, header.size());
  std::memcpy(file.data() + 8, header.data(), header.size());
  for (const CorpusTensor& tensor : tensors) file.insert(file.end(), tensor.bytes.begin(), tensor.bytes.end());
  return file;
}

}  // namespace fatctx::support
