#include "runtime/facade/open_container.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>

#include "runtime/small_model.h"
#include "support/hostile_file.h"
#include "support/opened.h"
#include "support/sample_container.h"

namespace fatctx {
namespace registry_test {

using testing::Folder;

const std::byte* address_of(const Container& container) {
  const auto view = container.acquire("weights");
  EXPECT_TRUE(view.ok()) << to_text(view.error());
  return view.ok() ? view.value().data() : nullptr;
}

Container must_open(const std::string& path, const OpenOptions& options = {}) {
  auto container = Container::open(path, options);
  if (!container.ok()) throw std::runtime_error(to_text(container.error()));
  return std::move(container).value();
}

// Shows S5.5, S3.70.
TEST(Registry, EveryWayToTheFileMeetsInOneMapping) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  std::filesystem::create_symlink("m.fatctx", folder / "link");
  std::filesystem::create_hard_link(path, folder / "hard");
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  const std::filesystem::path before = std::filesystem::current_path();

  const Container first = must_open(path);
  std::vector<Container> others = {must_open(path), must_open(folder / "link"), must_open(folder / "hard"),
                                   must_open("/proc/self/fd/" + std::to_string(descriptor))};
  std::filesystem::current_path(std::filesystem::path(path).parent_path());
  others.push_back(must_open("m.fatctx"));
  others.push_back(must_open("./../" + std::filesystem::current_path().filename().string() + "/m.fatctx"));
  std::filesystem::current_path(before);
  auto by_descriptor = Container::open(Source::of_descriptor(descriptor));
  ASSERT_TRUE(by_descriptor.ok());
  others.push_back(std::move(by_descriptor).value());
  ::close(descriptor);

  for (const Container& other : others) {
    EXPECT_TRUE(support::report_of(other).already_live) << other.path();
    EXPECT_EQ(address_of(other), address_of(first)) << other.path();
  }
  EXPECT_FALSE(support::report_of(first).already_live);
  EXPECT_EQ(testing::mappings_of(path), 1);
}

TEST(Registry, ACopyOfTheFileIsAnotherMapping) {
  const Folder folder;
  testing::pack_small_model(folder / "a");
  std::filesystem::copy_file(folder / "a", folder / "b");

  const Container a = must_open(folder / "a");
  const Container b = must_open(folder / "b");

  EXPECT_EQ(support::report_of(a).uuid, support::report_of(b).uuid);
  EXPECT_NE(address_of(a), address_of(b));
}

TEST(Registry, AReplacedFileIsServedAnewWhileOldViewsKeepTheirBytes) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path, false, 1);
  const Container old = must_open(path);
  const auto old_view = old.acquire("weights");
  ASSERT_TRUE(old_view.ok());
  const auto expected_old = testing::pattern(testing::kWeightsSize, 1);
  const auto expected_new = testing::pattern(testing::kWeightsSize, 2);

  testing::pack_small_model(path, false, 2);  // publishes by rename
  const Container fresh = must_open(path);
  const auto new_view = fresh.acquire("weights");

  ASSERT_TRUE(new_view.ok());
  EXPECT_TRUE(std::ranges::equal(old_view.value().bytes(), expected_old));
  EXPECT_TRUE(std::ranges::equal(new_view.value().bytes(), expected_new));
}

TEST(Registry, ATouchedFileKeepsItsMapping) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const Container first = must_open(path);
  const std::byte* address = address_of(first);

  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);  // another ctime
  const Container second = must_open(path);

  EXPECT_TRUE(support::report_of(second).already_live);
  EXPECT_EQ(address_of(second), address);
  EXPECT_TRUE(support::report_of(must_open(path)).already_live);
}

