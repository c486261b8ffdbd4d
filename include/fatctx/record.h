// The nouns of a container: record types, versions, selection keys, tensors. Plain values, no IO.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx {

// The numbers are stored in the file (docs/format.md, section 5.2).
enum class RecordType : std::uint16_t {
  kContextBinary = 1,
  kWeightBlob = 2,
  kTensorTable = 3,
  kSourceModel = 4,
  kWrapperModel = 5,
  kDescription = 6,
  kOpaque = 7,
};

// Returns "context_binary", "weight_blob", ...; "type 9" is printed as "unknown". Static storage.
[[nodiscard]] std::string_view record_type_name(RecordType type) noexcept;
[[nodiscard]] std::optional<RecordType> record_type_from_name(std::string_view name) noexcept;

// The way in which the bytes of a record are stored. The numbers are stored in the file (docs/format.md, section 5.2).
enum class Codec : std::uint8_t {
  kNone = 0,  // as they are
  kLz4 = 1,   // as one lz4 frame: smaller, to be streamed, never to be mapped
};

// Returns "none", "lz4"; "unknown" for a number not listed. Static storage.
[[nodiscard]] std::string_view codec_name(Codec codec) noexcept;
[[nodiscard]] std::optional<Codec> codec_from_name(std::string_view name) noexcept;

// A four-part version, ordered part by part. All zero means "unknown".
struct Version {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
  std::uint32_t patch = 0;
  std::uint32_t build = 0;  // wide enough for build numbers that are dates: 2.31.0.250130

  friend constexpr auto operator<=>(const Version&, const Version&) noexcept = default;
  [[nodiscard]] constexpr bool known() const noexcept { return *this != Version{}; }
};

// Reads "2", "2.48", "2.48.0", "2.48.0.1"; a leading "v" is allowed. Errors: invalid_argument.
[[nodiscard]] Result<Version> parse_version(std::string_view text);
[[nodiscard]] std::string to_text(const Version& version);  // trailing zero parts are left out, "2.0" at least

// XXH3-128 in canonical (big-endian) byte order. Protects against accidents, not against authors.
struct Hash128 {
  std::array<std::byte, 16> bytes = {};

  friend constexpr bool operator==(const Hash128&, const Hash128&) noexcept = default;
  friend constexpr auto operator<=>(const Hash128&, const Hash128&) noexcept = default;
};
[[nodiscard]] std::string to_hex(std::span<const std::byte> bytes);

// A key with the facts that a record was built for. Unique per container as a whole, except `api`, `blob` and
// `generic`, which are facts for selection. Empty strings and zeros mean "not stated".
//
// Lifetime: the strings borrow from the maker of the key (a Container; the caller of pack or select).
struct SelectionKey {
  RecordType type = RecordType::kOpaque;
  std::string_view group = {};     // graphs that belong together and share weights
  std::string_view unit = {};      // the graph set that one binary holds
  std::string_view backend = {};   // "cpu", "htp", ...
  std::uint32_t qnn_soc = 0;       // vendor number (QNN soc_model), not the kernel's soc_id
  std::string_view part = {};      // part name of the SoC: "SM8650"
  std::string_view arch = {};      // "x86-64-v3", "aarch64", "v75"
  std::string_view features = {};  // canonical list of required features: sorted, comma separated, no blanks
  std::uint32_t vtcm_mb = 0;
  Version sdk = {};
  std::string_view variant = {};
  Version api = {};
  Version blob = {};
  bool generic = false;  // fits every device of its backend, as a fallback
};

// Compares keys in their canonical order: type, group, unit, backend, qnn_soc, part, arch, features, vtcm_mb, sdk,
// variant. Strings compare as bytes. Record ids of a packed file follow this order.
[[nodiscard]] std::strong_ordering compare_keys(const SelectionKey& a, const SelectionKey& b) noexcept;

// Returns the target part of the key, for people: "cpu x86-64-v3", "htp SM8650 soc 57 v75 vtcm 8".
[[nodiscard]] std::string target_text(const SelectionKey& key);

// Element types of tensors. The numbers are stored in the file (docs/format.md, section 6).
enum class DType : std::uint16_t {
  kF32 = 1,
  kF64 = 2,
  kF16 = 3,
  kBF16 = 4,
  kI8 = 5,
  kI16 = 6,
  kI32 = 7,
  kI64 = 8,
  kU8 = 9,
  kU16 = 10,
  kU32 = 11,
  kU64 = 12,
  kBool = 13,
  kI4 = 14,  // two elements a byte, the first in the low half; an odd count leaves the last half unused
  kU4 = 15,
};
[[nodiscard]] std::string_view dtype_name(DType dtype) noexcept;  // "float32", "int4", ...
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view name) noexcept;
[[nodiscard]] std::uint32_t dtype_bits(DType dtype) noexcept;  // bits an element takes; 0 for a number not listed

// Returns the bytes that a tensor of this type and shape takes: row-major, without gaps, types below a byte rounded up
// to whole bytes. Nothing if the type is unknown or the size in bits does not fit 64 bits. A dimension of zero counts
// as one in that check, so that the strides of an accepted tensor can be computed without another.
[[nodiscard]] std::optional<std::uint64_t> tensor_size_bytes(DType dtype,
                                                             std::span<const std::uint64_t> shape) noexcept;

// A tensor and its position inside its weight blob.
//
// Lifetime: `name` and `shape` borrow from the table or from the caller.
struct TensorInfo {
  std::string_view name = {};  // UTF-8, at most 4,096 bytes; `/` is allowed
  DType dtype = DType::kU8;
  // Elements per dimension, outermost first; empty for a scalar; rank at most 8.
  std::span<const std::uint64_t> shape = {};
  std::uint64_t offset_in_blob = 0;  // bytes
  std::uint64_t size_bytes = 0;      // bytes; row-major without gaps
  bool alias = false;                // shares bytes with another tensor on purpose
};

// A record of a container, as its table of contents describes it. Lifetime: its name, the texts of its key and
// `weights` borrow from the container.
struct RecordInfo {
  std::uint32_t id = 0;
  RecordType type = RecordType::kOpaque;
  bool ignorable = false;
  bool must_map = false;
  bool supported = true;       // false: this version lists the record but cannot hand it out (unknown type or codec)
  bool recipe = false;         // stored as a program and the bytes it copies from; its bytes are made on request
  Codec codec = Codec::kNone;  // with any other it has no view: stream_record() and extract_record() give its bytes
  std::string_view name;
  std::uint64_t size_bytes = 0;    // logical
  std::uint64_t stored_bytes = 0;  // sum of its slices
  std::uint32_t slice_count = 0;
  std::uint64_t file_offset = 0;  // of the first slice; 0 for an empty record
  Hash128 hash;                   // of the logical bytes
  SelectionKey key;
  // Ids of the weight blobs that it refers to.
  std::span<const std::uint32_t> weights;
};

}  // namespace fatctx
