// The system calls of a further open and a further session.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <vector>

#include "fatctx/model.h"
#include "faults/os_faults.h"
#include "runtime/small_model.h"

namespace fatctx {
namespace second_session_test {

using testing::Folder;

// Shows S3.70.
TEST(SecondSession, ReadsNothingAndMapsNothing) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  ModelOptions options;
  options.device = Device{};
  options.device->arch = "aarch64";

  std::vector<Session> held;
  const auto calls_of_a_load = [&] {
    const faults::Counted counted;
    const Model model = Model::open(path, options).value();
    held.push_back(model.begin_session().value());
    return counted.calls();
  };
  auto calls = calls_of_a_load();
  EXPECT_EQ(calls["mmap"], 1);
  EXPECT_GT(calls["pread"], 2) << "header, table of contents, payload";

  calls = calls_of_a_load();
  EXPECT_EQ(calls["fstatfs"], 1) << "which filesystem? Asked once for each mapping, by the second load";

  calls = calls_of_a_load();
  EXPECT_GT(calls["fstat"], 0) << "is the file the same?";
  calls.erase("stat");
  calls.erase("fstat");
  EXPECT_TRUE(calls.empty())
      << "a further session asks whether the file is the same, and nothing else; first of what it "
         "asked beside: "
      << calls.begin()->first;
}

TEST(SecondSession, OfAFileThatWasTouchedReadsItsHeaderOnce) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const Container first = Container::open(path).value();
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);  // another ctime
  const auto reads_of_an_open = [&] {
    const faults::Counted counted;
    (void)Container::open(path).value();
    return counted.calls()["pread"];
  };

  EXPECT_GT(reads_of_an_open(), 0);
  EXPECT_EQ(reads_of_an_open(), 0);
}

}  // namespace second_session_test
}  // namespace fatctx
