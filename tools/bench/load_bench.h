// Measures loading a model for a number of sessions: the time until all have their views, and the memory once
// they have read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/model.h"
#include "tools/bench/process_memory.h"

namespace fatctx::tools {

enum class LoadWay : std::uint8_t {
  kMapped,   // each session opens the file and takes its views
  kHeapEach  // each session reads its records into memory of its own, as applications without a shared mapping do
};
[[nodiscard]] const char* load_way_name(LoadWay way) noexcept;  // "mapped", "a heap copy each"

struct LoadBenchOptions {
  ModelOptions model;
  std::vector<std::uint32_t> sessions = {1, 2, 4};
  std::uint32_t repetitions = 5;
  bool cold = false;  // the records are dropped from the page cache before each load
};

struct LoadFigure {
  LoadWay way = LoadWay::kMapped;
  std::uint32_t sessions = 0;
  std::size_t mappings = 0;
  std::uint64_t composed_bytes = 0;  // memory that holds the views' bytes that cannot be memory-mapped
  std::uint64_t min_ns = 0;          // until the last session has its views
  std::uint64_t median_ns = 0;
  std::uint64_t further_min_ns = 0;  // for each session after the first; 0 if there is none
  // Memory that the sessions added, after each byte of each view is read. Empty if the system does not report
  // it.
  std::optional<ProcessMemory> memory = {};
};

struct LoadBench {
  std::string record;               // the chosen ones, names joined by ", "
  std::uint64_t record_bytes = 0;   // of the chosen binaries and their weights
  std::vector<LoadFigure> figures;  // ordered by sessions, the mapped way first
};

// Measures both ways for each number of sessions. Errors: those of Model::open and Model::begin_session.
[[nodiscard]] Result<LoadBench> bench_load(const std::string& path, const LoadBenchOptions& options);

}  // namespace fatctx::tools
