#include "container/import/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/json_reader.h"
#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/format/names.h"
#include "fatctx/base/checked.h"
#include "fatctx/base/little_endian.h"
#include "fatctx/import_safetensors.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kSizeField = sizeof(le64);
constexpr std::string_view kFormatName = "safetensors";
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::size_t kMaxDepth = 4;  // one more than valid files need, so that an error names the excess

struct StoredType {
  std::string_view word;  // in the header
  std::string_view name;  // in descriptions
  std::uint64_t bits;
  std::optional<DType> dtype;
};
constexpr StoredType kStoredTypes[] = {
    {"BOOL", "bool", 8, DType::kBool},
    {"U8", "u8", 8, DType::kU8},
    {"I8", "i8", 8, DType::kI8},
    {"U16", "u16", 16, DType::kU16},
    {"I16", "i16", 16, DType::kI16},
    {"F16", "f16", 16, DType::kF16},
    {"BF16", "bf16", 16, DType::kBF16},
    {"U32", "u32", 32, DType::kU32},
    {"I32", "i32", 32, DType::kI32},
    {"F32", "f32", 32, DType::kF32},
    {"U64", "u64", 64, DType::kU64},
    {"I64", "i64", 64, DType::kI64},
    {"F64", "f64", 64, DType::kF64},
    {"C64", "c64", 64, std::nullopt},
    {"F8_E4M3", "f8_e4m3", 8, std::nullopt},
    {"F8_E5M2", "f8_e5m2", 8, std::nullopt},
    {"F8_E8M0", "f8_e8m0", 8, std::nullopt},
    {"F8_E4M3FNUZ", "f8_e4m3fnuz", 8, std::nullopt},
    {"F8_E5M2FNUZ", "f8_e5m2fnuz", 8, std::nullopt},
    {"F6_E2M3", "f6_e2m3", 6, std::nullopt},
    {"F6_E3M2", "f6_e3m2", 6, std::nullopt},
    {"F4", "f4", 4, std::nullopt},
};

const StoredType* element_type(std::string_view word) noexcept {
  const auto* found =
      std::find_if(std::begin(kStoredTypes), std::end(kStoredTypes), [&](const auto& row) { return row.word == word; });
  return found == std::end(kStoredTypes) ? nullptr : found;
}

Error safetensors_error(ErrorCode code, std::uint64_t offset, std::string message) {
  return Error{code, "safetensors: " + std::move(message), {.file_offset = offset}};
}

// A member of the header; only its form is checked.
struct Member {
  std::string name;
  const StoredType* type = nullptr;
  std::vector<std::uint64_t> shape;
  std::vector<std::uint64_t> offsets;  // begin and end, as offsets in the data
};

// A reader that takes the header as the parser visits it, so that no tree of a hostile header is built. It has one
// level for tensors, one for their fields, and one for the numbers of a list. The first error ends the parse.
class HeaderReader {
 public:
  [[nodiscard]] std::vector<Member> take() { return std::move(members_); }
  [[nodiscard]] std::optional<Error>& error() noexcept { return error_; }

  bool null() { return scalar("null"); }
  bool boolean(bool) { return scalar("true or false"); }
  bool negative(std::int64_t) { return scalar("a negative number"); }
  bool other_number(std::string_view) { return scalar("a number that is not whole"); }

  bool natural(std::uint64_t number) {
    if (at_ == Place::kShape) {
      if (member().shape.size() == kMaxSafetensorsRank) {
        return refuse(ErrorCode::kLimitExceeded,
                      fmt::format("tensor \"{}\" has more than {} dimensions", member().name, kMaxSafetensorsRank));
      }
      member().shape.push_back(number);
      return true;
    }
    if (at_ == Place::kOffsets) {
      if (member().offsets.size() == 2) return wrong_offsets();
      member().offsets.push_back(number);
      return true;
    }
    return scalar("a number");
  }

