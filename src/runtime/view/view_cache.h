// Files in a cache folder that hold what is built of composed records: the bytes in whole pages, and behind them a
// trailer that says what they are.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "container/format/hash.h"
#include "fatctx/metrics.h"
#include "fatctx/record.h"
#include "mapping/cache_folder.h"
#include "mapping/stitched_region.h"

namespace fatctx {

// What decides the bytes: two systems that come to the same key need the same file.
struct ViewCacheKey {
  Hash128 record_hash;
  std::uint64_t record_bytes = 0;
  std::uint64_t built_bytes = 0;  // in whole pages
  std::uint32_t page_bytes = 0;
  Hash128 plan;  // of the places in the record that are built
};
[[nodiscard]] ViewCacheKey view_cache_key(const RecordInfo& record, std::span<const mapping::MixedPiece> pieces,
                                          std::uint64_t built_bytes, std::uint64_t page_bytes);
[[nodiscard]] std::string view_cache_name(const ViewCacheKey& key);
// Of the whole file.
[[nodiscard]] std::uint64_t view_cache_file_bytes(const ViewCacheKey& key) noexcept;

struct CachedView {
  std::string name;
  std::string path;
  std::unique_ptr<mapping::OsFile> file;
  mapping::FileIdentity identity;  // as it was when its bytes were checked
};

// A file in the making: written from its first byte to its last. Destroying it unpublished leaves nothing.
class CachedViewWriter {
 public:
  CachedViewWriter(std::unique_ptr<mapping::PendingFile> file, const ViewCacheKey& key)
      : file_(std::move(file)), key_(key) {}
  // So that no_space comes before anything is built. Errors: no_space.
  [[nodiscard]] Status reserve() { return file_->file().allocate(view_cache_file_bytes(key_)); }
  // Behind what was written before. Errors: no_space, io.
  [[nodiscard]] Status write(ByteView bytes);
  // Fills up the last page and puts the trailer behind. Errors: no_space, io.
  [[nodiscard]] Status finish();
  [[nodiscard]] int descriptor() const noexcept { return file_->file().descriptor(); }
  [[nodiscard]] Result<mapping::FileIdentity> identity() const { return file_->file().identity(); }
  // Errors: exists (another process was faster), no_space, io.
  [[nodiscard]] Status publish();

 private:
  std::unique_ptr<mapping::PendingFile> file_;
  ViewCacheKey key_;
  container::Hasher hasher_;
  std::uint64_t size_ = 0;
};

// Threads: const members from any number of threads.
class ViewCache {
 public:
  // `limit_bytes` 0: the default. Errors: those of CacheFolder::open.
  [[nodiscard]] static Result<ViewCache> open(const std::string& folder, std::uint64_t limit_bytes);

  // Null if there is none. One that is not what its name says, or whose bytes do not have their hash, is removed and
  // counts as none; `rejected` says why then. Reads all of it. Errors: no_resource, io.
  [[nodiscard]] Result<std::optional<CachedView>> find(const ViewCacheKey& key, std::string& rejected) const;
  // Takes a file away that turned out to be wrong.
  void reject(const CachedView& view) const;
  void mark_used(const CachedView& view) const noexcept;
  // Makes room for it, and begins. Errors: no_space (it alone is above the limit, or what could go is not enough),
  // exists (somebody else has made it), io, no_resource.
  [[nodiscard]] Result<std::unique_ptr<CachedViewWriter>> begin(const ViewCacheKey& key) const;

  [[nodiscard]] const std::string& path() const noexcept { return folder_.path(); }
  [[nodiscard]] Error too_large(std::uint64_t file_bytes) const;

 private:
  ViewCache(mapping::CacheFolder folder, std::uint64_t limit_bytes) noexcept
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}
  mapping::CacheFolder folder_;
  std::uint64_t limit_bytes_;
};

// no_space, if a file of so many bytes does not fit into a folder with this limit (0: the default).
[[nodiscard]] Status check_cache_limit(const std::string& folder, std::uint64_t file_bytes, std::uint64_t limit_bytes);

// For view_cache_counts(): a file that this process has made, or found.
void count_cache_use(bool made) noexcept;

}  // namespace fatctx
