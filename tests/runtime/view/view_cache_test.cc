#include "runtime/view/view_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sched.h>
#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "fatctx/mapping_guard.h"
#include "fatctx/profile.h"
#include "fatctx/trace.h"
#include "runtime/cached_model.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/composed_view.h"
#include "support/child_process.h"
#include "support/mapped_file.h"
#include "support/opened.h"
#include "support/recipe_file.h"
#include "support/sanitized.h"

namespace fatctx {
namespace view_cache_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class ViewCacheFiles : public testing::CachedModel {
 protected:
  [[nodiscard]] std::vector<ViewCacheFile> listed() const { return list_view_cache(cache_).value(); }
  // Sums up a field of smaps over the maps of `path`, in bytes.
  [[nodiscard]] static std::uint64_t of_maps(const std::string& path, const std::string& field) {
    std::ifstream smaps("/proc/self/smaps");
    std::uint64_t sum = 0;
    bool inside = false;
    for (std::string line; std::getline(smaps, line);) {
      if (line.find('-') < line.find(' ') && line.find(':') > line.find(' ')) {
        inside = line.find(path) != std::string::npos;
      } else if (inside && line.starts_with(field + ":")) {
        sum += std::stoull(line.substr(field.size() + 1)) * 1024;
      }
    }
    return sum;
  }
  [[nodiscard]] static std::uint64_t anonymous_bytes() {
    std::ifstream rollup("/proc/self/smaps_rollup");
    for (std::string line; std::getline(rollup, line);) {
      if (line.starts_with("Anonymous:")) return std::stoull(line.substr(10)) * 1024;
    }
    return 0;
  }
  void write_at(const std::string& path, std::uint64_t offset, ByteView bytes) const {
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(file.flush());
  }
};

TEST_F(ViewCacheFiles, WhatIsBuiltLiesInTheFolderAndNotInMemory) {
  const Container container = open(cached());
  for (const std::size_t chip : recipes()) {
    const std::uint64_t built = open().acquire(name(chip)).value().copied_bytes();
    const auto view = container.acquire(name(chip));
    ASSERT_TRUE(is_ok(view)) << chip;
    EXPECT_TRUE(shows(view.value(), chip));
    EXPECT_EQ(view.value().access_path(), AccessPath::kComposed);
    EXPECT_EQ(view.value().copied_bytes(), 0U);
    EXPECT_EQ(view.value().cached_bytes(), built);
    EXPECT_EQ(container.access_path_of(view.value().record_id()).value(), AccessPath::kComposed);
    const RecordMetrics metrics = metrics_of(container, name(chip));
    EXPECT_EQ(metrics.composed_bytes, 0U);
    EXPECT_EQ(metrics.cached_bytes, built);
    EXPECT_TRUE(metrics.cache_file.starts_with(cache_)) << metrics.cache_file;
    EXPECT_EQ(metrics.cache_rejected, "");
    EXPECT_EQ(metrics.verification, RecordState::kOk);
    EXPECT_EQ(container_metrics(container).cached_bytes, built);
    const auto json = nlohmann::json::parse(to_json(container_metrics(container)))["container"];
    EXPECT_EQ(json["cached_bytes"], built);
    EXPECT_EQ(json["composed_bytes"], 0U);
  }
  EXPECT_EQ(files().size(), recipes().size());
  EXPECT_EQ(container_metrics(container).cached_bytes, 0U) << "nobody holds a view any more";
  EXPECT_EQ(mapped_of(container)->composed_bytes(), 0U);
}

TEST_F(ViewCacheFiles, TheSecondUseFindsTheFileOfTheFirst) {
  const std::size_t chip = mixed();
  const ViewCacheCounts before = view_cache_counts();
  { const RecordView view = acquire(chip, cached()).value(); }
  EXPECT_EQ(view_cache_counts().made, before.made + 1);
  EXPECT_EQ(view_cache_counts().used, before.used);
  const auto written = std::filesystem::last_write_time(only_file());
  const RecordView again = acquire(chip, cached()).value();
  EXPECT_EQ(view_cache_counts().made, before.made + 1);
  EXPECT_EQ(view_cache_counts().used, before.used + 1);
  EXPECT_TRUE(shows(again, chip));
  EXPECT_EQ(std::filesystem::last_write_time(only_file()), written);
  EXPECT_EQ(nlohmann::json::parse(to_json(runtime_metrics()))["runtime"]["view_cache"]["used"], before.used + 1);
}

TEST_F(ViewCacheFiles, NobodyCanWriteToWhatItShows) {
  const RecordView view = acquire(mixed(), cached()).value();
  for (const std::size_t at : {std::size_t{0}, view.bytes().size() - 1}) {
    auto* page = const_cast<std::byte*>(view.data() + at - reinterpret_cast<std::uintptr_t>(view.data() + at) % 4096);
    EXPECT_NE(::mprotect(page, 4096, PROT_READ | PROT_WRITE), 0) << at;
  }
}

TEST_F(ViewCacheFiles, TwoProcessesShareTheMemoryOfOneFile) {
  const std::size_t chip = mixed();
  { const RecordView view = acquire(chip, cached()).value(); }
  const std::string file = only_file();
  const auto read_all = [&](const RecordView& view) {
    return support::touch(view.bytes()) + (shows(view, chip) ? 0U : 1U);
  };
  int ready[2] = {};
  int go[2] = {};
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto view = acquire(chip, cached());
    char byte = 0;
    const bool good = view.ok() && view.value().cached_bytes() != 0 && shows(view.value(), chip);
    if (::write(ready[1], good ? "y" : "n", 1) != 1 || ::read(go[0], &byte, 1) != 1) ::_exit(2);
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const std::uint64_t anonymous = anonymous_bytes();
  {
    const RecordView view = acquire(chip, cached()).value();
    (void)read_all(view);
    const std::uint64_t resident = of_maps(file, "Rss");
    if (resident != 0) {  // 0 on a system without smaps
      EXPECT_GE(resident, view.cached_bytes());
      EXPECT_EQ(of_maps(file, "Anonymous"), 0U);
      EXPECT_EQ(of_maps(file, "Private_Dirty"), 0U);
      EXPECT_LE(of_maps(file, "Pss"), resident * 6 / 10) << "each of two processes counts half of every page";
      // A sanitizer keeps freed memory.
      if (!support::kSanitized) {
        EXPECT_LT(anonymous_bytes(), anonymous + view.cached_bytes() / 2);
      }
    }
  }
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  for (const int end : {ready[0], ready[1], go[0], go[1]}) ::close(end);
}

TEST_F(ViewCacheFiles, EightProcessesAtOnceMakeOneFileOfTheRightBytes) {
  const std::vector<std::size_t> chips = recipes();
  int go[2] = {};
  ASSERT_EQ(::pipe(go), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(go[1]);
      char byte = 0;
      (void)!::read(go[0], &byte, 1);  // until the parent closes its end
      const auto view = acquire(chips[0], cached());
      ::_exit(view.ok() && view.value().cached_bytes() != 0 && shows(view.value(), chips[0]) ? 0 : 1);
    }
    children.push_back(child);
  }
  ::close(go[0]);
  ::close(go[1]);
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(files().size(), 1U);
  EXPECT_TRUE(list_view_cache(cache_).value().at(0).whole);
}

