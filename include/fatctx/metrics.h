// Metrics: numbers that show what loading costs and what sharing saves at this moment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx {

struct RecordMetrics {
  std::uint32_t id = 0;
  std::string name;
  std::uint64_t size_bytes = 0;
  // Bytes that are in pages of this process. Empty if the system does not report it (Linux: /proc/self/pagemap), or if
  // nothing is mapped.
  std::optional<std::uint64_t> resident_bytes = {};
  // The result of acquire() since the file last changed: kOk if the record and its leaves have their hashes, kBad if
  // not.
  RecordState verification = RecordState::kUnknown;
  std::uint32_t views = 0;     // acquired and still alive; copies of a view count as one
  std::uint32_t sessions = 0;  // that hold it
  // Memory that holds the parts of it that cannot be mapped; 0 if no composed view of it is alive.
  std::uint64_t composed_bytes = 0;
  std::uint64_t cached_bytes = 0;   // the same in a file of a cache folder instead of memory
  std::string cache_file = {};      // that file; empty if there is none
  std::string cache_rejected = {};  // why an earlier file was removed and made anew; mostly empty
};

struct ContainerMetrics {
  std::string path;  // it was first opened by
  std::string uuid;
  std::uint64_t generation = 0;
  std::uint64_t mapped_bytes = 0;    // address space of the file's map; 0 if nothing is mapped
  std::uint64_t stitched_bytes = 0;  // address space of the live stitched views; no memory of its own
  std::uint64_t composed_bytes = 0;  // memory of the live composed views; max_copied_bytes limits it
  std::uint64_t cached_bytes = 0;    // bytes that composed views map from cache files instead of building them
  // For the map, the stitched and the composed views, by /proc/self/smaps; empty if the system does not report it. A
  // page that both show counts twice as resident, and once as proportional.
  std::optional<std::uint64_t> resident_bytes = {};
  std::optional<std::uint64_t> proportional_bytes = {};  // pages that other processes map too count in parts
  std::optional<std::uint64_t> locked_bytes = {};
  std::uint32_t sessions = 0;     // copies of a Session count as one
  std::uint32_t views = 0;        // of sessions and others
  std::uint64_t saved_bytes = 0;  // memory that all further sessions would take if each had a copy of its records
  // All records; of a large table of contents (fatctx/container.h) those that were asked for.
  std::vector<RecordMetrics> records;
};

// Counters of this process's use of cache folders since it started.
struct ViewCacheCounts {
  std::uint64_t used = 0;      // files that already existed and were right
  std::uint64_t made = 0;      // files that this process made
  std::uint64_t rejected = 0;  // files that were damaged or did not match their names, and were removed
  std::uint64_t evicted = 0;   // files that were removed to keep within the limit
};

[[nodiscard]] ViewCacheCounts view_cache_counts() noexcept;

struct RuntimeMetrics {
  std::size_t live_mappings = 0;  // files that this process has mapped
  std::uint64_t mapped_bytes = 0;
  std::uint32_t sessions = 0;
  std::uint64_t saved_bytes = 0;
  ViewCacheCounts view_cache;
  std::vector<ContainerMetrics> containers;  // one for each live file, mapped or not
};

// Returns the numbers of one container. Handles of one mapping give equal numbers. Touches no page.
// Threads: any; numbers that change meanwhile need not add up.
// Cost: some 20 ms for each GiB that is in memory.
[[nodiscard]] ContainerMetrics container_metrics(const Container& container);
// Returns the numbers of all mappings of the process-wide registry. Buffers in memory do not belong to it.
[[nodiscard]] RuntimeMetrics runtime_metrics();

// Return JSON of schema "fatctx.metrics/1", with "container" or "runtime" beside it. Unknown values are null. No final
// line feed.
[[nodiscard]] std::string to_json(const ContainerMetrics& metrics);
[[nodiscard]] std::string to_json(const RuntimeMetrics& metrics);

}  // namespace fatctx
