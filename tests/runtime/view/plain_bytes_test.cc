// Views of a file that is not a container: mapped or copied, with which errors, and which pages stay in memory.
#include "runtime/view/plain_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "mapping/page_advice.h"
#include "mapping/residency.h"
#include "runtime/open/step_watch.h"
#include "support/aligned_memory.h"
#include "support/descriptors.h"
#include "support/mapped_file.h"
#include "support/memory_file.h"
#include "support/pattern.h"
#include "support/process_files.h"
#include "support/result_matchers.h"

namespace fatctx {
namespace plain_bytes_test {

using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;
using support::MemoryFile;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kSize = 3 * kMiB;
constexpr std::uint64_t kPage = 4096;
const OpenOptions kCopied = {.file_mapping = FileMapping::kDisabled};

// Maps by a read, or refuses with this code.
class ReadingProvider final : public MappingProvider {
 public:
  explicit ReadingProvider(std::optional<ErrorCode> refuses = {}) : refuses_(refuses) {}
  std::string_view name() const noexcept override { return "a provider"; }
  Result<ByteView> map(int descriptor, std::uint64_t offset, std::uint64_t size) override {
    if (refuses_) return Error{*refuses_, "the provider refuses"};
    memory_.reset(static_cast<std::byte*>(support::aligned_memory(kPage, static_cast<std::size_t>(size))));
    if (!support::read_descriptor(descriptor, memory_.get(), static_cast<std::size_t>(size), offset)) {
      return Error{ErrorCode::kIo, "short read"};
    }
    return ByteView(memory_.get(), static_cast<std::size_t>(size));
  }
  void unmap(ByteView) noexcept override {}

 private:
  struct Free {
    void operator()(std::byte* memory) const { support::free_aligned(memory); }
  };
  std::optional<ErrorCode> refuses_;
  std::unique_ptr<std::byte, Free> memory_;
};

class FakeAllocator final : public ViewAllocator {
 public:
  std::string_view name() const noexcept override { return "fake memory"; }
  Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t alignment) override {
    if (full) return Error{ErrorCode::kNoResource, "no block is left"};
    return Block{.data = static_cast<std::byte*>(support::aligned_memory(static_cast<std::size_t>(alignment),
                                                                         static_cast<std::size_t>(size_bytes))),
                 .size_bytes = size_bytes};
  }
  Status filled(const Block&) override {
    if (refuses) return Error{ErrorCode::kNoResource, "the block cannot be registered"};
    return Done{};
  }
  void release(const Block& block) noexcept override { support::free_aligned(block.data); }

