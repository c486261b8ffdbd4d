// Results of adding a record to a packer and to an appender. A refusal leaves both unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "container/format/hash.h"
#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "support/appended.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx::container {
namespace adding_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

PackRecord for_soc(const std::string& name, std::uint32_t soc, const std::string& sdk, std::uint32_t vtcm_mb = 8) {
  PackRecord record = support::binary_record(name, "v75", support::pattern(9'000, static_cast<std::uint32_t>(name[0])));
  record.key.backend = "htp";
  record.key.qnn_soc = soc;
  record.key.vtcm_mb = vtcm_mb;
  record.key.sdk = parse_version(sdk).value();
  return record;
}

PackRecord of_unit(PackRecord record, const std::string& unit) {
  record.key.unit = unit;
  return record;
}

PackOptions one_per_soc() {
  PackOptions options;
  options.one_per_soc = true;
  return options;
}

TEST(Adding, ANameThatIsInUseSaysWhatCanBeDone) {
  const auto refusal_of = [](std::vector<PackRecord> records) {
    const support::Appended done = support::append(support::unsealed_sample(), std::move(records));
    EXPECT_TRUE(fails_with(done.report, ErrorCode::kExists));
    return done.report.ok() ? std::string() : done.report.error().message;
  };
  const std::string name = "cpu-x86-64-v2";
  EXPECT_EQ(refusal_of({support::binary_record(name, "x86-64-v2", Bytes(9))}),
            "a record named \"cpu-x86-64-v2\" already exists, for the same target; replace it, or leave this one out");
  EXPECT_EQ(refusal_of({support::binary_record(name, "x86-64-v3", Bytes(9))}),
            "a record named \"cpu-x86-64-v2\" already exists; give this one another name");
  EXPECT_EQ(refusal_of({support::binary_record(name, "riscv", Bytes(9))}),
            "a record named \"cpu-x86-64-v2\" already exists; give this one another name");
  EXPECT_EQ(
      refusal_of({support::binary_record("new", "riscv", Bytes(9)), support::binary_record("new", "v9", Bytes(9))}),
      "a record named \"new\" already exists");
}

// Shows S4.22.
TEST(Adding, OnePerSocRefusesASecondBinaryForASocWhateverElseDiffers) {
  Packer packer(one_per_soc());
  ASSERT_TRUE(is_ok(packer.add(for_soc("a", 57, "2.48"))));

  for (PackRecord second : {for_soc("b", 57, "2.51"), for_soc("b", 57, "2.48", 4)}) {
    const Status added = packer.add(std::move(second));
    ASSERT_TRUE(fails_with(added, ErrorCode::kExists));
    EXPECT_EQ(
        added.error().message,
        "record \"b\" is for SoC 57, as \"a\" is, and one context binary for each SoC was requested; leave one of "
        "them out");
  }
  EXPECT_TRUE(is_ok(packer.add(for_soc("b", 69, "2.48")))) << "another SoC; the refused one has left no trace";
  EXPECT_TRUE(is_ok(packer.add(of_unit(for_soc("c", 57, "2.48"), "draft")))) << "another unit";
  PackRecord of_cpu = for_soc("d", 57, "2.48");
  of_cpu.key.backend = "cpu";
  EXPECT_TRUE(is_ok(packer.add(std::move(of_cpu))));
  PackRecord by_part = for_soc("e", 0, "2.48");
  by_part.key.part = "SM8650";
  EXPECT_TRUE(is_ok(packer.add(by_part)));
  by_part.name = "f";
  by_part.key.sdk = {};
  EXPECT_TRUE(fails_with(packer.add(by_part), ErrorCode::kExists));
  EXPECT_TRUE(is_ok(packer.add(for_soc("g", 0, "2.48")))) << "for no SoC at all";
  EXPECT_TRUE(is_ok(packer.add(for_soc("h", 0, "2.51"))));
}

TEST(Adding, WithoutItASocMayHaveABinaryForEachSdkAndVtcm) {
  Packer packer{PackOptions{}};
  for (const auto& [name, sdk, vtcm] : {std::tuple{"a", "2.48", 8U}, {"b", "2.51", 8U}, {"c", "2.48", 4U}}) {
    EXPECT_TRUE(is_ok(packer.add(for_soc(name, 57, sdk, vtcm))));
  }
  EXPECT_TRUE(fails_with(packer.add(for_soc("d", 57, "2.48")), ErrorCode::kExists));
}

// Shows S4.22.
TEST(Adding, OnePerSocCountsTheRecordsOfTheFileAndLeavesItBitForBit) {
  const Bytes before = support::packed_bytes({for_soc("a", 57, "2.48"), for_soc("b", 69, "2.48")});
  AppendOptions options;
  options.one_per_soc = true;

  const auto refused = support::append(before, {for_soc("c", 57, "2.51")}, options);
  ASSERT_TRUE(fails_with(refused.report, ErrorCode::kExists));
  EXPECT_THAT(refused.report.error().message, HasSubstr("is for SoC 57, as \"a\" is"));
  EXPECT_THAT(refused.report.error().message, HasSubstr("remove that one first"));
  EXPECT_EQ(refused.bytes, before);

  EXPECT_TRUE(is_ok(support::append(before, {for_soc("c", 36, "2.51")}, options).report));
  options.replace = true;
  const auto replaced = support::append(before, {for_soc("a", 57, "2.48")}, options);
  ASSERT_TRUE(is_ok(replaced.report)) << "one in place of one is still one";
  EXPECT_EQ(replaced.report.value().superseded, std::vector<std::string>{"a"});
  const auto twice = support::append(before, {for_soc("a", 57, "2.48"), for_soc("c", 57, "2.51")}, options);
  EXPECT_TRUE(fails_with(twice.report, ErrorCode::kExists));
}

// Returns bytes that share ownership with their loader, as a view of a container does.
RecordView loaded(std::uint32_t seed, std::weak_ptr<const void>* watch = nullptr) {
  const auto bytes = std::make_shared<const Bytes>(support::pattern(70'000, seed));
  if (watch != nullptr) *watch = bytes;
  return RecordView(bytes, 3, *bytes);
}

PackRecord of_loaded(RecordView view) {
  PackRecord record = for_soc("a", 57, "2.48");
  record.source.bytes.clear();
  record.source.loaded = std::move(view);
  return record;
}

// Shows S4.33.
TEST(Adding, ARecordOfASessionIsNotPermittedUnlessACopyIsMeant) {
  PackRecord record = of_loaded(loaded(5));
  Packer packer{PackOptions{}};
  const Status refused = packer.add(record);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kOperationNotPermitted));
  EXPECT_THAT(refused.error().message, HasSubstr("record \"a\": its bytes were loaded and belong to another file"));
  const Bytes& before = support::unsealed_sample();
  const auto appended = support::append(before, {record});
  EXPECT_TRUE(fails_with(appended.report, ErrorCode::kOperationNotPermitted));
  EXPECT_EQ(appended.bytes, before);

  record.copy = true;
  const auto copied = support::append(before, {record});
  ASSERT_TRUE(is_ok(copied.report));
  const Bytes wanted = support::pattern(70'000, 5);
  EXPECT_NE(std::search(copied.bytes.begin(), copied.bytes.end(), wanted.begin(), wanted.end()), copied.bytes.end());
  EXPECT_TRUE(is_ok(packer.add(std::move(record)))) << "the refused one has left no trace";
}

TEST(Adding, ASessionRecordIsKeptUntilItIsWrittenAndNoLonger) {
  std::weak_ptr<const void> watch;
  const support::TempDir folder;
  {
    PackRecord record = of_loaded(loaded(6, &watch));
    record.copy = true;
    Packer packer{PackOptions{}};
    ASSERT_TRUE(is_ok(packer.add(std::move(record))));
    EXPECT_FALSE(watch.expired());
    ASSERT_TRUE(is_ok(packer.publish(folder.file("m.fatctx"))));
  }
  EXPECT_TRUE(watch.expired());
}

// Shows S4.29.
TEST(Adding, AContainerInMemoryIsTakenOverAndAddedTo) {
  const support::TempDir folder;
  Packer first{PackOptions{}};
  for (const std::uint32_t soc : {57U, 69U}) {
    ASSERT_TRUE(is_ok(first.add(for_soc(std::to_string(soc), soc, "2.48"))));
  }
  ASSERT_TRUE(is_ok(first.publish(folder.file("first.fatctx"))));
  const Bytes image = support::read_file(folder.file("first.fatctx"));

  const auto opened = Container::open(Source::of_memory(image));
  ASSERT_TRUE(is_ok(opened));
  Packer packer{PackOptions{}};
  for (const char* const name : {"57", "69"}) {
    PackRecord record = for_soc(name, static_cast<std::uint32_t>(std::stoul(name)), "2.48");
    record.source = {};
    record.source.loaded = opened.value().acquire(name).value();
    record.copy = true;
    ASSERT_TRUE(is_ok(packer.add(std::move(record))));
  }
  ASSERT_TRUE(is_ok(packer.add(for_soc("87", 87, "2.48"))));
  ASSERT_TRUE(is_ok(packer.publish(folder.file("second.fatctx"))));

  const auto second = Container::open(folder.file("second.fatctx"));
  ASSERT_TRUE(is_ok(second));
  for (const char* const name : {"57", "69", "87"}) {
    const Bytes wanted = support::pattern(9'000, static_cast<std::uint32_t>(name[0]));
    const auto view = second.value().acquire(name);
    ASSERT_TRUE(is_ok(view)) << name;
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), view.value().bytes().begin(), view.value().bytes().end()));
  }
}

// A backend that can serialize its context, or that cannot.
class Backend final : public ByteSource {
 public:
  using Size = std::function<std::uint64_t(int asked)>;
  Backend(std::optional<Error> failure, Size size) : failure_(std::move(failure)), size_(std::move(size)) {}
  [[nodiscard]] std::string name() const override { return "context 7"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return size_(asked_++); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (failure_) return *failure_;
    const Bytes bytes = support::pattern(static_cast<std::size_t>(offset + out.size()), 9);
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(offset), bytes.end(), out.begin());
    return Done{};
  }

 private:
  std::optional<Error> failure_;
  Size size_;
  mutable int asked_ = 0;
};

