// Common behavior of all importers of weight files: errors that name the file, and tensors that share bytes.
#include "fatctx/import_tensors.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "fatctx/import_gguf.h"
#include "fatctx/import_irpa.h"
#include "fatctx/import_safetensors.h"
#include "support/no_regular_file.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace import_tensors_test {

using support::TempDir;

struct Importer {
  const char* format;
  std::function<Status(const std::string& path)> import;
  ErrorCode of_another_file;
};

template <typename Import>
Importer importer(const char* format, Import import, ErrorCode of_another_file) {
  return {format,
          [import](const std::string& path) -> Status {
            FATCTX_TRY(import(path));
            return Done{};
          },
          of_another_file};
}

class ImportersOf : public testing::TestWithParam<Importer> {};

TEST_P(ImportersOf, ErrorsNameTheFile) {
  const TempDir folder;
  const std::string path = folder.file("weights");
  support::write_file(path, support::Bytes(200, std::byte{'x'}));

  const Status status = GetParam().import(path);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, GetParam().of_another_file);
  EXPECT_EQ(status.error().message.rfind(path, 0), 0U) << status.error().message;
  EXPECT_EQ(GetParam().import(path + ".none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(GetParam().import(folder.path()).error().code, ErrorCode::kNotRegularFile);
  EXPECT_EQ(GetParam().import(support::kNoRegularFile).error().code, ErrorCode::kNotRegularFile);
}

INSTANTIATE_TEST_SUITE_P(Every, ImportersOf,
                         testing::Values(importer("Gguf", &tensors_from_gguf, ErrorCode::kBadMagic),
                                         importer("Irpa", &tensors_from_irpa, ErrorCode::kBadMagic),
                                         importer("Safetensors", &tensors_from_safetensors, ErrorCode::kLimitExceeded)),
                         [](const auto& param) { return param.param.format; });

PackTensor at(std::uint64_t offset, std::uint64_t size) {
  PackTensor tensor;
  tensor.offset_in_blob = offset;
  tensor.size_bytes = size;
  return tensor;
}

std::vector<bool> aliases_of(std::vector<PackTensor> tensors) {
  mark_aliases(tensors);
  std::vector<bool> found;
  for (const PackTensor& tensor : tensors) found.push_back(tensor.alias);
  return found;
}

TEST(MarkAliases, MarksWhatOverlapsAndNothingElse) {
  EXPECT_EQ(aliases_of({at(0, 10), at(10, 10), at(20, 0), at(20, 5)}), (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(aliases_of({at(30, 4), at(0, 10), at(9, 2)}), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(aliases_of({at(8, 8), at(8, 8)}), (std::vector<bool>{true, true}));
}

TEST(MarkAliases, ALongTensorOverlapsAllThatBeginInIt) {
  EXPECT_EQ(aliases_of({at(0, 100), at(10, 10), at(50, 60), at(105, 1), at(110, 1)}),
            (std::vector<bool>{true, true, true, true, false}));
}

TEST(MarkAliases, AnEndBeyondAllNumbersIsTheLargest) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(aliases_of({at(kMost - 4, 10), at(kMost - 1, 1), at(0, 1)}), (std::vector<bool>{true, true, false}));
}

}  // namespace import_tensors_test
}  // namespace fatctx
