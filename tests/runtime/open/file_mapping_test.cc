// The switch between mapped views and copies, and the seams behind it.
#include "fatctx/file_mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "fatctx/model.h"
#include "mapping/os_file.h"
#include "runtime/open/file_mapping.h"
#include "runtime/small_model.h"
#include "support/descriptors.h"
#include "support/opened.h"

namespace fatctx {
namespace file_mapping_test {

using testing::Folder;

bool holds_weights(const RecordView& view, std::uint32_t seed = 1) {
  const std::vector<std::byte> expected = testing::pattern(testing::kWeightsSize, seed);
  return std::equal(view.bytes().begin(), view.bytes().end(), expected.begin(), expected.end());
}

// An allocator that acts as device memory: counts allocations and releases, and fails on demand.
class FakeAllocator : public ViewAllocator {
 public:
  std::string_view name() const noexcept override { return "fake shared memory"; }
  Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t alignment) override {
    if (fail_allocate) {
      return Error{ErrorCode::kBackendLibraryMissing,
                   "libfakerpc.so is not on this machine; install the vendor's driver"};
    }
    if (misalign) return Block{.data = misaligned_.data() + 1, .size_bytes = size_bytes};
    ++live;
    ++allocations;
    return Block{.data = static_cast<std::byte*>(::operator new (size_bytes, std::align_val_t{alignment})),
                 .size_bytes = short_by ? size_bytes - short_by : size_bytes};
  }
  Status filled(const Block& block) override {
    if (fail_registration) return Error{ErrorCode::kNoResource, "the device has no room to register the block"};
    registered += block.size_bytes;
    return Done{};
  }
  void release(const Block& block) noexcept override {
    if (misalign) return;
    ::operator delete (block.data, std::align_val_t{64 * 1024});
    --live;
  }

  bool fail_allocate = false;
  bool fail_registration = false;
  bool misalign = false;
  std::uint64_t short_by = 0;
  std::atomic<int> live{0};
  std::atomic<int> allocations{0};
  std::atomic<std::uint64_t> registered{0};

 private:
  std::vector<std::byte> misaligned_ = std::vector<std::byte>(16);
};

class MemfdAllocator final : public ViewAllocator {
 public:
  std::string_view name() const noexcept override { return "memfd"; }
  Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t) override {
    const int descriptor = ::memfd_create("view", MFD_CLOEXEC);
    if (descriptor < 0 || ::ftruncate(descriptor, static_cast<off_t>(size_bytes)) != 0) {
      return Error{ErrorCode::kNoResource, "no memfd"};
    }
    void* data = ::mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) return Error{ErrorCode::kNoResource, "no map"};
    last_descriptor = descriptor;
    return Block{.data = static_cast<std::byte*>(data), .size_bytes = size_bytes, .descriptor = descriptor};
  }
  void release(const Block& block) noexcept override {
    (void)::munmap(block.data, block.size_bytes);
    (void)::close(block.descriptor);
  }

  int last_descriptor = -1;
};

class FakeProvider final : public MappingProvider {
 public:
  std::string_view name() const noexcept override { return "fake mapping"; }
  Result<ByteView> map(int descriptor, std::uint64_t offset, std::uint64_t size) override {
    ++asked;
    if (!available) return Error{ErrorCode::kUnsupported, "this machine cannot map files"};
    if (exhausted) return Error{ErrorCode::kNoResource, "no address space is left"};
    std::vector<std::byte> bytes(size);
    if (!support::read_descriptor(descriptor, bytes.data(), bytes.size(), offset)) {
      return Error{ErrorCode::kIo, "short"};
    }
    const std::lock_guard lock(mutex_);
    const ByteView view(bytes.data(), gives_less ? bytes.size() - 1 : bytes.size());
    live_.emplace(view.data(), std::move(bytes));
    if (after) after();
    return view;
  }
  void unmap(ByteView mapped) noexcept override {
    const std::lock_guard lock(mutex_);
    live_.erase(mapped.data());
  }
  [[nodiscard]] std::size_t live() {
    const std::lock_guard lock(mutex_);
    return live_.size();
  }

