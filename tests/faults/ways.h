// Every way into a container, through it and out of it, for tests that make things fail on the way.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/load.h"
#include "runtime/small_model.h"

namespace fatctx::faults {

struct Way {
  const char* name;
  // What the way gave, so that two runs can be compared. The file is one of testing::pack_small_model().
  std::function<Result<std::string>(const std::string& path)> work;
  int least_calls;  // to the system, in a good run
};

[[nodiscard]] std::vector<Way> ways();
// Those of ways() that do not use the file at `path`, but files of other formats.
[[nodiscard]] std::vector<Way> import_ways();
// Signing, keys, repair, comparing: with files of their own too.
[[nodiscard]] std::vector<Way> keeping_ways();

// What ways give: of bytes, of a file, of every record of a container.
[[nodiscard]] std::string digest(ByteView bytes);
[[nodiscard]] Result<std::string> digest_of_file(const std::string& path);
[[nodiscard]] Result<std::string> all_views(const Container& container);
[[nodiscard]] Result<std::string> loaded(const std::string& path, const LoadOptions& options);

// A test of each way, on a file of its own.
class EveryWay : public ::testing::TestWithParam<Way> {
 protected:
  EveryWay() : path_(folder_ / "m.fatctx") { testing::pack_small_model(path_); }

  // Files that a way left because it did not end.
  [[nodiscard]] std::size_t temporaries() const {
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path_).parent_path())) {
      if (entry.path().filename().string().ends_with(".tmp")) ++count;
    }
    return count;
  }

  testing::Folder folder_;
  std::string path_;
};

// "ThePathAndAllViews": for INSTANTIATE_TEST_SUITE_P.
[[nodiscard]] std::string name_of(const ::testing::TestParamInfo<Way>& way);

}  // namespace fatctx::faults
