// Tensors of files with weights through C.
#include "capi/objects.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_irpa.h"
#include "fatctx/import_safetensors.h"

namespace fatctx::capi {

ImportedTensorsObject::ImportedTensorsObject(ImportedTensors read, std::uint64_t splats)
    : imported(std::move(read)), splat_count(splats) {
  for (const PackTensor& tensor : imported.tensors) {
    tensors.push_back({tensor.name.c_str(), tensor.shape.data(), tensor.shape.size(), tensor.offset_in_blob,
                       tensor.size_bytes, static_cast<std::uint32_t>(tensor.dtype), flag(tensor.alias)});
  }
  for (const DescribedOption& option : imported.options) {
    options.push_back({option.key.c_str(), option.value.c_str(), option.owner.c_str()});
  }
}

namespace {

// `read` is the importer of C++.
template <typename Read>
std::int32_t import_with(const Read& read, const char* path, fatctx_imported_tensors* tensors,
                         fatctx_error* error) noexcept {
  return make_handle(tensors, "tensors", error, [&]() -> decltype(read(path)) {
    FATCTX_TRY(not_null(path, "path"));
    return read(path);
  });
}

Result<std::shared_ptr<ImportedTensorsObject>> read_archive(const char* path) {
  FATCTX_ASSIGN(IrpaTensors archive, tensors_from_irpa(path));
  ImportedTensors imported;
  imported.tensors = std::move(archive.tensors);
  imported.data.size = archive.file_size;
  imported.file_size = archive.file_size;
  return std::make_shared<ImportedTensorsObject>(std::move(imported), archive.splat_count);
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_tensors_from_safetensors(const char* path, fatctx_imported_tensors* tensors, fatctx_error* error) {
  return import_with(&fatctx::tensors_from_safetensors, path, tensors, error);
}

int32_t fatctx_tensors_from_gguf(const char* path, fatctx_imported_tensors* tensors, fatctx_error* error) {
  return import_with(&fatctx::tensors_from_gguf, path, tensors, error);
}

int32_t fatctx_tensors_from_irpa(const char* path, fatctx_imported_tensors* tensors, fatctx_error* error) {
  return import_with(&read_archive, path, tensors, error);
}

int32_t fatctx_imported_tensors_describe(fatctx_imported_tensors tensors, fatctx_imported_tensors_info* info,
                                         fatctx_error* error) {
  return with_object(tensors, error, [&](const ImportedTensorsObject& object) {
    fatctx_imported_tensors_info filled = {};
    filled.tensors = object.tensors.data();
    filled.tensor_count = object.tensors.size();
    filled.options = object.options.data();
    filled.option_count = object.options.size();
    filled.file_size = object.imported.file_size;
    filled.data_offset = object.imported.data.offset;
    filled.data_size = object.imported.data.size;
    filled.splat_count = object.splat_count;
    return write_sized(filled, info, "info");
  });
}

int32_t fatctx_imported_tensors_close(fatctx_imported_tensors tensors, fatctx_error* error) {
  return close_handle(tensors, error);
}

}  // extern "C"