  bool available = true;
  bool exhausted = false;
  bool gives_less = false;
  std::function<void()> after;  // runs once the bytes are mapped
  std::atomic<int> asked{0};

 private:
  std::mutex mutex_;
  std::map<const std::byte*, std::vector<std::byte>> live_;
};

class FileMappingSwitch : public ::testing::Test {
 protected:
  FileMappingSwitch() : path_(folder_ / "m.fatctx") { testing::pack_small_model(path_); }

  [[nodiscard]] static ModelOptions for_aarch64() {
    ModelOptions options;
    options.device = Device{};
    options.device->arch = "aarch64";
    return options;
  }

  Folder folder_;
  std::string path_;
};

// Shows S5.13.
TEST_F(FileMappingSwitch, DisabledFileMappingGivesOneCopyToAllSessionsAndMapsNothing) {
  ModelOptions options = for_aarch64();
  options.open.file_mapping = FileMapping::kDisabled;
  const Model model = Model::open(path_, options).value();

  std::vector<Session> sessions;
  for (int i = 0; i < 8; ++i) sessions.push_back(model.begin_session().value());

  EXPECT_EQ(testing::mappings_of(path_), 0);
  EXPECT_FALSE(support::report_of(*model.container()).mapped);
  EXPECT_EQ(support::report_of(*model.container()).copy_reason, "file mapping is disabled by the caller");
  for (const Session& session : sessions) {
    const RecordView& weights = session.weights().front().view;
    EXPECT_EQ(weights.access_path(), AccessPath::kCopied);
    EXPECT_EQ(weights.data(), sessions.front().weights().front().view.data());
    EXPECT_TRUE(holds_weights(weights));
    const WeightView tensor = session.weight("layer/1").value();
    EXPECT_EQ(tensor.bytes().data(), weights.data() + tensor.offset_in_blob()) << "tensors are in the same copy";
  }
}

// Shows S5.14: mapping is the default. A consumer that cannot take mapped memory is asked once, gets one copy, and is
// told.
TEST_F(FileMappingSwitch, AConsumerThatCannotTakeMappedMemoryIsAskedOncePerModel) {
  int asked = 0;
  ModelOptions options = for_aarch64();
  options.consumer = [&] {
    ++asked;
    return MappingSupport{false, "librpcmem is missing"};
  };
  const std::uint64_t before = file_mapping_fallbacks();
  const Model model = Model::open(path_, options).value();
  const Session first = model.begin_session().value();
  const Session second = model.begin_session().value();

  EXPECT_EQ(asked, 1);
  EXPECT_EQ(file_mapping_fallbacks(), before + 1);
  EXPECT_FALSE(support::report_of(*model.container()).mapped);
  EXPECT_EQ(support::report_of(*model.container()).copy_reason,
            "the consumer cannot take mapped memory: librpcmem is missing");
  EXPECT_EQ(first.weights().front().view.data(), second.weights().front().view.data());
  EXPECT_EQ(first.weights().front().view.access_path(), AccessPath::kCopied);
}

TEST_F(FileMappingSwitch, AConsumerThatTakesMappedMemoryGetsTheMapping) {
  ModelOptions options = for_aarch64();
  options.consumer = [] { return MappingSupport{}; };
  const std::uint64_t before = file_mapping_fallbacks();

  const Model model = Model::open(path_, options).value();

  EXPECT_TRUE(support::report_of(*model.container()).mapped);
  EXPECT_EQ(support::report_of(*model.container()).copy_reason, "");
  EXPECT_EQ(model.begin_session().value().weights().front().view.access_path(), AccessPath::kDirect);
  EXPECT_EQ(file_mapping_fallbacks(), before);
}

TEST_F(FileMappingSwitch, RequiredMappingIsAnErrorThatNamesTheBytesAndTheReason) {
  ModelOptions options = for_aarch64();
  options.open.file_mapping = FileMapping::kRequire;
  options.consumer = [] { return MappingSupport{false, "librpcmem is missing"}; };

  const auto model = Model::open(path_, options);

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kCopyNotAllowed);
  EXPECT_NE(model.error().message.find("librpcmem is missing"), std::string::npos);
  EXPECT_NE(model.error().message.find("220000 bytes"), std::string::npos) << model.error().message;
}

