#include "container/import/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "container/format/disk_format.h"
#include "container/format/names.h"
#include "fatctx/base/checked.h"
#include "fatctx/base/little_endian.h"
#include "fatctx/import_gguf.h"

namespace fatctx::container {
namespace {

constexpr std::string_view kFormat = "gguf";
constexpr std::string_view kAlignmentKey = "general.alignment";
constexpr std::uint64_t kDefaultAlignment = 32;
constexpr std::size_t kPieceSize = std::size_t{64} << 10;
constexpr std::uint64_t kMinPairSize = 8 + 1 + 4 + 1;        // key, type, value of one byte
constexpr std::uint64_t kMinTensorSize = 8 + 1 + 4 + 4 + 8;  // name, rank, type, offset

// Element types by their number in the file. Excludes numbers that ggml has retired, and q8_1, which exists only in
// memory and has different sizes in ggml's own programs.
struct ElementType {
  std::uint32_t number;
  std::string_view name;
  std::uint64_t elements;  // of a block
  std::uint64_t bytes;     // of a block
  std::optional<DType> dtype;
};
constexpr ElementType kElementTypes[] = {
    {0, "f32", 1, 4, DType::kF32},          {1, "f16", 1, 2, DType::kF16},
    {2, "q4_0", 32, 18, std::nullopt},      {3, "q4_1", 32, 20, std::nullopt},
    {6, "q5_0", 32, 22, std::nullopt},      {7, "q5_1", 32, 24, std::nullopt},
    {8, "q8_0", 32, 34, std::nullopt},      {10, "q2_k", 256, 84, std::nullopt},
    {11, "q3_k", 256, 110, std::nullopt},   {12, "q4_k", 256, 144, std::nullopt},
    {13, "q5_k", 256, 176, std::nullopt},   {14, "q6_k", 256, 210, std::nullopt},
    {15, "q8_k", 256, 292, std::nullopt},   {16, "iq2_xxs", 256, 66, std::nullopt},
    {17, "iq2_xs", 256, 74, std::nullopt},  {18, "iq3_xxs", 256, 98, std::nullopt},
    {19, "iq1_s", 256, 50, std::nullopt},   {20, "iq4_nl", 32, 18, std::nullopt},
    {21, "iq3_s", 256, 110, std::nullopt},  {22, "iq2_s", 256, 82, std::nullopt},
    {23, "iq4_xs", 256, 136, std::nullopt}, {24, "i8", 1, 1, DType::kI8},
    {25, "i16", 1, 2, DType::kI16},         {26, "i32", 1, 4, DType::kI32},
    {27, "i64", 1, 8, DType::kI64},         {28, "f64", 1, 8, DType::kF64},
    {29, "iq1_m", 256, 56, std::nullopt},   {30, "bf16", 1, 2, DType::kBF16},
    {34, "tq1_0", 256, 54, std::nullopt},   {35, "tq2_0", 256, 66, std::nullopt},
    {39, "mxfp4", 32, 17, std::nullopt},    {40, "nvfp4", 64, 36, std::nullopt},
    {41, "q1_0", 128, 18, std::nullopt},
};

enum ValueType : std::uint32_t { kBoolValue = 7, kTextValue = 8, kArrayValue = 9, kU32Value = 4, kValueTypes = 13 };
// Size of a value by its type; 0 if it varies.
constexpr std::uint64_t kValueSizes[kValueTypes] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
constexpr std::string_view kValueNames[kValueTypes] = {"uint8",  "int8",    "uint16",  "int16", "uint32",
                                                       "int32",  "float32", "boolean", "text",  "array",
                                                       "uint64", "int64",   "float64"};
constexpr std::uint64_t kShownElements = 4;  // so many elements of an array are shown

Error gguf_error(ErrorCode code, std::uint64_t offset, std::string message) {
  return Error{code, "gguf: " + std::move(message), {.file_offset = offset}};
}

// A reader of the index that moves forward, one piece at a time, and does not read skipped bytes.
class Cursor {
 public:
  Cursor(const mapping::OsFile& file, std::uint64_t file_size)
      : file_(file), file_size_(file_size), end_(std::min(file_size, kMaxGgufIndexBytes)) {}

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  [[nodiscard]] std::uint64_t remaining() const noexcept { return end_ - position_; }

