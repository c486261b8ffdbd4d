#include "mapping/sealed_memory.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "mapping/page_range.h"
#include "support/child_process.h"
#include "support/result_matchers.h"

namespace fatctx::mapping {
namespace sealed_memory_test {

using support::fails_with;
using support::is_ok;

TEST(SealedMemory, KeepsItsBytesAndItsAddress) {
  const SealableBlock block = make_sealable_block(100'000).value();
  std::fill_n(block.data, block.size_bytes, std::byte{9});
  ASSERT_TRUE(is_ok(seal(block)));
  EXPECT_TRUE(std::all_of(block.data, block.data + block.size_bytes, [](std::byte b) { return b == std::byte{9}; }));
  free_block(block);
}

TEST(SealedMemory, RefusesMoreThanFitsIntoTheAddressSpace) {
  const auto block = make_sealable_block((std::uint64_t{1} << 63) + 1);

  ASSERT_TRUE(fails_with(block, ErrorCode::kNoResource));
  EXPECT_EQ(block.error().message, "9223372036854775809 bytes do not fit into this address space");
}

TEST(SealedMemory, CannotBeChangedByAnyWay) {
  const SealableBlock block = make_sealable_block(page_size()).value();
  block.data[0] = std::byte{9};
  ASSERT_TRUE(is_ok(seal(block)));

  EXPECT_NE(::mprotect(block.data, page_size(), PROT_READ | PROT_WRITE), 0);
  EXPECT_LT(::pwrite(block.descriptor, "x", 1, 0), 0);
  EXPECT_NE(::ftruncate(block.descriptor, 0), 0);
  EXPECT_EQ(::mmap(nullptr, page_size(), PROT_WRITE, MAP_SHARED, block.descriptor, 0), MAP_FAILED);
  EXPECT_EQ(block.data[0], std::byte{9});
  free_block(block);
}

TEST(SealedMemory, OfNoBytesOrOfTooManyIsAnError) {
  EXPECT_EQ(make_sealable_block(0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(make_sealable_block(std::uint64_t{1} << 63).error().code, ErrorCode::kNoResource);
}

TEST(SealedMemory, AFileSizeLimitIsAnErrorAndNotASignal) {
  EXPECT_EQ(support::in_child([] {
              (void)::signal(SIGXFSZ, SIG_IGN);
              const rlimit limit{4096, 4096};
              if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
              const auto block = make_sealable_block(1 << 20);
              return block.ok() ? 1 : block.error().code == ErrorCode::kOutOfMemory ? 0 : 3;
            }),
            0);
}

}  // namespace sealed_memory_test
}  // namespace fatctx::mapping
