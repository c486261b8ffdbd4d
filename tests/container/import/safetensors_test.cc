// Shows S5.5.
#include "container/import/safetensors.h"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "fatctx/import_safetensors.h"
#include "support/memory_file.h"
#include "support/safetensors_file.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace safetensors_test {

using support::MemoryFile;
using support::safetensors_file;
using support::set_le;
using support::TempDir;
using Bytes = std::vector<std::byte>;

Result<ImportedIndex> read_index(const Bytes& bytes) { return read_safetensors_index(MemoryFile(bytes), bytes.size()); }

const std::string kSample = R"({"__metadata__":{"format":"pt","note":""},)"
                            R"("b/bias":{"dtype":"BF16","shape":[3],"data_offsets":[24,30]},)"
                            R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                            R"("scale":{"data_offsets":[30,32],"shape":[],"dtype":"F16"},)"
                            R"("none":{"dtype":"I64","shape":[0,4],"data_offsets":[24,24]},)"
                            R"("q":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[32,36]},)"
                            R"("half":{"dtype":"F4","shape":[6],"data_offsets":[36,39]}}   )";
constexpr std::uint64_t kSampleData = 39;

TEST(Safetensors, TensorsComeInTheOrderOfTheirBytesWithTheirPlaceInTheFile) {
  const auto index = read_index(safetensors_file(kSample, kSampleData));

  ASSERT_TRUE(index.ok()) << to_text(index.error());
  const std::uint64_t data = 8 + kSample.size();
  EXPECT_EQ(index.value().data, (ByteRange{data, kSampleData}));
  const auto& tensors = index.value().tensors;
  ASSERT_EQ(tensors.size(), 6U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, DType::kF32);
  EXPECT_EQ(tensors[0].shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(tensors[0].range, (ByteRange{data, 24}));
  EXPECT_EQ(tensors[1].name, "none");
  EXPECT_EQ(tensors[1].range, (ByteRange{data + 24, 0}));
  EXPECT_EQ(tensors[2].name, "b/bias");
  EXPECT_EQ(tensors[2].dtype, DType::kBF16);
  EXPECT_EQ(tensors[3].name, "scale");
  EXPECT_TRUE(tensors[3].shape.empty());
  EXPECT_EQ(tensors[4].dtype, std::nullopt);
  EXPECT_EQ(tensors[4].type, "f8_e4m3");
  EXPECT_EQ(tensors[5].range, (ByteRange{data + 36, 3}));
}

TEST(Safetensors, OnlyTheHeaderIsRead) {
  const MemoryFile file(
      safetensors_file(R"({"big":{"dtype":"U8","shape":[1048576],"data_offsets":[0,1048576]}})", 1 << 20));

  ASSERT_TRUE(read_safetensors_index(file, file.size()).ok());

  EXPECT_LT(file.bytes_read(), 256U);
}

TEST(Safetensors, AFileWithoutTensorsHasNone) {
  const auto index = read_index(safetensors_file("{}", 0));

  ASSERT_TRUE(index.ok()) << to_text(index.error());
  EXPECT_TRUE(index.value().tensors.empty());
}

struct Lie {
  const char* name;
  std::string header;
  std::uint64_t data_size;
  ErrorCode code;
  const char* says;
};

std::string one(const std::string& body) { return R"({"t":{)" + body + "}}"; }
std::string two(const std::string& a, const std::string& b) {
  const std::string begin = R"("dtype":"U8","shape":[4],"data_offsets":)";
  return R"({"a":{)" + begin + a + R"(},"b":{)" + begin + b + "}}";
}

const Lie kLies[] = {
    {"no header", "", 0, ErrorCode::kMalformed, "does not begin with \"{\""},
    {"a blank first", " {}", 0, ErrorCode::kMalformed, "does not begin with \"{\""},
    {"half a header", R"({"a":)", 0, ErrorCode::kMalformed, "not JSON at byte 13"},
    {"bytes behind the object", "{}x", 0, ErrorCode::kMalformed, "not JSON at byte 10"},
    {"an object behind the object", "{}{}", 0, ErrorCode::kMalformed, "not JSON"},
    {"a NUL behind the object", std::string("{}\0 ", 4), 0, ErrorCode::kMalformed, "not JSON at byte 10"},
    {"no UTF-8", "{\"\xff\":1}", 0, ErrorCode::kMalformed, "not JSON"},
    {"a number beyond all limits", R"({"a":1e999})", 0, ErrorCode::kMalformed, "a number that is not whole"},
    {"a tensor that is a number", R"({"a":1})", 0, ErrorCode::kMalformed, "tensor \"a\": found a number"},
    {"a tensor that is a list", R"({"a":[[]]})", 0, ErrorCode::kMalformed, "tensor \"a\": found a list"},
    {"a tensor that is null", R"({"a":null})", 0, ErrorCode::kMalformed, "tensor \"a\": found null"},
    {"a shape of lists", one(R"("shape":[[1]])"), 0, ErrorCode::kMalformed, "found a list"},
    {"a shape of texts", one(R"("shape":["1"])"), 0, ErrorCode::kMalformed, "found a text"},
    {"a negative dimension", one(R"("shape":[-1])"), 0, ErrorCode::kMalformed, "found a negative number"},
    {"a dimension with a fraction", one(R"("shape":[1.5])"), 0, ErrorCode::kMalformed,
     "found a number that is not whole"},
    {"a dimension of 65 bits", one(R"("shape":[18446744073709551616])"), 0, ErrorCode::kMalformed, "not whole"},
    {"a dtype that is an object", one(R"("dtype":{})"), 0, ErrorCode::kMalformed, "found an object"},
    {"an unknown dtype", one(R"("dtype":"F33","shape":[],"data_offsets":[0,0])"), 0, ErrorCode::kUnsupported,
     "tensor \"t\" has the unknown element type \"F33\""},
    {"a dtype with a line feed", one(R"("dtype":"F\n","shape":[],"data_offsets":[0,0])"), 0, ErrorCode::kUnsupported,
     "of no name"},
    {"a dtype twice", one(R"("dtype":"U8","dtype":"U8")"), 0, ErrorCode::kMalformed, "has the key dtype twice"},
    {"an unknown key", one(R"("dtype":"U8","strides":[1])"), 0, ErrorCode::kUnsupported, "a key other than"},
    {"no offsets", one(R"("dtype":"U8","shape":[0])"), 0, ErrorCode::kMalformed, "lacks one of"},
    {"one offset", one(R"("dtype":"U8","shape":[0],"data_offsets":[0])"), 0, ErrorCode::kMalformed, "not two numbers"},
    {"three offsets", one(R"("dtype":"U8","shape":[0],"data_offsets":[0,0,0])"), 0, ErrorCode::kMalformed,
     "not two numbers"},
    {"a name of nothing", R"({"":{}})", 0, ErrorCode::kMalformed, "tensor name"},
    {"a name with a line feed", R"({"a\nb":{}})", 0, ErrorCode::kMalformed, "tensor name"},
    {"metadata that is a text", R"({"__metadata__":"x"})", 0, ErrorCode::kMalformed, "__metadata__"},
    {"metadata with a number", R"({"__metadata__":{"x":1}})", 0, ErrorCode::kMalformed, "__metadata__"},
    {"metadata with an object", R"({"__metadata__":{"x":{}}})", 0, ErrorCode::kMalformed, "__metadata__"},
    {"metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0, ErrorCode::kMalformed,
     "__metadata__ appears twice"},
    {"a key of metadata twice", R"({"__metadata__":{"x":"1","x":"2"}})", 0, ErrorCode::kMalformed, "a key twice"},
    {"an end before the beginning", one(R"("dtype":"U8","shape":[2],"data_offsets":[4,2])"), 4, ErrorCode::kMalformed,
     "tensor \"t\" begins at 4 and ends before that, at 2"},
    {"a tensor behind the end", one(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"), 3, ErrorCode::kTruncated,
     "tensor \"t\" ends at byte 4 of the data, but the file has 3"},
    {"an end of 2^64 - 1", one(R"("dtype":"U8","shape":[4],"data_offsets":[0,18446744073709551615])"), 4,
     ErrorCode::kTruncated, "tensor \"t\" ends"},
    {"fewer bytes than the shape takes", one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), 4,
     ErrorCode::kMalformed, "has 4 bytes, but f32 [2] takes 8"},
    {"more bits than a whole byte", one(R"("dtype":"F4","shape":[3],"data_offsets":[0,2])"), 2, ErrorCode::kMalformed,
     "no whole number of bytes"},
    {"a shape that wraps", one(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0,
     ErrorCode::kMalformed, "no whole number of bytes"},
    {"a shape that wraps, of a type of no table",
     one(R"("dtype":"C64","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0, ErrorCode::kMalformed,
     "no whole number of bytes"},
    {"a gap before the first", two("[4,8]", "[8,12]"), 12, ErrorCode::kMalformed, "4 bytes before tensor \"a\""},
    {"a gap between", two("[0,4]", "[5,9]"), 9, ErrorCode::kMalformed, "1 bytes before tensor \"b\""},
    {"an overlap", two("[3,7]", "[0,4]"), 7, ErrorCode::kMalformed, "tensor \"a\" at byte 116 overlaps tensor \"b\""},
    {"the same bytes twice", two("[0,4]", "[0,4]"), 4, ErrorCode::kMalformed, "overlaps tensor"},
    {"bytes behind the last", two("[0,4]", "[4,8]"), 9, ErrorCode::kTrailingData, "1 bytes behind the last tensor"},
    {"bytes behind no tensor", "{}", 1, ErrorCode::kTrailingData, "1 bytes behind the last tensor"},
    {"a name twice",
     R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2,
     ErrorCode::kMalformed, "tensor \"a\" appears twice, at byte 113 and at byte 114"},
};

TEST(Safetensors, EveryLieIsRefusedAndNamed) {
  for (const Lie& lie : kLies) {
    const auto index = read_index(safetensors_file(lie.header, lie.data_size));

    ASSERT_FALSE(index.ok()) << lie.name;
    EXPECT_EQ(index.error().code, lie.code) << lie.name << ": " << to_text(index.error());
    EXPECT_NE(index.error().message.find(lie.says), std::string::npos) << lie.name << ": " << index.error().message;
    EXPECT_TRUE(index.error().where.file_offset) << lie.name;
  }
}

TEST(Safetensors, AHeaderThatLeavesTheFileTakesNoMemory) {
  Bytes file = safetensors_file("{}", 0);
  for (const auto& [size, code] : {std::pair{std::uint64_t{3}, ErrorCode::kTruncated},
                                   {kMaxSafetensorsHeader, ErrorCode::kTruncated},
                                   {kMaxSafetensorsHeader + 1, ErrorCode::kLimitExceeded},
                                   {UINT64_MAX, ErrorCode::kLimitExceeded}}) {
    set_le<std::uint64_t>(file, 0, size);
    const auto index = read_index(file);
    ASSERT_FALSE(index.ok()) << size;
    EXPECT_EQ(index.error().code, code) << size;
  }
  set_le<std::uint64_t>(file, 0, kMaxSafetensorsHeader);
  const MemoryFile short_one(file);
  EXPECT_EQ(read_safetensors_index(short_one, file.size()).error().message,
            "safetensors: a header of 100000000 bytes leaves the file of 10 bytes");
  EXPECT_EQ(short_one.bytes_read(), 8U);
  for (const std::size_t size : {0U, 7U}) {
    const auto index = read_index(Bytes(size));
    ASSERT_FALSE(index.ok()) << size;
    EXPECT_EQ(index.error().code, ErrorCode::kTruncated) << size;
    EXPECT_NE(index.error().message.find("cannot hold the size of the header"), std::string::npos) << size;
  }
}

TEST(Safetensors, DimensionsHaveALimit) {
  const auto with_rank = [](std::size_t rank) {
    std::string dims = "1";
    for (std::size_t i = 1; i < rank; ++i) dims += ",1";
    return safetensors_file(one(R"("dtype":"U8","shape":[)" + dims + R"(],"data_offsets":[0,1])"), 1);
  };

  EXPECT_TRUE(read_index(with_rank(kMaxSafetensorsRank)).ok());
  EXPECT_EQ(read_index(with_rank(kMaxSafetensorsRank + 1)).error().code, ErrorCode::kLimitExceeded);
}

TEST(Safetensors, TensorsHaveALimit) {
  const std::string tensor = R"("n":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  std::string header = "{" + tensor;
  header.reserve((tensor.size() + 1) * (kMaxImportedTensors + 2));
  for (std::uint64_t i = 0; i < kMaxImportedTensors; ++i) header.append(",").append(tensor);
  header += "}";

  const auto more = parse_safetensors_header(std::as_bytes(std::span(header)), 8 + header.size());

  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.error().code, ErrorCode::kLimitExceeded) << to_text(more.error());
}

TEST(Safetensors, NoDamageOfTheHeaderLetsATensorLeaveTheFile) {
  const Bytes file = safetensors_file(kSample, kSampleData);
  std::size_t still_read = 0;
  for (std::size_t bit = 0; bit < (8 + kSample.size()) * 8; ++bit) {
    Bytes damaged = file;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    const auto index = read_index(damaged);
    if (!index.ok()) continue;
    ++still_read;
    std::uint64_t bytes = 0;
    for (const ImportedTensor& tensor : index.value().tensors) {
      EXPECT_TRUE(within(tensor.range, file.size())) << bit;
      bytes += tensor.range.size;
    }
    EXPECT_EQ(bytes, kSampleData) << bit;
  }
  EXPECT_GT(still_read, 0U);  // a letter of a name
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_FALSE(read_index(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))).ok()) << size;
  }
}

