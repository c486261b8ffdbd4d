// The whole program on a file that is cut while it reads it: after each of its fstat() calls in turn. The size was then
// right when it was read, and no clock decides the moment.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include "support/child_process.h"
#include "support/sample_container.h"

int fatctx_main(int argc, char** argv);  // main() of tools/cli/main.cc, under another name

namespace {

// In the child that runs the program: the file, and the number of the call after which it is cut. 0: never.
const char* file_to_cut = nullptr;
int looks_until_cut = 0;
pid_t cutter = -1;
bool held_back = false;  // the system let the cut wait, because the program held a read lease of the file

// Added to the exit code where the cut had to wait.
constexpr int kHeldBack = 40;

// Cuts the file in another process: where the program holds a read lease, the system lets that process wait until the
// program gives the lease back.
void cut_file() {
  cutter = ::fork();
  if (cutter == 0) ::_exit(::truncate(file_to_cut, 0) == 0 ? 0 : 99);
  for (int i = 0; i < 500 && cutter > 0; ++i) {  // a busy machine starts it late
    if (::waitpid(cutter, nullptr, WNOHANG) == cutter) cutter = -1;
    if (cutter > 0) ::usleep(1000);
  }
  held_back = cutter > 0;
}

}  // namespace

// The linker redirects every fstat() of the library to this file.
extern "C" int __real_fstat(int descriptor, struct stat* found);
extern "C" int __wrap_fstat(int descriptor, struct stat* found) {
  const int result = __real_fstat(descriptor, found);
  if (looks_until_cut > 0 && --looks_until_cut == 0) cut_file();
  return result;
}

namespace fatctx::tools {
namespace cut_file_test {

using support::Bytes;

class CutFile : public ::testing::Test {
 protected:
  struct Ended {
    int code = 0;  // -1: ended by a signal
    bool cut = false;
    bool held_back = false;
    std::string said;  // on stderr
  };

  [[nodiscard]] Ended bench_load_cut_after(int look) const {
    support::write_file(path_, whole_);
    const std::string said = folder_.file("said");
    Ended ended;
    ended.code = support::in_child([&] {
      if (std::freopen(said.c_str(), "w", stderr) == nullptr) return 98;
      if (std::freopen("/dev/null", "w", stdout) == nullptr) return 98;
      // Two sessions: the second one finds every leaf checked and reads nothing between its last fstat() and its views.
      std::array<std::string, 9> words = {"fatctx",    "bench",      "load", path_,       "--device",
                                          "x86-64-v3", "--sessions", "2",    "--repeat=1"};
      std::array<char*, words.size()> arguments{};
      for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
      file_to_cut = path_.c_str();
      looks_until_cut = look;
      const int code = fatctx_main(static_cast<int>(arguments.size()), arguments.data());
      std::fflush(nullptr);
      if (cutter > 0) ::waitpid(cutter, nullptr, 0);
      return held_back ? code + kHeldBack : code;
    });
    ended.held_back = ended.code >= kHeldBack;
    if (ended.held_back) ended.code -= kHeldBack;
    ended.cut = std::filesystem::file_size(path_) == 0;
    const Bytes text = support::read_file(said);
    ended.said.assign(reinterpret_cast<const char*>(text.data()), text.size());
    return ended;
  }

  support::TempDir folder_;
  std::string path_ = folder_.file("model.fatctx");
  Bytes whole_ = support::unsealed_sample();
};

TEST_F(CutFile, IsAnErrorOfTheFileAtEveryMomentAndNeverASignal) {
  int lost_mappings = 0;
  int look = 1;
  for (Ended ended = bench_load_cut_after(look); ended.cut; ended = bench_load_cut_after(++look)) {
    // A cut that waits for the lease comes after the reads: it may find a program that needs the file no more.
    if (!ended.held_back || ended.code != 0) {
      EXPECT_EQ(ended.code, 3) << "cut after look " << look << ": " << ended.said;
    }
    if (ended.said.find("a file was cut while it was mapped; the result is not valid (mapping_lost)") !=
        std::string::npos) {
      ++lost_mappings;
    }
  }

  EXPECT_GT(lost_mappings, 0) << "no cut came between the last look and the reads";
  EXPECT_GT(look, lost_mappings + 1) << "every cut came there";
}

TEST_F(CutFile, IsNotReportedOfAWholeFile) {
  const Ended ended = bench_load_cut_after(0);

  EXPECT_EQ(ended.code, 0) << ended.said;
  EXPECT_EQ(ended.said, "");
}

}  // namespace cut_file_test
}  // namespace fatctx::tools
