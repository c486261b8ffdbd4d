// Sources whose size changes between two looks of the packer: nothing half is ever published or committed.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "container/edit/append.h"
#include "container/read/opened_file.h"
#include "container/write/copy_payload.h"
#include "container/write/rebuild.h"
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

// How the sources change once their bytes are copied.
struct Change {
  bool other_bytes = false;
  bool other_size = false;
  bool size_at_last_read = false;  // the bytes stay, and the size is another one once the last of them is read
  bool fails = false;
};

class Changing final : public ByteSource {
 public:
  Changing(Bytes bytes, Change& change) : bytes_(std::move(bytes)), change_(change) {}
  [[nodiscard]] std::string name() const override { return "changing"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override {
    return bytes_.size() + (change_.other_size ? 1U : 0U);
  }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (change_.fails) return Error{ErrorCode::kIo, "it cannot be read"};
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    if (change_.other_bytes) out[0] ^= std::byte{1};
    if (change_.size_at_last_read && offset + out.size() == bytes_.size()) change_.other_size = true;
    return Done{};
  }
  [[nodiscard]] bool makes_bytes() const noexcept override { return false; }

 private:
  const Bytes bytes_;
  Change& change_;
};

// Returns two records of which one has bytes of the other.
std::vector<PackRecord> sharing_records(Change& change) {
  std::vector<PackRecord> records;
  const Bytes common = support::pattern(300'000, 78);
  for (const std::uint32_t seed : {1U, 2U}) {
    Bytes bytes = common;
    const Bytes own = support::pattern(100'000 + seed, seed);
    bytes.insert(bytes.end(), own.begin(), own.end());
    records.push_back(support::binary_record("r" + std::to_string(seed), "v7" + std::to_string(seed), {}));
    records.back().source.source = std::make_shared<const Changing>(std::move(bytes), change);
  }
  return records;
}

TEST(ChangingSource, IsFoundWhenASharedRecordIsRebuilt) {
  struct Row {
    Change change;
    ErrorCode code;
    const char* message;
  };
  const Row rows[] = {
      {{}, ErrorCode::kInternal, ""},
      {{.other_bytes = true}, ErrorCode::kInternal, "the written bytes differ from changing at byte 0"},
      {{.other_bytes = true, .other_size = true}, ErrorCode::kChanged, "bytes and has"},
      {{.size_at_last_read = true}, ErrorCode::kChanged, "bytes and has"},
      {{.fails = true}, ErrorCode::kIo, "it cannot be read"},
  };
  for (const Sharing sharing : {Sharing::kPages, Sharing::kBytes}) {
    for (const Row& row : rows) {
      Change change;
      PackOptions options;
      options.sharing = sharing;
      const Progress none;
      WorkProgress progress(none);
      Plan plan = make_plan(sharing_records(change), {}, options, progress).value();
      support::MemoryFile file(Bytes(static_cast<std::size_t>(plan.committed_end)));
      ASSERT_TRUE(is_ok(copy_payload(plan, file, progress)));

      change = row.change;
      const Status rebuilt = check_rebuilt(plan, file, 1, progress);

      if (*row.message == 0) {
        EXPECT_TRUE(is_ok(rebuilt)) << "nothing has changed";
        continue;
      }
      ASSERT_TRUE(fails_with(rebuilt, row.code)) << row.message;
      EXPECT_NE(rebuilt.error().message.find(row.message), std::string::npos) << rebuilt.error().message;
    }
  }
}

}  // namespace changing_source_test
}  // namespace fatctx::container