  bool text(const std::string& text) {
    if (at_ == Place::kMetadata) {
      metadata_.back().value = shown_metadata(text, text.size());
      return true;
    }
    if (at_ != Place::kTensor || field_ != kDtype) return scalar("a text");
    member().type = element_type(text);
    if (member().type == nullptr) {
      // The text comes from the file: it is shown only if it is a valid name.
      const auto shown = check_name(text, kMaxShownWord, false, "element type");
      return refuse(ErrorCode::kUnsupported, fmt::format("tensor \"{}\" has the unknown element type {}", member().name,
                                                         shown.ok() ? fmt::format("\"{}\"", text) : "of no name"));
    }
    return true;
  }

  bool begin_object() {
    if (at_ == Place::kOutside) return enter(Place::kHeader);
    if (at_ == Place::kHeader) return enter(in_metadata_ ? Place::kMetadata : Place::kTensor);
    return scalar("an object");
  }

  bool key(std::string key) {
    if (at_ == Place::kHeader) return header_key(std::move(key));
    if (at_ == Place::kMetadata) {
      metadata_.push_back({key, {}, "text"});
      metadata_keys_.push_back(std::move(key));
      return true;
    }
    const Field field = field_called(key);
    if (field == kNoField) {
      return refuse(ErrorCode::kUnsupported,
                    fmt::format("tensor \"{}\" has a key other than dtype, shape and data_offsets", member().name));
    }
    if ((seen_ & field) != 0) {
      return refuse(ErrorCode::kMalformed, fmt::format("tensor \"{}\" has the key {} twice", member().name, key));
    }
    seen_ |= field;
    field_ = field;
    return true;
  }

  bool end_object() {
    if (at_ == Place::kHeader) return enter(Place::kOutside);
    if (at_ == Place::kTensor) {
      if (seen_ != (kDtype | kShape | kOffsets)) {
        return refuse(ErrorCode::kMalformed,
                      fmt::format("tensor \"{}\" lacks one of dtype, shape and data_offsets", member().name));
      }
      if (member().offsets.size() != 2) return wrong_offsets();
    }
    return enter(Place::kHeader);
  }

  bool begin_array() {
    if (at_ == Place::kTensor && field_ == kShape) return enter(Place::kShape);
    if (at_ == Place::kTensor && field_ == kOffsets) return enter(Place::kOffsets);
    return scalar("a list");
  }

  bool end_array() { return enter(Place::kTensor); }

  [[nodiscard]] std::vector<DescribedOption> take_metadata() { return std::move(metadata_); }
  [[nodiscard]] Status check_metadata() {
    std::sort(metadata_keys_.begin(), metadata_keys_.end());
    const auto twice = std::adjacent_find(metadata_keys_.begin(), metadata_keys_.end());
    if (twice == metadata_keys_.end()) return Done{};
    return safetensors_error(ErrorCode::kMalformed, kSizeField, "__metadata__ has a key twice");
  }

 private:
  enum class Place { kOutside, kHeader, kMetadata, kTensor, kShape, kOffsets };
  enum Field : unsigned { kNoField = 0, kDtype = 1, kShape = 2, kOffsets = 4 };
  static constexpr std::size_t kMaxShownWord = 32;

  static Field field_called(std::string_view key) noexcept {
    if (key == "dtype") return kDtype;
    if (key == "shape") return kShape;
    return key == "data_offsets" ? kOffsets : kNoField;
  }

  Member& member() noexcept { return members_.back(); }  // only inside of a tensor

  bool enter(Place place) noexcept {
    at_ = place;
    return true;
  }
  bool refuse(ErrorCode code, std::string message) {
    error_ = safetensors_error(code, kSizeField, std::move(message));
    return false;
  }
  bool wrong_offsets() {
    return refuse(ErrorCode::kMalformed,
                  fmt::format("the data_offsets of tensor \"{}\" are not two numbers", member().name));
  }