  bool full = false;
  bool refuses = false;
};

using Opened = Result<std::shared_ptr<const PlainBytes>>;

class PlainViews : public ::testing::Test {
 protected:
  void SetUp() override { support::write_file(path_, content_); }
  [[nodiscard]] Opened open(const OpenOptions& options = {}, const MappingSupport& consumer = {}) const {
    return PlainBytes::open(PlainFile::open(path_, options).value(), options, consumer);
  }
  [[nodiscard]] Opened in_memory(std::shared_ptr<MemoryFile> file, const OpenOptions& options = kCopied) const {
    const mapping::FileIdentity identity = file->identity().value();
    return PlainBytes::open({.name = "plain", .file = std::move(file), .identity = identity}, options, {});
  }
  [[nodiscard]] static Result<RecordView> whole(const Opened& bytes) {
    return PlainBytes::view(bytes.value(), 0, {0, kSize});
  }
  [[nodiscard]] bool shows(const RecordView& view) const { return std::ranges::equal(view.bytes(), content_); }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("plain");
  const Bytes content_ = support::pattern(kSize, 61);
  const ByteRange all_{0, kSize};
};

TEST_F(PlainViews, WhereMappingIsNotAvailableAreCopiesAndCounted) {
  const OpenOptions unsupported{.mapping_provider = std::make_shared<ReadingProvider>(ErrorCode::kUnsupported)};
  const MappingSupport refusing{.takes_mapped_memory = false, .reason = "no rpcmem"};
  for (const bool by_consumer : {false, true}) {
    const std::uint64_t before = file_mapping_fallbacks();
    const Opened bytes = by_consumer ? open({}, refusing) : open(unsupported);
    ASSERT_TRUE(is_ok(bytes));
    EXPECT_EQ(file_mapping_fallbacks(), before + 1);
    const RecordView view = whole(bytes).value();
    EXPECT_EQ(view.access_path(), AccessPath::kCopied);
    EXPECT_TRUE(shows(view));
  }
  OpenOptions required = unsupported;
  required.file_mapping = FileMapping::kRequire;
  const Opened refused = open(required);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
  EXPECT_NE(refused.error().message.find("mapping is not available: a provider: the provider refuses"),
            std::string::npos)
      << refused.error().message;

  const std::uint64_t before = file_mapping_fallbacks();
  EXPECT_TRUE(is_ok(open(kCopied)));
  EXPECT_TRUE(is_ok(open()));
  EXPECT_EQ(file_mapping_fallbacks(), before) << "nobody had to fall back";
}

TEST_F(PlainViews, AMapThatFailsIsAnErrorAndNoReasonForCopies) {
  const Opened failed = open({.mapping_provider = std::make_shared<ReadingProvider>(ErrorCode::kNoResource)});
  ASSERT_TRUE(fails_with(failed, ErrorCode::kNoResource));
  EXPECT_TRUE(failed.error().message.starts_with(path_)) << failed.error().message;
}

TEST_F(PlainViews, PrivateCopiesAreSealedAndOthersAreNot) {
  const std::size_t before = support::maps_of("memfd:fatctx");
  const RecordView sealed = whole(open({.verify = VerifyPolicy::kPrivateCopy})).value();
  EXPECT_TRUE(shows(sealed));
  EXPECT_EQ(support::maps_of("memfd:fatctx"), before + 1);
  const RecordView copied = whole(open(kCopied)).value();
  EXPECT_TRUE(shows(copied));
  EXPECT_EQ(support::maps_of("memfd:fatctx"), before + 1);
}

TEST_F(PlainViews, ErrorsOfACopyAreThoseOfItsMemoryAndItsFile) {
  const auto allocator = std::make_shared<FakeAllocator>();
  const OpenOptions options{.allocator = allocator};
  const Opened bytes = open(options);
  ASSERT_TRUE(is_ok(bytes));
  EXPECT_TRUE(shows(whole(bytes).value()));
  allocator->refuses = true;
  EXPECT_TRUE(fails_with(whole(bytes), ErrorCode::kNoResource));
  allocator->refuses = false;
  allocator->full = true;
  EXPECT_TRUE(fails_with(whole(bytes), ErrorCode::kNoResource));

  const auto failing = std::make_shared<MemoryFile>(content_);
  failing->fail(FileCall::kRead, 1, false);
  const auto unread = whole(in_memory(failing));
  ASSERT_TRUE(fails_with(unread, ErrorCode::kIo));
  EXPECT_EQ(unread.error().where.file_offset, kMiB);
  EXPECT_TRUE(unread.error().message.starts_with("plain: ")) << unread.error().message;
}

TEST_F(PlainViews, ACopyIsCountedInStepsAndStopsBetweenThem) {
  const Opened bytes = in_memory(std::make_shared<MemoryFile>(content_));
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> done{0};
  const StepWatch watch(stop, done);
  EXPECT_TRUE(shows(whole(bytes).value()));
  EXPECT_EQ(done, kSize);

  stop = true;
  done = 0;
  EXPECT_TRUE(fails_with(whole(bytes), ErrorCode::kCancelled));
  EXPECT_EQ(done, kMiB);
}

TEST_F(PlainViews, PrefetchAndReleaseAreOfMappedPagesOnly) {
  const Opened mapped = open();
  const RecordView view = whole(mapped).value();
  const auto report = mapped.value()->prefetch({&all_, 1}, {}, nullptr, nullptr);
  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().done_bytes, kSize);
  const auto file = mapping::open_for_reading(path_).value();
  const bool populates = mapping::populate_at(*file, view.bytes(), 0).value() == mapping::PopulateMethod::kPopulate;
  EXPECT_EQ(report.value().method, populates ? PrefetchMethod::kPopulate : PrefetchMethod::kReadAhead);

  const ByteRange two[] = {{0, 4 * kPage}, {8 * kPage, 16 * kPage}};
  const auto released = mapped.value()->release(two, {.keep_cached = true});
  ASSERT_TRUE(is_ok(released));
  EXPECT_EQ(released.value().asked_bytes, 20 * kPage);
  EXPECT_EQ(released.value().released_bytes, 20 * kPage);
  EXPECT_EQ(mapping::resident_bytes(view.bytes().first(4 * kPage)).value(), 0U);
  EXPECT_TRUE(shows(view)) << "they come back from the file";

  const Opened provided = open({.mapping_provider = std::make_shared<ReadingProvider>()});
  const RecordView of_provider = whole(provided).value();
  EXPECT_EQ(of_provider.access_path(), AccessPath::kDirect);
  const auto kept = provided.value()->release({&all_, 1}, {});
  ASSERT_TRUE(is_ok(kept));
  EXPECT_EQ(kept.value().asked_bytes, kSize);
  EXPECT_EQ(kept.value().released_bytes, 0U);
  EXPECT_TRUE(shows(of_provider)) << "memory of a provider would not come back";
}

TEST_F(PlainViews, AReleaseLetsTheSystemForgetTheFileUnlessItIsToKeepIt) {
  support::drop_from_cache(path_);  // dirty pages cannot be dropped
  if (support::cached_bytes(path_) != 0) GTEST_SKIP() << "this filesystem keeps its files in memory";
  const Opened bytes = open();
  const RecordView view = whole(bytes).value();
  (void)support::touch(view.bytes());

  ASSERT_TRUE(is_ok(bytes.value()->release({&all_, 1}, {.keep_cached = true})));
  EXPECT_GE(support::cached_bytes(path_), kSize);
  ASSERT_TRUE(is_ok(bytes.value()->release({&all_, 1}, {})));
  EXPECT_LT(support::cached_bytes(path_), kSize / 2);
}

}  // namespace plain_bytes_test
}  // namespace fatctx
