// Files under repair: what their writes leave when the disk fails, and what they read as before anything is written.
#include "container/edit/synced_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "container/edit/restored_file.h"
#include "support/memory_file.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace synced_file_test {

using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;
using support::MemoryFile;

constexpr std::uint64_t kMegabyte = std::uint64_t{1} << 20;
constexpr std::size_t kSize = 100;

Bytes part(const MemoryFile& file, std::size_t at) {
  Bytes bytes(kSize);
  EXPECT_TRUE(is_ok(file.read_at(at, bytes)));
  return bytes;
}

TEST(SyncedFile, AWriteThatFailsTakesBackWhatIsNotOnTheDiskAndNothingElse) {
  const Bytes given = support::pattern(kSize, 1);
  MemoryFile file(Bytes(4 * kSize, std::byte{9}));
  SyncedFile synced(file);
  ASSERT_TRUE(is_ok(synced.write_at(0, given)));
  ASSERT_TRUE(is_ok(synced.sync()));
  ASSERT_TRUE(is_ok(synced.write_at(kSize, given)));
  file.fail(FileCall::kWrite, 2, false);

  EXPECT_TRUE(fails_with(synced.write_at(2 * kSize, given), ErrorCode::kIo));

  EXPECT_EQ(part(file, 0), given);
  EXPECT_EQ(part(file, kSize), Bytes(kSize));
  EXPECT_EQ(part(file, 2 * kSize), Bytes(kSize));
  EXPECT_EQ(part(file, 3 * kSize), Bytes(kSize, std::byte{9}));
}

TEST(SyncedFile, WhatWasTakenBackIsNotTakenBackAgain) {
  const Bytes given = support::pattern(kSize, 1);
  for (const FileCall call : {FileCall::kWrite, FileCall::kSync}) {
    MemoryFile file(Bytes(2 * kSize, std::byte{9}));
    SyncedFile synced(file);
    ASSERT_TRUE(is_ok(synced.write_at(0, given)));
    file.fail(call, call == FileCall::kWrite ? 1 : 0, false);
    EXPECT_TRUE(fails_with(call == FileCall::kWrite ? synced.write_at(kSize, given) : synced.sync(), ErrorCode::kIo));
    ASSERT_EQ(part(file, 0), Bytes(kSize));
    ASSERT_TRUE(is_ok(file.write_at(0, given)));  // by somebody else
    file.fail(FileCall::kWrite, file.calls(FileCall::kWrite), false);

    EXPECT_TRUE(fails_with(synced.write_at(kSize, given), ErrorCode::kIo));

    EXPECT_EQ(part(file, 0), given);
  }
}

TEST(SyncedFile, OnlyBytesThatWaitCountTowardsTheNextSync) {
  const Bytes most(15 * kMegabyte);
  const Bytes rest(2 * kMegabyte);
  MemoryFile file;
  SyncedFile synced(file);
  ASSERT_TRUE(is_ok(synced.write_at(0, most)));
  ASSERT_TRUE(is_ok(synced.sync()));
  ASSERT_TRUE(is_ok(synced.write_at(0, rest)));
  EXPECT_EQ(file.calls(FileCall::kSync), 1U);
  ASSERT_TRUE(is_ok(synced.write_at(0, ByteView(most).first(13 * kMegabyte))));
  EXPECT_EQ(file.calls(FileCall::kSync), 1U);
  file.fail(FileCall::kWrite, file.calls(FileCall::kWrite), false);
  EXPECT_TRUE(fails_with(synced.write_at(0, rest), ErrorCode::kIo));

  ASSERT_TRUE(is_ok(synced.write_at(0, rest)));

  EXPECT_EQ(file.calls(FileCall::kSync), 1U);
}

TEST(PaddedFile, WhatTheFileLacksReadsAsZeros) {
  const Bytes given = support::pattern(kSize, 1);
  const MemoryFile file(given);
  const PaddedFile padded(file, 3 * kSize);
  for (const std::size_t at : {0U, 40U, 100U, 150U}) {
    Bytes wanted(kSize);
    for (std::size_t i = at; i < kSize; ++i) wanted[i - at] = given[i];
    Bytes found(kSize, std::byte{0x5a});
    ASSERT_TRUE(is_ok(padded.read_at(at, found)));
    EXPECT_EQ(found, wanted) << at;
  }
}

}  // namespace synced_file_test
}  // namespace fatctx::container