  // Refuses a value where none of its kind is allowed. The header itself begins with "{": it is an object.
  bool scalar(std::string_view found) {
    if (at_ == Place::kMetadata || (at_ == Place::kHeader && in_metadata_)) {
      return refuse(ErrorCode::kMalformed, fmt::format("found {} in __metadata__, an object of texts", found));
    }
    return refuse(ErrorCode::kMalformed,
                  fmt::format("tensor \"{}\": found {}; allowed: a dtype as text, shape and data_offsets as lists of "
                              "whole numbers",
                              member().name, found));
  }

  bool header_key(std::string key) {
    in_metadata_ = key == kMetadataKey;
    if (in_metadata_) {
      if (metadata_seen_) return refuse(ErrorCode::kMalformed, "__metadata__ appears twice");
      metadata_seen_ = true;
      return true;
    }
    if (members_.size() == kMaxImportedTensors) {
      return refuse(ErrorCode::kLimitExceeded, fmt::format("more than {} tensors", kMaxImportedTensors));
    }
    if (auto status = check_name(key, kMaxTensorNameSize, true, "tensor name"); !status.ok()) {
      return refuse(ErrorCode::kMalformed, std::move(status).error().message);
    }
    members_.push_back({.name = std::move(key), .type = nullptr, .shape = {}, .offsets = {}});
    seen_ = 0;
    field_ = kNoField;
    return true;
  }

  std::vector<Member> members_;
  std::vector<std::string> metadata_keys_;
  std::vector<DescribedOption> metadata_;
  std::optional<Error> error_;
  Place at_ = Place::kOutside;
  unsigned seen_ = 0;       // fields of the tensor
  Field field_ = kNoField;  // whose value comes next
  bool in_metadata_ = false;
  bool metadata_seen_ = false;
};

// Returns the size of a tensor; nothing if its bits do not fit 64 bits or are not whole bytes.
std::optional<std::uint64_t> size_of(const Member& member) noexcept {
  if (member.type->dtype) return tensor_size_bytes(*member.type->dtype, member.shape);
  std::uint64_t bits = member.type->bits;
  for (const std::uint64_t dim : member.shape) {
    const auto product = checked_mul(bits, dim);
    if (!product) return std::nullopt;
    bits = *product;
  }
  if (bits % 8 != 0) return std::nullopt;
  return bits / 8;
}

Status check_member(const Member& member, std::uint64_t data_begin, std::uint64_t data_size) {
  const std::uint64_t begin = member.offsets[0];
  const std::uint64_t end = member.offsets[1];
  const std::uint64_t place = data_begin + std::min(begin, data_size);
  if (end < begin) {
    return safetensors_error(
        ErrorCode::kMalformed, place,
        fmt::format("tensor \"{}\" begins at {} and ends before that, at {}", member.name, begin, end));
  }
  if (end > data_size) {
    return safetensors_error(ErrorCode::kTruncated, place,
                             fmt::format("tensor \"{}\" ends at byte {} of the data, but the file has {} of them",
                                         member.name, end, data_size));
  }
  const auto size = size_of(member);
  if (size != end - begin) {
    return safetensors_error(
        ErrorCode::kMalformed, place,
        fmt::format("tensor \"{}\" at byte {} has {} bytes, but {} [{}] takes {}", member.name, place, end - begin,
                    member.type->name, fmt::join(member.shape, ", "),
                    size ? fmt::format("{}", *size) : std::string("no whole number of bytes that fits 64 bits")));
  }
  return Done{};
}

}  // namespace

