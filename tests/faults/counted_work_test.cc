// The work of the operations that speed rests on, counted: system calls, bytes, hashes, allocations, page faults. A
// change that costs one call more fails here on any machine. If it is meant, put the new numbers into the row.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/packer.h"
#include "fatctx/select.h"
#include "faults/work_count.h"
#include "runtime/small_model.h"
#include "support/sanitized.h"

namespace fatctx {
namespace counted_work_test {

using faults::allocations_of;
using faults::page_faults_of;
using faults::work_of;

const OpenOptions kNoChecks = {.verify = VerifyPolicy::kNone};

// Packs context binaries of 100 bytes, one for each unit, without sharing and sealed.
void pack_many(const std::string& path, std::uint32_t records) {
  PackOptions options;
  options.seal = true;
  options.sharing = Sharing::kOff;
  Packer packer(options);
  for (std::uint32_t i = 0; i < records; ++i) {
    PackRecord binary;
    binary.type = RecordType::kContextBinary;
    binary.name = fmt::format("unit.{}", i);
    binary.key.backend = "cpu";
    binary.key.arch = "x86-64-v2";
    binary.key.unit = fmt::to_string(i);
    binary.source.bytes = testing::pattern(100, i);
    ASSERT_TRUE(packer.add(std::move(binary)).ok());
  }
  const auto report = packer.publish(path);
  ASSERT_TRUE(report.ok()) << to_text(report.error());
}

// The sanitizers' library allocates by itself.
void expect_allocations(const std::function<void()>& call, long count) {
  if (support::kSanitized) return;
  EXPECT_EQ(allocations_of(call), count);
}

class CountedWork : public ::testing::Test {
 protected:
  CountedWork() : path_(folder_ / "m.fatctx") { testing::pack_small_model(path_); }

