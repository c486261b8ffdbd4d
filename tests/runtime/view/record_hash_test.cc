// Bytes that fit their leaves and the table, but are not those of their record. They occur if an author stores other
// weights and corrects every checksum except the record's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "fatctx/extract.h"
#include "fatctx/metrics.h"
#include "fatctx/model.h"
#include "runtime/chip_model.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sliced_container.h"

namespace fatctx {
namespace record_hash_test {

using support::Bytes;
using support::fails_with;
using support::HostileFile;
using support::is_ok;

// Returns the file offset of the first byte of a record's first slice.
std::uint64_t start_of(HostileFile& file, const std::string& name) {
  const container::SliceEntry& slice = file.slice_of(support::SlicedContainer::record_named(file, name));
  return file.segments.at(slice.segment).offset + slice.offset_in_segment;
}

// Returns the file with other bytes in the record. Their leaves are right, but the record's hash is the old one.
Bytes with_other_bytes(HostileFile file, const std::string& name) {
  const std::uint64_t at = start_of(file, name);
  file.in_payload = [at](Bytes& out) { out.at(static_cast<std::size_t>(at + 20)) ^= std::byte{1}; };
  file.rehash_payload = true;
  file.keep_record_hashes = true;
  return file.bytes();
}

ModelOptions for_v3(const OpenOptions& open = {}) {
  ModelOptions options{.open = open};
  options.device = Device{};
  options.device->arch = "x86-64-v3";
  return options;
}

RecordState state_of(const Container& container, const std::string& name) {
  for (const RecordMetrics& record : container_metrics(container).records) {
    if (record.name == name) return record.verification;
  }
  return RecordState::kUnknown;
}

class RecordHash : public ::testing::Test {
 protected:
  [[nodiscard]] Container open(const OpenOptions& options = {}) const {
    return Container::open(path_, options).value();
  }
  // Checks that the record is refused, with name and rule, on every request.
  static void expect_refused(const Container& container, const std::string& name) {
    for (int round = 0; round < 2; ++round) {
      const auto view = container.acquire(name);
      ASSERT_TRUE(fails_with(view, ErrorCode::kChecksumMismatch, "F37")) << "round " << round;
      EXPECT_EQ(view.error().where.record_id, container.find(name).value().id);
      EXPECT_THAT(view.error().message, ::testing::HasSubstr("\"" + name + "\""));
      EXPECT_THAT(view.error().message, ::testing::HasSubstr("fatctx verify"));
    }
    EXPECT_EQ(state_of(container, name), RecordState::kBad);
  }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("other.fatctx");
};

TEST_F(RecordHash, AViewIntoTheMappingHasItOrIsRefused) {
  const Bytes file = with_other_bytes(HostileFile(support::unsealed_sample()), "weights");
  support::write_file(path_, file);
  const Container container = open();
  expect_refused(container, "weights");
  EXPECT_TRUE(is_ok(container.acquire("cpu-x86-64-v3"))) << "its neighbours are what they say";
  expect_refused(Container::open(Source::of_memory(file)).value(), "weights");
  EXPECT_TRUE(is_ok(open({.verify = VerifyPolicy::kNone}).acquire("weights"))) << "the caller vouches";
}

TEST_F(RecordHash, AStitchedViewHasItOrIsRefused) {
  support::write_file(path_, with_other_bytes(support::sliced_model().tables(), "weights"));
  const Container container = open();
  ASSERT_EQ(container.access_path_of(container.find("weights").value().id).value(), AccessPath::kStitched);
  expect_refused(container, "weights");
  EXPECT_TRUE(is_ok(container.acquire("even")));
}

TEST_F(RecordHash, SessionsDoNotBeginOnOtherBytes) {
  for (const Bytes& file : {with_other_bytes(HostileFile(support::unsealed_sample()), "weights"),
                            with_other_bytes(support::sliced_model().tables(), "weights")}) {
    support::write_file(path_, file);
    const auto session = Model::open(path_, for_v3()).value().begin_session();
    ASSERT_TRUE(fails_with(session, ErrorCode::kChecksumMismatch, "F37"));
    EXPECT_THAT(session.error().message, ::testing::HasSubstr("\"weights\""));
    ModelOptions next = for_v3();
    next.on_damage = OnDamage::kNext;
    EXPECT_TRUE(fails_with(Model::open(path_, next), ErrorCode::kChecksumMismatch, "F37"))
        << "every binary refers to these weights";
  }
}

TEST_F(RecordHash, ATensorOfABlobWithOtherBytesIsRefused) {
  for (const Bytes& file : {with_other_bytes(HostileFile(support::unsealed_sample()), "weights"),
                            with_other_bytes(support::sliced_model().tables(), "weights")}) {
    support::write_file(path_, file);
    const Container container = open();
    EXPECT_TRUE(
        fails_with(container.tensors(container.find("weights").value().id), ErrorCode::kChecksumMismatch, "F37"));
  }
}

TEST_F(RecordHash, CopiesAndStreamsHaveItOrAreRefused) {
  support::write_file(path_, with_other_bytes(HostileFile(support::unsealed_sample()), "weights"));
  for (const OpenOptions& options :
       {OpenOptions{.file_mapping = FileMapping::kDisabled}, OpenOptions{.verify = VerifyPolicy::kPrivateCopy}}) {
    const auto copy = open(options).acquire("weights");
    EXPECT_EQ(copy.ok() ? ErrorCode{} : copy.error().code, ErrorCode::kChecksumMismatch);
  }
  const Container container = open();
  EXPECT_TRUE(fails_with(
      stream_record(container, container.find("weights").value().id, [](ByteView) -> Status { return Done{}; }),
      ErrorCode::kChecksumMismatch, "F37"));
}

// The check of one record does not count for another one with the same bytes.
TEST_F(RecordHash, IsComparedForEachRecordThoughItsLeavesAreKnown) {
  const Bytes same = support::pattern(150'000, 5);
  HostileFile file(support::packed_bytes({support::plain_record(RecordType::kOpaque, "one", same),
                                          support::plain_record(RecordType::kOpaque, "two", same)}));
  container::RecordEntry& two = support::SlicedContainer::record_named(file, "two");
  ASSERT_EQ(start_of(file, "one"), start_of(file, "two"));
  two.logical_hash = container::hash128(support::pattern(10, 1)).bytes;
  support::write_file(path_, file.bytes());
  const Container container = open();
  EXPECT_TRUE(is_ok(container.acquire("one")));
  expect_refused(container, "two");
  EXPECT_EQ(state_of(container, "one"), RecordState::kOk);
}

// An empty record has no leaves, but the hash of no bytes.
TEST_F(RecordHash, AnEmptyRecordHasTheHashOfNoBytesOrIsRefused) {
  HostileFile file(
      support::packed_bytes({support::plain_record(RecordType::kOpaque, "empty", {}),
                             support::plain_record(RecordType::kOpaque, "other", support::pattern(9, 1))}));
  support::write_file(path_, file.bytes());
  EXPECT_TRUE(is_ok(open().acquire("empty")));
  support::SlicedContainer::record_named(file, "empty").logical_hash =
      container::hash128(support::pattern(10, 1)).bytes;
  support::write_file(path_, file.bytes());
  expect_refused(open(), "empty");
  EXPECT_TRUE(is_ok(open().acquire("other")));
  EXPECT_TRUE(
      fails_with(open({.file_mapping = FileMapping::kDisabled}).acquire("empty"), ErrorCode::kChecksumMismatch, "F37"));
  EXPECT_TRUE(is_ok(open({.verify = VerifyPolicy::kNone}).acquire("empty"))) << "the caller vouches";
}

class ComposedRecordHash : public testing::ChipModel {};

TEST_F(ComposedRecordHash, AComposedViewHasItOrIsRefused) {
  const std::size_t chip = mixed();
  const Bytes good = support::read_file(path_);
  for (std::uint32_t segment = 0; segment < HostileFile(good).segments.size(); ++segment) {
    HostileFile file(good);
    const container::SegmentEntry& entry = file.segments[segment];
    if (entry.kind != static_cast<std::uint16_t>(container::SegmentKind::kPayload)) continue;
    file.in_payload = [at = entry.offset + entry.size / 2](Bytes& out) {
      out.at(static_cast<std::size_t>(at)) ^= std::byte{1};
    };
    file.rehash_payload = true;
    file.keep_record_hashes = true;
    const std::string path = folder_.file("other.fatctx");
    support::write_file(path, file.bytes());
    const Container container = Container::open(path, {.max_copied_bytes = kEnough}).value();
    const auto view = container.acquire(name(chip));
    if (!view.ok()) {
      EXPECT_TRUE(fails_with(view, ErrorCode::kChecksumMismatch, "F37"));
      continue;
    }
    EXPECT_TRUE(shows(view.value(), chip)) << "of segment " << segment << " it takes other bytes";
  }
}

}  // namespace record_hash_test
}  // namespace fatctx