Result<ImportedIndex> parse_safetensors_header(ByteView header, std::uint64_t file_size) {
  const std::uint64_t data_begin = kSizeField + header.size();
  if (header.empty() || header.front() != std::byte{'{'}) {
    return safetensors_error(ErrorCode::kMalformed, kSizeField, "the header does not begin with \"{\"");
  }
  const std::uint64_t data_size = file_size - std::min(data_begin, file_size);
  HeaderReader header_reader;
  const auto* text = reinterpret_cast<const char*>(header.data());  // characters and bytes may alias
  JsonReader json({text, header.size()}, kMaxDepth, header_reader);
  const JsonOutcome outcome = json.read();
  if (header_reader.error()) return *std::move(header_reader.error());
  if (outcome != JsonOutcome::kWhole) {
    const std::uint64_t offset = kSizeField + json.position() - 1;
    return safetensors_error(ErrorCode::kMalformed, offset, fmt::format("the header is not JSON at byte {}", offset));
  }
  FATCTX_TRY(header_reader.check_metadata());

  std::vector<Member> members = header_reader.take();
  for (const Member& member : members) FATCTX_TRY(check_member(member, data_begin, data_size));
  // In pairs, because libstdc++ 12 compares such vectors by the bytes of their numbers on big-endian machines.
  std::stable_sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::pair(a.offsets[0], a.offsets[1]) < std::pair(b.offsets[0], b.offsets[1]);
  });
  ImportedIndex index;
  index.data = {data_begin, data_size};
  index.metadata = header_reader.take_metadata();
  index.tensors.reserve(members.size());
  std::uint64_t end = 0;
  for (Member& member : members) {
    const std::uint64_t begin = member.offsets[0];
    const std::uint64_t place = data_begin + begin;
    if (begin < end) {
      return safetensors_error(ErrorCode::kMalformed, place,
                               fmt::format("tensor \"{}\" at byte {} overlaps tensor \"{}\", which ends at byte {}",
                                           member.name, place, index.tensors.back().name, data_begin + end));
    }
    if (begin > end) {
      return safetensors_error(
          ErrorCode::kMalformed, data_begin + end,
          fmt::format("{} bytes before tensor \"{}\" at byte {} belong to no tensor", begin - end, member.name, place));
    }
    end = member.offsets[1];
    index.tensors.push_back({.name = std::move(member.name),
                             .dtype = member.type->dtype,
                             .type = member.type->name,
                             .shape = std::move(member.shape),
                             .range = {place, end - begin}});
  }
  if (end != data_size) {
    return safetensors_error(
        ErrorCode::kTrailingData, data_begin + end,
        fmt::format("{} bytes behind the last tensor, from byte {}", data_size - end, data_begin + end));
  }
  FATCTX_TRY(check_unique_names(index.tensors, kFormatName));
  return index;
}

Result<ImportedIndex> read_safetensors_index(const mapping::OsFile& file, std::uint64_t file_size) {
  if (file_size < kSizeField) {
    return safetensors_error(ErrorCode::kTruncated, 0,
                             fmt::format("{} bytes cannot hold the size of the header", file_size));
  }
  std::array<std::byte, kSizeField> field = {};
  FATCTX_TRY(file.read_at(0, field));
  FATCTX_ASSIGN(const le64 disk_size, copy_out<le64>(field, 0));
  const std::uint64_t header_size = disk_size;
  if (header_size > kMaxSafetensorsHeader) {
    return safetensors_error(
        ErrorCode::kLimitExceeded, 0,
        fmt::format("a header of {} bytes; at most {} are allowed", header_size, kMaxSafetensorsHeader));
  }
  if (header_size > file_size - kSizeField) {
    return safetensors_error(ErrorCode::kTruncated, 0,
                             fmt::format("a header of {} bytes leaves the file of {} bytes", header_size, file_size));
  }
  std::vector<std::byte> header(static_cast<std::size_t>(header_size));
  if (!header.empty()) FATCTX_TRY(file.read_at(kSizeField, header));
  return parse_safetensors_header(header, file_size);
}

}  // namespace fatctx::container

namespace fatctx {

Result<ImportedTensors> tensors_from_safetensors(const std::string& path) {
  return container::import_tensors(path, &container::read_safetensors_index, container::kFormatName);
}

Result<PackRecord> weights_from_safetensors(const std::string& path, const std::string& name) {
  FATCTX_ASSIGN(ImportedTensors imported, tensors_from_safetensors(path));
  return container::weight_record(path, name, container::kFormatName, std::move(imported));
}

}  // namespace fatctx
