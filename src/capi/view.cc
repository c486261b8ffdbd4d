// Views and tensor tables through C.
#include "capi/objects.h"

namespace fatctx::capi {
namespace {

// The tensors of a table are made when they are asked for: there is no array of them.
Result<std::size_t> tensor_index(std::uint64_t index, const TensorTable& table) {
  return index_in(index, table.size(), "tensor");
}

fatctx_tensor_info tensor_out(const WeightView& tensor, const std::vector<std::uint64_t>& strides) noexcept {
  fatctx_tensor_info out = {};
  out.dtype = static_cast<std::uint32_t>(tensor.dtype());
  out.name = text_out(tensor.name());
  out.shape = tensor.shape().data();
  out.strides_bytes = strides.empty() ? nullptr : strides.data();
  out.rank = tensor.shape().size();
  out.offset_in_blob = tensor.offset_in_blob();
  out.size_bytes = tensor.bytes().size();
  out.alias = flag(tensor.alias());
  return out;
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_view_close(fatctx_view view, fatctx_error* error) { return close_handle(view, error); }

int32_t fatctx_view_copy(fatctx_view view, fatctx_view* copy, fatctx_error* error) {
  return make_handle(copy, "copy", error, [&]() -> fatctx::Result<ViewObject> {
    FATCTX_ASSIGN(const auto object, find(view));
    return ViewObject(*object);
  });
}

int32_t fatctx_view_describe(fatctx_view view, fatctx_view_info* info, fatctx_error* error) {
  return with_object(view, error, [&](const ViewObject& object) {
    fatctx_view_info filled = {};
    if (const auto* record = std::get_if<fatctx::RecordView>(&object.view)) {
      filled.record_id = record->record_id();
      filled.access_path = static_cast<std::uint32_t>(record->access_path());
      filled.copied_bytes = record->copied_bytes();
      filled.cached_bytes = record->cached_bytes();
    } else {
      filled.is_tensor = 1;
    }
    filled.data = object.bytes().data();
    filled.size = object.bytes().size();
    return write_sized(filled, info, "info");
  });
}

int32_t fatctx_view_tensor(fatctx_view view, fatctx_tensor_info* tensor, fatctx_error* error) {
  return with_object(view, error, [&](const ViewObject& object) -> fatctx::Status {
    const auto* found = std::get_if<fatctx::WeightView>(&object.view);
    if (found == nullptr) {
      return fatctx::Error{fatctx::ErrorCode::kInvalidArgument,
                           "the view is of a whole record and not of a tensor; fatctx_session_tensor() and "
                           "fatctx_tensor_table_view() give views of tensors"};
    }
    return write_sized(tensor_out(*found, object.strides), tensor, "tensor");
  });
}

int32_t fatctx_tensor_table_size(fatctx_tensor_table table, uint64_t* size, uint32_t* weights_id, fatctx_error* error) {
  return with_object(table, error, [&](const fatctx::TensorTable& object) -> fatctx::Status {
    FATCTX_TRY(not_null(size, "size"));
    *size = object.size();
    if (weights_id != nullptr) *weights_id = object.weights_id();
    return fatctx::Done{};
  });
}

int32_t fatctx_tensor_table_at(fatctx_tensor_table table, uint64_t index, fatctx_tensor_info* tensor,
                               fatctx_error* error) {
  return with_object(table, error, [&](const fatctx::TensorTable& object) -> fatctx::Status {
    FATCTX_ASSIGN(const std::size_t at, tensor_index(index, object));
    const fatctx::TensorInfo found = object.at(at);
    fatctx_tensor_info filled = {};
    filled.dtype = static_cast<std::uint32_t>(found.dtype);
    filled.name = text_out(found.name);
    filled.shape = found.shape.data();
    filled.rank = found.shape.size();
    filled.offset_in_blob = found.offset_in_blob;
    filled.size_bytes = found.size_bytes;
    filled.alias = flag(found.alias);
    return write_sized(filled, tensor, "tensor");
  });
}

int32_t fatctx_tensor_table_view(fatctx_tensor_table table, const char* name, fatctx_view* view, fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::WeightView> {
    FATCTX_ASSIGN(const auto object, find(table));
    FATCTX_TRY(not_null(name, "name"));
    return object->view(name);
  });
}

int32_t fatctx_tensor_table_view_at(fatctx_tensor_table table, uint64_t index, fatctx_view* view, fatctx_error* error) {
  return make_handle(view, "view", error, [&]() -> fatctx::Result<fatctx::WeightView> {
    FATCTX_ASSIGN(const auto object, find(table));
    FATCTX_ASSIGN(const std::size_t at, tensor_index(index, *object));
    return object->view_at(at);
  });
}

int32_t fatctx_tensor_table_close(fatctx_tensor_table table, fatctx_error* error) { return close_handle(table, error); }

}  // extern "C"
