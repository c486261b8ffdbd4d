// Parts of a record on request, through C.
#include "fatctx/range_access.h"

#include "capi/callbacks.h"
#include "capi/objects.h"

namespace fatctx::capi {
namespace {

RangeHooks hooks_in(const fatctx_range_hooks& given, const std::shared_ptr<CallersUser>& user) {
  // Both are set whatever the caller gave: they hold `user` until the last range is gone.
  return {.provided = [given, user](ByteView aligned) -> Status {
            if (given.provided == nullptr) return Done{};
            return status_of_callback("provided", [&](fatctx_error* error) {
              return given.provided(user->get(), aligned.data(), aligned.size(), error);
            });
          },
          .released =
              [given, user](ByteView aligned) {
                if (given.released == nullptr) return;
                quietly([&] { given.released(user->get(), aligned.data(), aligned.size()); });
              }};
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_range_access_create(fatctx_view view, const fatctx_range_hooks* hooks, fatctx_range_access* access,
                                   fatctx_error* error) {
  std::shared_ptr<CallersUser> user;
  const std::int32_t code = make_handle(access, "access", error, [&]() -> fatctx::Result<fatctx::RangeAccess> {
    FATCTX_ASSIGN(const auto object, find(view));
    const auto* record = std::get_if<fatctx::RecordView>(&object->view);
    if (record == nullptr) {
      return fatctx::Error{fatctx::ErrorCode::kInvalidArgument,
                           "the view is of a tensor; ranges are parts of a whole record: use "
                           "fatctx_session_weights() or fatctx_container_acquire()"};
    }
    if (hooks == nullptr) return fatctx::RangeAccess(*record);
    fatctx_range_hooks given = {};
    FATCTX_TRY(read_sized(hooks, given));
    user = std::make_shared<CallersUser>(given.user, given.release);
    return fatctx::RangeAccess(*record, hooks_in(given, user));
  });
  if (code == FATCTX_OK && user) user->arm();
  return code;
}

int32_t fatctx_range_access_provide(fatctx_range_access access, uint64_t offset, uint64_t size, fatctx_range* range,
                                    fatctx_error* error) {
  return with_object(access, error, [&](const fatctx::RangeAccess& object) -> fatctx::Status {
    FATCTX_TRY(not_null(range, "range"));
    FATCTX_TRY(check_struct_size(range->struct_size));  // before a device registers pages
    FATCTX_ASSIGN(const fatctx::ProvidedRange provided, object.provide(offset, size));
    fatctx_range filled = {};
    filled.id = provided.id;
    filled.data = provided.data;
    filled.size = provided.size_bytes;
    filled.aligned = provided.aligned.data();
    filled.aligned_size = provided.aligned.size();
    filled.data_start = provided.data_start;
    return write_sized(filled, range, "range");
  });
}

int32_t fatctx_range_access_release(fatctx_range_access access, uint64_t range_id, fatctx_error* error) {
  return with_object(access, error, [&](const fatctx::RangeAccess& object) { return object.release(range_id); });
}

int32_t fatctx_range_access_outstanding(fatctx_range_access access, uint64_t* count, fatctx_error* error) {
  return with_object(access, error, [&](const fatctx::RangeAccess& object) -> fatctx::Status {
    FATCTX_TRY(not_null(count, "count"));
    *count = object.outstanding();
    return fatctx::Done{};
  });
}

int32_t fatctx_range_access_close(fatctx_range_access access, fatctx_error* error) {
  return close_handle(access, error);
}

}  // extern "C"