TEST_F(FileMappingSwitch, MappedAndCopyingConsumersOfOneFileLiveSideBySide) {
  OpenOptions copying;
  copying.file_mapping = FileMapping::kDisabled;
  const Container copied = Container::open(path_, copying).value();
  const RecordView copy = copied.acquire("weights").value();
  EXPECT_EQ(testing::mappings_of(path_), 0);

  const Container mapped = Container::open(path_).value();
  const RecordView view = mapped.acquire("weights").value();

  EXPECT_TRUE(support::report_of(mapped).already_live) << "one container, mapped when the first asks for it";
  EXPECT_EQ(testing::mappings_of(path_), 1);
  EXPECT_NE(copy.data(), view.data());
  EXPECT_TRUE(holds_weights(copy) && holds_weights(view));
  EXPECT_FALSE(support::report_of(copied).mapped);
}

TEST_F(FileMappingSwitch, ACopyGoesWithItsLastViewAndOutlivesEverythingElse) {
  auto allocator = std::make_shared<FakeAllocator>();
  std::optional<RecordView> view;
  {
    OpenOptions options;
    options.allocator = allocator;
    view = Container::open(path_, options).value().acquire("weights").value();
  }
  EXPECT_EQ(allocator->live, 1);
  EXPECT_TRUE(holds_weights(*view));

  view.reset();

  EXPECT_EQ(allocator->live, 0);
}

TEST_F(FileMappingSwitch, DamageIsFoundBeforeACopyIsHandedOutWhateverThePolicy) {
  const std::uint64_t offset = Container::open(path_).value().find("weights").value().file_offset;
  testing::flip_byte(path_, offset + 5);
  auto allocator = std::make_shared<FakeAllocator>();
  OpenOptions options;
  options.allocator = allocator;
  options.verify = VerifyPolicy::kNone;

  const auto view = Container::open(path_, options).value().acquire("weights");

  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(allocator->live, 0);
}

