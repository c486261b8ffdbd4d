// Functions without a handle: the version of the library, words for numbers, errors as text.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "capi/boundary.h"
#include "fatctx/container.h"
#include "fatctx/layout.h"
#include "fatctx/model.h"
#include "fatctx/select.h"
#include "fatctx/version.h"

namespace fatctx::capi {
namespace {

// The word for a number that may not fit the enum at all. Words are literals, so they end with a NUL.
template <typename Enum>
const char* word_of(std::string_view (*name)(Enum) noexcept, std::uint32_t number) noexcept {
  constexpr std::uint32_t kMost = std::numeric_limits<std::underlying_type_t<Enum>>::max();  // in no enum
  return name(static_cast<Enum>(std::min(number, kMost))).data();
}

template <typename Enum>
std::uint32_t number_of(std::optional<Enum> (*from_name)(std::string_view) noexcept, const char* name,
                        std::uint32_t unknown) noexcept {
  if (name == nullptr) return unknown;
  const std::optional<Enum> found = from_name(name);
  return found ? static_cast<std::uint32_t>(*found) : unknown;
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

uint32_t fatctx_abi_version(void) { return FATCTX_ABI_VERSION; }

const char* fatctx_library_version(void) { return FATCTX_VERSION; }

const char* fatctx_format_version(void) { return fatctx::format_version().data(); }

void fatctx_error_init(fatctx_error* error, size_t struct_size) { init_sized(fatctx_error{}, error, struct_size); }

const char* fatctx_error_code_name(int32_t code) {
  return code == FATCTX_OK ? "ok" : fatctx::error_code_name(static_cast<fatctx::ErrorCode>(code)).data();
}

int32_t fatctx_error_text(const fatctx_error* error, char* buffer, size_t capacity, size_t* size) {
  return guarded(nullptr, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(error, "error"));
    fatctx_error given = {};
    FATCTX_TRY(read_sized(error, given));
    if (given.code == FATCTX_OK) return put_text("ok", buffer, capacity, size);
    fatctx::Error what{static_cast<fatctx::ErrorCode>(given.code), std::string(until_nul(given.message))};
    if (given.has_file_offset != 0) what.where.file_offset = given.file_offset;
    if (given.has_record_id != 0) what.where.record_id = given.record_id;
    if (given.has_os_error != 0) what.where.os_error = given.os_error;
    what.where.rule = until_nul(given.rule);
    return put_text(fatctx::to_text(what), buffer, capacity, size);
  });
}

const char* fatctx_record_type_name(uint32_t type) { return word_of(&fatctx::record_type_name, type); }
const char* fatctx_dtype_name(uint32_t dtype) { return word_of(&fatctx::dtype_name, dtype); }
const char* fatctx_level_name(uint32_t level) { return word_of(&fatctx::level_name, level); }
const char* fatctx_axis_id(uint32_t axis) { return word_of(&fatctx::axis_id, axis); }
const char* fatctx_access_path_name(uint32_t access_path) { return word_of(&fatctx::access_path_name, access_path); }

uint32_t fatctx_record_type_from_name(const char* name) { return number_of(&fatctx::record_type_from_name, name, 0); }
uint32_t fatctx_dtype_from_name(const char* name) { return number_of(&fatctx::dtype_from_name, name, 0); }
const char* fatctx_model_format_name(uint32_t format) { return word_of(&fatctx::model_format_name, format); }
const char* fatctx_raw_binaries_name(uint32_t raw_binaries) {
  return word_of(&fatctx::raw_binaries_name, raw_binaries);
}
uint32_t fatctx_raw_binaries_from_name(const char* name) {
  return number_of(&fatctx::raw_binaries_from_name, name, FATCTX_UNKNOWN);
}
uint32_t fatctx_dtype_bits(uint32_t dtype) {
  return dtype > UINT16_MAX ? 0 : fatctx::dtype_bits(static_cast<fatctx::DType>(dtype));
}

}  // extern "C"