  [[nodiscard]] Status require(std::uint64_t size, std::string_view what) const {
    if (size > remaining()) return too_short(size, what);
    return Done{};
  }
  [[nodiscard]] Status skip(std::uint64_t size, std::string_view what) {
    if (size > remaining()) return too_short(size, what);
    position_ += size;
    return Done{};
  }
  template <typename T>
  [[nodiscard]] Result<T> number(std::string_view what) {
    LittleEndian<T> value;
    static_assert(sizeof value == sizeof(T));
    std::array<std::byte, sizeof(T)> bytes;
    FATCTX_TRY(read(bytes, what));
    std::memcpy(&value, bytes.data(), sizeof value);
    return static_cast<T>(value);
  }
  // Requires: the caller bounds the size, which is allocated first.
  [[nodiscard]] Result<std::string> bytes(std::uint64_t size, std::string_view what) {
    std::string result(static_cast<std::size_t>(size), '\0');
    FATCTX_TRY(read(std::as_writable_bytes(std::span(result)), what));
    return result;
  }
  // Reads a text of at most `max_size` bytes; refuses longer ones before memory is allocated for them.
  [[nodiscard]] Result<std::string> text(std::uint64_t max_size, std::string_view what) {
    const std::uint64_t at = position_;
    FATCTX_ASSIGN(const auto size, number<std::uint64_t>(what));
    if (size > max_size) {
      return gguf_error(ErrorCode::kLimitExceeded, at,
                        fmt::format("{} at byte {} has {} bytes; at most {} are allowed", what, at, size, max_size));
    }
    return bytes(size, what);
  }

 private:
  Error too_short(std::uint64_t size, std::string_view what) const {
    if (file_size_ > kMaxGgufIndexBytes) {
      return gguf_error(ErrorCode::kLimitExceeded, position_,
                        fmt::format("{} at byte {} is beyond the first {} bytes, more than an index may have", what,
                                    position_, kMaxGgufIndexBytes));
    }
    return gguf_error(
        ErrorCode::kTruncated, position_,
        fmt::format("{} at byte {} takes {} bytes, but the file ends at {}", what, position_, size, file_size_));
  }

  [[nodiscard]] Status read(std::span<std::byte> target, std::string_view what) {
    if (target.size() > remaining()) return too_short(target.size(), what);
    while (!target.empty()) {
      if (position_ < piece_begin_ || position_ >= piece_begin_ + piece_.size()) FATCTX_TRY(fetch());
      const auto from = static_cast<std::size_t>(position_ - piece_begin_);
      const std::size_t count = std::min(target.size(), piece_.size() - from);
      std::memcpy(target.data(), piece_.data() + from, count);
      target = target.subspan(count);
      position_ += count;
    }
    return Done{};
  }
  [[nodiscard]] Status fetch() {
    piece_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kPieceSize, remaining())));
    piece_begin_ = position_;
    return file_.read_at(piece_begin_, piece_);
  }

  const mapping::OsFile& file_;
  std::uint64_t file_size_;
  std::uint64_t end_;
  std::uint64_t position_ = 0;
  std::uint64_t piece_begin_ = 0;
  std::vector<std::byte> piece_;
};

// Returns the key for a message, if it is valid there.
std::string shown(const std::string& key) {
  return check_name(key, kMaxNameSize, true, "key").ok() ? fmt::format("\"{}\"", key) : std::string("of no name");
}

Status skip_texts(Cursor& cursor, std::uint64_t count, const std::string& what) {
  for (std::uint64_t i = 0; i < count; ++i) {
    FATCTX_ASSIGN(const auto size, cursor.number<std::uint64_t>(what));
    FATCTX_TRY(cursor.skip(size, what));
  }
  return Done{};
}

template <typename T>
Result<std::string> number_text(Cursor& cursor, const std::string& what) {
  FATCTX_ASSIGN(const T value, cursor.number<T>(what));
  return fmt::format("{}", value);
}

// Reads a value of a fixed size.
Result<std::string> read_number(Cursor& cursor, std::uint32_t type, const std::string& what) {
  switch (type) {
    case 0:
      return number_text<std::uint8_t>(cursor, what);
    case 1:
      return number_text<std::int8_t>(cursor, what);
    case 2:
      return number_text<std::uint16_t>(cursor, what);
    case 3:
      return number_text<std::int16_t>(cursor, what);
    case kU32Value:
      return number_text<std::uint32_t>(cursor, what);
    case 5:
      return number_text<std::int32_t>(cursor, what);
    case 6: {
      FATCTX_ASSIGN(const auto bits, cursor.number<std::uint32_t>(what));
      return fmt::format("{}", std::bit_cast<float>(bits));
    }
    case kBoolValue: {
      FATCTX_ASSIGN(const auto value, cursor.number<std::uint8_t>(what));
      return std::string(value == 0 ? "false" : "true");
    }
    case 10:
      return number_text<std::uint64_t>(cursor, what);
    case 11:
      return number_text<std::int64_t>(cursor, what);
    default: {
      FATCTX_ASSIGN(const auto bits, cursor.number<std::uint64_t>(what));
      return fmt::format("{}", std::bit_cast<double>(bits));
    }
  }
}

