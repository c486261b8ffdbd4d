// An on-disk cache for the bytes of composed views that cannot be mapped directly, shared between processes.
//
// The name of a file contains everything that decides its bytes: the hash of the record, the page size of the system,
// and which parts of the record were built. The file is published whole, checked against the record before each first
// use, and never written to again. OpenOptions::cache_folder names the folder; these functions maintain one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx {

// Default limit of the bytes that the files of a cache folder take together.
inline constexpr std::uint64_t kDefaultCacheLimitBytes = std::uint64_t{4} << 30;

struct ViewCacheFile {
  std::string name;              // in the folder
  std::uint64_t size_bytes = 0;  // of the file
  // False: its end is not as it should be, and the next user makes it anew. Its bytes are checked at use only.
  bool whole = false;
  Hash128 record_hash = {};        // of the record it was made for; this and what follows only if it is whole
  std::uint64_t record_bytes = 0;  // logical bytes of that record
  std::uint64_t built_bytes = 0;   // bytes of the record that the file holds, in whole pages
  std::uint32_t page_bytes = 0;    // page size of the system that it is for
  std::int64_t made_seconds = 0;   // since 1970, by the clock of the file system
  std::int64_t used_seconds = 0;
};

// Lists the views in the folder, in the order in which collect_view_cache() keeps them: the last used first.
// Errors: those of a bad cache folder, not_found and operation_not_permitted; io, no_resource.
[[nodiscard]] Result<std::vector<ViewCacheFile>> list_view_cache(const std::string& folder);
// Returns JSON of schema "fatctx.cache/1". No final line feed.
[[nodiscard]] std::string to_json(const std::string& folder, const std::vector<ViewCacheFile>& files);

struct ViewCacheCollection {
  std::uint64_t removed_files = 0;
  std::uint64_t removed_bytes = 0;
  std::uint64_t removed_temporaries = 0;  // of processes that died while they made a file
  std::uint64_t left_files = 0;
  std::uint64_t left_bytes = 0;
};
// Removes the files that were used longest ago until the rest take at most `limit_bytes` together (0: removes all of
// them), and temporaries of processes that died. Views that show a removed file stay valid: its bytes are freed with
// the last of them.
// Errors: those of list_view_cache.
[[nodiscard]] Result<ViewCacheCollection> collect_view_cache(const std::string& folder, std::uint64_t limit_bytes);

}  // namespace fatctx