TEST(Registry, DamageAfterVerificationIsSeenOnceTheFileLooksDifferent) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const Container container = must_open(path);
  const RecordInfo weights = container.find("weights").value();
  ASSERT_TRUE(container.acquire("weights").ok());

  ::usleep(20'000);  // past the clock tick of the file's times
  testing::flip_byte(path, weights.file_offset + 70'000);
  const auto again = container.acquire("weights");

  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(again.error().where.file_offset, weights.file_offset + 65'536);
  EXPECT_NE(again.error().message.find("run `fatctx verify`"), std::string::npos) << again.error().message;
  EXPECT_EQ(again.error().where.record_id, weights.id);
}

TEST(Registry, ATruncatedOrRewrittenFileIsChangedAndNotACrash) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const Container container = must_open(path);

  std::filesystem::resize_file(path, support::report_of(container).file_size - 100'000);
  const auto cut = container.acquire("weights");
  ASSERT_FALSE(cut.ok());
  EXPECT_EQ(cut.error().code, ErrorCode::kChanged);

  std::filesystem::resize_file(path, support::report_of(container).file_size);  // zeros instead of records
  const auto regrown = container.acquire("weights");
  ASSERT_FALSE(regrown.ok());
  EXPECT_EQ(regrown.error().code, ErrorCode::kNotPresent);
  EXPECT_EQ(regrown.error().message.find("fatctx verify"), std::string::npos) << "there is nothing to look for";

  testing::flip_byte(path, 0x0810);
  testing::flip_byte(path, 0x2810);  // both mirrors of the live slot
  ASSERT_EQ(container.acquire("small.x86-64-v2").error().code, ErrorCode::kChanged);
}

TEST(Registry, AnotherTableOfTheSameGenerationIsNotTakenForAnAppend) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  support::write_file(path, support::unsealed_sample());
  const Container container = must_open(path);
  support::HostileFile other(support::unsealed_sample());
  const std::uint64_t at = container.find("weights").value().file_offset;
  other.in_payload = [at](support::Bytes& file) { file[static_cast<std::size_t>(at)] ^= std::byte{1}; };
  other.rehash_payload = true;
  const support::Bytes bytes = other.bytes();
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));

  const auto view = container.acquire("weights");

  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, ErrorCode::kChanged) << to_text(view.error());
}

TEST(Registry, FailedOpensLeaveNothingBehindAndDoNotPoisonTheNext) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const auto good = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }();
  Registry registry;
  const int descriptors = testing::open_descriptors();

  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{65'535}, good.size() - 1}) {
    std::ofstream(path, std::ios::binary | std::ios::trunc).write(good.data(), static_cast<std::streamsize>(size));
    EXPECT_FALSE(open_container(registry, path).ok()) << size;
  }
  std::ofstream(path, std::ios::binary | std::ios::trunc) << good;

  EXPECT_EQ(testing::open_descriptors(), descriptors);
  EXPECT_EQ(registry.live_count(), 0U);
  EXPECT_TRUE(open_container(registry, path).ok());
}

TEST(Registry, TheLastHandleUnmaps) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const int descriptors = testing::open_descriptors();

  for (int round = 0; round < 100; ++round) {
    const Container container = must_open(path);
    EXPECT_FALSE(support::report_of(container).already_live);
  }

  EXPECT_EQ(testing::mappings_of(path), 0);
  EXPECT_EQ(testing::open_descriptors(), descriptors);
}

TEST(Registry, SymlinksAreRefusedWhenTheCallerSaysSo) {
  const Folder folder;
  testing::pack_small_model(folder / "m.fatctx");
  std::filesystem::create_symlink("m.fatctx", folder / "link");

  const auto opened = Container::open(folder / "link", {.follow_symlinks = false});

  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kNotRegularFile);
}

TEST(Registry, WhatIsNotARegularFileIsRefusedWithoutBlocking) {
  const Folder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);

  for (const std::string& path : {folder / "", folder / "fifo", std::string("/dev/zero"), std::string("/dev/null")}) {
    const auto opened = Container::open(path);
    ASSERT_FALSE(opened.ok()) << path;
    EXPECT_EQ(opened.error().code, ErrorCode::kNotRegularFile) << path;
  }
  EXPECT_EQ(Container::open("/proc/self/status").error().code, ErrorCode::kTruncated);  // regular, of size 0
  EXPECT_EQ(Container::open(folder / "missing").error().code, ErrorCode::kNotFound);
}

TEST(Registry, AForkedChildUsesViewsAndOpensAnew) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const Container container = must_open(path);
  const auto view = container.acquire("weights");
  ASSERT_TRUE(view.ok());
  const auto expected = testing::pattern(testing::kWeightsSize, 1);

  const pid_t child = ::fork();
  if (child == 0) {
    const auto again = Container::open(path);
    const bool good =
        again.ok() && again.value().acquire("weights").ok() && std::ranges::equal(view.value().bytes(), expected);
    ::_exit(good ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

}  // namespace registry_test
}  // namespace fatctx