TEST_F(ViewCacheFiles, ADamagedFileIsThrownAwayAndMadeAnewAtEveryPlace) {
  const std::size_t chip = mixed();
  { const RecordView view = acquire(chip, cached()).value(); }
  const Bytes whole = support::read_file(only_file());
  std::vector<std::size_t> places = {0, whole.size() / 2};
  for (std::size_t back = 1; back <= 96; back += support::kSanitized ? 7 : 1) places.push_back(whole.size() - back);
  for (const std::size_t at : places) {
    const std::byte other = whole[at] ^ std::byte{4};
    write_at(only_file(), at, {&other, 1});
    const std::uint64_t rejected = view_cache_counts().rejected;
    const Container container = open(cached());
    const auto view = container.acquire(name(chip));
    ASSERT_TRUE(is_ok(view)) << at;
    EXPECT_TRUE(shows(view.value(), chip)) << at;
    EXPECT_EQ(view_cache_counts().rejected, rejected + 1) << at;
    const std::string rejected_for = metrics_of(container, name(chip)).cache_rejected;
    EXPECT_NE(rejected_for, "") << at;
    if (at + 96 < whole.size()) {  // found by a read: an unreadable page on the disk is then an error and not a signal
      EXPECT_NE(rejected_for.find("its bytes are damaged"), std::string::npos) << rejected_for;
    }
    EXPECT_EQ(support::read_file(only_file()), whole) << at;
  }
}