TEST(Safetensors, WhatATensorTableHasNotIsBytesAndDescribed) {
  const TempDir folder;
  const std::string path = folder.file("m.safetensors");
  const std::string header = R"({"q_path":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[0,4]},)"
                             R"("deep":{"dtype":"I16","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[4,8]},)"
                             R"("w":{"dtype":"I16","shape":[1,1,1,1,1,1,1,2],"data_offsets":[8,12]}})";
  support::write_file(path, safetensors_file(header, 12));

  const auto record = weights_from_safetensors(path, "weights");

  ASSERT_TRUE(record.ok()) << to_text(record.error());
  EXPECT_EQ(record.value().type, RecordType::kWeightBlob);
  EXPECT_EQ(record.value().source.path, path);
  EXPECT_EQ(record.value().description.format, "safetensors");
  const auto& tensors = record.value().tensors;
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].dtype, DType::kU8);
  EXPECT_EQ(tensors[0].shape, (std::vector<std::uint64_t>{4}));
  EXPECT_EQ(tensors[1].dtype, DType::kU8);
  EXPECT_EQ(tensors[2].dtype, DType::kI16);
  EXPECT_EQ(tensors[2].shape.size(), 8U);
  const auto& options = record.value().description.options;
  ASSERT_EQ(options.size(), 2U);
  EXPECT_EQ(options[0].key, "tensor.q_path.type");
  EXPECT_EQ(options[0].value, "f8_e4m3 [2, 2]");
  EXPECT_EQ(options[0].owner, "safetensors");
  EXPECT_EQ(options[1].value, "i16 [1, 1, 1, 1, 1, 1, 1, 1, 2]");
}

}  // namespace safetensors_test
}  // namespace fatctx::container
