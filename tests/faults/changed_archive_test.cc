// A DLC archive that another process changes while it is imported or cut.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "fatctx/import_dlc.h"
#include "faults/os_faults.h"
#include "support/dlc_file.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace changed_archive_test {

using support::fails_with;

TEST(ChangedArchive, IsNeitherImportedNorCut) {
  const support::TempDir folder;
  const std::string path = folder.file("m.dlc");
  const std::string out = folder.file("thin.dlc");
  const auto status = [](const auto& result) { return result.ok() ? Status(Done{}) : Status(result.error()); };
  const std::function<Status()> readers[] = {
      [&] { return status(records_from_dlc(path, {})); },
      [&] { return status(extract_thin_dlc(path, {.qnn_socs = {57}, .entries = {}}, out, false)); },
  };
  const support::Bytes bytes = support::two_socs().write();
  for (const auto& read : readers) {
    support::write_file(path, bytes);
    const faults::Before first_read("pread", [&] { std::filesystem::resize_file(path, bytes.size() + 1); });

    const Status refused = read();

    ASSERT_TRUE(fails_with(refused, ErrorCode::kChanged));
    EXPECT_EQ(refused.error().message.rfind(path + ": changed while", 0), 0U) << refused.error().message;
    EXPECT_FALSE(std::filesystem::exists(out));
  }
}

}  // namespace changed_archive_test
}  // namespace fatctx
