// Every operation that reads, uses or writes a container, for tests that make system calls or allocations fail.
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
  // Returns the outcome, so that two runs can be compared. The file is one of testing::pack_small_model().
  std::function<Result<std::string>(const std::string& path)> work;
  int least_calls;  // system calls in a successful run
};

[[nodiscard]] std::vector<Way> ways();
// Returns the operations among ways() that use files of other formats instead of the file at `path`.
[[nodiscard]] std::vector<Way> import_ways();
// Returns the operations for signing, keys, repair and comparing; they have files of their own, too.
[[nodiscard]] std::vector<Way> keeping_ways();
// Returns the operations for appending what a container has already, and for compressing.
[[nodiscard]] std::vector<Way> sharing_ways();

// Digests of an outcome: of bytes, of a file, of every record of a container.
[[nodiscard]] std::string digest(ByteView bytes);
[[nodiscard]] Result<std::string> digest_of_file(const std::string& path);
[[nodiscard]] Result<std::string> all_views(const Container& container);
[[nodiscard]] Result<std::string> loaded(const std::string& path, const LoadOptions& options);

// A fixture for a test of each operation, on a file of its own.
class EveryWay : public ::testing::TestWithParam<Way> {
 protected:
  EveryWay() : path_(folder_ / "m.fatctx") { testing::pack_small_model(path_); }

  // Counts the files that an interrupted operation left.
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

// Returns a name such as "ThePathAndAllViews", for INSTANTIATE_TEST_SUITE_P.
[[nodiscard]] std::string name_of(const ::testing::TestParamInfo<Way>& way);

}  // namespace fatctx::faults
