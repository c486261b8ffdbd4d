// Packed records are read back unchanged, and the bytes of a file depend only on the records. Shows S3.70.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/content_hash.h"
#include "fatctx/extract.h"
#include "runtime/facade/open_container.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace round_trip_test {

using support::Bytes;
using support::is_ok;
using support::pack;
using support::TempDir;

// A generator of random records with unique names and keys. Sizes are around the edges of leaves; some records are
// equal.
class RandomRecords {
 public:
  explicit RandomRecords(std::uint64_t seed) : random_(seed) {}

  std::vector<PackRecord> next() {
    std::vector<PackRecord> records;
    payloads_.clear();
    const std::uint64_t blobs = below(3);
    for (std::uint64_t i = 0; i < blobs; ++i) records.push_back(weights(i));
    const std::uint64_t count = 1 + below(7);
    for (std::uint64_t i = 0; i < count; ++i) records.push_back(below(2) == 0 ? binary(i, blobs) : other(i));
    return records;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  std::string text(const std::string& prefix, std::uint64_t index) {
    static const char* kEndings[] = {"", " with blanks", "-\xc3\xa9", "-\xe6\xa8\xa1\xe5\x9e\x8b", ".v1"};
    return prefix + std::to_string(index) + kEndings[below(std::size(kEndings))];
  }

  Bytes payload() {
    if (!payloads_.empty() && below(4) == 0) return payloads_[below(payloads_.size())];
    static const std::size_t kSizes[] = {1, 63, 64, 65, 4096, 65'535, 65'536, 65'537, 131'072, 200'001};
    payloads_.push_back(
        support::pattern(kSizes[below(std::size(kSizes))], static_cast<std::uint32_t>(below(1U << 30))));
    return payloads_.back();
  }

  Version version() {
    Version result;
    result.major = static_cast<std::uint16_t>(below(3));
    result.minor = static_cast<std::uint16_t>(below(100));
    return result;
  }

  PackRecord weights(std::uint64_t index) {
    PackRecord record = support::plain_record(RecordType::kWeightBlob, text("weights", index), payload());
    record.key.group = "g" + std::to_string(below(2));
    const std::uint64_t size = record.source.bytes.size();
    for (std::uint64_t at = 0, i = 0; at + 8 <= size && i < 3; ++i, at += 8) {
      record.tensors.push_back({.name = "t/" + std::to_string(i),
                                .dtype = DType::kI16,
                                .shape = {2, 2},
                                .offset_in_blob = at,
                                .size_bytes = 8});
    }
    names_.push_back(record.name);
    return record;
  }

  PackRecord binary(std::uint64_t index, std::uint64_t blobs) {
    PackRecord record = support::binary_record(text("binary", index), text("arch", index), payload());
    record.key.features = {"b" + std::to_string(below(3)), "a"};
    record.key.part = below(2) == 0 ? "" : "SM" + std::to_string(8000 + below(999));
    record.key.qnn_soc = static_cast<std::uint32_t>(below(100));
    record.key.vtcm_mb = static_cast<std::uint32_t>(below(9));
    record.key.sdk = version();
    record.key.api = version();
    record.key.blob = version();
    record.key.generic = below(5) == 0;
    record.description.producer = text("producer", index);
    record.description.options = {{"key", text("value", index), "owner"}};
    for (std::uint64_t i = 0; i < blobs; ++i) {
      if (below(2) == 0) record.weights.push_back(names_[names_.size() - 1 - i]);
    }
    return record;
  }

  PackRecord other(std::uint64_t index) {
    static const RecordType kTypes[] = {RecordType::kOpaque, RecordType::kSourceModel, RecordType::kWrapperModel};
    const RecordType type = kTypes[below(std::size(kTypes))];
    const bool empty = type == RecordType::kOpaque && below(3) == 0;
    return support::plain_record(type, text("other", index), empty ? Bytes{} : payload());
  }

  std::mt19937_64 random_;
  std::vector<Bytes> payloads_;
  std::vector<std::string> names_;
};

Bytes streamed(const Container& container, std::uint32_t id) {
  Bytes bytes;
  const auto status = stream_record(container, id, [&](ByteView piece) -> Status {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return Done{};
  });
  EXPECT_TRUE(is_ok(status));
  return bytes;
}

std::string join(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

void expect_record(const Container& container, const PackRecord& packed) {
  SCOPED_TRACE(packed.name);
  const auto found = container.find(packed.name);
  ASSERT_TRUE(is_ok(found));
  const RecordInfo& record = found.value();
  const SelectionKey& key = record.key;
  EXPECT_EQ(record.type, packed.type);
  EXPECT_TRUE(record.supported);
  EXPECT_FALSE(record.ignorable);
  EXPECT_EQ(record.must_map, packed.type == RecordType::kContextBinary || packed.type == RecordType::kWeightBlob);
  EXPECT_EQ(record.size_bytes, packed.source.bytes.size());
  EXPECT_EQ(record.stored_bytes, packed.source.bytes.size());
  EXPECT_EQ(record.slice_count, packed.source.bytes.empty() ? 0U : 1U);
  EXPECT_EQ(record.hash, content_hash(packed.source.bytes));
  EXPECT_EQ(key.type, packed.type);
  EXPECT_EQ(key.group, packed.key.group);
  EXPECT_EQ(key.unit, packed.key.unit);
  EXPECT_EQ(key.backend, packed.key.backend);
  EXPECT_EQ(key.qnn_soc, packed.key.qnn_soc);
  EXPECT_EQ(key.part, packed.key.part);
  EXPECT_EQ(key.arch, packed.key.arch);
  EXPECT_EQ(key.features, join(packed.key.features));
  EXPECT_EQ(key.vtcm_mb, packed.key.vtcm_mb);
  EXPECT_EQ(key.sdk, packed.key.sdk);
  EXPECT_EQ(key.api, packed.key.api);
  EXPECT_EQ(key.blob, packed.key.blob);
  EXPECT_EQ(key.generic, packed.key.generic);
  EXPECT_EQ(key.variant, packed.type == RecordType::kContextBinary ? packed.key.variant : packed.name);
  std::vector<std::string> weights;
  for (const std::uint32_t id : record.weights) weights.emplace_back(container.record(id).value().name);
  EXPECT_EQ(join(weights), join(packed.weights));

  const auto view = container.acquire(record.id);
  ASSERT_TRUE(is_ok(view));
  EXPECT_TRUE(std::equal(packed.source.bytes.begin(), packed.source.bytes.end(), view.value().bytes().begin(),
                         view.value().bytes().end()));
  EXPECT_EQ(streamed(container, record.id), packed.source.bytes);
  EXPECT_TRUE(container.verify_record(record.id).value().findings.empty());

  if (packed.tensors.empty()) return;
  const auto tensors = container.tensors(record.id);
  ASSERT_TRUE(is_ok(tensors));
  EXPECT_EQ(tensors.value().size(), packed.tensors.size());
  for (const PackTensor& tensor : packed.tensors) {
    const auto weight = tensors.value().view(tensor.name);
    ASSERT_TRUE(is_ok(weight)) << tensor.name;
    EXPECT_EQ(weight.value().dtype(), tensor.dtype);
    EXPECT_TRUE(std::equal(tensor.shape.begin(), tensor.shape.end(), weight.value().shape().begin(),
                           weight.value().shape().end()));
    EXPECT_EQ(weight.value().bytes().data(), view.value().data() + tensor.offset_in_blob);
    EXPECT_EQ(weight.value().bytes().size(), tensor.size_bytes);
  }
}

TEST(RoundTrip, RandomRecordsComeBackInEveryField) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomRecords random(seed);
  const TempDir folder;
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::vector<PackRecord> records = random.next();
    const std::string path = folder.file(std::to_string(round) + ".fatctx");
    PackOptions options;
    options.seal = round % 2 == 1;
    options.granule_log2 = static_cast<std::uint8_t>(12 + round % 3 * 2);
    options.model_name = "model " + std::to_string(round);

    const auto report = pack(records, path, options);

    ASSERT_TRUE(is_ok(report));
    Registry registry;
    const auto opened = open_container(registry, path);
    ASSERT_TRUE(is_ok(opened));
    const Container& container = opened.value();
    std::size_t tables = 0;
    for (const PackRecord& record : records) {
      ASSERT_NO_FATAL_FAILURE(expect_record(container, record));
      if (!record.tensors.empty()) ++tables;
    }
    EXPECT_EQ(support::records_in(container).size(), records.size() + tables + 1) << "and the description";
    const OpenReport open_report = support::report_of(container);
    EXPECT_EQ(open_report.sealed, options.seal);
    EXPECT_EQ(open_report.uuid, report.value().uuid);
    EXPECT_EQ(open_report.file_size, report.value().file_size);
    EXPECT_TRUE(open_report.degraded.empty());
    const auto description = container.describe();
    ASSERT_TRUE(is_ok(description));
    EXPECT_EQ(description.value().name, options.model_name);
    for (const RecordDescription& described : description.value().records) {
      const std::string_view name = container.record(described.record_id).value().name;
      const auto packed = std::find_if(records.begin(), records.end(), [&](const auto& r) { return r.name == name; });
      ASSERT_NE(packed, records.end());
      EXPECT_EQ(described.producer, packed->description.producer);
      ASSERT_EQ(described.options.size(), 1U);
      EXPECT_EQ(described.options[0].value, packed->description.options[0].value);
    }
    const auto verified = container.verify();
    ASSERT_TRUE(is_ok(verified));
    for (const VerifyFinding& finding : verified.value().findings) ADD_FAILURE() << to_text(finding.error);
  }
}

TEST(RoundTrip, IdsFollowTheOrderOfKeys) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(pack(support::cpu_records(), folder.file("a.fatctx"))));
  Registry registry;
  const Container container = open_container(registry, folder.file("a.fatctx")).value();

  const auto records = support::records_in(container);

  for (std::size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].id, i + 1);
    if (i != 0) {
      EXPECT_TRUE(compare_keys(records[i - 1].key, records[i].key) < 0);
    }
  }
}