  testing::Folder folder_;
  std::string path_;
};

TEST_F(CountedWork, OfAnOpen) {
  const auto open = [&] { (void)Container::open(path_, kNoChecks).value(); };
  open();  // makes what a process makes once
  EXPECT_EQ(work_of(open),
            "close 1, fstat 2, mmap 1, open 1, pread 3, stat 1; "
            "15706 bytes read, 0 written; 20 hashes of 6025 bytes");
  expect_allocations(open, 21);
}

TEST_F(CountedWork, OfAnOpenGrowsByAHashForEachPageOfTheTable) {
  const std::string few = folder_ / "few.fatctx";
  const std::string many = folder_ / "many.fatctx";
  pack_many(few, 2'000);
  pack_many(many, 20'000);
  const auto open = [](const std::string& path) { (void)Container::open(path, kNoChecks).value(); };
  open(few);
  EXPECT_EQ(work_of([&] { open(few); }),
            "close 1, fstat 2, mmap 1, open 1, pread 5, stat 1; "
            "12560 bytes read, 0 written; 12 hashes of 5860 bytes");
  EXPECT_EQ(work_of([&] { open(many); }),
            "close 1, fstat 2, mmap 1, open 1, pread 5, stat 1; "
            "30704 bytes read, 0 written; 12 hashes of 24004 bytes");
  const auto find = [](const std::string& path) {
    (void)Container::open(path, kNoChecks).value().acquire("unit.1234").value();
  };
  EXPECT_EQ(work_of([&] { find(few); }),
            "close 1, fstat 3, mmap 1, open 1, pread 15, stat 1; "
            "45380 bytes read, 0 written; 22 hashes of 38688 bytes");
  EXPECT_EQ(work_of([&] { find(many); }),
            "close 1, fstat 3, mmap 1, open 1, pread 16, stat 1; "
            "68756 bytes read, 0 written; 23 hashes of 62064 bytes");
}

TEST_F(CountedWork, OfTheFirstByteOfTheChosenRecord) {
  const Device device = {.arch = "x86-64-v3"};
  const auto first_byte = [&] {
    const Container container = Container::open(path_, kNoChecks).value();
    const auto chosen = select(container.candidates().value(), device).value().chosen;
    const RecordView view = container.acquire(chosen.front()).value();
    const volatile std::byte byte = view.data()[0];
    (void)byte;
  };
  first_byte();
  EXPECT_EQ(work_of(first_byte),
            "close 1, fstat 3, mmap 1, open 1, pread 4, stat 1; "
            "15707 bytes read, 0 written; 20 hashes of 6025 bytes");
  expect_allocations(first_byte, 32);
  if (support::kSanitized) return;
  EXPECT_EQ(page_faults_of([&] {
              for (int i = 0; i < 100; ++i) first_byte();
            }),
            100)
      << "that of the byte";
}

TEST_F(CountedWork, OfAFurtherOpen) {
  const Container live = Container::open(path_).value();
  (void)live.acquire("weights").value();
  const auto further = [&] { (void)Container::open(path_).value().acquire("weights").value(); };
  further();
  EXPECT_EQ(work_of(further),
            "fstat 1, stat 1; "
            "0 bytes read, 0 written; 1 hashes of 7 bytes");
  expect_allocations(further, 6);
}

TEST_F(CountedWork, OfTheFirstAcquire) {
  const Container container = Container::open(path_).value();
  EXPECT_EQ(work_of([&] { (void)container.acquire("weights").value(); }),
            "fcntl 3, fstat 2, fstatfs 1, pread 1; "
            "64 bytes read, 0 written; 10 hashes of 400071 bytes");
  EXPECT_EQ(work_of([&] { (void)container.acquire("weights").value(); }),
            "fstat 1; "
            "0 bytes read, 0 written; 1 hashes of 7 bytes");
}

TEST_F(CountedWork, OfOneTensor) {
  EXPECT_EQ(work_of([&] {
              const Container container = Container::open(path_).value();
              (void)container.tensor(container.find("weights").value().id, "layer/1").value();
            }),
            "close 1, fcntl 3, fstat 4, fstatfs 1, mmap 1, open 1, pread 7, stat 1; "
            "16516 bytes read, 0 written; 29 hashes of 141091 bytes");
}

TEST_F(CountedWork, OfAnAppend) {
  std::uint32_t number = 0;
  const auto append = [&] {
    auto appender = Appender::open(path_).value();
    PackRecord binary;
    binary.type = RecordType::kContextBinary;
    binary.name = fmt::format("added.{}", number);
    binary.key.backend = "cpu";
    binary.key.arch = "x86-64-v2";
    binary.key.unit = fmt::to_string(1 + number);
    binary.source.bytes = testing::pattern(300'000, 100 + number++);
    ASSERT_TRUE(appender.add(std::move(binary)).ok());
    ASSERT_TRUE(appender.commit().ok());
  };
  append();
  EXPECT_EQ(work_of(append),
            "close 2, fallocate 1, fcntl 1, fdatasync 2, fstat 4, fstatfs 1, lstat 2, open 2, pread 16, pwrite 10; "
            "80385 bytes read, 309833 written; 95 hashes of 1192229 bytes");
}

TEST_F(CountedWork, OfAPack) {
  const auto pack = [&] {
    PackOptions options;
    options.overwrite = true;
    options.threads = 1;
    Packer packer(options);
    for (std::uint32_t i = 0; i < 2; ++i) {
      PackRecord binary;
      binary.type = RecordType::kContextBinary;
      binary.name = fmt::format("binary.{}", i);
      binary.key.backend = "cpu";
      binary.key.arch = "x86-64-v2";
      binary.key.unit = fmt::to_string(i);
      binary.source.bytes = testing::pattern(1'000'000, i);
      ASSERT_TRUE(packer.add(std::move(binary)).ok());
    }
    ASSERT_TRUE(packer.publish(folder_ / "packed.fatctx").ok());
  };
  pack();
  EXPECT_EQ(work_of(pack),
            "close 3, fallocate 1, fcntl 1, fdatasync 1, fstat 2, fstatat 3, fstatfs 1, fsync 1, linkat 1, lstat 1, "
            "open 2, openat 1, pread 7, pwrite 7, renameat2 1; "
            "78098 bytes read, 2068384 written; 782 hashes of 10020248 bytes");
}

}  // namespace counted_work_test
}  // namespace fatctx
