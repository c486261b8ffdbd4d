// Packs a file that is much larger than the memory that a packer may take.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include "support/peak_memory.h"
#include "support/sample_container.h"

namespace fatctx::support {

inline constexpr std::uint64_t kLargeInput = 300'000'000;

struct LargePack {
  Result<PackReport> report;
  std::uint64_t grown_bytes;  // at the peak of packing
};

// Packs `record` with a sparse file of kLargeInput bytes as its source.
[[nodiscard]] inline LargePack pack_large_input(PackRecord record, PackOptions options = {}) {
  const TempDir folder;
  record.source.path = folder.file("sparse");
  write_file(record.source.path, pattern(1000, 1));
  std::filesystem::resize_file(record.source.path, kLargeInput);
  const PeakMemory peak;
  auto report = pack({std::move(record)}, folder.file("out.fatctx"), std::move(options));
  return {std::move(report), peak.grown_bytes()};
}

}  // namespace fatctx::support
