// What loading costs and sharing saves, as numbers of this moment.
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
  // Bytes that lie in pages of this process. Empty if the system does not say (Linux: /proc/self/pagemap), or if
  // nothing is mapped.
  std::optional<std::uint64_t> resident_bytes = {};
  // As acquire() found it since the file last changed: kOk if it has its hash and those of its leaves, kBad if not.
  RecordState verification = RecordState::kUnknown;
  std::uint32_t views = 0;     // acquired and not gone; copies of a view count as one
  std::uint32_t sessions = 0;  // that hold it
  // Memory in which what cannot be mapped of it was built; 0 if nobody holds a composed view.
  std::uint64_t composed_bytes = 0;
  std::uint64_t cached_bytes = 0;   // the same in a file of a cache folder, in place of memory
  std::string cache_file = {};      // that file; empty if there is none
  std::string cache_rejected = {};  // why a file that was there before was thrown away and made anew; mostly empty
};

struct ContainerMetrics {
  std::string path;  // it was first opened by
  std::string uuid;
  std::uint64_t generation = 0;
  std::uint64_t mapped_bytes = 0;    // address space of the file's map; 0 if nothing is mapped
  std::uint64_t stitched_bytes = 0;  // address space of the stitched views that somebody holds; no memory of its own
  std::uint64_t composed_bytes = 0;  // memory of the composed views that somebody holds; what max_copied_bytes limits
  std::uint64_t cached_bytes = 0;    // of files in cache folders that composed views show in place of memory
  // Of the map, the stitched and the composed views, by /proc/self/smaps; empty if the system does not say. A page that
  // both show counts twice as resident, and once as proportional.
  std::optional<std::uint64_t> resident_bytes = {};
  std::optional<std::uint64_t> proportional_bytes = {};  // pages that other processes map too count in parts
  std::optional<std::uint64_t> locked_bytes = {};
  std::uint32_t sessions = 0;     // copies of a Session count as one
  std::uint32_t views = 0;        // of sessions and others
  std::uint64_t saved_bytes = 0;  // what every further session would hold if each had a copy of its records
  std::vector<RecordMetrics> records;
};

// What this process did with cache folders since it began.
struct ViewCacheCounts {
  std::uint64_t used = 0;      // files that were there and right
  std::uint64_t made = 0;      // that this process made
  std::uint64_t rejected = 0;  // that were damaged or not what their name says, and were removed
  std::uint64_t evicted = 0;   // that were removed to keep within the limit
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

// Handles of one mapping give equal numbers. Threads: any; numbers that move meanwhile need not add up.
// Cost: some 20 ms for each GiB that is in memory. Touches no page.
[[nodiscard]] ContainerMetrics container_metrics(const Container& container);
// Of everything that the process-wide registry knows. Buffers in memory belong to it no more than to anybody.
[[nodiscard]] RuntimeMetrics runtime_metrics();

// Schema "fatctx.metrics/1", with "container" or "runtime" beside it. What is not known is null. No final line feed.
[[nodiscard]] std::string to_json(const ContainerMetrics& metrics);
[[nodiscard]] std::string to_json(const RuntimeMetrics& metrics);

}  // namespace fatctx
