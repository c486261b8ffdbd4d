// A container inside a larger file, in memory, and reopened.
#include <gtest/gtest.h>
#include <unistd.h>

#include "fatctx/model.h"
#include "mapping/unique_fd.h"
#include "runtime/small_model.h"
#include "support/descriptors.h"
#include "support/opened.h"

namespace fatctx {
namespace ways_in_test {

using mapping::UniqueFd;
using testing::Folder;

std::vector<std::byte> content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_content(const std::string& path, const std::vector<std::byte>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

bool equal(ByteView a, const std::vector<std::byte>& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

RecordView weights_of(const Container& container) { return container.acquire("weights").value(); }

bool holds_weights_of(const Container& container, std::uint32_t seed) {
  const RecordView view = weights_of(container);
  return equal(view.bytes(), testing::pattern(testing::kWeightsSize, seed));
}

class WaysIn : public ::testing::Test {
 protected:
  WaysIn() : model_(folder_ / "m.fatctx"), package_(folder_ / "package") {
    testing::pack_small_model(model_, true);
    content_ = content_of(model_);
  }

  // Returns a larger file with other bytes before and after the container.
  UniqueFd package(std::uint64_t offset) {
    std::vector<std::byte> bytes = testing::pattern(offset, 77);
    bytes.insert(bytes.end(), content_.begin(), content_.end());
    const std::vector<std::byte> tail = testing::pattern(10'000, 78);
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    write_content(package_, bytes);
    return support::open_descriptor(package_);
  }

  Folder folder_;
  std::string model_;
  std::string package_;
  std::vector<std::byte> content_;
};

TEST_F(WaysIn, APartOfALargerFileOpensFromEveryPage) {
  for (const std::uint64_t offset : {4096ULL, 12'288ULL, 65'536ULL, 1'048'576ULL}) {
    const UniqueFd descriptor = package(offset);

    const auto container = Container::open(Source::of_descriptor(descriptor.get(), {offset, content_.size()}));

    ASSERT_TRUE(container.ok()) << to_text(container.error());
    const auto weights = container.value().acquire("weights");
    ASSERT_TRUE(weights.ok()) << to_text(weights.error());
    EXPECT_TRUE(equal(weights.value().bytes(), testing::pattern(testing::kWeightsSize, 1))) << offset;
    EXPECT_TRUE(container.value().verify().value().findings.empty());
    EXPECT_EQ(testing::mappings_of(package_), 1);
  }
}

TEST_F(WaysIn, APartMeetsItselfAndNotTheWholeFile) {
  const UniqueFd descriptor = package(0);
  const auto part = Container::open(Source::of_descriptor(descriptor.get(), {0, content_.size()}));
  ASSERT_TRUE(part.ok()) << to_text(part.error());

  const auto again = Container::open(Source::of_descriptor(descriptor.get(), {0, content_.size()}));
  const auto whole = Container::open(Source::of_descriptor(descriptor.get()));

  ASSERT_TRUE(again.ok()) << to_text(again.error());
  EXPECT_TRUE(support::report_of(again.value()).already_live);
  ASSERT_FALSE(whole.ok()) << "a sealed container may not have anything behind it";
  EXPECT_EQ(whole.error().code, ErrorCode::kTrailingData);
}

TEST_F(WaysIn, TwoContainersInOneFileAreTwoMappings) {
  std::vector<std::byte> bytes = content_;
  bytes.resize((bytes.size() + 4095) / 4096 * 4096);
  const std::uint64_t second_offset = bytes.size();
  testing::pack_small_model(folder_ / "other", true, 2);
  const std::vector<std::byte> other = content_of(folder_ / "other");
  bytes.insert(bytes.end(), other.begin(), other.end());
  write_content(package_, bytes);
  const UniqueFd descriptor = support::open_descriptor(package_);

  const auto first = Container::open(Source::of_descriptor(descriptor.get(), {0, content_.size()}));
  const auto second = Container::open(Source::of_descriptor(descriptor.get(), {second_offset, other.size()}));

  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_NE(support::report_of(first.value()).uuid, support::report_of(second.value()).uuid);
  EXPECT_TRUE(holds_weights_of(second.value(), 2));
}

TEST_F(WaysIn, APartThatCannotBeIsRefusedWithTheReason) {
  const UniqueFd descriptor = package(4096);
  struct Bad {
    FileWindow window;
    ErrorCode code;
    const char* words;
  };
  const Bad rows[] = {
      {{100, content_.size()}, ErrorCode::kInvalidArgument, "multiple of 4096"},
      {{4096, UINT64_MAX}, ErrorCode::kInvalidArgument, "beyond any file"},
      {{4096, 1ULL << 40}, ErrorCode::kTruncated, ": 1099511627776 bytes from there were requested, and the file has"},
      {{1ULL << 40, 0}, ErrorCode::kTruncated, ": all bytes from there were requested, and the file has"},
      {{4096, content_.size() - 1}, ErrorCode::kTruncated, ""},
      {{8192, 0}, ErrorCode::kChecksumMismatch, ""},  // the second copy of the prologue is there, and no slot
      {{12'288, 0}, ErrorCode::kBadMagic, ""},
      {{4096, 0}, ErrorCode::kTrailingData, ""},
  };
  for (const Bad& row : rows) {
    const auto container = Container::open(Source::of_descriptor(descriptor.get(), row.window));

    ASSERT_FALSE(container.ok()) << row.window.offset << " " << row.window.size;
    EXPECT_EQ(container.error().code, row.code) << to_text(container.error());
    EXPECT_NE(container.error().message.find(row.words), std::string::npos) << to_text(container.error());
  }
  EXPECT_EQ(testing::mappings_of(package_), 0);
}

TEST_F(WaysIn, DamageInAPartIsToldAtItsPlaceInThePart) {
  const UniqueFd descriptor = package(8192);
  const auto offset = Container::open(model_).value().find("weights").value().file_offset;
  testing::flip_byte(package_, 8192 + offset + 70'000);
  const auto container = Container::open(Source::of_descriptor(descriptor.get(), {8192, content_.size()}));
  ASSERT_TRUE(container.ok());

  const auto view = container.value().acquire("weights");

  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(view.error().where.file_offset, offset + 65'536);
}

TEST_F(WaysIn, ACutPackageIsChangedAndNotACrash) {
  const UniqueFd descriptor = package(4096);
  const auto container = Container::open(Source::of_descriptor(descriptor.get(), {4096, content_.size()}));
  ASSERT_TRUE(container.ok());
  std::filesystem::resize_file(package_, 4096 + content_.size() - 1);

  const auto view = container.value().acquire("weights");

  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, ErrorCode::kChanged);
}

// Shows S2.8.
TEST_F(WaysIn, ABufferIsOpenedWithoutACopy) {
  const auto container = Container::open(Source::of_memory(content_));

  ASSERT_TRUE(container.ok()) << to_text(container.error());
  const auto weights = container.value().acquire("weights");
  ASSERT_TRUE(weights.ok()) << to_text(weights.error());
  EXPECT_TRUE(equal(weights.value().bytes(), testing::pattern(testing::kWeightsSize, 1)));
  EXPECT_GE(weights.value().data(), content_.data());
  EXPECT_LE(weights.value().data() + weights.value().size_bytes(), content_.data() + content_.size());
  EXPECT_EQ(container.value().path(), "memory");
  EXPECT_EQ(support::report_of(container.value()).filesystem, "memory");
  EXPECT_FALSE(support::report_of(container.value()).remote_filesystem);
  EXPECT_TRUE(container.value().verify().value().findings.empty());
  EXPECT_TRUE(container.value().tensors(weights.value().record_id()).value().view("layer/1").ok());
}

TEST_F(WaysIn, ABufferIsCheckedLikeAFile) {
  std::vector<std::byte> cut(content_.begin(), content_.end() - 1);
  std::vector<std::byte> longer = content_;
  longer.push_back(std::byte{0});
  std::vector<std::byte> damaged = content_;
  damaged[Container::open(model_).value().find("weights").value().file_offset] ^= std::byte{1};

  EXPECT_EQ(Container::open(Source::of_memory({})).error().code, ErrorCode::kTruncated);
  EXPECT_EQ(Container::open(Source::of_memory(cut)).error().code, ErrorCode::kTruncated);
  EXPECT_EQ(Container::open(Source::of_memory(longer)).error().code, ErrorCode::kTrailingData);
  EXPECT_EQ(Container::open(Source::of_memory(testing::pattern(100'000, 3))).error().code, ErrorCode::kBadMagic);
  const auto container = Container::open(Source::of_memory(damaged));
  ASSERT_TRUE(container.ok());
  EXPECT_EQ(container.value().acquire("weights").error().code, ErrorCode::kChecksumMismatch);
}

TEST_F(WaysIn, ABufferNeedsNoAlignment) {
  std::vector<std::byte> shifted(content_.size() + 1);
  std::copy(content_.begin(), content_.end(), shifted.begin() + 1);

  const auto container = Container::open(Source::of_memory(ByteView(shifted).subspan(1)));

  ASSERT_TRUE(container.ok()) << to_text(container.error());
  EXPECT_TRUE(holds_weights_of(container.value(), 1));
}

TEST_F(WaysIn, AnOwnedBufferLivesAsLongAsItsLastView) {
  auto owner = std::make_shared<const std::vector<std::byte>>(content_);
  const std::weak_ptr<const std::vector<std::byte>> watch = owner;
  const ByteView bytes = *owner;
  std::optional<Session> session;
  {
    const auto container = Container::open(Source::of_memory(bytes, std::move(owner)));
    ASSERT_TRUE(container.ok());
    Device device;
    device.backend = "cpu";
    device.arch = "aarch64";
    ModelOptions options;
    options.device = device;
    const auto model = Model::choose(container.value(), options);
    ASSERT_TRUE(model.ok()) << to_text(model.error());
    session = model.value().begin_session().value();
  }
  ASSERT_FALSE(watch.expired());

  EXPECT_TRUE(equal(session->weights().front().view.bytes(), testing::pattern(testing::kWeightsSize, 1)));
  session.reset();
  EXPECT_TRUE(watch.expired());
}

TEST_F(WaysIn, ReopenGivesTheFileThatTookThePlaceAndLeavesTheOldOne) {
  const Container old = Container::open(model_).value();
  const RecordView old_view = old.acquire("weights").value();
  testing::pack_small_model(model_, true, 2);

  const auto fresh = old.reopen();

  ASSERT_TRUE(fresh.ok()) << to_text(fresh.error());
  EXPECT_NE(support::report_of(fresh.value()).uuid, support::report_of(old).uuid);
  EXPECT_TRUE(holds_weights_of(fresh.value(), 2));
  EXPECT_TRUE(equal(old_view.bytes(), testing::pattern(testing::kWeightsSize, 1)));
  EXPECT_TRUE(holds_weights_of(old, 1)) << "the old container goes on with its own bytes";
}

TEST_F(WaysIn, ReopenOfAnUnchangedFileSharesItsMapping) {
  const Container first = Container::open(model_).value();

  const auto again = first.reopen();

  ASSERT_TRUE(again.ok());
  EXPECT_TRUE(support::report_of(again.value()).already_live);
  const RecordView a = weights_of(first);
  const RecordView b = weights_of(again.value());
  EXPECT_EQ(a.data(), b.data());
}

TEST_F(WaysIn, ReopenKeepsThePolicyAndFailsWhereAnOpenFails) {
  const Container container = Container::open(model_, {.verify = VerifyPolicy::kNone}).value();
  EXPECT_EQ(support::report_of(container.reopen().value()).verify, VerifyPolicy::kNone);
  std::filesystem::remove(model_);

  const auto gone = container.reopen();

  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_TRUE(container.acquire("weights").ok());
}

TEST_F(WaysIn, ReopenWorksForDescriptorsAndBuffers) {
  std::optional<Container> part;
  {
    const UniqueFd descriptor = package(4096);
    part = Container::open(Source::of_descriptor(descriptor.get(), {4096, content_.size()})).value();
  }  // the caller's descriptor is closed by now
  const auto part_again = part->reopen();
  const auto buffer_again = Container::open(Source::of_memory(content_)).value().reopen();

  ASSERT_TRUE(part_again.ok()) << to_text(part_again.error());
  EXPECT_TRUE(support::report_of(part_again.value()).already_live);
  EXPECT_EQ(part_again.value().path(), part->path());
  ASSERT_TRUE(buffer_again.ok()) << to_text(buffer_again.error());
  EXPECT_TRUE(buffer_again.value().acquire("weights").ok());
}

TEST_F(WaysIn, OpensLeaveNoDescriptorBehind) {
  const int before = testing::open_descriptors();
  {
    const UniqueFd descriptor = package(4096);
    for (int i = 0; i < 20; ++i) {
      EXPECT_TRUE(Container::open(Source::of_descriptor(descriptor.get(), {4096, content_.size()})).ok());
      EXPECT_FALSE(Container::open(Source::of_descriptor(descriptor.get(), {8192, 0})).ok());
      EXPECT_TRUE(Container::open(Source::of_memory(content_)).ok());
    }
  }
  EXPECT_EQ(testing::open_descriptors(), before);
}

}  // namespace ways_in_test
}  // namespace fatctx
