// Sources whose size changes between two looks of the packer: nothing half is ever published or committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "container/edit/append.h"
#include "container/read/opened_file.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace changing_source_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

constexpr std::uint64_t kBefore = 20'000;
constexpr std::uint64_t kAfter = 24'099;

// A source that has kBefore bytes for the first `looks` looks at its size, and kAfter from then on.
class Growing final : public ByteSource {
 public:
  explicit Growing(int looks) : looks_left_(looks) {}
  [[nodiscard]] std::string name() const override { return "growing"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return looks_left_-- > 0 ? kBefore : kAfter; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return Done{};
  }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }
  [[nodiscard]] bool has_changed() const noexcept { return looks_left_ < 0; }

 private:
  mutable int looks_left_;
  const Bytes bytes_ = support::pattern(kAfter, 77);
};

PackRecord weights_of(const std::shared_ptr<const Growing>& source) {
  PackRecord record = support::plain_record(RecordType::kWeightBlob, "grows", {});
  record.key.group = "model";
  record.source.source = source;
  record.tensors = {{.name = "w", .dtype = DType::kU8, .shape = {900}, .offset_in_blob = 64, .size_bytes = 900}};
  return record;
}

TEST(ChangingSource, IsChangedWheneverThePackerLooksAgain) {
  const support::TempDir folder;
  for (int looks = 1;; ++looks) {
    ASSERT_LT(looks, 100);
    const auto source = std::make_shared<const Growing>(looks);
    const std::string path = folder.file("m" + std::to_string(looks) + ".fatctx");
    const auto packed = support::pack({weights_of(source)}, path);
    if (!source->has_changed()) {
      EXPECT_TRUE(is_ok(packed));
      EXPECT_GT(looks, 2) << "is it looked at again at all?";
      break;
    }
    EXPECT_TRUE(fails_with(packed, ErrorCode::kChanged)) << looks;
    EXPECT_FALSE(std::filesystem::exists(path)) << looks;
  }
}

TEST(ChangingSource, IsChangedWheneverAnAppendLooksAgain) {
  const Bytes open = support::packed_bytes(support::mixed_records());
  for (int looks = 1;; ++looks) {
    ASSERT_LT(looks, 100);
    auto memory = std::make_unique<support::MemoryFile>(open);
    support::MemoryFile& kept = *memory;
    Appender appender = appender_over(std::move(memory), "m.fatctx", {}).value();
    const auto source = std::make_shared<const Growing>(looks);
    ASSERT_TRUE(is_ok(appender.add(weights_of(source))));
    const auto report = appender.commit();
    if (!source->has_changed()) {
      EXPECT_TRUE(is_ok(report));
      EXPECT_GT(looks, 2) << "is it looked at again at all?";
      break;
    }
    EXPECT_TRUE(fails_with(report, ErrorCode::kChanged)) << looks;
    EXPECT_EQ(Opened(kept.bytes()).toc.header.generation, 1U) << looks;
  }
}

}  // namespace changing_source_test
}  // namespace fatctx::container
