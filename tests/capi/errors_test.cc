// Errors, texts and sized structs at the C boundary.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "capi/boundary.h"
#include "capi/c_model.h"
#include "fatctx/model.h"

namespace fatctx::capi::testing {
namespace errors_test {

using ::testing::HasSubstr;

// Shows S4.30.
TEST_F(CModel, SuccessIsZeroAndClearsTheErrorOfTheCallBefore) {
  fatctx_container container = {};
  EXPECT_NE(fatctx_container_open("gone.fatctx", nullptr, &container, &error), 0);
  ASSERT_NE(error.message[0], '\0');

  EXPECT_EQ(fatctx_container_open(path.c_str(), nullptr, &container, &error), 0);

  EXPECT_EQ(error.code, 0);
  EXPECT_STREQ(error.message, "");
  EXPECT_EQ(error.has_os_error, 0U);
  EXPECT_EQ(text_of(error), "ok");
  EXPECT_EQ(fatctx_container_close(container, &error), 0);
}

TEST_F(CModel, AnErrorCarriesCodeMessageAndSystemError) {
  fatctx_container container = {77};
  const std::string missing = folder.file("gone.fatctx");

  EXPECT_EQ(fatctx_container_open(missing.c_str(), nullptr, &container, &error), FATCTX_ERROR_NOT_FOUND);

  EXPECT_EQ(container.id, 0U);
  EXPECT_EQ(error.code, FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr(missing));
  EXPECT_EQ(error.has_os_error, 1U);
  EXPECT_EQ(error.os_error, ENOENT);
  EXPECT_THAT(text_of(error), HasSubstr("(not_found, system error 2)"));
}

TEST_F(CModel, AnErrorCarriesRuleRecordAndFileOffset) {
  Bytes bytes = support::read_file(path);
  const fatctx_container whole = open();
  auto weights = sized<fatctx_record_info>();
  ASSERT_EQ(fatctx_container_find(whole, "weights", &weights, &error), FATCTX_OK);
  bytes[static_cast<std::size_t>(weights.file_offset) + 70'000] ^= std::byte{1};
  EXPECT_EQ(fatctx_container_close(whole, &error), FATCTX_OK);
  support::write_file(path, bytes);
  const fatctx_container damaged = open();
  fatctx_view view;

  EXPECT_EQ(fatctx_container_acquire(damaged, weights.id, &view, &error), FATCTX_ERROR_CHECKSUM_MISMATCH);

  EXPECT_EQ(view.id, 0U);
  EXPECT_EQ(view.data, nullptr);
  EXPECT_EQ(error.has_record_id, 1U);
  EXPECT_EQ(error.record_id, weights.id);
  EXPECT_EQ(error.has_file_offset, 1U);
  EXPECT_EQ(error.file_offset, weights.file_offset + 65'536);
  EXPECT_EQ(fatctx_container_close(damaged, &error), FATCTX_OK);

  support::write_file(path, ByteView(bytes).first(100'000));
  fatctx_container cut = {};
  EXPECT_NE(fatctx_container_open(path.c_str(), nullptr, &cut, &error), FATCTX_OK);
  EXPECT_EQ(error.rule[0], 'F');
}

// Shows S4.36.
TEST(CErrors, UnknownCodesArePrintedInDecimalAndHexadecimal) {
  auto error = fresh_error();
  error.code = 4711;
  std::strcpy(error.message, "from a newer library");

  EXPECT_EQ(text_of(error), "from a newer library (unknown error 4711, 0x1267)");
  error.code = -2;
  EXPECT_EQ(text_of(error), "from a newer library (unknown error -2, 0xfffffffe)");
  EXPECT_STREQ(fatctx_error_code_name(4711), "unknown");
  EXPECT_STREQ(fatctx_error_code_name(-2), "unknown");
  EXPECT_STREQ(fatctx_error_code_name(0), "ok");
  EXPECT_STREQ(fatctx_error_code_name(FATCTX_ERROR_NOT_PRESENT), "not_present");
}

TEST(CErrors, AMessageIsCutAtTheBorderOfACharacter) {
  auto error = fresh_error();
  const std::string umlaut = "\xC3\xA4";
  std::string message = "x";
  while (message.size() < 2000) message += umlaut;  // a cut at 1,023 bytes would split a character

  EXPECT_EQ(write_error(&error, Error{ErrorCode::kIo, message}), FATCTX_ERROR_IO);

  EXPECT_EQ(std::strlen(error.message), 1023U - (1023U - 1U) % 2U);
  EXPECT_EQ(std::string(error.message), message.substr(0, std::strlen(error.message)));
}

TEST(CErrors, AMessageIsOneLineWhateverTheProgramNamed) {
  auto error = fresh_error();

  EXPECT_EQ(write_error(&error, Error{ErrorCode::kNotFound, "no \"a\nb\x7f\""}), FATCTX_ERROR_NOT_FOUND);

  EXPECT_STREQ(error.message, "no \"a\\x0ab\\x7f\"");
}

TEST(CErrors, AnEscapeIsWrittenWholeOrNotAtAll) {
  for (std::size_t before = 1016; before <= 1024; ++before) {
    auto error = fresh_error();
    const std::string message = std::string(before, 'x') + "\n";

    EXPECT_EQ(write_error(&error, Error{ErrorCode::kIo, message}), FATCTX_ERROR_IO);

    const bool fits = before + 4 <= 1023;
    const std::string expected = std::string(std::min<std::size_t>(before, 1023), 'x') + (fits ? "\\x0a" : "");
    EXPECT_EQ(std::string(error.message), expected) << before;
  }
}

TEST(CErrors, EveryCutOfATextEndsAtACharacter) {
  const std::string text = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z";  // characters of one, two, three, four, one bytes
  const std::array<std::size_t, 12> expected = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (std::size_t room = 0; room < expected.size(); ++room) {
    EXPECT_EQ(cut_at_character(text, room), expected[room]) << room;
  }
}

// For a program built with an older, smaller struct, bytes beyond its size stay unchanged.
TEST(CErrors, EverySizeOfTheStructIsKeptTo) {
  const Error what{
      ErrorCode::kMalformed, "a message", {.file_offset = 0x1234, .record_id = 7, .rule = "F16", .os_error = 5}};
  for (std::uint32_t size = 0; size <= sizeof(fatctx_error) + 64; ++size) {
    alignas(fatctx_error) std::array<unsigned char, sizeof(fatctx_error) + 128> memory;
    memory.fill(0xAB);
    auto* error = reinterpret_cast<fatctx_error*>(memory.data());
    error->struct_size = size;

    EXPECT_EQ(write_error(error, what), FATCTX_ERROR_MALFORMED);

    EXPECT_EQ(error->struct_size, size);
    for (std::size_t at = std::max<std::size_t>(size, sizeof error->struct_size); at < memory.size(); ++at) {
      ASSERT_EQ(memory[at], 0xAB) << "size " << size << ", byte " << at;
    }
    if (size >= 8) {
      EXPECT_EQ(error->code, FATCTX_ERROR_MALFORMED) << size;
    }
    if (size >= offsetof(fatctx_error, file_offset) + 8) {
      EXPECT_EQ(error->file_offset, 0x1234U) << size;
    }
    if (size >= offsetof(fatctx_error, message) + sizeof error->message) {
      EXPECT_STREQ(error->message, "a message");
    }
  }
}

TEST(CErrors, ExceptionsBecomeCodes) {
  auto error = fresh_error();
  EXPECT_EQ(guarded(&error, []() -> Status { throw std::bad_alloc(); }), FATCTX_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(guarded(&error, []() -> Status { throw std::runtime_error("the reason"); }), FATCTX_ERROR_INTERNAL);
  EXPECT_STREQ(error.message, "the reason");
  EXPECT_EQ(guarded(&error, []() -> Status { throw 3; }), FATCTX_ERROR_INTERNAL);
  EXPECT_EQ(guarded(&error, []() -> Status { throw Cancelled{}; }), FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(guarded(nullptr, []() -> Status { throw 3; }), FATCTX_ERROR_INTERNAL);
}

TEST(CErrors, TextsFollowTheProtocolOfSnprintf) {
  char buffer[8];
  std::size_t size = 0;
  EXPECT_TRUE(put_text("12345", nullptr, 0, &size).ok());
  EXPECT_EQ(size, 5U);
  std::memset(buffer, '#', sizeof buffer);
  EXPECT_TRUE(put_text("12345", buffer, 3, &size).ok());
  EXPECT_EQ(size, 5U);
  EXPECT_EQ(std::string(buffer, 4), std::string("12\0#", 4));
  EXPECT_TRUE(put_text("12345", buffer, 6, nullptr).ok());
  EXPECT_STREQ(buffer, "12345");
  EXPECT_TRUE(put_text("12345", buffer, 1, nullptr).ok());
  EXPECT_STREQ(buffer, "");
  EXPECT_EQ(put_text("12345", nullptr, 1, &size).error().code, ErrorCode::kInvalidArgument);
}

// Shows S4.24.
TEST(CStructs, OptionsOfAnOlderProgramHaveTheDefaultsOfTheFieldsItLacks) {
  fatctx_pack_options older;
  std::memset(static_cast<void*>(&older), 0xAB, sizeof older);  // any bytes may follow an older struct
  older.struct_size = offsetof(fatctx_pack_options, extent_log2);
  older.seal = 1;
  older.overwrite = 0;
  older.sharing = FATCTX_SHARING_OFF;
  auto error = fresh_error();
  fatctx_packer packer = {};
  EXPECT_EQ(fatctx_packer_create(&older, &packer, &error), FATCTX_OK) << text_of(error);

  const TempDir folder;
  auto report = sized<fatctx_pack_report>();
  EXPECT_EQ(fatctx_packer_publish(packer, folder.file("x.fatctx").c_str(), &report, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_EQ(report.sealed, 1U);
  EXPECT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK);
}

TEST_F(CModel, OptionsOfANewerProgramAreFineUntilTheySayWhatTheLibraryDoesNotKnow) {
  struct Newer {
    fatctx_open_options known;
    std::uint64_t unknown;
  } newer = {};
  fatctx_open_options_init(&newer.known, sizeof newer);
  EXPECT_EQ(newer.known.struct_size, sizeof newer);
  fatctx_container container = {};

  EXPECT_EQ(fatctx_container_open(path.c_str(), &newer.known, &container, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  newer.unknown = 1;
  EXPECT_EQ(fatctx_container_open(path.c_str(), &newer.known, &container, &error), FATCTX_ERROR_UNSUPPORTED);
  EXPECT_THAT(error.message, HasSubstr("older library"));
}

TEST_F(CModel, AReservedFieldThatIsSetIsOfANewerProgram) {
  const auto refused = [&](std::int32_t code) {
    EXPECT_EQ(code, FATCTX_ERROR_UNSUPPORTED);
    EXPECT_THAT(error.message, HasSubstr("`reserved` of a struct to 7"));
  };
  auto repair = sized<fatctx_repair_options>();
  repair.reserved = 7;
  auto report = sized<fatctx_repair_report>();
  refused(fatctx_repair(path.c_str(), &repair, &report, &error));
}

TEST_F(CModel, AStructOfSizeZeroIsRefusedWithAWord) {
  const fatctx_container container = open();
  fatctx_open_options options = {};
  fatctx_record_info record = {};
  fatctx_container other = {};
  EXPECT_EQ(fatctx_container_open(path.c_str(), &options, &other, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("struct_size is 0"));
  EXPECT_EQ(fatctx_container_record(container, 1, &record, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CModel, AnOlderProgramGetsTheFieldsItHasRoomFor) {
  const fatctx_container container = open();
  fatctx_record_info record;
  std::memset(static_cast<void*>(&record), 0xAB, sizeof record);
  record.struct_size = offsetof(fatctx_record_info, name);

  EXPECT_EQ(fatctx_container_record(container, 2, &record, &error), FATCTX_OK);

  EXPECT_EQ(record.id, 2U);
  EXPECT_EQ(record.weights[0], 5U);
  EXPECT_EQ(record.name.size, 0xABABABABABABABABU);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST(CStructs, InitWritesNoByteBeyondTheSizeItIsGiven) {
  for (std::size_t size = 0; size <= sizeof(fatctx_pack_record) + 16; ++size) {
    alignas(fatctx_pack_record) std::array<unsigned char, sizeof(fatctx_pack_record) + 32> memory;
    memory.fill(0xAB);
    fatctx_pack_record_init(reinterpret_cast<fatctx_pack_record*>(memory.data()), size);
    for (std::size_t at = size; at < memory.size(); ++at) ASSERT_EQ(memory[at], 0xAB) << size << ", byte " << at;
    ASSERT_TRUE(size < 4 || memory[size - 1] != 0xAB) << size;
  }
  fatctx_pack_record_init(nullptr, 8);
  fatctx_error_init(nullptr, 8);
}

TEST(CNames, NumbersAreThoseOfTheCxxEnums) {
  EXPECT_EQ(FATCTX_RECORD_OPAQUE, static_cast<int>(RecordType::kOpaque));
  EXPECT_EQ(FATCTX_DTYPE_U4, static_cast<int>(DType::kU4));
  EXPECT_EQ(FATCTX_LEVEL_UNSUPPORTED, static_cast<int>(Level::kUnsupported));
  EXPECT_EQ(FATCTX_SHARING_BYTES, static_cast<int>(Sharing::kBytes));
  EXPECT_EQ(FATCTX_VERIFY_NONE, static_cast<int>(VerifyPolicy::kNone));
  EXPECT_EQ(FATCTX_VERIFY_PRIVATE_COPY, static_cast<int>(VerifyPolicy::kPrivateCopy));
  EXPECT_EQ(FATCTX_ON_DAMAGE_NEXT, static_cast<int>(OnDamage::kNext));
  EXPECT_EQ(FATCTX_FILE_MAPPING_REQUIRE, static_cast<int>(FileMapping::kRequire));
  EXPECT_EQ(FATCTX_FILE_MAPPING_DISABLED, static_cast<int>(FileMapping::kDisabled));
  const std::map<std::string, std::uint32_t> types = {{"context_binary", FATCTX_RECORD_CONTEXT_BINARY},
                                                      {"weight_blob", FATCTX_RECORD_WEIGHT_BLOB},
                                                      {"tensor_table", FATCTX_RECORD_TENSOR_TABLE},
                                                      {"source_model", FATCTX_RECORD_SOURCE_MODEL},
                                                      {"wrapper_model", FATCTX_RECORD_WRAPPER_MODEL},
                                                      {"description", FATCTX_RECORD_DESCRIPTION},
                                                      {"opaque", FATCTX_RECORD_OPAQUE}};
  for (const auto& [name, number] : types) {
    EXPECT_EQ(fatctx_record_type_name(number), name);
    EXPECT_EQ(fatctx_record_type_from_name(name.c_str()), number);
  }
  const std::map<std::string, std::uint32_t> dtypes = {
      {"float32", FATCTX_DTYPE_F32},   {"float64", FATCTX_DTYPE_F64}, {"float16", FATCTX_DTYPE_F16},
      {"bfloat16", FATCTX_DTYPE_BF16}, {"int8", FATCTX_DTYPE_I8},     {"int16", FATCTX_DTYPE_I16},
      {"int32", FATCTX_DTYPE_I32},     {"int64", FATCTX_DTYPE_I64},   {"uint8", FATCTX_DTYPE_U8},
      {"uint16", FATCTX_DTYPE_U16},    {"uint32", FATCTX_DTYPE_U32},  {"uint64", FATCTX_DTYPE_U64},
      {"bool", FATCTX_DTYPE_BOOL},     {"int4", FATCTX_DTYPE_I4},     {"uint4", FATCTX_DTYPE_U4}};
  for (const auto& [name, number] : dtypes) {
    EXPECT_EQ(fatctx_dtype_name(number), name);
    EXPECT_EQ(fatctx_dtype_from_name(name.c_str()), number);
  }
  EXPECT_EQ(fatctx_dtype_bits(FATCTX_DTYPE_U4), 4U);
}

TEST(CNames, NumbersThatAreNotListedAreUnknownAlsoBeyondTheEnum) {
  for (const std::uint32_t number : {0U, 99U, 65'537U, 0xFFFFFFFFU}) {
    EXPECT_STREQ(fatctx_record_type_name(number), "unknown") << number;
    EXPECT_STREQ(fatctx_dtype_name(number), "unknown") << number;
    EXPECT_STREQ(fatctx_level_name(number), "UNKNOWN") << number;
    EXPECT_EQ(fatctx_dtype_bits(number), 0U) << number;
  }
  EXPECT_STREQ(fatctx_axis_id(99), "unknown");
  EXPECT_STREQ(fatctx_axis_id(257), "unknown");  // 1 as a byte
  EXPECT_STREQ(fatctx_axis_id(1), "A1");
  EXPECT_STREQ(fatctx_access_path_name(0), "direct");
  EXPECT_STREQ(fatctx_access_path_name(2), "stitched");
  EXPECT_STREQ(fatctx_access_path_name(3), "composed");
  EXPECT_STREQ(fatctx_access_path_name(256), "unknown");
  EXPECT_EQ(fatctx_record_type_from_name("thing"), 0U);
  EXPECT_EQ(fatctx_record_type_from_name(nullptr), 0U);
  EXPECT_EQ(fatctx_dtype_from_name(nullptr), 0U);
}

TEST(CNames, VersionsAreThoseOfTheLibrary) {
  EXPECT_EQ(fatctx_abi_version(), FATCTX_ABI_VERSION);
  EXPECT_EQ(std::count(fatctx_library_version(), fatctx_library_version() + std::strlen(fatctx_library_version()), '.'),
            2);
  EXPECT_STREQ(fatctx_format_version(), "1.0");
}

TEST(CNames, VersionsAreReadAndWrittenAsTexts) {
  auto error = fresh_error();
  fatctx_version version = {};
  const auto text = [&] {
    return text_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return fatctx_version_text(&version, buffer, capacity, size, &error);
    });
  };
  EXPECT_EQ(text(), "0.0");
  ASSERT_EQ(fatctx_version_parse("v2.48.0.250130", &version, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(version.major, 2U);
  EXPECT_EQ(version.minor, 48U);
  EXPECT_EQ(version.patch, 0U);
  EXPECT_EQ(version.build, 250'130U);
  EXPECT_EQ(text(), "2.48.0.250130");
  EXPECT_EQ(fatctx_version_parse("2.x", &version, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(version.build, 250'130U) << "a failed call writes nothing";
}

TEST(CNames, SizesOfTensorsAreThoseOfTheFormat) {
  auto error = fresh_error();
  const std::uint64_t shape[] = {3, 5};
  const std::uint64_t huge[] = {UINT64_MAX, 3};
  std::uint64_t size = 0;
  EXPECT_EQ(fatctx_tensor_size_bytes(FATCTX_DTYPE_F32, shape, 2, &size, &error), FATCTX_OK);
  EXPECT_EQ(size, 60U);
  EXPECT_EQ(fatctx_tensor_size_bytes(FATCTX_DTYPE_I4, shape, 2, &size, &error), FATCTX_OK);
  EXPECT_EQ(size, 8U);
  EXPECT_EQ(fatctx_tensor_size_bytes(FATCTX_DTYPE_F64, nullptr, 0, &size, &error), FATCTX_OK);
  EXPECT_EQ(size, 8U);
  EXPECT_EQ(fatctx_tensor_size_bytes(FATCTX_DTYPE_F32, huge, 2, &size, &error), FATCTX_ERROR_LIMIT_EXCEEDED);
  for (const std::uint32_t dtype : {0U, 16U, 65'537U, UINT32_MAX}) {  // 65,537 is float32 in sixteen bits
    EXPECT_EQ(fatctx_tensor_size_bytes(dtype, shape, 2, &size, &error), FATCTX_ERROR_INVALID_ARGUMENT) << dtype;
  }
  EXPECT_EQ(size, 8U) << "a failed call writes nothing";
}

TEST(CNames, HashesOfBytesAndOfFilesAgree) {
  const TempDir folder;
  const Bytes bytes = support::pattern(100'000, 3);
  support::write_file(folder.file("x"), bytes);
  std::uint8_t of_bytes[16] = {};
  std::uint8_t of_file[16] = {};
  auto error = fresh_error();

  EXPECT_EQ(fatctx_content_hash(bytes.data(), bytes.size(), of_bytes, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_content_hash_of_file(folder.file("x").c_str(), of_file, &error), FATCTX_OK);

  EXPECT_EQ(std::memcmp(of_bytes, of_file, sizeof of_bytes), 0);
  EXPECT_EQ(fatctx_content_hash(nullptr, 0, of_bytes, &error), FATCTX_OK);
  EXPECT_NE(std::memcmp(of_bytes, of_file, sizeof of_bytes), 0);
  EXPECT_EQ(fatctx_content_hash_of_file(folder.file("gone").c_str(), of_file, &error), FATCTX_ERROR_NOT_FOUND);
}

}  // namespace errors_test
}  // namespace fatctx::capi::testing
