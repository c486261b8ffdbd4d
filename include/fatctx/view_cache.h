// A folder in which what composed views cannot map of a container lies in files, so that processes share it.
//
// A file is named by what decides its bytes: the hash of the record, the pages of the system, and which parts of the
// record were built. It is published whole, checked against the record before each first use, and never written to
// again. OpenOptions::cache_folder says which folder; these functions look after one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx {

// What the files of a cache folder may take together, unless the caller says otherwise.
inline constexpr std::uint64_t kDefaultCacheLimitBytes = std::uint64_t{4} << 30;

struct ViewCacheFile {
  std::string name;              // in the folder
  std::uint64_t size_bytes = 0;  // of the file
  // False: it does not end as it should, and the first who wants it makes it anew. Its bytes are checked at use only.
  bool whole = false;
  Hash128 record_hash = {};        // of the record it was made for; this and what follows only if it is whole
  std::uint64_t record_bytes = 0;  // of which it holds
  std::uint64_t built_bytes = 0;   // so many, in whole pages
  std::uint32_t page_bytes = 0;    // of the system that it is for
  std::int64_t made_seconds = 0;   // since 1970, by the clock of the file system
  std::int64_t used_seconds = 0;
};

// The files that are views, in the order in which collect_view_cache() leaves them: used last first.
// Errors: those of a bad cache folder, not_found and operation_not_permitted; io, no_resource.
[[nodiscard]] Result<std::vector<ViewCacheFile>> list_view_cache(const std::string& folder);
// Schema "fatctx.cache/1". No final line feed.
[[nodiscard]] std::string to_json(const std::string& folder, const std::vector<ViewCacheFile>& files);

struct ViewCacheCollection {
  std::uint64_t removed_files = 0;
  std::uint64_t removed_bytes = 0;
  std::uint64_t removed_temporaries = 0;  // of processes that died while they made a file
  std::uint64_t left_files = 0;
  std::uint64_t left_bytes = 0;
};
// Removes what was used longest ago until the files take at most `limit_bytes` together (0: all of them), and what
// processes that died have left. Views that show a removed file stay valid: its bytes go with the last of them.
// Errors: those of list_view_cache.
[[nodiscard]] Result<ViewCacheCollection> collect_view_cache(const std::string& folder, std::uint64_t limit_bytes);

}  // namespace fatctx
