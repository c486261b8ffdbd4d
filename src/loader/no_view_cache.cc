// The loader writes no file: composed views are built in memory (src/runtime/view/view_cache.cc has the cache folder).
// open_options_in() refuses a cache folder, so that none of these functions is called.
#include "runtime/view/view_cache.h"

#include "loader/refused_options.h"

namespace fatctx {
namespace {

Error no_cache_folder() { return not_in_loader("a cache folder"); }

}  // namespace

ViewCacheKey view_cache_key(const RecordInfo& /*record*/, std::span<const mapping::MixedPiece> /*pieces*/,
                            std::uint64_t /*built_bytes*/, std::uint64_t /*page_bytes*/) {
  return {};
}
std::string view_cache_name(const ViewCacheKey& /*key*/) { return {}; }
std::uint64_t view_cache_file_bytes(const ViewCacheKey& /*key*/) noexcept { return 0; }
Status CachedViewWriter::write(ByteView /*bytes*/) { return no_cache_folder(); }
Status CachedViewWriter::finish() { return no_cache_folder(); }
Status CachedViewWriter::publish() { return no_cache_folder(); }
Result<ViewCache> ViewCache::open(const std::string& /*folder*/, std::uint64_t /*limit_bytes*/) {
  return no_cache_folder();
}
Result<std::optional<CachedView>> ViewCache::find(const ViewCacheKey& /*key*/, std::string& /*rejected*/) const {
  return no_cache_folder();
}
void ViewCache::reject(const CachedView& /*view*/) const {}
void ViewCache::mark_used(const CachedView& /*view*/) const noexcept {}
Result<std::unique_ptr<CachedViewWriter>> ViewCache::begin(const ViewCacheKey& /*key*/) const {
  return no_cache_folder();
}
Error ViewCache::too_large(std::uint64_t /*file_bytes*/) const { return no_cache_folder(); }
Status check_cache_limit(const std::string& /*folder*/, std::uint64_t /*file_bytes*/, std::uint64_t /*limit_bytes*/) {
  return no_cache_folder();
}
void count_cache_use(bool /*made*/) noexcept {}

}  // namespace fatctx