// Reads the beginning of a text and skips the rest.
Result<std::string> read_text(Cursor& cursor, const std::string& what) {
  FATCTX_ASSIGN(const auto size, cursor.number<std::uint64_t>(what));
  FATCTX_TRY(cursor.require(size, what));
  FATCTX_ASSIGN(std::string text, cursor.bytes(std::min<std::uint64_t>(size, kMaxShownMetadata + 1), what));
  FATCTX_TRY(cursor.skip(size - text.size(), what));
  return shown_metadata(std::move(text), size);
}

// Reads the first elements of an array, and skips the others.
Result<std::string> read_array(Cursor& cursor, const std::string& what) {
  const std::uint64_t at = cursor.position();
  FATCTX_ASSIGN(const auto type, cursor.number<std::uint32_t>(what));
  FATCTX_ASSIGN(const auto count, cursor.number<std::uint64_t>(what));
  if (type == kArrayValue) {
    return gguf_error(ErrorCode::kUnsupported, at, fmt::format("{} is an array of arrays, which ggml has not", what));
  }
  if (type >= kValueTypes) {
    return gguf_error(ErrorCode::kUnsupported, at, fmt::format("{} is an array of the unknown type {}", what, type));
  }
  const std::uint64_t each = type == kTextValue ? sizeof(le64) : kValueSizes[type];
  if (count > cursor.remaining() / each) {
    return gguf_error(ErrorCode::kTruncated, at,
                      fmt::format("{} has {} elements, which do not fit the index behind byte {}", what, count, at));
  }
  std::string text = fmt::format("{} {}", count, kValueNames[type]);
  if (type == kTextValue) {
    FATCTX_TRY(skip_texts(cursor, count, what));
    return text;
  }
  const std::uint64_t shown = std::min(count, kShownElements);
  for (std::uint64_t i = 0; i < shown; ++i) {
    FATCTX_ASSIGN(const std::string number, read_number(cursor, type, what));
    text += (i == 0 ? ": " : ", ") + number;
  }
  FATCTX_TRY(cursor.skip((count - shown) * each, what));
  return shown < count ? text + ", ..." : text;
}

// Reads the metadata and returns the alignment.
Result<std::uint64_t> read_pairs(Cursor& cursor, std::uint64_t count, std::vector<DescribedOption>& metadata) {
  std::uint64_t alignment = kDefaultAlignment;
  std::set<std::string> keys;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = cursor.position();
    FATCTX_ASSIGN(std::string key, cursor.text(kMaxGgufKeySize, fmt::format("the key of pair {}", i)));
    const std::string what = fmt::format("the value of key {}", shown(key));
    const std::uint64_t type_at = cursor.position();
    FATCTX_ASSIGN(const auto type, cursor.number<std::uint32_t>(what));
    if (type >= kValueTypes) {
      return gguf_error(ErrorCode::kUnsupported, type_at, fmt::format("{} has the unknown type {}", what, type));
    }
    std::string shown_value;
    if (key == kAlignmentKey) {
      if (type != kU32Value) {
        return gguf_error(ErrorCode::kMalformed, type_at,
                          fmt::format("{} has the type {}; it is a uint32", what, type));
      }
      const std::uint64_t value_at = cursor.position();
      FATCTX_ASSIGN(const auto value, cursor.number<std::uint32_t>(what));
      if (!std::has_single_bit(value)) {
        return gguf_error(ErrorCode::kMalformed, value_at, fmt::format("{} is {}, not a power of two", what, value));
      }
      alignment = value;
      shown_value = fmt::format("{}", value);
    } else {
      FATCTX_ASSIGN(shown_value, type == kArrayValue  ? read_array(cursor, what)
                                 : type == kTextValue ? read_text(cursor, what)
                                                      : read_number(cursor, type, what));
    }
    metadata.push_back({key, std::move(shown_value), std::string(kValueNames[type])});
    const auto [place, inserted] = keys.insert(std::move(key));
    if (!inserted) {
      return gguf_error(ErrorCode::kMalformed, at, fmt::format("the key {} appears twice", shown(*place)));
    }
  }
  return alignment;
}