PackRecord of_backend(
    std::optional<Error> failure, Backend::Size size = [](int) { return std::uint64_t{70'000}; }) {
  PackRecord record = for_soc("a", 57, "2.48");
  record.source.bytes.clear();
  record.source.source = std::make_shared<const Backend>(std::move(failure), std::move(size));
  return record;
}

// Shows S4.34.
TEST(Adding, ABackendThatCannotSerialiseLeavesTheWriterUnchanged) {
  const Error failure{ErrorCode::kIo, "the graph was not finalised"};
  const Bytes& before = support::unsealed_sample();
  const auto appended = support::append(before, {of_backend(failure)});
  ASSERT_TRUE(fails_with(appended.report, ErrorCode::kSerialiseFailed));
  EXPECT_THAT(appended.report.error().message, HasSubstr("context 7: could not be written out: the graph was not "
                                                         "finalised (io)"));
  EXPECT_EQ(appended.bytes, before);

  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  support::write_file(path, before);
  PackOptions options;
  options.overwrite = true;
  EXPECT_TRUE(fails_with(support::pack({of_backend(failure)}, path, options), ErrorCode::kSerialiseFailed));
  EXPECT_EQ(support::read_file(path), before);
  EXPECT_TRUE(is_ok(support::pack({of_backend({})}, path, options)));
}

// A source that states a hash, which may be wrong.
class Stated final : public ByteSource {
 public:
  Stated(Bytes bytes, Hash128 hash) : bytes_(std::move(bytes)), hash_(hash) {}
  [[nodiscard]] std::string name() const override { return "stated"; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return Done{};
  }
  [[nodiscard]] std::optional<Hash128> hash() const override { return hash_; }

 private:
  Bytes bytes_;
  Hash128 hash_;
};

TEST(Adding, BytesThatDoNotHaveTheHashTheirSourceStatesArePackedNowhere) {
  const Bytes bytes = support::pattern(70'000, 9);
  const Hash128 right = container::hash128(bytes);
  Hash128 wrong = right;
  wrong.bytes[7] ^= std::byte{1};
  for (const bool lies : {false, true}) {
    PackRecord record = for_soc("a", 57, "2.48");
    record.source.bytes.clear();
    record.source.source = std::make_shared<const Stated>(bytes, lies ? wrong : right);
    const support::TempDir folder;
    const auto packed = support::pack({record}, folder.file("m.fatctx"));
    if (!lies) {
      EXPECT_TRUE(is_ok(packed));
      continue;
    }
    EXPECT_TRUE(fails_with(packed, ErrorCode::kChecksumMismatch, "F37"));
    EXPECT_TRUE(folder.names().empty());
  }
}

TEST(Adding, ABackendThatGivesAnotherSizeTheSecondTimeHasNotSerialised) {
  const auto growing = [](int asked) { return std::uint64_t{70'000} + (asked >= 1 ? 1 : 0); };
  const support::TempDir folder;
  const auto packed = support::pack({of_backend({}, growing)}, folder.file("m.fatctx"));
  ASSERT_TRUE(fails_with(packed, ErrorCode::kSerialiseFailed));
  EXPECT_THAT(packed.error().message, HasSubstr("it had 70000 bytes and has 70001 now"));
}

TEST(Adding, ABackendThatWasStoppedOrHasNoMemorySaysSoItself) {
  const support::TempDir folder;
  for (const ErrorCode code : {ErrorCode::kCancelled, ErrorCode::kOutOfMemory}) {
    EXPECT_TRUE(fails_with(support::pack({of_backend(Error{code, "its own words"})}, folder.file("m.fatctx")), code));
  }
}

// Shows S4.27.
TEST(Adding, ARecordThatIsNotFinishedIsRefused) {
  PackRecord empty = for_soc("a", 57, "2.48");
  empty.source.bytes.clear();
  PackRecord without_backend = for_soc("a", 57, "2.48");
  without_backend.key.backend.clear();
  for (const PackRecord& record : {empty, without_backend}) {
    Packer packer{PackOptions{}};
    EXPECT_TRUE(fails_with(packer.add(record), ErrorCode::kInvalidArgument));
    const auto appended = support::append(support::unsealed_sample(), {record});
    EXPECT_TRUE(fails_with(appended.report, ErrorCode::kInvalidArgument));
    EXPECT_EQ(appended.bytes, support::unsealed_sample());
  }
  const support::TempDir folder;
  support::write_file(folder.file("empty.bin"), {});
  PackRecord of_empty_file = empty;
  of_empty_file.source.path = folder.file("empty.bin");
  EXPECT_TRUE(fails_with(support::pack({of_empty_file}, folder.file("m.fatctx")), ErrorCode::kInvalidArgument));
}

}  // namespace adding_test
}  // namespace fatctx::container
