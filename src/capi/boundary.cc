#include "capi/boundary.h"

#include <algorithm>
#include <exception>
#include <new>

#include <fmt/format.h>

namespace fatctx::capi {
namespace {

// No struct of this interface is smaller: the size itself and one more field.
constexpr std::uint32_t kSmallestStruct = 8;

bool continues_character(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// One line that fits, ended by NUL. Words of the caller may hold control characters, which become "\x0a". Without
// memory of its own: it may be called because there is none.
void put_line(std::span<char> field, std::string_view text) noexcept {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t room = field.size() - 1;
  std::size_t size = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 || byte == 0x7F;
    if (room - size < (control ? 4U : 1U)) {
      if (continues_character(c)) {  // what there is of the character goes, too
        while (size > 0 && continues_character(field[size - 1])) --size;
        if (size > 0) --size;
      }
      break;
    }
    if (!control) {
      field[size++] = c;
      continue;
    }
    for (const char digit : {'\\', 'x', kDigits[byte >> 4U], kDigits[byte & 15U]}) field[size++] = digit;
  }
  field[size] = '\0';
}

std::int32_t write(fatctx_error* error, std::int32_t code, std::string_view message,
                   const ErrorContext& where) noexcept {
  if (error == nullptr || error->struct_size < kSmallestStruct) return code;
  const std::size_t room = error->struct_size;
  // Older programs have fewer fields, never a part of one; a field that is not there as a whole is not written.
  const auto put = [room]<typename Field>(std::size_t offset, Field& field, Field value) {
    if (offset + sizeof field <= room) field = value;
  };
  const auto put_text_field = [room](std::size_t offset, std::span<char> field, std::string_view text) {
    if (offset + field.size() <= room) put_line(field, text);
  };
  put(offsetof(fatctx_error, code), error->code, code);
  put(offsetof(fatctx_error, has_file_offset), error->has_file_offset, flag(where.file_offset.has_value()));
  put(offsetof(fatctx_error, has_record_id), error->has_record_id, flag(where.record_id.has_value()));
  put(offsetof(fatctx_error, file_offset), error->file_offset, where.file_offset.value_or(0));
  put(offsetof(fatctx_error, record_id), error->record_id, where.record_id.value_or(0));
  put(offsetof(fatctx_error, has_os_error), error->has_os_error, flag(where.os_error != 0));
  put(offsetof(fatctx_error, os_error), error->os_error, static_cast<std::int32_t>(where.os_error));
  put_text_field(offsetof(fatctx_error, rule), error->rule, where.rule);
  put_text_field(offsetof(fatctx_error, message), error->message, message);
  return code;
}

#if FATCTX_EXCEPTIONS
std::int32_t write(fatctx_error* error, ErrorCode code, std::string_view message) noexcept {
  return write(error, static_cast<std::int32_t>(code), message, {});
}
#endif

}  // namespace

std::int32_t write_success(fatctx_error* error) noexcept { return write(error, FATCTX_OK, {}, {}); }

std::int32_t write_error(fatctx_error* error, const Error& what) noexcept {
  return write(error, static_cast<std::int32_t>(what.code), what.message, what.where);
}

#if FATCTX_EXCEPTIONS
std::int32_t write_current_exception(fatctx_error* error) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return write(error, ErrorCode::kOutOfMemory, "there is no memory left");
  } catch (const Cancelled&) {
    return write(error, ErrorCode::kCancelled, "a callback of the caller asked to stop");
  } catch (const std::exception& exception) {
    return write(error, ErrorCode::kInternal, exception.what());
  } catch (...) {
    return write(error, ErrorCode::kInternal, "an exception of unknown type; a callback may have thrown it");
  }
}
#endif

Error null_argument(std::string_view name) { return {ErrorCode::kInvalidArgument, fmt::format("{} is null", name)}; }

Result<ByteView> bytes_in(const void* bytes, std::uint64_t size, std::string_view name) {
  return array_in(static_cast<const std::byte*>(bytes), size, name);
}

std::size_t cut_at_character(std::string_view text, std::size_t room) noexcept {
  if (text.size() <= room) return text.size();
  std::size_t size = room;
  while (size > 0 && continues_character(text[size])) --size;
  return size;
}

Status put_text(std::string_view text, char* buffer, std::size_t capacity, std::size_t* size) {
  if (capacity != 0) {
    FATCTX_TRY(not_null(buffer, "buffer"));
    const std::size_t copied = cut_at_character(text, capacity - 1);
    text.copy(buffer, copied);
    buffer[copied] = '\0';
  }
  if (size != nullptr) *size = text.size();
  return Done{};
}

Status check_struct_size(std::uint32_t struct_size) {
  if (struct_size >= kSmallestStruct) return Done{};
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("struct_size is {}; set it to the sizeof of the struct before the call", struct_size)};
}

Status check_reserved(std::uint32_t reserved) {
  if (reserved == 0) return Done{};
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("the program sets the field `reserved` of a struct to {}, which means nothing to this library; "
                  "use a newer library or leave the field at zero",
                  reserved)};
}

Status check_unknown_tail(const void* given, std::size_t known, std::size_t struct_size) {
  if (struct_size <= known) return Done{};
  const std::span tail(static_cast<const unsigned char*>(given) + known, struct_size - known);
  if (std::all_of(tail.begin(), tail.end(), [](unsigned char byte) { return byte == 0; })) return Done{};
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("the program sets a field behind byte {} of a struct, which this older library does not know; "
                  "use a newer library or leave the field at zero",
                  known)};
}

}  // namespace fatctx::capi