TEST_F(ViewCacheFiles, ACutOrLongerFileIsThrownAwayAndMadeAnew) {
  const std::size_t chip = mixed();
  { const RecordView view = acquire(chip, cached()).value(); }
  const Bytes whole = support::read_file(only_file());
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{95}, std::size_t{96}, std::size_t{4096},
                                 whole.size() - 1, whole.size() + 1, whole.size() + 4096}) {
    ASSERT_EQ(::chmod(only_file().c_str(), 0600), 0);
    ASSERT_EQ(::truncate(only_file().c_str(), static_cast<off_t>(size)), 0);
    const auto view = acquire(chip, cached());
    ASSERT_TRUE(is_ok(view)) << size;
    EXPECT_TRUE(shows(view.value(), chip)) << size;
    EXPECT_EQ(support::read_file(only_file()), whole) << size;
  }
}

TEST_F(ViewCacheFiles, AForgedFileWithHashesOfItsOwnNeverGivesWrongBytes) {
  const std::size_t chip = mixed();
  { const RecordView view = acquire(chip, cached()).value(); }
  const Bytes whole = support::read_file(only_file());
  Bytes forged = whole;
  forged[100] ^= std::byte{1};
  const std::size_t trailer = forged.size() - 96;
  const auto put = [&](std::size_t at, const Hash128& hash) {
    std::copy(hash.bytes.begin(), hash.bytes.end(), forged.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(trailer + 64, container::hash128(ByteView(forged).first(trailer)));
  put(trailer + 80, container::hash128(ByteView(forged).subspan(trailer, 80)));
  for (const VerifyPolicy policy : {VerifyPolicy::kRecordOnAcquire, VerifyPolicy::kNone}) {
    write_at(only_file(), 0, forged);
    EXPECT_TRUE(list_view_cache(cache_).value().at(0).whole) << "it hangs together; only the record tells";
    OpenOptions options = cached();
    options.verify = policy;
    const Container container = open(options);
    const RecordView view = container.acquire(name(chip)).value();
    EXPECT_TRUE(shows(view, chip));
    EXPECT_NE(metrics_of(container, name(chip)).cache_rejected.find("does not hold the record's bytes"),
              std::string::npos);
    EXPECT_EQ(metrics_of(container, name(chip)).verification, RecordState::kOk);
    EXPECT_EQ(support::read_file(only_file()), whole);
  }
}

TEST_F(ViewCacheFiles, AFileOfAnotherRecordUnderThisNameIsThrownAway) {
  const std::vector<std::size_t> chips = recipes();
  { const RecordView view = acquire(chips[0], cached()).value(); }
  const std::string first = only_file();
  const Bytes of_first = support::read_file(first);
  ASSERT_EQ(::rename(first.c_str(), folder_.file("aside").c_str()), 0);
  { const RecordView view = acquire(chips[1], cached()).value(); }
  const std::string second = only_file();
  ASSERT_NE(first, second);
  ASSERT_EQ(::rename(folder_.file("aside").c_str(), second.c_str()), 0);
  EXPECT_FALSE(list_view_cache(cache_).value().at(0).whole);
  EXPECT_TRUE(shows(acquire(chips[1], cached()).value(), chips[1]));
  ASSERT_EQ(::unlink(second.c_str()), 0);
  ASSERT_EQ(::symlink(path_.c_str(), second.c_str()), 0);
  EXPECT_TRUE(shows(acquire(chips[1], cached()).value(), chips[1])) << "a link is no view";
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(ViewCacheFiles, DamageOfTheContainerIsNotBlamedOnTheFile) {
  const std::size_t chip = mixed();
  std::uint64_t offset = 0;
  {
    const Container container = open(cached());
    const RecordView view = container.acquire(name(chip)).value();
    const auto live = live_composed(*mapped_of(container), view.record_id());
    const auto run = std::ranges::find_if(live->pieces(), [](const mapping::MixedPiece& one) { return !one.built; });
    offset = run->offset + run->size / 2;
  }
  Bytes damaged = support::read_file(path_);
  damaged[static_cast<std::size_t>(offset)] ^= std::byte{1};
  support::write_file(folder_.file("damaged.fatctx"), damaged);
  const Bytes before = support::read_file(only_file());
  const auto refused = Container::open(folder_.file("damaged.fatctx"), cached()).value().acquire(name(chip));
  EXPECT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(support::read_file(only_file()), before);
}

TEST_F(ViewCacheFiles, NothingWrongIsEverPublished) {
  support::HostileFile file(support::unsealed_sample());
  support::ProgramText program;
  program.copy(149'999, 0).fill(1, 99);
  support::add_recipe(file, program.bytes(), support::pattern(support::kSampleWeightsSize, 11));
  support::write_file(folder_.file("recipe.fatctx"), file.bytes());
  OpenOptions options = cached();
  options.verify = VerifyPolicy::kNone;
  const Container container = Container::open(folder_.file("recipe.fatctx"), options).value();
  const auto records = support::records_in(container);
  const auto record = std::ranges::find_if(records, [](const RecordInfo& one) { return one.recipe; });
  ASSERT_NE(record, records.end());
  EXPECT_TRUE(fails_with(container.acquire(record->id), ErrorCode::kChecksumMismatch, "F37"));
  EXPECT_TRUE(files().empty());
}

TEST_F(ViewCacheFiles, ABadFolderIsAnErrorWithTheRemedyAndNeverMemory) {
  const std::size_t chip = mixed();
  OpenOptions options = cached();
  options.max_copied_bytes = kEnough;
  ASSERT_EQ(::chmod(cache_.c_str(), 0755), 0);
  const auto open_to_all = acquire(chip, options);
  ASSERT_TRUE(fails_with(open_to_all, ErrorCode::kOperationNotPermitted));
  EXPECT_NE(open_to_all.error().message.find("chmod 700"), std::string::npos) << open_to_all.error().message;
  EXPECT_NE(open_to_all.error().message.find(path_), std::string::npos) << open_to_all.error().message;
  EXPECT_EQ(open_to_all.error().where.record_id, open().find(name(chip)).value().id);
  options.cache_folder = path_;
  EXPECT_TRUE(fails_with(acquire(chip, options), ErrorCode::kOperationNotPermitted));
  options.cache_folder = folder_.file("nowhere");
  EXPECT_TRUE(fails_with(acquire(chip, options), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(list_view_cache(path_), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(fails_with(collect_view_cache(folder_.file("nowhere"), 0), ErrorCode::kNotFound));
}

TEST_F(ViewCacheFiles, AFullDiskIsAnErrorAndAReadOnlyOneServesWhatItHas) {
  const std::vector<std::size_t> chips = recipes();
  const int result = support::in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0) return support::kChildSkipped;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return support::kChildSkipped;
    if (::mount("none", cache_.c_str(), "tmpfs", 0, "size=8k,mode=0700") != 0) return support::kChildSkipped;
    const auto full = acquire(chips[0], cached());
    if (full.ok() || full.error().code != ErrorCode::kNoSpace) return 1;
    if (!files().empty()) return 2;
    if (::mount("none", cache_.c_str(), nullptr, MS_REMOUNT, "size=64m") != 0) return 3;
    if (!acquire(chips[0], cached()).ok()) return 4;
    if (::mount("none", cache_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, "size=64m") != 0) return 5;
    const auto served = acquire(chips[0], cached());
    if (!served.ok() || !shows(served.value(), chips[0])) return 6;
    const auto refused = acquire(chips[1], cached());
    return refused.ok() || refused.error().where.os_error != EROFS ? 7 : 0;
  });
  if (result == support::kChildSkipped) GTEST_SKIP() << "file systems cannot be mounted here";
  EXPECT_EQ(result, 0);
}

TEST_F(ViewCacheFiles, AboveTheLimitWhatWasUsedLongestAgoGoes) {
  const std::vector<std::size_t> chips = recipes();
  ASSERT_GE(chips.size(), 3U);
  std::vector<std::uint64_t> sizes;
  std::vector<std::string> names;
  for (const std::size_t chip : chips) {
    const Container container = open(cached());
    const RecordView view = container.acquire(name(chip)).value();
    names.push_back(std::filesystem::path(metrics_of(container, name(chip)).cache_file).filename().string());
    sizes.push_back(view.cached_bytes() + 96);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the times of files have a coarse resolution
  }
  { const RecordView used_again = acquire(chips[0], cached()).value(); }
  const std::vector<ViewCacheFile> found = listed();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[0].name, names[0]);
  EXPECT_EQ(found[2].name, names[1]) << "used longest ago";

  ASSERT_EQ(::unlink((cache_ + "/" + names[2]).c_str()), 0);
  const std::uint64_t evicted = view_cache_counts().evicted;
  const RecordView in_use = acquire(chips[1], {.max_copied_bytes = kEnough}).value();
  { const RecordView made = acquire(chips[2], cached(sizes[0] + sizes[2])).value(); }
  EXPECT_EQ(view_cache_counts().evicted, evicted + 1);
  std::vector<std::string> left = {names[0], names[2]};
  std::sort(left.begin(), left.end());
  EXPECT_EQ(files(), left);

  const ViewCacheCollection done = collect_view_cache(cache_, sizes[2]).value();
  EXPECT_EQ(done.removed_files, 1U);
  EXPECT_EQ(done.removed_bytes, sizes[0]);
  EXPECT_EQ(done.left_files, 1U);
  EXPECT_EQ(done.left_bytes, sizes[2]);
  EXPECT_EQ(collect_view_cache(cache_, 0).value().removed_files, 1U);
  EXPECT_TRUE(files().empty());
}

TEST_F(ViewCacheFiles, AViewOfAnEvictedFileStaysValid) {
  const std::size_t chip = mixed();
  const Container container = open(cached());
  const RecordView view = container.acquire(name(chip)).value();
  EXPECT_EQ(collect_view_cache(cache_, 0).value().removed_files, 1U);
  EXPECT_TRUE(shows(view, chip));
  EXPECT_TRUE(is_ok(container.check()));
  const RecordView again = container.acquire(name(chip)).value();
  EXPECT_EQ(again.data(), view.data());
}

TEST_F(ViewCacheFiles, ALimitBelowOneFileIsAnErrorThatNamesTheBytes) {
  const std::size_t chip = mixed();
  const std::uint64_t needed = open().acquire(name(chip)).value().copied_bytes() + 96;
  const Container container = open(cached(needed - 1));
  const Result<RecordView> no_view = container.acquire(name(chip));
  const Result<AccessPath> no_path = container.access_path_of(container.find(name(chip)).value().id);
  ASSERT_FALSE(no_view.ok() || no_path.ok());
  for (const Status& refused : {Status(no_view.error()), Status(no_path.error())}) {
    ASSERT_TRUE(fails_with(refused, ErrorCode::kNoSpace));
    EXPECT_NE(refused.error().message.find(std::to_string(needed)), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find("cache_limit_bytes"), std::string::npos) << refused.error().message;
  }
  EXPECT_TRUE(is_ok(acquire(chip, cached(needed)))) << "what it names is enough";
}

TEST_F(ViewCacheFiles, AProcessThatIsKilledLeavesNothingThatStays) {
  const std::size_t chip = mixed();
  for (int round = 0; round < 20; ++round) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (;;) {
        (void)acquire(chip, cached()).ok();
        (void)collect_view_cache(cache_, 0).ok();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + round * 2));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    for (const ViewCacheFile& file : listed()) EXPECT_TRUE(file.whole) << file.name;
  }
  // The file that a dead writer leaves on a file system without unnamed files, and the file of a live one.
  const std::string dead = cache_ + "/.0123.view.0123456789abcdef.tmp";
  support::write_file(dead, Bytes(5000));
  std::filesystem::last_write_time(dead, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(collect_view_cache(cache_, 0).value().removed_temporaries, 1U);
  support::write_file(dead, Bytes(5000));
  std::filesystem::last_write_time(dead, std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_TRUE(shows(acquire(chip, cached()).value(), chip));
  EXPECT_EQ(files().size(), 1U) << "who makes a file clears up before";
}

TEST_F(ViewCacheFiles, AFileOfOtherPlacesHasAnotherName) {
  const RecordInfo record = open().find(name(mixed())).value();
  const auto plan_of = [&](const std::vector<mapping::MixedPiece>& pieces) {
    return view_cache_key(record, pieces, 4096, 4096).plan;
  };
  const mapping::MixedPiece built{.built = true, .offset = 0, .size = 4096};
  const mapping::MixedPiece before{.built = false, .offset = 65'536, .size = 8192};
  const mapping::MixedPiece behind{.built = false, .offset = 81'920, .size = 32'768};
  EXPECT_NE(plan_of({before, built, behind}), plan_of({behind, built, before}));
  EXPECT_EQ(plan_of({before, built, behind}), plan_of({before, built, behind}));
}

TEST_F(ViewCacheFiles, ACutUnderALiveViewIsAChangeAndTheNextOneIsGood) {
  const std::size_t chip = mixed();
  const Container container = open(cached());
  {
    const RecordView view = container.acquire(name(chip)).value();
    ASSERT_EQ(::chmod(only_file().c_str(), 0600), 0);
    ASSERT_EQ(::truncate(only_file().c_str(), 4096), 0);
    const auto refused = container.acquire(name(chip));
    ASSERT_TRUE(fails_with(refused, ErrorCode::kChanged));
    EXPECT_NE(refused.error().message.find(cache_), std::string::npos) << refused.error().message;
    EXPECT_TRUE(fails_with(container.check(), ErrorCode::kChanged)) << "as the end of a session asks";
  }
  EXPECT_TRUE(is_ok(container.check()));
  EXPECT_TRUE(shows(container.acquire(name(chip)).value(), chip));
}

TEST_F(ViewCacheFiles, WhoWritesIntoALiveFileIsFound) {
  const std::size_t chip = mixed();
  const Container container = open(cached());
  const RecordView view = container.acquire(name(chip)).value();
  const Bytes whole = support::read_file(only_file());
  const auto touched = [&] {
    std::filesystem::last_write_time(only_file(),
                                     std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  };
  touched();
  EXPECT_TRUE(is_ok(container.acquire(name(chip)))) << "a touch alone is harmless";
  const std::byte other = whole[0] ^ std::byte{1};
  write_at(only_file(), 0, {&other, 1});
  EXPECT_TRUE(fails_with(container.acquire(name(chip)), ErrorCode::kChecksumMismatch, "F37"));
  EXPECT_TRUE(fails_with(container.check(), ErrorCode::kChecksumMismatch, "F37"));
}

TEST_F(ViewCacheFiles, TheGuardSeesACutThatWasRead) {
  ASSERT_TRUE(is_ok(install_mapping_guard()));
  const std::size_t chip = mixed();
  const Container container = open(cached());
  const RecordView view = container.acquire(name(chip)).value();
  const auto live = live_composed(*mapped_of(container), view.record_id());
  std::size_t at = 0;
  for (const mapping::MixedPiece& piece : live->pieces()) {
    if (piece.built) break;
    at += static_cast<std::size_t>(piece.size);
  }
  ASSERT_EQ(::chmod(only_file().c_str(), 0600), 0);
  ASSERT_EQ(::truncate(only_file().c_str(), 0), 0);
  EXPECT_EQ(*reinterpret_cast<const volatile unsigned char*>(view.data() + at), 0U) << "a zero in place of a signal";
  EXPECT_TRUE(fails_with(container.check(), ErrorCode::kMappingLost));
}

TEST_F(ViewCacheFiles, AViewThatLivesIsJoinedWhereverItLies) {
  const std::size_t chip = mixed();
  {
    const RecordView in_memory = acquire(chip, {.max_copied_bytes = kEnough}).value();
    const RecordView joined = acquire(chip, cached()).value();
    EXPECT_EQ(joined.data(), in_memory.data());
    EXPECT_GT(joined.copied_bytes(), 0U);
    EXPECT_EQ(joined.cached_bytes(), 0U);
    EXPECT_TRUE(files().empty());
  }
  const RecordView in_cache = acquire(chip, cached()).value();
  const RecordView joined = acquire(chip, {.max_copied_bytes = kEnough}).value();
  EXPECT_EQ(joined.data(), in_cache.data());
  EXPECT_EQ(joined.copied_bytes(), 0U);
  EXPECT_TRUE(fails_with(acquire(chip, {}), ErrorCode::kCopyNotAllowed)) << "without permission, whoever has paid";
}

TEST_F(ViewCacheFiles, RequiredMappingForbidsItAndCopiesDoNotNeedIt) {
  const std::size_t chip = mixed();
  OpenOptions options = cached();
  options.file_mapping = FileMapping::kRequire;
  EXPECT_TRUE(fails_with(acquire(chip, options), ErrorCode::kCopyNotAllowed));
  options.file_mapping = FileMapping::kDisabled;
  EXPECT_EQ(acquire(chip, options).value().access_path(), AccessPath::kCopied);
  options = cached();
  options.verify = VerifyPolicy::kPrivateCopy;
  EXPECT_EQ(acquire(chip, options).value().access_path(), AccessPath::kCopied);
  EXPECT_TRUE(files().empty());
}

TEST_F(ViewCacheFiles, RequiredMappingForbidsItWhateverElseIsAllowedAndLives) {
  const std::size_t chip = mixed();
  OpenOptions options = cached();
  options.max_copied_bytes = kEnough;
  options.file_mapping = FileMapping::kRequire;
  const std::uint32_t id = open().find(name(chip)).value().id;
  EXPECT_TRUE(fails_with(acquire(chip, options), ErrorCode::kCopyNotAllowed));
  EXPECT_TRUE(fails_with(open(options).access_path_of(id), ErrorCode::kCopyNotAllowed));
  EXPECT_TRUE(files().empty());

  const RecordView in_cache = acquire(chip, cached()).value();
  EXPECT_TRUE(fails_with(acquire(chip, options), ErrorCode::kCopyNotAllowed))
      << "a view in the cache does not change that";
  EXPECT_TRUE(fails_with(open(options).access_path_of(id), ErrorCode::kCopyNotAllowed));
}

TEST_F(ViewCacheFiles, TheNameOfAFileDependsOnEachPartOfItsKey) {
  const ViewCacheKey key{
      .record_hash = {{std::byte{1}}}, .record_bytes = 2, .built_bytes = 3, .page_bytes = 4, .plan = {{std::byte{5}}}};
  std::vector<ViewCacheKey> others(5, key);
  others[0].record_hash.bytes.back() = std::byte{9};
  others[1].record_bytes = 9;
  others[2].built_bytes = 9;
  others[3].page_bytes = 9;
  others[4].plan.bytes.back() = std::byte{9};
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(view_cache_name(others[i]), view_cache_name(key)) << i;
}

TEST_F(ViewCacheFiles, HostsOfOtherPagesHaveFilesOfTheirOwn) {
  const std::size_t chip = mixed();
  { const RecordView view = acquire(chip, cached()).value(); }
  StitchHost host;
  host.page_bytes = 65'536;
  const Container container = open(cached());
  const auto view = composed_view(container, *mapped_of(container)->find(name(chip)).value(), host);
  ASSERT_TRUE(is_ok(view));
  EXPECT_TRUE(shows(view.value(), chip));
  ASSERT_EQ(files().size(), 2U);
  std::vector<std::uint32_t> pages;
  for (const ViewCacheFile& file : listed()) pages.push_back(file.page_bytes);
  std::sort(pages.begin(), pages.end());
  EXPECT_EQ(pages, (std::vector<std::uint32_t>{4096, 65'536}));
}

TEST_F(ViewCacheFiles, ABufferIsComposedFromTheFolderToo) {
  const Bytes bytes = support::read_file(path_);
  for (const std::size_t chip : recipes()) {
    const RecordView view = Container::open(Source::of_memory(bytes), cached()).value().acquire(name(chip)).value();
    EXPECT_EQ(view.copied_bytes(), 0U);
    EXPECT_GE(view.cached_bytes(), view.size_bytes());
    EXPECT_TRUE(shows(view, chip));
  }
}

TEST_F(ViewCacheFiles, ReleaseGivesItsPagesBackToo) {
  const std::size_t chip = mixed();
  const Container container = open(cached());
  const RecordView view = container.acquire(name(chip)).value();
  const auto released = container.release(view.record_id(), {.keep_cached = true});
  ASSERT_TRUE(is_ok(released));
  EXPECT_GT(released.value().released_bytes, view.size_bytes() - view.cached_bytes());
  EXPECT_TRUE(shows(view, chip)) << "they come back from the files";
}

TEST_F(ViewCacheFiles, ProfileAndTraceSayWhereItLies) {
  const std::size_t chip = mixed();
  std::string trace;
  set_trace([&](std::string_view line) { trace.append(line).append("\n"); });
  start_profile({.level = ProfileLevel::kDetailed});
  { const RecordView view = acquire(chip, cached(kEnough)).value(); }
  const Profile profile = stop_profile();
  start_profile({.level = ProfileLevel::kOff});  // forgets the events
  set_trace({});
  EXPECT_TRUE(std::ranges::any_of(profile.events, [&](const ProfileEvent& event) {
    return event.kind == ProfileEventKind::kMap && event.path == only_file() && event.ok;
  }));
  EXPECT_NE(trace.find("\"cache_folder\":\"" + cache_ + "\""), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"cache_limit_bytes\":" + std::to_string(kEnough)), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"cached_bytes\":"), std::string::npos) << trace;
  const auto replay = replay_trace(trace);
  ASSERT_TRUE(is_ok(replay));
  EXPECT_TRUE(replay.value().differences.empty());
}

TEST_F(ViewCacheFiles, OtherFilesInTheFolderAreLeftAlone) {
  support::write_file(cache_ + "/notes.txt", Bytes(10));
  support::write_file(cache_ + "/0123.view", Bytes(10));
  std::filesystem::create_directory(cache_ + "/folder");
  EXPECT_TRUE(list_view_cache(cache_).value().empty());
  EXPECT_EQ(collect_view_cache(cache_, 0).value().removed_files, 0U);
  EXPECT_EQ(files().size(), 3U);
  const auto json = nlohmann::json::parse(to_json(cache_, list_view_cache(cache_).value()));
  EXPECT_EQ(json["schema"], "fatctx.cache/1");
  EXPECT_EQ(json["files"].size(), 0U);
}

TEST_F(ViewCacheFiles, AWholeFileIsJsonWithItsKeyAndADamagedOneWithout) {
  const std::size_t chip = mixed();
  const std::string hash = to_hex(open().find(name(chip)).value().hash.bytes);
  { ASSERT_TRUE(is_ok(acquire(chip, cached()))); }
  const ViewCacheFile file = listed().at(0);
  const auto whole = nlohmann::json::parse(to_json(cache_, listed()));
  EXPECT_EQ(whole["folder"], cache_);
  EXPECT_EQ(whole["size_bytes"], std::filesystem::file_size(only_file()));
  EXPECT_EQ(whole["files"][0], (nlohmann::json{{"name", file.name},
                                               {"size_bytes", std::filesystem::file_size(only_file())},
                                               {"whole", true},
                                               {"record_xxh3_128", hash},
                                               {"record_bytes", corpus().chips[chip].size()},
                                               {"built_bytes", file.built_bytes},
                                               {"page_bytes", file.page_bytes},
                                               {"made_seconds", file.made_seconds},
                                               {"used_seconds", file.used_seconds}}));
  EXPECT_GT(file.built_bytes, 0U);
  EXPECT_GE(file.page_bytes, 4096U);
  EXPECT_GT(file.made_seconds, 1'000'000'000);
  EXPECT_GE(file.used_seconds, file.made_seconds);

  write_at(only_file(), file.size_bytes - 96, support::pattern(4, 1));
  const auto damaged = nlohmann::json::parse(to_json(cache_, listed()))["files"][0];
  EXPECT_EQ(damaged["whole"], false);
  EXPECT_FALSE(damaged.contains("record_bytes") || damaged.contains("record_xxh3_128"));
}

TEST_F(ViewCacheFiles, AForkedChildHasItsOwnUseOfTheFolder) {
  const std::vector<std::size_t> chips = recipes();
  const Container container = open(cached());
  const RecordView view = container.acquire(name(chips[0])).value();
  EXPECT_EQ(support::in_child([&] {
              if (!shows(view, chips[0])) return 1;
              const auto other = container.acquire(name(chips[1]));
              return other.ok() && other.value().cached_bytes() != 0 && shows(other.value(), chips[1]) ? 0 : 2;
            }),
            0);
  EXPECT_EQ(files().size(), 2U);
}

}  // namespace view_cache_test
}  // namespace fatctx
