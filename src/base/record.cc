#include "fatctx/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

#include "base/named_values.h"
#include "fatctx/base/checked.h"

namespace fatctx {
namespace {

constexpr NamedValue<RecordType> kRecordTypes[] = {
    {RecordType::kContextBinary, "context_binary"},
    {RecordType::kWeightBlob, "weight_blob"},
    {RecordType::kTensorTable, "tensor_table"},
    {RecordType::kSourceModel, "source_model"},
    {RecordType::kWrapperModel, "wrapper_model"},
    {RecordType::kDescription, "description"},
    {RecordType::kOpaque, "opaque"},
};

constexpr NamedValue<Codec> kCodecs[] = {
    {Codec::kNone, "none"},
    {Codec::kLz4, "lz4"},
};

struct DTypeRow {
  DType value;
  std::string_view name;
  std::uint32_t bits;
};
constexpr DTypeRow kDTypes[] = {
    {DType::kF32, "float32", 32},   {DType::kF64, "float64", 64}, {DType::kF16, "float16", 16},
    {DType::kBF16, "bfloat16", 16}, {DType::kI8, "int8", 8},      {DType::kI16, "int16", 16},
    {DType::kI32, "int32", 32},     {DType::kI64, "int64", 64},   {DType::kU8, "uint8", 8},
    {DType::kU16, "uint16", 16},    {DType::kU32, "uint32", 32},  {DType::kU64, "uint64", 64},
    {DType::kBool, "bool", 8},      {DType::kI4, "int4", 4},      {DType::kU4, "uint4", 4},
};

Error not_a_version(std::string_view text, std::string_view why) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("version \"{}\": {}; write one to four numbers up to 65535 with dots between them, such as "
                           "\"2.48\" or \"2.48.0.1\"",
                           text, why)};
}

}  // namespace

std::string_view record_type_name(RecordType type) noexcept { return name_in(kRecordTypes, type); }

std::optional<RecordType> record_type_from_name(std::string_view name) noexcept { return value_in(kRecordTypes, name); }

std::string_view codec_name(Codec codec) noexcept { return name_in(kCodecs, codec); }

std::optional<Codec> codec_from_name(std::string_view name) noexcept { return value_in(kCodecs, name); }

Result<Version> parse_version(std::string_view text) {
  std::string_view rest = text;
  if (!rest.empty() && rest.front() == 'v') rest.remove_prefix(1);
  if (rest.empty()) return not_a_version(text, "there is no number");

  Version version;
  for (int part = 0; part < 4; ++part) {
    std::uint32_t number = 0;
    const std::uint32_t most = part < 2 ? 65'535 : std::numeric_limits<std::uint32_t>::max();
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    if (status == std::errc::result_out_of_range || (status == std::errc{} && number > most)) {
      return not_a_version(text, fmt::format("a number is above {}", most));
    }
    if (status != std::errc{}) return not_a_version(text, "a number is missing");
    switch (part) {
      case 0:
        version.major = static_cast<std::uint16_t>(number);
        break;
      case 1:
        version.minor = static_cast<std::uint16_t>(number);
        break;
      case 2:
        version.patch = number;
        break;
      default:
        version.build = number;
        break;
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return version;
    if (rest.front() != '.') return not_a_version(text, fmt::format("unexpected \"{}\"", rest));
    rest.remove_prefix(1);
  }
  return not_a_version(text, "there are more than four parts");
}

std::string to_text(const Version& version) {
  if (version.build != 0) {
    return fmt::format("{}.{}.{}.{}", version.major, version.minor, version.patch, version.build);
  }
  if (version.patch != 0) return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
  return fmt::format("{}.{}", version.major, version.minor);
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{0x0f})];
  }
  return text;
}

std::strong_ordering compare_keys(const SelectionKey& a, const SelectionKey& b) noexcept {
  if (const auto order = a.type <=> b.type; order != 0) return order;
  if (const auto order = a.group <=> b.group; order != 0) return order;
  if (const auto order = a.unit <=> b.unit; order != 0) return order;
  if (const auto order = a.backend <=> b.backend; order != 0) return order;
  if (const auto order = a.qnn_soc <=> b.qnn_soc; order != 0) return order;
  if (const auto order = a.part <=> b.part; order != 0) return order;
  if (const auto order = a.arch <=> b.arch; order != 0) return order;
  if (const auto order = a.features <=> b.features; order != 0) return order;
  if (const auto order = a.vtcm_mb <=> b.vtcm_mb; order != 0) return order;
  if (const auto order = a.sdk <=> b.sdk; order != 0) return order;
  return a.variant <=> b.variant;
}

std::string target_text(const SelectionKey& key) {
  std::string text;
  const auto add = [&text](std::string_view word) {
    if (word.empty()) return;
    if (!text.empty()) text += ' ';
    text += word;
  };
  add(key.backend);
  add(key.part);
  if (key.qnn_soc != 0) add(fmt::format("soc {}", key.qnn_soc));
  std::string arch(key.arch);
  if (!key.features.empty()) {
    arch += '+';
    arch += key.features;
    std::replace(arch.begin(), arch.end(), ',', '+');
  }
  add(arch);
  if (key.vtcm_mb != 0) add(fmt::format("vtcm {}", key.vtcm_mb));
  if (key.sdk.known()) add(fmt::format("sdk {}", to_text(key.sdk)));
  add(key.variant);
  if (key.generic) add("generic");
  return text.empty() ? "no target" : text;
}

std::string_view dtype_name(DType dtype) noexcept { return name_in(kDTypes, dtype); }

std::optional<DType> dtype_from_name(std::string_view name) noexcept { return value_in(kDTypes, name); }

std::uint32_t dtype_bits(DType dtype) noexcept {
  const DTypeRow* row = row_of(kDTypes, dtype);
  return row == nullptr ? 0 : row->bits;
}

std::optional<std::uint64_t> tensor_size_bytes(DType dtype, std::span<const std::uint64_t> shape) noexcept {
  const std::uint32_t bits = dtype_bits(dtype);
  if (bits == 0) return std::nullopt;
  std::uint64_t total_bits = bits;
  bool empty = false;
  for (const std::uint64_t dim : shape) {
    empty = empty || dim == 0;
    const auto product = checked_mul(total_bits, std::max<std::uint64_t>(dim, 1));
    if (!product) return std::nullopt;
    total_bits = *product;
  }
  if (empty) return 0;
  return total_bits / 8 + (total_bits % 8 != 0 ? 1 : 0);
}

}  // namespace fatctx
