// Cache folders through C.
#include "fatctx/view_cache.h"

#include "capi/boundary.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_view_cache_json(const char* folder, char* buffer, size_t capacity, size_t* size, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(folder, "folder"));
    FATCTX_ASSIGN(const auto files, fatctx::list_view_cache(folder));
    return put_text(fatctx::to_json(folder, files), buffer, capacity, size);
  });
}

int32_t fatctx_view_cache_collect(const char* folder, uint64_t limit_bytes, fatctx_view_cache_collection* collection,
                                  fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(folder, "folder"));
    FATCTX_ASSIGN(const fatctx::ViewCacheCollection done, fatctx::collect_view_cache(folder, limit_bytes));
    if (collection == nullptr) return fatctx::Done{};
    fatctx_view_cache_collection filled = {};
    filled.removed_files = done.removed_files;
    filled.removed_bytes = done.removed_bytes;
    filled.removed_temporaries = done.removed_temporaries;
    filled.left_files = done.left_files;
    filled.left_bytes = done.left_bytes;
    return write_sized(filled, collection, "collection");
  });
}

}  // extern "C"
