// Values through C that belong to no handle: sizes of tensors, versions, hashes of contents.
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capi/boundary.h"
#include "fatctx/content_hash.h"
#include "fatctx/record.h"

namespace {

void hash_out(const fatctx::Hash128& hash, std::uint8_t* out) noexcept {
  std::memcpy(out, hash.bytes.data(), hash.bytes.size());
}

}  // namespace

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_tensor_size_bytes(uint32_t dtype, const uint64_t* shape, uint64_t rank, uint64_t* size_bytes,
                                 fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(size_bytes, "size_bytes"));
    FATCTX_ASSIGN(const auto dims, array_in(shape, rank, "shape"));
    if (fatctx_dtype_bits(dtype) == 0) {
      return fatctx::Error{fatctx::ErrorCode::kInvalidArgument,
                           fmt::format("dtype is {}; docs/format.md, section 6 lists them", dtype)};
    }
    const std::optional<std::uint64_t> found = fatctx::tensor_size_bytes(static_cast<fatctx::DType>(dtype), dims);
    if (!found) {
      return fatctx::Error{fatctx::ErrorCode::kLimitExceeded,
                           fmt::format("a tensor of {} of shape [{}] takes more bits than 64 bits count",
                                       fatctx_dtype_name(dtype), fmt::join(dims, ", "))};
    }
    *size_bytes = *found;
    return fatctx::Done{};
  });
}

int32_t fatctx_version_parse(const char* text, fatctx_version* version, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(text, "text"));
    FATCTX_TRY(not_null(version, "version"));
    FATCTX_ASSIGN(const fatctx::Version parsed, fatctx::parse_version(text));
    *version = version_out(parsed);
    return fatctx::Done{};
  });
}

int32_t fatctx_version_text(const fatctx_version* version, char* buffer, size_t capacity, size_t* size,
                            fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(version, "version"));
    return put_text(fatctx::to_text(version_in(*version)), buffer, capacity, size);
  });
}

int32_t fatctx_content_hash(const void* bytes, uint64_t size, uint8_t* hash, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_ASSIGN(const fatctx::ByteView view, bytes_in(bytes, size, "bytes"));
    FATCTX_TRY(not_null(hash, "hash"));
    hash_out(fatctx::content_hash(view), hash);
    return fatctx::Done{};
  });
}

int32_t fatctx_content_hash_of_file(const char* path, uint8_t* hash, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(not_null(hash, "hash"));
    FATCTX_ASSIGN(const fatctx::Hash128 found, fatctx::content_hash_of_file(path));
    hash_out(found, hash);
    return fatctx::Done{};
  });
}

}  // extern "C"
