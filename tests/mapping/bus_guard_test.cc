#include "mapping/bus_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "support/mapped_file.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::mapping {
namespace bus_guard_test {

using support::Bytes;
using support::is_ok;
using support::TempDir;

using MapFunction = Result<std::unique_ptr<MappedRegion>> (*)(const OsFile&, std::uint64_t);

constexpr std::size_t kPages = 32;

struct CutFile {
  TempDir folder;
  std::string path = folder.file("mapped");
  std::unique_ptr<OsFile> file;
  std::unique_ptr<MappedRegion> region;

  explicit CutFile(MapFunction map = map_file) {
    support::write_file(path, Bytes(kPages * page_size(), std::byte{7}));
    file = open_for_reading(path).value();
    region = map(*file, kPages * page_size()).value();
  }
  void cut_to(std::size_t pages) const {
    if (::truncate(path.c_str(), static_cast<off_t>(pages * page_size())) != 0) throw std::runtime_error("truncate");
  }
  [[nodiscard]] unsigned byte_of_page(std::size_t page) const {
    return *reinterpret_cast<const volatile unsigned char*>(region->bytes().data() + page * page_size());
  }
};

class BusGuard : public testing::TestWithParam<MapFunction> {
 protected:
  void SetUp() override { ASSERT_TRUE(is_ok(install_bus_guard())); }
};

TEST_P(BusGuard, LostBytesReadAsZerosAndTheMapSaysSo) {
  const CutFile cut(GetParam());
  const std::uint64_t before = bus_guard_losses();
  cut.cut_to(2);
  EXPECT_FALSE(cut.region->lost()) << "nobody has touched anything yet";

  EXPECT_EQ(cut.byte_of_page(5), 0U);
  EXPECT_TRUE(cut.region->lost());
  EXPECT_EQ(cut.byte_of_page(1), 7U) << "what lies before the fault is still the file's";
  EXPECT_EQ(cut.byte_of_page(kPages - 1), 0U);
  EXPECT_EQ(bus_guard_losses(), before + 1);
}

TEST_P(BusGuard, TwoFaultsAreEnoughForAnyNumberOfPages) {
  const CutFile cut(GetParam());
  ASSERT_EQ(support::maps_of(cut.path), 1U);
  cut.cut_to(0);

  // The last page first, so that the first fault replaces one page only.
  EXPECT_EQ(cut.byte_of_page(kPages - 1), 0U);
  EXPECT_EQ(support::maps_of(cut.path), 1U) << "what lies before the first fault may still be there";
  EXPECT_EQ(cut.byte_of_page(kPages / 2), 0U);

  EXPECT_EQ(support::maps_of(cut.path), 0U) << "the other pages would each need a signal and a map of their own";
}

INSTANTIATE_TEST_SUITE_P(Both, BusGuard, testing::Values(map_file_boost, map_file_raw));

TEST(BusGuardOfSeveralMaps, OnlyTheCutOneIsLost) {
  ASSERT_TRUE(is_ok(install_bus_guard()));
  const CutFile whole;
  const CutFile cut;
  cut.cut_to(0);
  EXPECT_EQ(cut.byte_of_page(0), 0U);
  EXPECT_EQ(whole.byte_of_page(0), 7U);
  EXPECT_TRUE(cut.region->lost());
  EXPECT_FALSE(whole.region->lost());
}

TEST(BusGuardOfSeveralMaps, MoreThanABlockOfThemAndPlacesUsedAgain) {
  ASSERT_TRUE(is_ok(install_bus_guard()));
  std::deque<CutFile> many(100);
  for (int round = 0; round < 2; ++round) {
    for (CutFile& one : many) one.cut_to(1);
    for (CutFile& one : many) {
      EXPECT_EQ(one.byte_of_page(1), 0U);
      EXPECT_TRUE(one.region->lost());
    }
    many.clear();
    many.resize(100);
    for (const CutFile& one : many) EXPECT_FALSE(one.region->lost()) << "a new map is not taken for an old one";
  }
}

TEST(BusGuardThreads, ReadersOfLostPagesAllGoOn) {
  ASSERT_TRUE(is_ok(install_bus_guard()));
  const CutFile cut;
  cut.cut_to(1);
  std::vector<std::thread> readers;
  std::vector<unsigned> sums(8, 1);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    readers.emplace_back([&, i] {
      sums[i] = 0;
      for (std::size_t page = 1; page < kPages; ++page)
        sums[i] += cut.byte_of_page(1 + (page * (i + 1)) % (kPages - 1));
    });
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(sums, std::vector<unsigned>(8, 0));
  EXPECT_TRUE(cut.region->lost());
}

// Faults that are not ours. Each is in a process of its own, because handlers are installed for good.
class ForeignFaults : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Touches a map that was not registered with the guard.
  static void touch_foreign_lost_page() {
    const TempDir folder;
    support::write_file(folder.file("f"), Bytes(page_size(), std::byte{7}));
    const auto file = open_for_reading(folder.file("f")).value();
    const auto* bytes =
        static_cast<const volatile char*>(::mmap(nullptr, page_size(), PROT_READ, MAP_SHARED, file->descriptor(), 0));
    if (::truncate(folder.file("f").c_str(), 0) == 0) (void)bytes[0];
  }
};

void exit_with_42(int) { ::_exit(42); }
void exit_with_43(int, siginfo_t* info, void*) { ::_exit(info->si_addr != nullptr ? 43 : 1); }

TEST_F(ForeignFaults, GoToThePlainHandlerThatWasThereBefore) {
  EXPECT_EXIT(
      {
        (void)::signal(SIGBUS, exit_with_42);
        (void)install_bus_guard();
        touch_foreign_lost_page();
      },
      testing::ExitedWithCode(42), "");
}

TEST_F(ForeignFaults, GoToTheHandlerWithDetailsThatWasThereBefore) {
  EXPECT_EXIT(
      {
        struct sigaction action = {};
        action.sa_sigaction = exit_with_43;
        action.sa_flags = SA_SIGINFO;
        (void)::sigaction(SIGBUS, &action, nullptr);
        (void)install_bus_guard();
        touch_foreign_lost_page();
      },
      testing::ExitedWithCode(43), "");
}

TEST_F(ForeignFaults, EndTheProcessIfNobodyHandledThemBefore) {
  EXPECT_EXIT(
      {
        (void)::signal(SIGBUS, SIG_DFL);
        (void)install_bus_guard();
        touch_foreign_lost_page();
      },
      testing::KilledBySignal(SIGBUS), "");
}

TEST_F(ForeignFaults, SignalsThatAreSentAndWereIgnoredStayIgnored) {
  EXPECT_EXIT(
      {
        (void)::signal(SIGBUS, SIG_IGN);
        (void)install_bus_guard();
        (void)::raise(SIGBUS);
        ::_exit(7);
      },
      testing::ExitedWithCode(7), "");
}

TEST_F(ForeignFaults, SignalsThatAreSentStillEndTheProcess) {
  EXPECT_EXIT(
      {
        (void)::signal(SIGBUS, SIG_DFL);
        (void)install_bus_guard();
        (void)::raise(SIGBUS);
        ::_exit(7);
      },
      testing::KilledBySignal(SIGBUS), "");
}

}  // namespace bus_guard_test
}  // namespace fatctx::mapping
