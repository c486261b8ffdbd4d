// Small containers made by the packer, for tests that read them. Payloads have no zeros and no two are equal, so bytes
// from a wrong offset are noticed.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "container/format/disk_format.h"
#include "fatctx/packer.h"
#include "support/pattern.h"
#include "support/temp_dir.h"

namespace fatctx::support {

[[nodiscard]] inline PackRecord binary_record(const std::string& name, const std::string& arch, Bytes bytes) {
  PackRecord record;
  record.type = RecordType::kContextBinary;
  record.name = name;
  record.key.group = "model";
  record.key.unit = "main";
  record.key.backend = "cpu";
  record.key.arch = arch;
  record.source.bytes = std::move(bytes);
  return record;
}

[[nodiscard]] inline PackRecord plain_record(RecordType type, const std::string& name, Bytes bytes) {
  PackRecord record;
  record.type = type;
  record.name = name;
  record.source.bytes = std::move(bytes);
  return record;
}

inline constexpr std::size_t kSampleWeightsSize = 150'000;  // three leaves, the last one short

// Returns four binaries for CPUs, the weights that they share, and the tensors in them. Ids: 1 to 4 the binaries (in
// the order of their arch), 5 the weights, 6 their tensor table, 7 the description.
[[nodiscard]] inline std::vector<PackRecord> cpu_records() {
  std::vector<PackRecord> records;
  std::uint32_t seed = 1;
  for (const char* arch : {"x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"}) {
    // The last one has two leaves, the others one.
    PackRecord record =
        binary_record(std::string("cpu-") + arch, arch, pattern(300 + 37 * seed + (seed == 4 ? 70'000 : 0), seed));
    record.weights = {"weights"};
    if (seed == 4) record.key.features = {"i8mm", "dotprod"};
    record.description.producer = "compiler 1.2";
    record.description.format = "code";
    record.description.graphs = {{"main", {{"in", "float32", {1, -1}}}, {{"out", "float32", {1, 7}}}}};
    records.push_back(std::move(record));
    ++seed;
  }
  PackRecord weights = plain_record(RecordType::kWeightBlob, "weights", pattern(kSampleWeightsSize, 11));
  weights.key.group = "model";
  weights.tensors = {
      {.name = "layer/0/w", .dtype = DType::kF32, .shape = {100, 50}, .offset_in_blob = 64, .size_bytes = 20'000},
      {.name = "layer/0/b", .dtype = DType::kI8, .shape = {77}, .offset_in_blob = 20'064, .size_bytes = 77},
  };
  records.push_back(std::move(weights));
  return records;
}

// Returns one record of each other kind: a large and a small opaque one, an empty one, a wrapper, a source model.
[[nodiscard]] inline std::vector<PackRecord> mixed_records() {
  return {
      plain_record(RecordType::kOpaque, "large", pattern(70'001, 21)),
      plain_record(RecordType::kOpaque, "small", pattern(333, 22)),
      plain_record(RecordType::kOpaque, "empty", {}),
      plain_record(RecordType::kWrapperModel, "wrapper", pattern(900, 23)),
      plain_record(RecordType::kSourceModel, "source", pattern(1'234, 24)),
  };
}

[[nodiscard]] inline Result<PackReport> pack(std::vector<PackRecord> records, const std::string& path,
                                             PackOptions options = {}) {
  if (options.extent_log2 == 0) options.extent_log2 = container::kExtentLog2;  // tests know the places of this form
  Packer packer(std::move(options));
  for (PackRecord& record : records) FATCTX_TRY(packer.add(std::move(record)));
  return packer.publish(path);
}

// Packs the records. Throws if packing fails, for tests with another subject.
[[nodiscard]] inline Bytes packed_bytes(std::vector<PackRecord> records, PackOptions options = {}) {
  const TempDir folder;
  const std::string path = folder.file("sample.fatctx");
  const auto report = pack(std::move(records), path, std::move(options));
  if (!report.ok()) throw std::runtime_error(to_text(report.error()));
  return read_file(path);
}

// Returns one of the two files of the sweeps; each is packed once per process.
[[nodiscard]] inline const Bytes& unsealed_sample() {
  static const Bytes bytes = [] {
    PackOptions options;
    options.model_name = "sample";
    options.options = {{"threads", "4", "cpu"}};
    return packed_bytes(cpu_records(), std::move(options));
  }();
  return bytes;
}
[[nodiscard]] inline const Bytes& sealed_sample() {
  static const Bytes bytes = [] {
    PackOptions options;
    options.seal = true;
    options.model_name = "sealed sample";
    return packed_bytes(mixed_records(), std::move(options));
  }();
  return bytes;
}

}  // namespace fatctx::support
