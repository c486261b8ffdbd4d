#include "fatctx/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fatctx {
namespace record_test {

struct TypeRow {
  int number;
  RecordType type;
  const char* name;
};
constexpr TypeRow kTypes[] = {
    {1, RecordType::kContextBinary, "context_binary"},
    {2, RecordType::kWeightBlob, "weight_blob"},
    {3, RecordType::kTensorTable, "tensor_table"},
    {4, RecordType::kSourceModel, "source_model"},
    {5, RecordType::kWrapperModel, "wrapper_model"},
    {6, RecordType::kDescription, "description"},
    {7, RecordType::kOpaque, "opaque"},
};

TEST(Codec, NamesAndNumbersStayWhatTheyAre) {
  EXPECT_EQ(static_cast<int>(Codec::kNone), 0);
  EXPECT_EQ(static_cast<int>(Codec::kLz4), 1);
  EXPECT_EQ(codec_name(Codec::kNone), "none");
  EXPECT_EQ(codec_name(Codec::kLz4), "lz4");
  EXPECT_EQ(codec_name(static_cast<Codec>(2)), "unknown");
  EXPECT_EQ(codec_from_name("none"), Codec::kNone);
  EXPECT_EQ(codec_from_name("lz4"), Codec::kLz4);
  for (const char* name : {"", "LZ4", "unknown", "zstd"}) EXPECT_EQ(codec_from_name(name), std::nullopt) << name;
}

TEST(RecordType, NumbersAndNamesAreThoseOfTheFormat) {
  for (const auto& row : kTypes) {
    EXPECT_EQ(static_cast<int>(row.type), row.number) << row.name;
    EXPECT_EQ(record_type_name(row.type), row.name);
    EXPECT_EQ(record_type_from_name(row.name), row.type);
  }
}

TEST(RecordType, OtherNumbersAndNamesAreUnknown) {
  for (int number = 0; number <= 0xffff; ++number) {
    const bool listed = number >= 1 && number <= 7;
    EXPECT_EQ(record_type_name(static_cast<RecordType>(number)) != "unknown", listed) << number;
  }
  for (const char* name : {"", "unknown", "Opaque", "opaque ", "context-binary"}) {
    EXPECT_EQ(record_type_from_name(name), std::nullopt) << name;
  }
}

struct DTypeRow {
  int number;
  DType dtype;
  const char* name;
  std::uint32_t bits;
};
constexpr DTypeRow kDTypes[] = {
    {1, DType::kF32, "float32", 32},   {2, DType::kF64, "float64", 64}, {3, DType::kF16, "float16", 16},
    {4, DType::kBF16, "bfloat16", 16}, {5, DType::kI8, "int8", 8},      {6, DType::kI16, "int16", 16},
    {7, DType::kI32, "int32", 32},     {8, DType::kI64, "int64", 64},   {9, DType::kU8, "uint8", 8},
    {10, DType::kU16, "uint16", 16},   {11, DType::kU32, "uint32", 32}, {12, DType::kU64, "uint64", 64},
    {13, DType::kBool, "bool", 8},     {14, DType::kI4, "int4", 4},     {15, DType::kU4, "uint4", 4},
};

TEST(DType, NumbersNamesAndSizesAreThoseOfTheFormat) {
  for (const auto& row : kDTypes) {
    EXPECT_EQ(static_cast<int>(row.dtype), row.number) << row.name;
    EXPECT_EQ(dtype_name(row.dtype), row.name);
    EXPECT_EQ(dtype_from_name(row.name), row.dtype);
    EXPECT_EQ(dtype_bits(row.dtype), row.bits) << row.name;
  }
}

TEST(DType, OtherNumbersHaveNoNameAndNoSize) {
  for (int number = 0; number <= 0xffff; ++number) {
    const auto dtype = static_cast<DType>(number);
    const bool listed = number >= 1 && number <= 15;
    EXPECT_EQ(dtype_name(dtype) != "unknown", listed) << number;
    EXPECT_EQ(dtype_bits(dtype) != 0, listed) << number;
  }
  EXPECT_EQ(dtype_from_name("unknown"), std::nullopt);
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
}

struct VersionRow {
  const char* text;
  Version version;
  const char* printed;
};
constexpr VersionRow kVersions[] = {
    {"2", {2, 0, 0, 0}, "2.0"},
    {"2.48", {2, 48, 0, 0}, "2.48"},
    {"2.48.0", {2, 48, 0, 0}, "2.48"},
    {"2.48.0.1", {2, 48, 0, 1}, "2.48.0.1"},
    {"2.0.3", {2, 0, 3, 0}, "2.0.3"},
    {"v2.33", {2, 33, 0, 0}, "2.33"},
    {"65535.65534.65533.65532", {65535, 65534, 65533, 65532}, "65535.65534.65533.65532"},
    {"2.31.0.250130", {2, 31, 0, 250130}, "2.31.0.250130"},
    {"1.2.4294967295", {1, 2, 4294967295}, "1.2.4294967295"},
    {"0", {0, 0, 0, 0}, "0.0"},
};

TEST(Version, IsReadAndPrinted) {
  for (const auto& row : kVersions) {
    const auto version = parse_version(row.text);
    ASSERT_TRUE(version.ok()) << row.text;
    EXPECT_EQ(version.value(), row.version) << row.text;
    EXPECT_EQ(to_text(version.value()), row.printed);
  }
}

TEST(Version, OtherTextsAreRefusedWithARemedy) {
  for (const char* text : {"", "v", "vv2", ".", "2.", ".2", "2..1", "2.48.0.1.5", "2.48-rc", " 2", "2 ", "-2", "+2",
                           "0x2", "65536", "1.65536", "1.2.4294967296", "2.99999999999999999999", "2,48"}) {
    const auto version = parse_version(text);
    ASSERT_FALSE(version.ok()) << text;
    EXPECT_EQ(version.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(version.error().message.find('"' + std::string(text) + '"'), std::string::npos)
        << version.error().message;
    EXPECT_NE(version.error().message.find("2.48.0.1"), std::string::npos) << version.error().message;
  }
}

TEST(Version, PartsAreComparedAsNumbersFromTheFront) {
  const std::vector<Version> ascending = {{0, 0, 0, 0},  {0, 0, 0, 1}, {0, 0, 1, 0}, {0, 9, 0, 0},
                                          {0, 10, 0, 0}, {1, 0, 0, 9}, {2, 0, 0, 0}};
  EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
  EXPECT_EQ(std::adjacent_find(ascending.begin(), ascending.end()), ascending.end());
}

TEST(Version, OnlyAllZeroIsUnknown) {
  EXPECT_FALSE(Version{}.known());
  EXPECT_TRUE((Version{0, 0, 0, 1}).known());
  EXPECT_TRUE((Version{2, 0, 0, 0}).known());
}

TEST(Hex, TwoLowerCaseDigitsAByte) {
  const std::vector<std::byte> bytes = {std::byte{0x00}, std::byte{0x0f}, std::byte{0xa5}, std::byte{0xff}};

  EXPECT_EQ(to_hex(bytes), "000fa5ff");
  EXPECT_EQ(to_hex({}), "");
}

SelectionKey middle_key() {
  return {.type = RecordType::kTensorTable,
          .group = "group-m",
          .unit = "unit-m",
          .backend = "backend-m",
          .qnn_soc = 50,
          .part = "part-m",
          .arch = "arch-m",
          .features = "features-m",
          .vtcm_mb = 8,
          .sdk = {2, 48, 0, 0},
          .variant = "variant-m"};
}

struct KeyField {
  const char* name;
  void (*raise)(SelectionKey&);
  void (*lower)(SelectionKey&);
};
// In canonical order: an earlier field takes precedence over all later ones.
const KeyField kFields[] = {
    {"type", [](auto& k) { k.type = RecordType::kSourceModel; }, [](auto& k) { k.type = RecordType::kWeightBlob; }},
    {"group", [](auto& k) { k.group = "group-n"; }, [](auto& k) { k.group = "group-l"; }},
    {"unit", [](auto& k) { k.unit = "unit-n"; }, [](auto& k) { k.unit = "unit-l"; }},
    {"backend", [](auto& k) { k.backend = "backend-n"; }, [](auto& k) { k.backend = "backend-l"; }},
    {"qnn_soc", [](auto& k) { k.qnn_soc = 100; }, [](auto& k) { k.qnn_soc = 9; }},
    {"part", [](auto& k) { k.part = "part-n"; }, [](auto& k) { k.part = "part-l"; }},
    {"arch", [](auto& k) { k.arch = "arch-n"; }, [](auto& k) { k.arch = "arch-l"; }},
    {"features", [](auto& k) { k.features = "features-n"; }, [](auto& k) { k.features = "features-l"; }},
    {"vtcm_mb", [](auto& k) { k.vtcm_mb = 16; }, [](auto& k) { k.vtcm_mb = 2; }},
    {"sdk",
     [](auto& k) {
       k.sdk = {2, 100, 0, 0};
     },
     [](auto& k) {
       k.sdk = {2, 9, 0, 0};
     }},
    {"variant", [](auto& k) { k.variant = "variant-n"; }, [](auto& k) { k.variant = "variant-l"; }},
};

TEST(KeyOrder, EveryFieldDecidesAndOnlyWhenAllEarlierOnesAreEqual) {
  for (std::size_t first = 0; first < std::size(kFields); ++first) {
    SelectionKey higher = middle_key();
    kFields[first].raise(higher);
    EXPECT_TRUE(compare_keys(middle_key(), higher) < 0) << kFields[first].name;
    EXPECT_TRUE(compare_keys(higher, middle_key()) > 0) << kFields[first].name;
    for (std::size_t later = first + 1; later < std::size(kFields); ++later) {
      SelectionKey mixed = middle_key();
      kFields[first].raise(mixed);
      kFields[later].lower(mixed);
      EXPECT_TRUE(compare_keys(mixed, middle_key()) > 0) << kFields[first].name << " before " << kFields[later].name;
    }
  }
  EXPECT_TRUE(compare_keys(middle_key(), middle_key()) == 0);
}

TEST(KeyOrder, FactsThatAreNotIdentityDoNotTakePart) {
  SelectionKey other = middle_key();
  other.api = {3, 0, 0, 0};
  other.blob = {4, 0, 0, 0};
  other.generic = true;

  EXPECT_TRUE(compare_keys(middle_key(), other) == 0);
}

TEST(KeyOrder, StringsCompareAsUnsignedBytesAndShorterComesFirst) {
  SelectionKey ascii;
  ascii.part = "z";
  SelectionKey beyond_ascii;
  beyond_ascii.part = "\xc3\xa9";
  SelectionKey longer;
  longer.part = "z1";

  EXPECT_TRUE(compare_keys(ascii, beyond_ascii) < 0);
  EXPECT_TRUE(compare_keys(ascii, longer) < 0);
  EXPECT_TRUE(compare_keys(longer, beyond_ascii) < 0);
}

TEST(TargetText, ReadsLikeATarget) {
  EXPECT_EQ(target_text({.backend = "cpu", .arch = "x86-64-v3"}), "cpu x86-64-v3");
  EXPECT_EQ(target_text({.backend = "cpu", .arch = "aarch64", .features = "dotprod,i8mm"}), "cpu aarch64+dotprod+i8mm");
  EXPECT_EQ(target_text({.backend = "htp", .qnn_soc = 57, .part = "SM8650", .arch = "v75", .vtcm_mb = 8}),
            "htp SM8650 soc 57 v75 vtcm 8");
  EXPECT_EQ(target_text({.backend = "htp", .part = "SM8650", .arch = "v75", .sdk = {2, 48, 0, 0}, .variant = "fast"}),
            "htp SM8650 v75 sdk 2.48 fast");
  EXPECT_EQ(target_text({.backend = "cpu", .generic = true}), "cpu generic");
  EXPECT_EQ(target_text({.group = "encoder", .unit = "prefill"}), "no target");
}

}  // namespace record_test
}  // namespace fatctx