// A tensor as the index describes it; `range.offset` still counts from the first byte of the data.
struct IndexedTensor {
  ImportedTensor tensor;
  std::uint64_t at = 0;  // of its entry
};

// Returns the size of rows of whole blocks; nothing if it does not fit 64 bits. Requires: the rows are whole blocks.
std::optional<std::uint64_t> size_of(const ElementType& type, std::span<const std::uint64_t> shape) noexcept {
  if (type.dtype) return tensor_size_bytes(*type.dtype, shape);
  std::uint64_t bytes = type.bytes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool row = i + 1 == shape.size();
    const auto product = checked_mul(bytes, row ? shape[i] / type.elements : shape[i]);
    if (!product) return std::nullopt;
    bytes = *product;
  }
  return bytes;
}

Result<IndexedTensor> read_tensor(Cursor& cursor, std::uint64_t i) {
  IndexedTensor result;
  result.at = cursor.position();
  ImportedTensor& tensor = result.tensor;
  FATCTX_ASSIGN(tensor.name, cursor.text(kMaxTensorNameSize, fmt::format("the name of tensor {}", i)));
  if (auto status = check_name(tensor.name, kMaxTensorNameSize, true, fmt::format("name of tensor {}", i));
      !status.ok()) {
    return gguf_error(ErrorCode::kMalformed, result.at, std::move(status).error().message);
  }
  const std::string what = fmt::format("tensor \"{}\"", tensor.name);
  const std::uint64_t rank_at = cursor.position();
  FATCTX_ASSIGN(const auto rank, cursor.number<std::uint32_t>(what));
  if (rank > kMaxGgufRank) {
    return gguf_error(ErrorCode::kMalformed, rank_at,
                      fmt::format("{} has {} dimensions; at most {} are allowed", what, rank, kMaxGgufRank));
  }
  for (std::uint32_t j = 0; j < rank; ++j) {
    FATCTX_ASSIGN(const auto dim, cursor.number<std::uint64_t>(what));
    tensor.shape.push_back(dim);
  }
  std::reverse(tensor.shape.begin(), tensor.shape.end());  // the file has the innermost first
  const std::uint64_t type_at = cursor.position();
  FATCTX_ASSIGN(const auto number, cursor.number<std::uint32_t>(what));
  const auto* type = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                  [&](const ElementType& row) { return row.number == number; });
  if (type == std::end(kElementTypes)) {
    return gguf_error(ErrorCode::kUnsupported, type_at,
                      fmt::format("{} at byte {} has the unknown element type {}", what, result.at, number));
  }
  const std::uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  if (row % type->elements != 0) {
    return gguf_error(ErrorCode::kMalformed, rank_at,
                      fmt::format("{}: rows of {} elements are no whole blocks of {}, {} elements each", what, row,
                                  type->name, type->elements));
  }
  const auto size = size_of(*type, tensor.shape);
  if (!size) {
    return gguf_error(
        ErrorCode::kMalformed, rank_at,
        fmt::format("the size of {}, {} [{}], does not fit 64 bits", what, type->name, fmt::join(tensor.shape, ", ")));
  }
  tensor.type = type->name;
  tensor.dtype = type->dtype;
  tensor.range.size = *size;
  FATCTX_ASSIGN(tensor.range.offset, cursor.number<std::uint64_t>(what));
  return result;
}

// Turns offsets in the data into offsets in the file. Requires that tensors are in the order of the index, each
// aligned: all writers of these files do so, and ggml reads no others.
Status place_tensors(std::vector<IndexedTensor>& tensors, ByteRange data, std::uint64_t alignment) {
  const auto log2 = static_cast<unsigned>(std::countr_zero(alignment));
  std::uint64_t expected = 0;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    ImportedTensor& tensor = tensors[i].tensor;
    const std::uint64_t offset = tensor.range.offset;
    if (offset != expected) {
      const std::string behind = i == 0 ? std::string("the first one begins at 0")
                                        : fmt::format("tensor \"{}\" before it ends at {}, so it begins at {}",
                                                      tensors[i - 1].tensor.name, end, expected);
      return gguf_error(
          ErrorCode::kMalformed, tensors[i].at,
          fmt::format("tensor \"{}\" {} at byte {} of the data; {}", tensor.name,
                      offset < end ? "overlaps another" : "leaves a gap or is not aligned", offset, behind));
    }
    if (!within(tensor.range, data.size)) {
      return gguf_error(
          ErrorCode::kTruncated, tensors[i].at,
          fmt::format("tensor \"{}\", {} bytes at {} of the data, leaves the file, which has {} bytes of it",
                      tensor.name, tensor.range.size, offset, data.size));
    }
    end = offset + tensor.range.size;  // inside the file: cannot wrap
    expected = checked_align_up(end, log2).value_or(end);
    tensor.range.offset += data.offset;
  }
  if (data.size > expected) {
    return gguf_error(ErrorCode::kTrailingData, data.offset + expected,
                      fmt::format("{} bytes behind the last tensor and its padding, from byte {}", data.size - expected,
                                  data.offset + expected));
  }
  return Done{};
}