TEST_F(FileMappingSwitch, SixtyFourThreadsMakeOneCopy) {
  auto allocator = std::make_shared<FakeAllocator>();
  OpenOptions options;
  options.allocator = allocator;
  const Container container = Container::open(path_, options).value();
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  std::vector<std::optional<RecordView>> views(64);
  for (std::size_t i = 0; i < views.size(); ++i) {
    threads.emplace_back([&, i] {
      views[i] = container.acquire("weights").value();
      good += holds_weights(*views[i]) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(good, 64);
  EXPECT_EQ(allocator->allocations, 1);
  views.clear();
  EXPECT_EQ(allocator->live, 0);
}

// Shows S5.15, S3.27.
TEST_F(FileMappingSwitch, AMissingLibraryAFailedRegistrationAndBadMemoryAreErrorsThatLeaveNothing) {
  struct Row {
    void (*prepare)(FakeAllocator&);
    ErrorCode code;
    const char* words;
  };
  const Row rows[] = {
      {[](FakeAllocator& a) { a.fail_allocate = true; }, ErrorCode::kBackendLibraryMissing, "libfakerpc.so"},
      {[](FakeAllocator& a) { a.fail_registration = true; }, ErrorCode::kNoResource, "register"},
      {[](FakeAllocator& a) { a.misalign = true; }, ErrorCode::kInternal, "not aligned"},
      {[](FakeAllocator& a) { a.short_by = 1; }, ErrorCode::kInternal, "instead of"},
  };
  for (const Row& row : rows) {
    auto allocator = std::make_shared<FakeAllocator>();
    row.prepare(*allocator);
    OpenOptions options;
    options.allocator = allocator;
    const Container container = Container::open(path_, options).value();

    const auto view = container.acquire("weights");

    ASSERT_FALSE(view.ok()) << row.words;
    EXPECT_EQ(view.error().code, row.code) << to_text(view.error());
    EXPECT_NE(view.error().message.find(row.words), std::string::npos) << to_text(view.error());
    EXPECT_NE(view.error().message.find("fake shared memory"), std::string::npos) << "the allocator is named";
    EXPECT_EQ(allocator->live, 0);
  }
}

// Shows S3.27.
TEST_F(FileMappingSwitch, ViewsCanBePlacedInAMemfdThatAnotherProcessMayMap) {
  auto allocator = std::make_shared<MemfdAllocator>();
  OpenOptions options;
  options.allocator = allocator;
  const Container container = Container::open(path_, options).value();
  const RecordView view = container.acquire("weights").value();

  void* elsewhere = ::mmap(nullptr, view.size_bytes(), PROT_READ, MAP_SHARED, allocator->last_descriptor, 0);

  ASSERT_NE(elsewhere, MAP_FAILED);
  EXPECT_EQ(std::memcmp(elsewhere, view.data(), view.size_bytes()), 0);
  EXPECT_EQ(support::report_of(container).copy_reason, "views are placed in memory of memfd");
  (void)::munmap(elsewhere, view.size_bytes());
}

TEST_F(FileMappingSwitch, RequiredMappingAndAnAllocatorContradictEachOther) {
  OpenOptions options;
  options.allocator = std::make_shared<FakeAllocator>();
  options.file_mapping = FileMapping::kRequire;

  EXPECT_EQ(Container::open(path_, options).error().code, ErrorCode::kInvalidArgument);
}

// Shows S5.11.
TEST_F(FileMappingSwitch, AProviderMapsInPlaceOfTheSystemOnceForAllAndUndoesIt) {
  auto provider = std::make_shared<FakeProvider>();
  OpenOptions options;
  options.mapping_provider = provider;
  {
    const Container first = Container::open(path_, options).value();
    const Container second = Container::open(path_, options).value();
    const RecordView view = second.acquire("weights").value();
    EXPECT_TRUE(holds_weights(view));
    EXPECT_EQ(view.access_path(), AccessPath::kDirect);
    EXPECT_EQ(provider->asked, 1);
    EXPECT_EQ(provider->live(), 1U);
    EXPECT_EQ(testing::mappings_of(path_), 0);
    const Container by_system = Container::open(path_).value();
    EXPECT_EQ(testing::mappings_of(path_), 1) << "what one provider mapped is not handed out by another";
  }
  EXPECT_EQ(provider->live(), 0U);
}

TEST_F(FileMappingSwitch, AFileThatIsCutBeforeOrWhileAProviderMapsItIsTruncated) {
  auto provider = std::make_shared<FakeProvider>();
  const std::uint64_t size = std::filesystem::file_size(path_);
  const auto file = mapping::open_for_reading(path_).value();
  ASSERT_TRUE(map_region(*file, size, provider).ok());
  EXPECT_EQ(provider->live(), 0U);

  provider->after = [&] { std::filesystem::resize_file(path_, size - 1); };
  const auto meanwhile = map_region(*file, size, provider);
  ASSERT_FALSE(meanwhile.ok());
  EXPECT_EQ(meanwhile.error().code, ErrorCode::kTruncated);
  EXPECT_EQ(provider->live(), 0U);
  EXPECT_EQ(provider->asked, 2);

  const auto before = map_region(*file, size, provider);
  ASSERT_FALSE(before.ok());
  EXPECT_EQ(before.error().code, ErrorCode::kTruncated);
  EXPECT_EQ(provider->asked, 2) << "nothing is mapped behind the end";
}

// Shows S5.14, S5.16.
TEST_F(FileMappingSwitch, WhereMappingIsNotAvailableOneCopyIsMadeAndReportedOrRefused) {
  auto provider = std::make_shared<FakeProvider>();
  provider->available = false;
  OpenOptions options;
  options.mapping_provider = provider;
  const std::uint64_t before = file_mapping_fallbacks();

  const Container container = Container::open(path_, options).value();
  EXPECT_TRUE(holds_weights(container.acquire("weights").value()));
  EXPECT_NE(support::report_of(container).copy_reason.find("this machine cannot map files"), std::string::npos);
  EXPECT_EQ(file_mapping_fallbacks(), before + 1);

  options.file_mapping = FileMapping::kRequire;
  const auto refused = Container::open(path_, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kCopyNotAllowed);
}

TEST_F(FileMappingSwitch, ALackOfAddressesIsAnErrorAndNeverACopy) {
  auto provider = std::make_shared<FakeProvider>();
  OpenOptions options;
  options.mapping_provider = provider;
  provider->exhausted = true;
  EXPECT_EQ(Container::open(path_, options).error().code, ErrorCode::kNoResource);

  provider->exhausted = false;
  provider->gives_less = true;
  EXPECT_EQ(Container::open(path_, options).error().code, ErrorCode::kInternal);
  EXPECT_EQ(provider->live(), 0U) << "a map of the wrong size is undone";
}

TEST_F(FileMappingSwitch, BuffersAreCopiedWhenMappingIsDisabled) {
  std::ifstream file(path_, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  OpenOptions options;
  options.file_mapping = FileMapping::kDisabled;
  const Container container = Container::open(Source::of_memory(std::as_bytes(std::span(text))), options).value();

  const RecordView view = container.acquire("weights").value();

  EXPECT_EQ(view.access_path(), AccessPath::kCopied);
  EXPECT_TRUE(holds_weights(view));
  EXPECT_TRUE(view.data() < reinterpret_cast<const std::byte*>(text.data()) ||
              view.data() >= reinterpret_cast<const std::byte*>(text.data() + text.size()));
}

TEST(FileMappingCapability, SaysHowThisBuildMaps) {
  const MappingCapability capability = file_mapping_capability();

  EXPECT_TRUE(capability.available);
  EXPECT_FALSE(capability.how.empty());
  EXPECT_EQ(capability.page_bytes, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(capability.provider, "posix");
  EXPECT_EQ(capability.granule_bytes, capability.page_bytes);
  EXPECT_TRUE(capability.stitched);
  const int memory = ::memfd_create("probe", MFD_CLOEXEC);
  EXPECT_EQ(capability.sealed_memory, memory >= 0);
  if (memory >= 0) (void)::close(memory);
}

TEST(FileMappingNames, LeadBackToTheirValues) {
  EXPECT_EQ(file_mapping_name(FileMapping::kAuto), "auto");
  EXPECT_EQ(file_mapping_name(FileMapping::kRequire), "require");
  EXPECT_EQ(file_mapping_name(FileMapping::kDisabled), "disabled");
  EXPECT_EQ(file_mapping_name(static_cast<FileMapping>(3)), "unknown");
  EXPECT_EQ(file_mapping_from_name("auto"), FileMapping::kAuto);
  EXPECT_EQ(file_mapping_from_name("require"), FileMapping::kRequire);
  EXPECT_EQ(file_mapping_from_name("disabled"), FileMapping::kDisabled);
  for (const char* name : {"", "Auto", "unknown", "disable"}) {
    EXPECT_EQ(file_mapping_from_name(name), std::nullopt) << name;
  }
}

TEST(VerifyPolicyNames, LeadBackToTheirValues) {
  EXPECT_EQ(verify_policy_name(VerifyPolicy::kRecordOnAcquire), "record_on_acquire");
  EXPECT_EQ(verify_policy_name(VerifyPolicy::kNone), "none");
  EXPECT_EQ(verify_policy_name(VerifyPolicy::kPrivateCopy), "private_copy");
  EXPECT_EQ(verify_policy_name(static_cast<VerifyPolicy>(4)), "unknown");
  EXPECT_EQ(verify_policy_from_name("record_on_acquire"), VerifyPolicy::kRecordOnAcquire);
  EXPECT_EQ(verify_policy_from_name("none"), VerifyPolicy::kNone);
  EXPECT_EQ(verify_policy_from_name("private_copy"), VerifyPolicy::kPrivateCopy);
  for (const char* name : {"", "None", "unknown", "record"}) {
    EXPECT_EQ(verify_policy_from_name(name), std::nullopt) << name;
  }
}

}  // namespace file_mapping_test
}  // namespace fatctx
