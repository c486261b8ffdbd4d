// The hexdump of docs/format.md, section 12, byte by byte: the file is packed here and compared line by line.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "fatctx/packer.h"
#include "source_dir.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace worked_example_test {

using Bytes = std::vector<unsigned char>;

// Packs the records that the text above the dump describes.
Result<PackReport> pack_the_example(const std::string& path) {
  PackOptions options;
  options.model_name = "tiny";
  Packer packer(std::move(options));

  PackRecord weights;
  weights.type = RecordType::kWeightBlob;
  weights.name = "weights";
  weights.key.group = "demo";
  for (const int value : {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88}) {
    weights.source.bytes.push_back(static_cast<std::byte>(value));
  }
  weights.tensors.push_back({.name = "w", .dtype = DType::kU8, .shape = {2, 3}, .offset_in_blob = 2, .size_bytes = 6});
  FATCTX_TRY(packer.add(std::move(weights)));

  PackRecord code;
  code.type = RecordType::kContextBinary;
  code.name = "v3";
  code.key.group = "demo";
  code.key.unit = "main";
  code.key.backend = "cpu";
  code.key.arch = "x86-64-v3";
  code.weights = {"weights"};
  for (const char letter : std::string("code")) code.source.bytes.push_back(static_cast<std::byte>(letter));
  FATCTX_TRY(packer.add(std::move(code)));
  return packer.publish(path);
}

std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Reads "00010080: 68 02 ..." from the first block below `title`. Returns a map from offset to bytes.
std::map<std::size_t, Bytes> dump_lines(const std::string& document, const std::string& title) {
  std::map<std::size_t, Bytes> lines;
  std::istringstream section(document.substr(std::min(document.find(title), document.size())));
  std::string line;
  while (std::getline(section, line) && !line.starts_with("## 13")) {
    if (line.size() < 10 || line[8] != ':' || line.find_first_not_of("0123456789abcdef") != 8) continue;
    Bytes& bytes = lines[std::stoul(line.substr(0, 8), nullptr, 16)];
    for (std::size_t at = 10; at + 1 < line.size() && bytes.size() < 16 && line[at] != ' '; at += 3) {
      bytes.push_back(static_cast<unsigned char>(std::stoul(line.substr(at, 2), nullptr, 16)));
    }
  }
  return lines;
}

TEST(WorkedExample, IsWhatThePackerWrites) {
  const auto folder = std::filesystem::path(testing::TempDir()) / "fatctx_worked_example";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "tiny.fatctx").string();
  std::filesystem::remove(path);
  const auto lines = dump_lines(read_text(FATCTX_SOURCE_DIR "/docs/format.md"), "\n## 12.");
  ASSERT_GE(lines.size(), 60U) << "the dump was not found";

  const auto report = pack_the_example(path);

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  const std::string file = read_text(path);
  for (const auto& [offset, expected] : lines) {
    ASSERT_LE(offset + expected.size(), file.size());
    const Bytes found(file.begin() + static_cast<std::ptrdiff_t>(offset),
                      file.begin() + static_cast<std::ptrdiff_t>(offset + expected.size()));
    EXPECT_EQ(found, expected) << "line " << std::hex << offset;
  }
  if (!HasFailure()) std::filesystem::remove_all(folder);
  ASSERT_FALSE(HasFailure()) << "scripts/update_worked_example.py " << path << " writes the dump anew";
}

TEST(WorkedExample, ADumpThatDiffersInOneByteIsSeen) {
  const auto lines = dump_lines("\n## 12. x\n00010000: 43 54 58 54 07 00  CTXT..\n## 13\n00020000: 01\n", "\n## 12.");

  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines.at(0x10000), (Bytes{0x43, 0x54, 0x58, 0x54, 0x07, 0x00}));
}

}  // namespace worked_example_test
}  // namespace fatctx