TEST(RoundTrip, TheOrderOfCallsDoesNotChangeTheBytes) {
  const std::vector<PackRecord> records = support::cpu_records();
  ASSERT_EQ(records.size(), 5U);
  const Bytes expected = support::packed_bytes(records);
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  do {
    std::vector<PackRecord> permuted;
    for (const std::size_t index : order) permuted.push_back(records[index]);
    ASSERT_EQ(support::packed_bytes(std::move(permuted)), expected);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(RoundTrip, WhereTheInputLiesDoesNotChangeTheBytes) {
  const TempDir folder;
  const Bytes from_memory = support::packed_bytes(support::mixed_records());
  for (const std::string prefix : {"a", "zz-another-name-"}) {
    std::vector<PackRecord> records = support::mixed_records();
    for (PackRecord& record : records) {
      record.source.path = folder.file(prefix + record.name);
      support::write_file(record.source.path, record.source.bytes);
      record.source.bytes.clear();
    }
    EXPECT_EQ(support::packed_bytes(std::move(records)), from_memory);
  }
}

TEST(RoundTrip, OrderAndRepetitionOfFeaturesWeightsAndTensorsDoNotChangeTheBytes) {
  std::vector<PackRecord> records = support::cpu_records();
  const Bytes expected = support::packed_bytes(records);

  std::reverse(records[3].key.features.begin(), records[3].key.features.end());
  records[3].key.features.push_back(records[3].key.features.front());
  records[0].weights.push_back("weights");
  std::reverse(records[4].tensors.begin(), records[4].tensors.end());

  EXPECT_EQ(support::packed_bytes(std::move(records)), expected);
}

TEST(RoundTrip, EveryChangeOfAFactChangesTheUuid) {
  const auto uuid_of = [](const Bytes& file) { return Bytes(file.begin() + 40, file.begin() + 56); };
  const auto changed = [&](void (*change)(std::vector<PackRecord>&, PackOptions&)) {
    std::vector<PackRecord> records = support::cpu_records();
    PackOptions options;
    change(records, options);
    return uuid_of(support::packed_bytes(std::move(records), std::move(options)));
  };
  const Bytes plain = changed([](auto&, auto&) {});

  EXPECT_EQ(changed([](auto&, auto& o) { o.seal = true; }), plain) << "sealing does not change what a file is";
  EXPECT_NE(changed([](auto& r, auto&) { r[0].source.bytes[5] ^= std::byte{1}; }), plain);
  EXPECT_NE(changed([](auto& r, auto&) { r[0].key.variant = "debug"; }), plain);
  EXPECT_NE(changed([](auto& r, auto&) { r[0].key.api.major = 1; }), plain);
  EXPECT_NE(changed([](auto& r, auto&) { r[0].weights.clear(); }), plain);
  EXPECT_NE(changed([](auto& r, auto&) { r[0].name = "another"; }), plain);
  EXPECT_NE(changed([](auto& r, auto&) { r[4].tensors[0].dtype = DType::kI32; }), plain);
  EXPECT_NE(changed([](auto&, auto& o) { o.model_name = "another"; }), plain);
  EXPECT_NE(changed([](auto&, auto& o) { o.granule_log2 = 14; }), plain);
}

TEST(RoundTrip, EqualRecordsAreStoredOnce) {
  const TempDir folder;
  std::vector<PackRecord> records;
  for (int i = 0; i < 4; ++i) {
    const Bytes large = support::pattern(100'000, i % 2 == 0 ? 1U : 2U);
    const Bytes small = support::pattern(500, i % 2 == 0 ? 3U : 4U);
    records.push_back(support::plain_record(RecordType::kSourceModel, "large" + std::to_string(i), large));
    records.push_back(support::plain_record(RecordType::kOpaque, "small" + std::to_string(i), small));
  }

  const auto report = pack(records, folder.file("equal.fatctx"));

  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().shared_records, 4U);
  Registry registry;
  const Container container = open_container(registry, folder.file("equal.fatctx")).value();
  std::map<std::string, std::uint64_t> offsets;
  for (const PackRecord& record : records) {
    ASSERT_NO_FATAL_FAILURE(expect_record(container, record));
    offsets[record.name] = container.find(record.name).value().file_offset;
  }
  EXPECT_EQ(offsets["large0"], offsets["large2"]);
  EXPECT_EQ(offsets["large1"], offsets["large3"]);
  EXPECT_NE(offsets["large0"], offsets["large1"]);
  EXPECT_EQ(offsets["small1"], offsets["small3"]);
  EXPECT_NE(offsets["small0"], offsets["small1"]);
  EXPECT_TRUE(container.verify().value().findings.empty());
}

TEST(RoundTrip, AnEmptyRecordComesBackEmptyAndVerifies) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(pack({support::plain_record(RecordType::kOpaque, "nothing", {})}, folder.file("e.fatctx"))));
  Registry registry;
  const Container container = open_container(registry, folder.file("e.fatctx")).value();

  const auto verified = container.verify();

  ASSERT_TRUE(is_ok(verified));
  for (const VerifyFinding& finding : verified.value().findings) ADD_FAILURE() << to_text(finding.error);
  EXPECT_EQ(container.acquire("nothing").value().size_bytes(), 0U);
  EXPECT_EQ(container.find("nothing").value().hash, content_hash({}));
}

