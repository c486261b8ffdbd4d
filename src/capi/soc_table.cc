// The table of SoCs through C.
#include "capi/objects.h"

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_soc_table_read(const char* path, fatctx_soc_table* table, fatctx_error* error) {
  return make_handle(table, "table", error, [&]() -> fatctx::Result<fatctx::SocTable> {
    if (path == nullptr) return fatctx::SocTable::built_in();
    return fatctx::SocTable::read(path);
  });
}

int32_t fatctx_soc_table_json(fatctx_soc_table table, const char* search, char* buffer, size_t capacity, size_t* size,
                              fatctx_error* error) {
  return with_object(table, error, [&](const fatctx::SocTable& rows) {
    return put_text(fatctx::to_json(rows, text_in(search)), buffer, capacity, size);
  });
}

int32_t fatctx_soc_table_close(fatctx_soc_table table, fatctx_error* error) { return close_handle(table, error); }

}  // extern "C"
