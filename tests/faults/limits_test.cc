// Limits of a process, actually reached: descriptors, address space, maps. Each in a child process.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "fatctx/model.h"
#include "runtime/small_model.h"
#include "support/child_process.h"
#include "support/sanitized.h"

namespace fatctx {
namespace limits_test {

using support::kSanitized;
using testing::Folder;

class Limits : public ::testing::Test {
 protected:
  Limits() : path_(folder_ / "m.fatctx") { testing::pack_small_model(path_); }

  // Returns 0 if opening and viewing fails with `code` and a message that contains `word`.
  static int refused(const std::string& path, ErrorCode code, const std::string& word) {
    const auto container = Container::open(path);
    if (container.ok()) return 1;
    if (container.error().code != code || container.error().message.find(word) == std::string::npos) {
      (void)std::fprintf(stderr, "%s\n", to_text(container.error()).c_str());
      return 2;
    }
    return 0;
  }

  Folder folder_;
  std::string path_;
};

TEST_F(Limits, NoDescriptorIsLeft) {
  if (kSanitized) GTEST_SKIP() << "the undefined-behaviour sanitizer needs descriptors to look at objects";
  EXPECT_EQ(support::in_child([&] {
              int last = 0;
              for (int next = ::dup(0); next >= 0; next = ::dup(0)) last = next;
              if (const int wrong = refused(path_, ErrorCode::kNoResource, "ulimit -n"); wrong != 0) return wrong;
              for (int i = 0; i < 4; ++i) (void)::close(last - i);
              return Container::open(path_).ok() ? 0 : 3;
            }),
            0);
}

TEST_F(Limits, NoAddressSpaceIsLeft) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer takes more address space than the limit leaves";
  // A sparse file: only its size matters.
  const std::string large = folder_ / "large.fatctx";
  {
    PackOptions options;
    options.sharing = Sharing::kOff;  // otherwise the zeros would be stored once
    Packer packer(options);
    PackRecord record;
    record.type = RecordType::kOpaque;
    record.name = "large";
    record.source.bytes = std::vector<std::byte>(std::size_t{64} << 20);
    ASSERT_TRUE(packer.add(std::move(record)).ok());
    ASSERT_TRUE(packer.publish(large).ok());
  }
  EXPECT_EQ(support::in_child([&] {
              // The current use plus half of the size of the map.
              std::size_t pages = 0;
              if (std::FILE* statm = std::fopen("/proc/self/statm", "r")) {
                if (std::fscanf(statm, "%zu", &pages) != 1) return 4;
                (void)std::fclose(statm);
              }
              const rlim_t size = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + (std::size_t{32} << 20);
              const rlimit limit{size, size};
              if (::setrlimit(RLIMIT_AS, &limit) != 0) return 5;
              if (const int wrong = refused(large, ErrorCode::kNoResource, "address space"); wrong != 0) return wrong;
              return Container::open(path_).ok() ? 0 : 3;
            }),
            0);
}

TEST_F(Limits, NoMapIsLeft) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs maps of its own";
  EXPECT_EQ(support::in_child([&] {
              // Every second page is readable, so the kernel cannot join them: each is a map.
              constexpr std::size_t kPage = 4096;
              constexpr std::size_t kMost = 2'000'000;  // above every usual vm.max_map_count
              auto* pages = static_cast<char*>(
                  ::mmap(nullptr, kMost * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
              if (pages == MAP_FAILED) return support::kChildSkipped;
              std::size_t page = 0;
              while (page < kMost && ::mprotect(pages + page * kPage, kPage, PROT_READ) == 0) page += 2;
              if (page >= kMost) return support::kChildSkipped;
              // A split takes two maps, so one may be left.
              while (::mmap(nullptr, kPage, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
              }
              if (const int wrong = refused(path_, ErrorCode::kNoResource, "vm.max_map_count"); wrong != 0) {
                return wrong;
              }
              (void)::munmap(pages, kMost * kPage);
              return Container::open(path_).ok() ? 0 : 3;
            }),
            0);
}

}  // namespace limits_test
}  // namespace fatctx
