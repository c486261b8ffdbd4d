// A file that readers could not open after it was built does not get its name, and replaces nothing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <string>

#include "container/format/disk_format.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "faults/os_faults.h"
#include "support/large_form.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace built_file_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

// Changes the first table of contents of an unfinished file in `folder`, through its descriptor.
void damage_a_table(const std::string& folder) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    const bool in_the_making = target.find("(deleted)") != std::string::npos || target.ends_with(".tmp");
    if (gone || !target.starts_with(folder) || !in_the_making) continue;
    const int file = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    const char byte = '\x7f';
    EXPECT_EQ(::pwrite(file, &byte, 1, container::kHeaderSize + 100), 1);
    ::close(file);
  }
}

TEST(BuiltFile, IsReadAsReadersDoBeforeItIsNamed) {
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const auto status = [](const auto& result) { return result.ok() ? Status(Done{}) : Status(result.error()); };
  const std::pair<const char*, std::function<Status()>> writers[] = {
      {"pack",
       [&] {
         PackOptions options;
         options.overwrite = true;
         return status(support::pack(support::cpu_records(), path, options));
       }},
      {"compact", [&] { return status(rewrite_container(path, path)); }},
      {"sign", [&] { return status(sign_container(path, keys.secret_path, path)); }},
  };
  for (const auto& [name, write] : writers) {
    const Bytes start = support::unsealed_sample();
    support::write_file(path, start);
    int writes = 0;
    {
      const faults::Before counting("pwrite", [&] { ++writes; });
      ASSERT_TRUE(is_ok(write())) << name;
    }
    ASSERT_GT(writes, 3) << name;
    support::write_file(path, start);
    const faults::Before last_write("pwrite", [&] {  // the last write is the header's; the tables are already written
      if (--writes == 0) damage_a_table(folder.path());
    });

    const Status refused = write();

    ASSERT_TRUE(fails_with(refused, ErrorCode::kIo, "F14")) << name;
    EXPECT_EQ(support::read_file(path), start) << name;
  }
}

}  // namespace built_file_test
}  // namespace fatctx
