// Keys and signing through C.
#include "fatctx/signature.h"

#include <cstring>

#include "capi/objects.h"

namespace fatctx::capi {
namespace {

void key_out(const PublicKey& key, std::uint8_t* out) noexcept { std::memcpy(out, key.bytes.data(), key.bytes.size()); }

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

int32_t fatctx_make_keys(const char* name, uint8_t* public_key, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(name, "name"));
    FATCTX_TRY(not_null(public_key, "public_key"));
    FATCTX_ASSIGN(const fatctx::KeyFiles made, fatctx::make_keys(name));
    key_out(made.public_key, public_key);
    return fatctx::Done{};
  });
}

int32_t fatctx_read_public_key(const char* path, uint8_t* public_key, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(not_null(public_key, "public_key"));
    FATCTX_ASSIGN(const fatctx::PublicKey key, fatctx::read_public_key(path));
    key_out(key, public_key);
    return fatctx::Done{};
  });
}

int32_t fatctx_sign_container(const char* path, const char* key_path, const char* out,
                              const fatctx_sign_options* options, fatctx_sign_report* report, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_TRY(not_null(key_path, "key_path"));
    FATCTX_TRY(not_null(out, "out"));
    if (report != nullptr) FATCTX_TRY(check_struct_size(report->struct_size));
    fatctx_sign_options given = {};
    if (options != nullptr) FATCTX_TRY(read_sized(options, given));
    FATCTX_ASSIGN(const fatctx::SignReport made,
                  fatctx::sign_container(path, key_path, out,
                                         {.seal = given.seal != 0,
                                          .overwrite = given.overwrite != 0,
                                          .progress = progress_in(given.progress, given.user),
                                          .max_made_bytes = given.max_made_bytes}));
    if (report == nullptr) return fatctx::Done{};
    fatctx_sign_report filled = {};
    filled.sealed = flag(made.sealed);
    filled.generation = made.generation;
    filled.file_size = made.file_size;
    std::memcpy(filled.key_id, made.key_id.data(), sizeof filled.key_id);
    return write_sized(filled, report, "report");
  });
}

}  // extern "C"
