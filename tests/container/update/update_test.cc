// Updates: NEW comes out bit for bit, whatever the files are, and nothing else ever comes out.
#include "fatctx/update.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "container/format/hash.h"
#include "container/read/leaves.h"
#include "container/update/container_file.h"
#include "container/update/update_file.h"
#include "fatctx/appender.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "support/child_process.h"
#include "support/forged_update.h"
#include "support/no_regular_file.h"
#include "support/peak_memory.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace update_test {

using container::UpdateStep;
using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::pattern;
using support::read_file;
using support::write_file;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kLeaf = 65'536;

// The bytes of a binary whose pieces moved by multiples of 256 since version 1, with small changes.
Bytes binary_bytes(std::uint32_t version, std::uint32_t seed) {
  Bytes bytes(256 * version);
  for (std::uint32_t piece = 0; piece < 24; ++piece) {
    Bytes part = pattern(20'000 + 256 * piece, seed + piece);
    if (piece % 5 == version % 5) part[100] = static_cast<std::byte>(version);
    bytes.insert(bytes.end(), part.begin(), part.end());
    if (version > 1 && piece % 4 == 1) bytes.insert(bytes.end(), 256 * version, std::byte{0x55});
  }
  return bytes;
}

std::vector<PackRecord> records_of(std::uint32_t version) {
  std::vector<PackRecord> records;
  for (const char* arch : {"x86-64-v2", "x86-64-v3"}) {
    Bytes bytes = binary_bytes(version, 7);
    std::fill_n(bytes.begin() + 90'000, 3000, static_cast<std::byte>(arch[8]));
    records.push_back(support::binary_record(arch, arch, std::move(bytes)));
  }
  records.push_back(support::plain_record(RecordType::kOpaque, "notes", pattern(500, version)));
  if (version == 1) records.push_back(support::plain_record(RecordType::kOpaque, "gone", pattern(70'000, 60)));
  return records;
}

// A folder with two versions of a container, and what an update does with them.
class Update : public ::testing::Test {
 protected:
  void SetUp() override {
    pack(old_, 1);
    pack(new_, 2);
  }

  static void pack(const std::string& path, std::uint32_t version, PackOptions options = {}) {
    options.overwrite = true;
    ASSERT_TRUE(is_ok(support::pack(records_of(version), path, options)));
  }
  Result<UpdateReport> make(std::vector<std::string> olds = {}) {
    if (olds.empty()) olds = {old_};
    return make_update(olds, new_, update_, {.overwrite = true});
  }
  Result<ApplyReport> apply(std::vector<std::string> olds = {}, ApplyUpdateOptions options = {}) {
    if (olds.empty()) olds = {old_};
    return apply_update(update_, olds, out_, options);
  }
  void expect_new_comes_out(std::vector<std::string> olds = {}) {
    const auto made = make(olds);
    ASSERT_TRUE(is_ok(made));
    EXPECT_EQ(made.value().update_bytes, std::filesystem::file_size(update_));
    const auto applied = apply(olds, {.overwrite = true});
    ASSERT_TRUE(is_ok(applied));
    EXPECT_TRUE(read_file(out_) == read_file(new_));
    const UpdateReport& report = applied.value().update;
    EXPECT_EQ(report.copies, made.value().copies);
    EXPECT_EQ(report.copied_bytes, made.value().copied_bytes);
    EXPECT_EQ(report.literal_bytes, made.value().literal_bytes);
    EXPECT_EQ(report.copied_bytes + report.filled_bytes + report.literal_bytes, report.made.file_size);
  }
  void expect_nothing_published() {
    EXPECT_FALSE(std::filesystem::exists(out_));
    for (const std::string& name : folder_.names()) EXPECT_THAT(name, Not(HasSubstr(".tmp")));
  }

  support::TempDir folder_{support::parent_in_memory()};
  std::string old_ = folder_.file("old.fatctx");
  std::string new_ = folder_.file("new.fatctx");
  std::string update_ = folder_.file("update");
  std::string out_ = folder_.file("out.fatctx");
};

TEST_F(Update, NewComesOutBitForBitAndCostsWhatChanged) {
  expect_new_comes_out();
  const UpdateReport report = make().value();
  EXPECT_LT(report.update_bytes, 3000U) << "of " << report.made.file_size;
  EXPECT_LT(report.literal_bytes, 20'000U);
  EXPECT_GT(report.hash_bytes, 0U);
}

TEST_F(Update, EverySharingComesOut) {
  for (const Sharing from : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
    for (const Sharing to : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
      PackOptions options;
      options.sharing = from;
      pack(old_, 1, options);
      options.sharing = to;
      pack(new_, 2, options);
      expect_new_comes_out();
      EXPECT_LT(std::filesystem::file_size(update_), 5000U);
    }
  }
}

TEST_F(Update, SealedAndLargeFormsComeOut) {
  PackOptions options;
  options.seal = true;
  options.extent_log2 = 21;
  pack(new_, 2, options);
  expect_new_comes_out();
  EXPECT_EQ(std::filesystem::status(out_).permissions() & std::filesystem::perms::owner_write,
            std::filesystem::perms::none);
}

TEST_F(Update, AnAppendedFileComesOut) {
  std::filesystem::copy_file(old_, new_, std::filesystem::copy_options::overwrite_existing);
  Appender appender = Appender::open(new_, {}).value();
  ASSERT_TRUE(is_ok(appender.add(support::plain_record(RecordType::kOpaque, "more", pattern(70'000, 3)))));
  ASSERT_TRUE(is_ok(appender.commit()));
  expect_new_comes_out();
}

TEST_F(Update, SeveralOldFilesTogetherMakeOne) {
  const std::string other = folder_.file("other.fatctx");
  ASSERT_TRUE(is_ok(support::pack({support::plain_record(RecordType::kOpaque, "o", pattern(300'000, 99))}, other)));
  const std::vector<std::string> both = {old_, other};
  MergeOptions merge;
  merge.overwrite = true;
  ASSERT_TRUE(is_ok(merge_containers(both, new_, merge)));
  expect_new_comes_out(both);
  EXPECT_LT(std::filesystem::file_size(update_), 4000U);
  EXPECT_TRUE(is_ok(apply({other, old_}, {.overwrite = true}))) << "in any order";
  EXPECT_TRUE(fails_with(apply({old_}, {.overwrite = true}), ErrorCode::kChanged));
}

TEST_F(Update, TheSignatureStaysAndIsChecked) {
  const KeyFiles keys = make_keys(folder_.file("key")).value();
  const KeyFiles others = make_keys(folder_.file("other")).value();
  const std::string unsigned_new = folder_.file("unsigned.fatctx");
  pack(unsigned_new, 2);
  ASSERT_TRUE(is_ok(sign_container(unsigned_new, keys.secret_path, new_, {.overwrite = true})));
  expect_new_comes_out();
  EXPECT_LT(std::filesystem::file_size(update_), 5000U) << "without the SHA-256 of the leaves";
  const PublicKey key = keys.public_key;
  const auto applied = apply({}, {.overwrite = true, .trusted_keys = {key}});
  ASSERT_TRUE(is_ok(applied));
  EXPECT_TRUE(applied.value().signature_verified);
  std::filesystem::remove(out_);
  EXPECT_TRUE(fails_with(apply({}, {.trusted_keys = {others.public_key}}), ErrorCode::kSignatureBad));
  EXPECT_TRUE(fails_with(apply({}, {.minimum_generation = 9}), ErrorCode::kRollback));
  expect_nothing_published();
}

TEST_F(Update, TheUpdateIsTheSameForAnyNumberOfThreads) {
  ASSERT_TRUE(is_ok(make()));
  const Bytes one = read_file(update_);
  ASSERT_TRUE(is_ok(make_update(std::vector{old_}, new_, update_, {.overwrite = true, .threads = 3})));
  EXPECT_TRUE(read_file(update_) == one);
  EXPECT_EQ(measure_update(std::vector{old_}, new_).value().update_bytes, one.size());
  const UpdateReport read = read_update(update_).value();
  EXPECT_EQ(read.made.generation, 1U);
  EXPECT_EQ(read.old.size(), 1U);
  EXPECT_EQ(read.update_bytes, one.size());
}

TEST_F(Update, AFileThatIsNotOldIsRefusedByName) {
  ASSERT_TRUE(is_ok(make()));
  const std::string third = folder_.file("third.fatctx");
  pack(third, 3);
  const auto refused = apply({third});
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChanged));
  const UpdateReport named = read_update(update_).value();
  EXPECT_THAT(refused.error().message, HasSubstr("it needs generation 1 of " + named.old[0].uuid));
  EXPECT_THAT(refused.error().message, HasSubstr(third + " is generation 1 of "));
  Appender appender = Appender::open(old_, {}).value();
  ASSERT_TRUE(is_ok(appender.add(support::plain_record(RecordType::kOpaque, "more", pattern(10, 3)))));
  ASSERT_TRUE(is_ok(appender.commit()));
  const auto later = apply();
  ASSERT_TRUE(fails_with(later, ErrorCode::kChanged));
  EXPECT_THAT(later.error().message, HasSubstr("is generation 2 of " + named.old[0].uuid));
  EXPECT_TRUE(fails_with(apply({update_}), ErrorCode::kBadMagic, "F1"));
  expect_nothing_published();
}

TEST_F(Update, TheTargetIsReplacedOnlyWhenAsked) {
  ASSERT_TRUE(is_ok(make()));
  EXPECT_TRUE(fails_with(make_update(std::vector{old_}, new_, update_), ErrorCode::kExists));
  write_file(out_, pattern(10, 1));
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kExists));
  EXPECT_TRUE(read_file(out_) == pattern(10, 1));
  ASSERT_TRUE(is_ok(apply_update(update_, std::vector{old_}, old_, {.overwrite = true})));
  EXPECT_TRUE(read_file(old_) == read_file(new_)) << "NEW may take the place of OLD";
}

TEST_F(Update, WhatCannotBeMadeIsRefused) {
  EXPECT_TRUE(fails_with(make_update(std::vector{new_}, new_, update_), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(make_update(std::vector{old_, old_}, new_, update_), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(make_update({}, new_, update_), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(make_update(std::vector<std::string>(17, old_), new_, update_), ErrorCode::kInvalidArgument));
  const auto device = make_update(std::vector{old_}, support::kNoRegularFile, update_);
  EXPECT_TRUE(fails_with(device, ErrorCode::kNotRegularFile));
  const auto size = std::filesystem::file_size(new_);
  std::filesystem::resize_file(new_, size + 5);
  const auto followed = make_update(std::vector{old_}, new_, update_);
  ASSERT_TRUE(fails_with(followed, ErrorCode::kTrailingData));
  EXPECT_THAT(followed.error().message, HasSubstr("5 bytes follow the committed end"));
  EXPECT_FALSE(std::filesystem::exists(update_));
}

// An update makes at most 64 MiB more than sixteen times what it is made from.
TEST_F(Update, ALargeNewFileOutOfASmallOldOneIsRefused) {
  PackOptions options;
  options.overwrite = true;
  options.sharing = Sharing::kOff;
  const auto pack_bytes = [&](const std::string& path, Bytes bytes) {
    ASSERT_TRUE(
        is_ok(support::pack({support::plain_record(RecordType::kOpaque, "o", std::move(bytes))}, path, options)));
  };
  pack_bytes(old_, pattern(10, 1));
  Bytes large(static_cast<std::size_t>(container::most_made(std::filesystem::file_size(old_))));
  large.front() = std::byte{1};
  pack_bytes(new_, std::move(large));
  const auto refused = make();
  ASSERT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded));
  EXPECT_THAT(refused.error().message, HasSubstr("are more than an update from"));
}

// Changes the payload at the first place where it has `what`.
void change_payload(const std::string& path, const Bytes& what, std::byte by, std::size_t size) {
  Bytes bytes = read_file(path);
  const auto found = std::search(bytes.begin(), bytes.end(), what.begin(), what.end());
  ASSERT_NE(found, bytes.end());
  std::fill_n(found, size, by);
  write_file(path, bytes);
}

TEST_F(Update, DamageIsFoundBeforeAnUpdateIsMade) {
  const Bytes good = read_file(new_);
  change_payload(new_, pattern(20'000 + 256 * 9, 7 + 9), std::byte{3}, 5);
  const auto refused = make();
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_THAT(refused.error().message, HasSubstr("record \"x86-64-v"));
  write_file(new_, good);
  change_payload(old_, pattern(70'000, 60), std::byte{3}, 5);
  EXPECT_TRUE(fails_with(make(), ErrorCode::kChecksumMismatch, "F26"));
  Bytes without_hashes = good;
  const container::Toc toc = container::ContainerFile::open(new_).value().opened.toc;
  without_hashes[static_cast<std::size_t>(container::stored_leaf_hashes(toc).front().in_file.offset)] ^= std::byte{1};
  write_file(new_, without_hashes);
  EXPECT_TRUE(fails_with(make(), ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_FALSE(std::filesystem::exists(update_));
}

TEST_F(Update, DamageOfOldIsNamedAndNothingIsPublished) {
  ASSERT_TRUE(is_ok(make()));
  const Bytes good = read_file(old_);
  change_payload(old_, Bytes(pattern(20'000 + 256 * 9, 7 + 9)), std::byte{3}, 4);
  const auto damaged = apply();
  ASSERT_TRUE(fails_with(damaged, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_THAT(damaged.error().message, HasSubstr("record \"x86-64-v"));
  expect_nothing_published();
  write_file(old_, good);
  EXPECT_TRUE(is_ok(apply()));
}

TEST_F(Update, APartialOldFileServesIfItHasTheBytes) {
  ASSERT_TRUE(is_ok(make()));
  change_payload(old_, pattern(70'000, 60), std::byte{0}, 70'000);
  EXPECT_TRUE(is_ok(apply()));
  EXPECT_TRUE(read_file(out_) == read_file(new_));
  EXPECT_TRUE(is_ok(make())) << "an update can be made from what is present, too";
  EXPECT_TRUE(is_ok(apply({}, {.overwrite = true})));
  std::filesystem::remove(out_);

  const container::ContainerFile opened = container::ContainerFile::open(old_).value();
  const auto& segments = opened.opened.toc.segments;
  const auto largest =
      std::max_element(segments.begin(), segments.end(), [](const auto& a, const auto& b) { return a.size < b.size; });
  Bytes bytes = read_file(old_);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(largest->offset + 2 * kLeaf), kLeaf, std::byte{0});
  write_file(old_, bytes);
  const auto absent = apply();
  ASSERT_TRUE(fails_with(absent, ErrorCode::kNotPresent, "F26"));
  EXPECT_THAT(absent.error().message, HasSubstr("record \"x86-64-v"));
  EXPECT_THAT(absent.error().message, HasSubstr("--more --record x86-64-v"));
  expect_nothing_published();

  pack(old_, 1);
  Bytes partial = read_file(new_);
  std::fill_n(partial.begin() + static_cast<std::ptrdiff_t>(largest->offset + 2 * kLeaf), kLeaf, std::byte{0});
  write_file(new_, partial);
  EXPECT_TRUE(fails_with(make(), ErrorCode::kNotPresent, "F26")) << "NEW has to be whole";
}

TEST_F(Update, EveryCutAndEveryOtherByteIsRefused) {
  ASSERT_TRUE(is_ok(make()));
  const Bytes good = read_file(update_);
  for (std::size_t size = 0; size < good.size(); ++size) {
    write_file(update_, ByteView(good).first(size));
    const auto refused = read_update(update_);
    ASSERT_FALSE(refused.ok()) << size;
    ASSERT_TRUE(refused.error().code == ErrorCode::kTruncated || refused.error().code == ErrorCode::kBadMagic)
        << to_text(refused.error());
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    Bytes changed = good;
    changed[at] ^= std::byte{0x10};
    write_file(update_, changed);
    ASSERT_FALSE(apply().ok()) << at;
  }
  Bytes longer = good;
  longer.push_back(std::byte{0});
  write_file(update_, longer);
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kTrailingData));
  expect_nothing_published();
}

// Writes an update by hand, of bytes that `make_update` would refuse.
class ForgedUpdate : public Update {
 protected:
  void forge(const container::ContainerName& made, const Bytes& bytes, const std::vector<UpdateStep>& steps) {
    write_file(update_, support::forged_update(made, bytes, container::ContainerFile::open(old_).value().name(),
                                               read_file(old_), steps));
  }
  container::ContainerName new_name() { return container::ContainerFile::open(new_).value().name(); }
};

TEST_F(ForgedUpdate, PayloadThatDoesNotMatchItsLeavesIsNotPublished) {
  Bytes bytes = read_file(new_);
  const std::vector<UpdateStep> whole = {
      {.kind = UpdateStep::Kind::kLiteral, .target = 0, .size = bytes.size(), .source = 0, .offset = 0}};
  forge(new_name(), bytes, whole);
  EXPECT_TRUE(is_ok(apply())) << "the same by hand is good";
  EXPECT_TRUE(read_file(out_) == bytes);
  std::filesystem::remove(out_);
  const Bytes notes = pattern(500, 2);
  const auto found = std::search(bytes.begin(), bytes.end(), notes.begin(), notes.end());
  ASSERT_NE(found, bytes.end());
  *found ^= std::byte{1};
  forge(new_name(), bytes, whole);
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kChecksumMismatch, "F26"));
  Bytes in_large = read_file(new_);
  const Bytes piece = pattern(20'000 + 256 * 9, 7 + 9);
  const auto there = std::search(in_large.begin(), in_large.end(), piece.begin() + 1000, piece.end());
  ASSERT_NE(there, in_large.end());
  *there ^= std::byte{1};
  forge(new_name(), in_large, whole);
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kChecksumMismatch, "F26"));
  expect_nothing_published();
}

TEST_F(ForgedUpdate, ItCannotMakeAnotherContainerThanItNames) {
  const Bytes bytes = read_file(new_);
  container::ContainerName name = new_name();
  name.uuid[0] ^= std::byte{1};
  forge(name, bytes,
        {{.kind = UpdateStep::Kind::kLiteral, .target = 0, .size = bytes.size(), .source = 0, .offset = 0}});
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kMalformed));
  forge(new_name(), {},
        {{.kind = UpdateStep::Kind::kFill, .target = 0, .size = bytes.size(), .source = 0, .offset = 0}});
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kBadMagic, "F1"));
  expect_nothing_published();
}

TEST_F(ForgedUpdate, CopiesStayInsideTheirSources) {
  const std::uint64_t size = new_name().size;
  const std::uint64_t old_size = container::ContainerFile::open(old_).value().name().size;
  for (const std::uint64_t offset : {old_size - size + 1, old_size, std::uint64_t{1} << 40, ~std::uint64_t{0} - 5}) {
    forge(new_name(), {},
          {{.kind = UpdateStep::Kind::kCopy, .target = 0, .size = size, .source = 1, .offset = offset}});
    EXPECT_TRUE(fails_with(apply(), ErrorCode::kMalformed)) << offset;
  }
  forge(new_name(), {}, {{.kind = UpdateStep::Kind::kCopy, .target = 0, .size = size, .source = 0, .offset = 0}});
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kMalformed)) << "nothing of NEW exists yet";
  forge(new_name(), {}, {{.kind = UpdateStep::Kind::kCopy, .target = 0, .size = size, .source = 2, .offset = 0}});
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kMalformed)) << "there is no second OLD";
  expect_nothing_published();
}

TEST_F(ForgedUpdate, AFewBytesMakeNoPetabytes) {
  container::ContainerName name = new_name();
  name.size = std::uint64_t{1} << 46;
  forge(name, {},
        {{.kind = UpdateStep::Kind::kFill, .target = 0, .size = container::kPartSize, .source = 0, .offset = 0}});
  EXPECT_TRUE(fails_with(apply(), ErrorCode::kTruncated)) << "each part has to be there";
  name.size = 20 * container::kPartSize;
  std::vector<UpdateStep> fills;
  for (std::uint64_t at = 0; at < name.size; at += container::kPartSize) {
    fills.push_back(
        {.kind = UpdateStep::Kind::kFill, .target = at, .size = container::kPartSize, .source = 0, .offset = 0});
  }
  forge(name, {}, fills);
  const auto refused = apply();
  EXPECT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded));
  EXPECT_THAT(refused.error().message, HasSubstr("max_made_bytes"));
  EXPECT_TRUE(fails_with(apply({}, {.max_made_bytes = name.size}), ErrorCode::kBadMagic, "F1"));
  expect_nothing_published();
}

TEST_F(Update, ACallerStopsIt) {
  ASSERT_TRUE(is_ok(make()));
  const std::atomic<bool> stop = true;
  EXPECT_TRUE(fails_with(apply({}, {.cancel = &stop}), ErrorCode::kCancelled));
  EXPECT_TRUE(fails_with(make_update(std::vector{old_}, new_, update_, {.overwrite = true, .cancel = &stop}),
                         ErrorCode::kCancelled));
  // At each moment of the work, too.
  for (const bool applying : {false, true}) {
    std::uint64_t moments = 0;
    for (std::uint64_t moment = 0; moment <= moments; ++moment) {
      std::atomic<bool> later = false;
      std::uint64_t seen = 0;
      const auto watch = [&](std::uint64_t, std::uint64_t) {
        if (seen++ == moment) later = true;
        moments = std::max(moments, seen);
      };
      const bool stopped = applying
                               ? fails_with(apply({}, {.progress = watch, .cancel = &later}), ErrorCode::kCancelled)
                               : fails_with(make_update(std::vector{old_}, new_, update_,
                                                        {.overwrite = true, .progress = watch, .cancel = &later}),
                                            ErrorCode::kCancelled);
      EXPECT_TRUE(stopped || moment + 1 >= moments) << "only the last call comes too late";
      std::filesystem::remove(out_);
    }
    if (!applying) {
      ASSERT_TRUE(is_ok(make()));
    }
  }
  std::uint64_t last = 0;
  ASSERT_TRUE(is_ok(apply({}, {.progress = [&](std::uint64_t done, std::uint64_t total) {
                            EXPECT_LE(done, total);
                            last = done;
                          }})));
  EXPECT_GT(last, 0U);
}

TEST_F(Update, AFullDiskLeavesNothing) {
  ASSERT_TRUE(is_ok(make()));
  const std::uint64_t size = std::filesystem::file_size(new_);
  for (std::uint64_t limit = 0; limit < size; limit += size / 7 + 1) {
    EXPECT_EQ(support::in_child([&]() -> int {
                const rlimit most = {limit, limit};
                if (::signal(SIGXFSZ, SIG_IGN) == SIG_ERR || ::setrlimit(RLIMIT_FSIZE, &most) != 0) return 9;
                const auto applied = apply();
                return applied.ok() ? 1 : applied.error().code == ErrorCode::kNoSpace ? 0 : 2;
              }),
              0)
        << limit;
    expect_nothing_published();
  }
}

TEST_F(Update, AKillLeavesTheOldFileOrTheNewOne) {
  ASSERT_TRUE(is_ok(make()));
  const Bytes before = read_file(old_);
  const Bytes after = read_file(new_);
  const std::string target = folder_.file("target.fatctx");
  int replaced = 0;
  for (int round = 0; round < 60; ++round) {
    write_file(target, before);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      (void)apply_update(update_, std::vector{old_}, target, {.overwrite = true});
      ::_exit(0);
    }
    ::usleep(static_cast<useconds_t>(round * 400));
    (void)::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const Bytes now = read_file(target);
    ASSERT_TRUE(now == before || now == after) << round;
    replaced += now == after ? 1 : 0;
  }
  EXPECT_TRUE(read_file(old_) == before);
  const std::vector<std::string> names = folder_.names();
  EXPECT_LE(std::count_if(names.begin(), names.end(),
                          [](const std::string& name) { return name.find(".tmp") != std::string::npos; }),
            5)
      << "a name that was given just before the rename";
  RecordProperty("replaced", replaced);
}

TEST_F(Update, AnOldFileThatChangesMeanwhileIsNoticed) {
  PackOptions options;
  options.overwrite = true;
  Bytes payload = pattern(3 * container::kPartSize, 5);
  ASSERT_TRUE(is_ok(support::pack({support::plain_record(RecordType::kOpaque, "o", payload)}, old_, options)));
  payload.erase(payload.begin(), payload.begin() + 512);
  ASSERT_TRUE(is_ok(support::pack({support::plain_record(RecordType::kOpaque, "o", payload)}, new_, options)));
  ASSERT_TRUE(is_ok(make()));
  const Bytes before = read_file(old_);
  const auto change = [&](const std::function<void()>& how) {
    bool done = false;
    return apply({}, {.progress = [&](std::uint64_t bytes, std::uint64_t) {
                   if (!done && bytes >= container::kPartSize) how();
                   done = done || bytes >= container::kPartSize;
                 }});
  };
  const auto write_at = [&](std::uint64_t offset) {
    std::fstream file(old_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file << "changed";
  };
  EXPECT_TRUE(fails_with(change([&] { write_at(before.size() / 2 + 1000); }), ErrorCode::kChecksumMismatch, "F26"));
  write_file(old_, before);
  EXPECT_TRUE(fails_with(change([&] {
                           Appender appender = Appender::open(old_, {}).value();
                           ASSERT_TRUE(
                               is_ok(appender.add(support::plain_record(RecordType::kOpaque, "x", pattern(9, 1)))));
                           ASSERT_TRUE(is_ok(appender.commit()));
                           write_at(before.size() / 2 + 1000);
                         }),
                         ErrorCode::kChanged));
  expect_nothing_published();
  write_file(old_, before);
  EXPECT_TRUE(is_ok(change([&] {
    std::filesystem::remove(old_);
    write_file(old_, pattern(10, 1));
  }))) << "a file of that name that comes later is another one";
}

TEST_F(Update, MemoryDoesNotDependOnTheFile) {
  if (support::kSanitized) GTEST_SKIP() << "a sanitizer takes memory of its own";
  PackOptions options;
  options.overwrite = true;
  Bytes payload = pattern(std::size_t{96} << 20, 5);
  ASSERT_TRUE(is_ok(support::pack({support::plain_record(RecordType::kOpaque, "o", payload)}, old_, options)));
  for (std::size_t i = 0; i < payload.size() / 2; i += 1024) payload[i] ^= std::byte{1};
  payload.erase(payload.begin(), payload.begin() + 512);
  ASSERT_TRUE(is_ok(support::pack({support::plain_record(RecordType::kOpaque, "o", payload)}, new_, options)));
  ASSERT_TRUE(is_ok(make()));
  const support::PeakMemory memory;
  ASSERT_TRUE(is_ok(apply()));
  EXPECT_LE(memory.grown_bytes(), std::uint64_t{64} << 20);
}

TEST_F(Update, IsOfFilesThatNobodyWritesToMeanwhile) {
  for (const std::string& path : {old_, new_}) {
    bool written = false;
    const auto append = [&](std::uint64_t, std::uint64_t) {
      if (!std::exchange(written, true)) std::ofstream(path, std::ios::binary | std::ios::app) << 'x';
    };
    const auto made = make_update(std::vector{old_}, new_, update_, {.progress = append});
    ASSERT_TRUE(fails_with(made, ErrorCode::kChanged)) << path;
    EXPECT_EQ(made.error().message, path + ": it was written to meanwhile; make the update again");
    EXPECT_FALSE(std::filesystem::exists(update_));
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  }
  ASSERT_TRUE(is_ok(make()));
}

}  // namespace update_test
}  // namespace fatctx