TEST(RoundTrip, AContainerWithoutRecordsIsLegal) {
  const TempDir folder;
  ASSERT_TRUE(is_ok(pack({}, folder.file("none.fatctx"))));
  Registry registry;
  const auto container = open_container(registry, folder.file("none.fatctx"));

  ASSERT_TRUE(is_ok(container));
  EXPECT_EQ(support::records_in(container.value()).size(), 1U) << "the description";
  EXPECT_TRUE(container.value().verify().value().findings.empty());
}

TEST(RoundTrip, ADamagedFileHandsOutTheGoodRecordsOnly) {
  const TempDir folder;
  const std::string path = folder.file("damaged.fatctx");
  ASSERT_TRUE(is_ok(pack(support::cpu_records(), path)));
  Bytes file = support::read_file(path);
  std::uint64_t at = 0;
  {
    Registry registry;
    at = open_container(registry, path).value().find("weights").value().file_offset + 70'000;
  }
  file[static_cast<std::size_t>(at)] ^= std::byte{16};
  support::write_file(path, file);
  Registry registry;
  const Container container = open_container(registry, path).value();

  const auto weights = container.acquire("weights");

  ASSERT_TRUE(support::fails_with(weights, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(weights.error().where.record_id, container.find("weights").value().id);
  EXPECT_EQ(weights.error().where.file_offset, at / 65'536 * 65'536);
  EXPECT_TRUE(is_ok(container.acquire("cpu-aarch64")));
  OpenOptions trusting;
  trusting.verify = VerifyPolicy::kNone;
  EXPECT_TRUE(is_ok(open_container(registry, path, trusting).value().acquire("weights")));
}

}  // namespace round_trip_test
}  // namespace fatctx
