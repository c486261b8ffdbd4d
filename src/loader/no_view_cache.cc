// The loader writes no file: composed views are built in memory (src/runtime/view/view_cache.cc has the cache folder).
// open_options_in() refuses a cache folder, so that none of these functions is called.
#include "runtime/view/view_cache.h"

#include "loader/refused_options.h"

namespace fatctx {
namespace {

Error refused() { return not_in_loader("a cache folder"); }

}  // namespace

ViewCacheKey view_cache_key(const RecordInfo& /*record*/, std::span<const mapping::MixedPiece> /*pieces*/,
                            std::uint64_t /*built_bytes*/, std::uint64_t /*page_bytes*/) {
  return {};
}
std::string view_cache_name(const ViewCacheKey& /*key*/) { return {}; }
std::uint64_t view_cache_file_bytes(const ViewCacheKey& /*key*/) noexcept { return 0; }
Status CachedViewWriter::write(ByteView /*bytes*/) { return refused(); }
Status CachedViewWriter::finish() { return refused(); }
Status CachedViewWriter::publish() { return refused(); }
Result<ViewCache> ViewCache::open(const std::string& /*folder*/, std::uint64_t /*limit_bytes*/) { return refused(); }
Result<std::optional<CachedView>> ViewCache::find(const ViewCacheKey& /*key*/, std::string& /*rejected*/) const {
  return refused();
}
void ViewCache::reject(const CachedView& /*view*/) const {}
void ViewCache::mark_used(const CachedView& /*view*/) const noexcept {}
Result<std::unique_ptr<CachedViewWriter>> ViewCache::begin(const ViewCacheKey& /*key*/) const { return refused(); }
Error ViewCache::too_large(std::uint64_t /*file_bytes*/) const { return refused(); }
Status check_cache_limit(const std::string& /*folder*/, std::uint64_t /*file_bytes*/, std::uint64_t /*limit_bytes*/) {
  return refused();
}
void count_cache_use(bool /*made*/) noexcept {}

}  // namespace fatctx
