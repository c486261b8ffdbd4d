// Private copies: views that no writer of the file can change.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <fstream>

#include "fatctx/model.h"
#include "runtime/small_model.h"
#include "support/opened.h"
#include "support/process_files.h"

namespace fatctx {
namespace private_copy_test {

using testing::Folder;

class PrivateCopies : public ::testing::Test {
 protected:
  PrivateCopies() : path_(folder_ / "m.fatctx") {
    testing::pack_small_model(path_);
    options_.verify = VerifyPolicy::kPrivateCopy;
  }
  static bool holds_weights(const RecordView& view) {
    return std::ranges::equal(view.bytes(), testing::pattern(testing::kWeightsSize, 1));
  }

  Folder folder_;
  std::string path_;
  OpenOptions options_;
};

TEST_F(PrivateCopies, StayWhateverIsWrittenToTheFile) {
  const Container container = Container::open(path_, options_).value();
  const RecordView view = container.acquire("weights").value();
  std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(container.find("weights").value().file_offset));
  file << "other bytes" << std::flush;

  EXPECT_TRUE(holds_weights(view));
  EXPECT_EQ(view.access_path(), AccessPath::kCopied);
  EXPECT_FALSE(support::report_of(container).mapped);
  EXPECT_EQ(support::report_of(container).copy_reason, "private copies were requested");
  EXPECT_EQ(verify_policy_name(support::report_of(container).verify), "private_copy");
  EXPECT_EQ(testing::mappings_of(path_), 0);
}

TEST_F(PrivateCopies, AreOneForAllSessions) {
  const RecordView one = Container::open(path_, options_).value().acquire("weights").value();
  const RecordView two = Container::open(path_, options_).value().acquire("weights").value();
  EXPECT_EQ(one.data(), two.data());
  EXPECT_EQ(support::maps_of("memfd:fatctx"), 1U);
}

TEST_F(PrivateCopies, CannotBeMadeWritable) {
  const RecordView view = Container::open(path_, options_).value().acquire("weights").value();
  EXPECT_NE(::mprotect(const_cast<std::byte*>(view.data()), 4096, PROT_READ | PROT_WRITE), 0);
}

TEST_F(PrivateCopies, GoWithTheirLastView) {
  { const RecordView view = Container::open(path_, options_).value().acquire("weights").value(); }
  EXPECT_EQ(support::maps_of("memfd:fatctx"), 0U);
}

TEST_F(PrivateCopies, OfDamagedBytesAreRefused) {
  const Container container = Container::open(path_, options_).value();
  {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(container.find("weights").value().file_offset));
    file << "other bytes";
  }
  const auto view = container.acquire("weights");
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(support::maps_of("memfd:fatctx"), 0U);
}

TEST_F(PrivateCopies, WorkForWholeModels) {
  ModelOptions options;
  options.open = options_;
  options.device = Device{};
  options.device->arch = "aarch64";
  Session session = Model::open(path_, options).value().begin_session().value();
  EXPECT_TRUE(holds_weights(session.weights().front().view));
  EXPECT_TRUE(session.weight("layer/1").ok());
  EXPECT_TRUE(session.end().ok());
}

TEST_F(PrivateCopies, ContradictARequiredMappingAndMemoryOfTheCaller) {
  options_.file_mapping = FileMapping::kRequire;
  const auto required = Container::open(path_, options_);
  ASSERT_FALSE(required.ok());
  EXPECT_EQ(required.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(required.error().message.find("mapping is required"), std::string::npos);

  class Refusing final : public ViewAllocator {
    std::string_view name() const noexcept override { return "refusing"; }
    Result<Block> allocate(std::uint64_t, std::uint64_t) override { return Error{}; }
    void release(const Block&) noexcept override {}
  };
  options_.file_mapping = FileMapping::kAuto;
  options_.allocator = std::make_shared<Refusing>();
  const auto allocated = Container::open(path_, options_);
  ASSERT_FALSE(allocated.ok());
  EXPECT_NE(allocated.error().message.find("cannot be sealed"), std::string::npos);
}

}  // namespace private_copy_test
}  // namespace fatctx