Result<std::uint64_t> read_count(Cursor& cursor, std::uint64_t max, std::uint64_t min_size, std::string_view what) {
  const std::uint64_t at = cursor.position();
  FATCTX_ASSIGN(const auto count, cursor.number<std::uint64_t>(what));
  if (count > max) {
    return gguf_error(ErrorCode::kLimitExceeded, at, fmt::format("{} is {}; at most {} are allowed", what, count, max));
  }
  if (count > cursor.remaining() / min_size) {
    return gguf_error(ErrorCode::kTruncated, at,
                      fmt::format("{} is {}, more than fit the {} bytes behind it", what, count, cursor.remaining()));
  }
  return count;
}

}  // namespace

Result<ImportedIndex> read_gguf_index(const mapping::OsFile& file, std::uint64_t file_size) {
  Cursor cursor(file, file_size);
  FATCTX_ASSIGN(const auto magic, cursor.number<std::uint32_t>("the magic"));
  if (magic != 0x46554747) {  // "GGUF", little-endian
    return gguf_error(ErrorCode::kBadMagic, 0, "does not start with \"GGUF\"");
  }
  const std::uint64_t version_at = cursor.position();
  FATCTX_ASSIGN(const auto version, cursor.number<std::uint32_t>("the version"));
  if (version != 2 && version != 3) {
    const bool big_endian = version != 0 && (version & 0xffff) == 0;
    return gguf_error(ErrorCode::kUnsupported, version_at,
                      big_endian ? std::string("a big-endian file; this library reads little-endian ones")
                                 : fmt::format("version {}; this library reads versions 2 and 3", version));
  }
  FATCTX_ASSIGN(const std::uint64_t tensor_count,
                read_count(cursor, kMaxImportedTensors, kMinTensorSize, "the number of tensors"));
  FATCTX_ASSIGN(const std::uint64_t pair_count,
                read_count(cursor, kMaxGgufPairs, kMinPairSize, "the number of key-value pairs"));
  std::vector<DescribedOption> metadata;
  FATCTX_ASSIGN(const std::uint64_t alignment, read_pairs(cursor, pair_count, metadata));
  std::vector<IndexedTensor> tensors;
  tensors.reserve(static_cast<std::size_t>(std::min(tensor_count, cursor.remaining() / kMinTensorSize)));
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    FATCTX_ASSIGN(IndexedTensor tensor, read_tensor(cursor, i));
    tensors.push_back(std::move(tensor));
  }
  // Cannot wrap: the position is at most 256 MiB, and the alignment at most 2 GiB.
  const std::uint64_t data_begin = (cursor.position() + alignment - 1) & ~(alignment - 1);
  ImportedIndex index;
  // A file with only empty tensors may end before the alignment.
  const std::uint64_t begin = std::min(data_begin, file_size);
  index.data = {begin, file_size - begin};
  index.metadata = std::move(metadata);
  FATCTX_TRY(place_tensors(tensors, index.data, alignment));
  index.tensors.reserve(tensors.size());
  for (IndexedTensor& indexed : tensors) index.tensors.push_back(std::move(indexed.tensor));
  FATCTX_TRY(check_unique_names(index.tensors, kFormat));
  return index;
}

}  // namespace fatctx::container

namespace fatctx {

Result<ImportedTensors> tensors_from_gguf(const std::string& path) {
  return container::import_tensors(path, &container::read_gguf_index, container::kFormat);
}

Result<PackRecord> weights_from_gguf(const std::string& path, const std::string& name) {
  FATCTX_ASSIGN(ImportedTensors imported, tensors_from_gguf(path));
  return container::weight_record(path, name, container::kFormat, std::move(imported));
}

}  // namespace fatctx
