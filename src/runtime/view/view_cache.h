// A cache folder on disk for the built bytes of composed records. Each file holds these bytes, in whole pages, and a
// trailer that identifies them.
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

// All inputs that determine the bytes of a file: two systems with the same key need the same file.
struct ViewCacheKey {
  Hash128 record_hash;
  std::uint64_t record_bytes = 0;
  std::uint64_t built_bytes = 0;  // in whole pages
  std::uint32_t page_bytes = 0;
  Hash128 plan;  // the hash of the built places within the record
};
[[nodiscard]] ViewCacheKey view_cache_key(const RecordInfo& record, std::span<const mapping::MixedPiece> pieces,
                                          std::uint64_t built_bytes, std::uint64_t page_bytes);
[[nodiscard]] std::string view_cache_name(const ViewCacheKey& key);
// Returns the size of the file, including its trailer.
[[nodiscard]] std::uint64_t view_cache_file_bytes(const ViewCacheKey& key) noexcept;

struct CachedView {
  std::string name;
  std::string path;
  std::unique_ptr<mapping::OsFile> file;
  mapping::FileIdentity identity;  // at the time when its bytes were checked
};

// A file in the making, written from its first byte to its last. If it is destroyed before publish(), no file remains.
class CachedViewWriter {
 public:
  CachedViewWriter(std::unique_ptr<mapping::PendingFile> file, const ViewCacheKey& key)
      : file_(std::move(file)), key_(key) {}
  // Reserves the space of the file, so that no_space is reported before anything is built. Errors: no_space.
  [[nodiscard]] Status reserve() { return file_->file().allocate(view_cache_file_bytes(key_)); }
  // Appends the bytes. Errors: no_space, io.
  [[nodiscard]] Status write(ByteView bytes);
  // Pads the last page with zeros and appends the trailer. Errors: no_space, io.
  [[nodiscard]] Status finish();
  [[nodiscard]] int descriptor() const noexcept { return file_->file().descriptor(); }
  [[nodiscard]] Result<mapping::FileIdentity> identity() const { return file_->file().identity(); }
  // Gives the file its name. Errors: exists (another process was faster), no_space, io.
  [[nodiscard]] Status publish();

 private:
  std::unique_ptr<mapping::PendingFile> file_;
  ViewCacheKey key_;
  container::Hasher hasher_;
  std::uint64_t size_ = 0;
};

// An open cache folder. Threads: const members from any number of threads.
class ViewCache {
 public:
  // Opens the folder. `limit_bytes` 0 means the default. Errors: those of CacheFolder::open.
  [[nodiscard]] static Result<ViewCache> open(const std::string& folder, std::uint64_t limit_bytes);

  // Returns null if there is no such file. Removes a file that does not match its name, or whose bytes do not match
  // their hash; then returns null and says why in `rejected`. Reads the whole file. Errors: no_resource, io.
  [[nodiscard]] Result<std::optional<CachedView>> find(const ViewCacheKey& key, std::string& rejected) const;
  // Removes a file that turned out to be wrong.
  void reject(const CachedView& view) const;
  void mark_used(const CachedView& view) const noexcept;
  // Makes room for the file and starts it. Errors: no_space (the file alone exceeds the limit, or too little can be
  // removed), exists (another process has made it), io, no_resource.
  [[nodiscard]] Result<std::unique_ptr<CachedViewWriter>> begin(const ViewCacheKey& key) const;

  [[nodiscard]] const std::string& path() const noexcept { return folder_.path(); }
  [[nodiscard]] Error too_large(std::uint64_t file_bytes) const;

 private:
  ViewCache(mapping::CacheFolder folder, std::uint64_t limit_bytes) noexcept
      : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}
  mapping::CacheFolder folder_;
  std::uint64_t limit_bytes_;
};

// Returns no_space if a file of so many bytes cannot fit into a folder with this limit (0: the default).
[[nodiscard]] Status check_cache_limit(const std::string& folder, std::uint64_t file_bytes, std::uint64_t limit_bytes);

// Counts, for view_cache_counts(), a file that this process has made or found.
void count_cache_use(bool made) noexcept;

}  // namespace fatctx
