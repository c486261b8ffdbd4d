// Packing through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "capi/c_model.h"
#include "support/chip_corpus.h"
#include "support/gguf_file.h"
#include "support/irpa_file.h"
#include "support/safetensors_file.h"

namespace fatctx::capi::testing {
namespace packer_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

fatctx_packer create(const fatctx_pack_options* options = nullptr) {
  auto error = fresh_error();
  fatctx_packer packer = {};
  EXPECT_EQ(fatctx_packer_create(options, &packer, &error), FATCTX_OK) << text_of(error);
  return packer;
}

fatctx_pack_record opaque(const char* name) {
  auto record = sized<fatctx_pack_record>();
  fatctx_pack_record_init(&record, sizeof record);
  record.name = name;
  record.bytes = name;
  record.size = std::strlen(name);
  return record;
}

// The report of the last publish.
nlohmann::json told_by(fatctx_packer packer) {
  auto error = fresh_error();
  return json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_packer_report_json(packer, buffer, capacity, size, &error);
  });
}

class CPacker : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK); }

  TempDir folder;
  std::string path = folder.file("model.fatctx");
  fatctx_error error = fresh_error();
  fatctx_packer packer = create();
};

// Shows S4.28.
TEST_F(CPacker, TheFileIsTheOneThatTheCxxPackerWrites) {
  for (const PackRecord& record : support::cpu_records()) {
    auto given = opaque(record.name.c_str());
    given.type = static_cast<std::uint32_t>(record.type);
    given.bytes = record.source.bytes.data();
    given.size = record.source.bytes.size();
    given.group = record.key.group.c_str();
    given.unit = record.key.unit.c_str();
    given.backend = record.key.backend.c_str();
    given.arch = record.key.arch.c_str();
    if (!record.key.features.empty()) given.features = "i8mm,dotprod";
    std::vector<const char*> weights;
    for (const std::string& name : record.weights) weights.push_back(name.c_str());
    given.weights = weights.data();
    given.weight_count = weights.size();
    std::vector<fatctx_pack_tensor> tensors;
    for (const PackTensor& tensor : record.tensors) {
      tensors.push_back({tensor.name.c_str(), tensor.shape.data(), tensor.shape.size(), tensor.offset_in_blob,
                         tensor.size_bytes, static_cast<std::uint32_t>(tensor.dtype), 0});
    }
    given.tensors = tensors.data();
    given.tensor_count = tensors.size();
    given.producer = record.description.producer.c_str();
    given.format = record.description.format.c_str();
    std::vector<fatctx_graph> graphs;
    const std::int64_t in_shape[] = {1, -1};
    const std::int64_t out_shape[] = {1, 7};
    const fatctx_graph_tensor in = {"in", "float32", in_shape, 2};
    const fatctx_graph_tensor out = {"out", "float32", out_shape, 2};
    if (!record.description.graphs.empty()) graphs.push_back({"main", &in, 1, &out, 1});
    given.graphs = graphs.data();
    given.graph_count = graphs.size();
    ASSERT_EQ(fatctx_packer_add(packer, &given, &error), FATCTX_OK) << text_of(error);
  }
  auto report = sized<fatctx_pack_report>();
  ASSERT_EQ(fatctx_packer_publish(packer, path.c_str(), &report, &error), FATCTX_OK) << text_of(error);

  PackOptions chosen;  // what 0 chooses, which support::pack() does not leave open
  chosen.extent_log2 = 12;
  EXPECT_EQ(support::read_file(path), support::packed_bytes(support::cpu_records(), chosen));
  EXPECT_EQ(report.record_count, 7U);
  EXPECT_EQ(report.file_size, support::read_file(path).size());
  EXPECT_EQ(std::strlen(report.uuid), 36U);
}

TEST_F(CPacker, OptionsReachTheFile) {
  const fatctx_option stored[] = {{"threads", "4", "cpu"}, {"model_path", "/somewhere/x", nullptr}};
  auto options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&options, sizeof options);
  options.seal = 1;
  options.model_name = "named";
  options.options = stored;
  options.option_count = 2;
  const fatctx_packer sealed = create(&options);
  auto record = opaque("one");
  ASSERT_EQ(fatctx_packer_add(sealed, &record, &error), FATCTX_OK);
  auto report = sized<fatctx_pack_report>();
  ASSERT_EQ(fatctx_packer_publish(sealed, path.c_str(), &report, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(report.warning_count, 1U);
  const nlohmann::json told = told_by(sealed);
  ASSERT_EQ(told["notes"].size(), 1U);
  EXPECT_THAT(told["notes"][0].get<std::string>(), HasSubstr("model_path"));
  EXPECT_EQ(report.sealed, 1U);
  const auto container = Container::open(path);
  ASSERT_TRUE(container.ok());
  EXPECT_EQ(container.value().describe().value().name, "named");
  EXPECT_EQ(container.value().describe().value().options[0].owner, "cpu");
  EXPECT_EQ(fatctx_packer_close(sealed, &error), FATCTX_OK);
}

TEST_F(CPacker, SharingByBytesMakesRecipesThatAreStreamed) {
  const auto corpus = support::make_chip_corpus(1, {.tensors = 4});
  auto options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&options, sizeof options);
  options.sharing = FATCTX_SHARING_BYTES;
  const fatctx_packer by_bytes = create(&options);
  for (const std::size_t chip : {0U, 2U}) {
    auto record = opaque(chip == 0 ? "one" : "two");
    record.bytes = corpus.chips[chip].data();
    record.size = corpus.chips[chip].size();
    ASSERT_EQ(fatctx_packer_add(by_bytes, &record, &error), FATCTX_OK);
  }
  auto report = sized<fatctx_pack_report>();
  ASSERT_EQ(fatctx_packer_publish(by_bytes, path.c_str(), &report, &error), FATCTX_OK) << text_of(error);
  EXPECT_LT(report.stored_bytes, corpus.chips[0].size() + 100'000);
  EXPECT_EQ(fatctx_packer_close(by_bytes, &error), FATCTX_OK);

  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open(path.c_str(), nullptr, &container, &error), FATCTX_OK) << text_of(error);
  std::uint32_t recipes = 0;
  for (const char* name : {"one", "two"}) {
    auto info = sized<fatctx_record_info>();
    ASSERT_EQ(fatctx_container_find(container, name, &info, &error), FATCTX_OK);
    EXPECT_EQ(info.codec, static_cast<std::uint32_t>(FATCTX_CODEC_NONE));
    EXPECT_EQ(info.supported, 1U);
    recipes += info.recipe;
    support::Bytes bytes;
    const auto take = [](void* user, const void* data, std::uint64_t size) -> std::int32_t {
      const auto* from = static_cast<const std::byte*>(data);
      static_cast<support::Bytes*>(user)->insert(static_cast<support::Bytes*>(user)->end(), from, from + size);
      return 0;
    };
    EXPECT_EQ(fatctx_container_stream(container, info.id, take, &bytes, &error), FATCTX_OK) << text_of(error);
    EXPECT_TRUE(bytes == corpus.chips[name[0] == 'o' ? 0 : 2]);
  }
  EXPECT_EQ(recipes, 1U);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CPacker, EveryRecordSaysWhatItCameTo) {
  const auto corpus = support::make_chip_corpus(1, {.tensors = 4});
  for (const std::uint32_t sharing : {FATCTX_SHARING_PAGES, FATCTX_SHARING_BYTES}) {
    auto options = sized<fatctx_pack_options>();
    fatctx_pack_options_init(&options, sizeof options);
    options.sharing = sharing;
    options.overwrite = 1;
    const fatctx_packer chips = create(&options);
    EXPECT_EQ(fatctx_packer_report_json(chips, nullptr, 0, nullptr, &error), FATCTX_ERROR_NOT_FOUND)
        << "nothing was published yet";
    const std::pair<const char*, const Bytes*> records[] = {
        {"zero", &corpus.chips[0]}, {"one", &corpus.chips[1]}, {"two", &corpus.chips[2]}, {"twin", &corpus.chips[0]}};
    for (const auto& [name, bytes] : records) {
      auto record = opaque(name);
      record.bytes = bytes->data();
      record.size = bytes->size();
      ASSERT_EQ(fatctx_packer_add(chips, &record, &error), FATCTX_OK) << text_of(error);
    }
    auto report = sized<fatctx_pack_report>();
    ASSERT_EQ(fatctx_packer_publish(chips, path.c_str(), &report, &error), FATCTX_OK) << text_of(error);
    std::uint64_t stored = 0;
    std::uint64_t shared = 0;
    std::uint32_t recipes = 0;
    std::uint32_t pieces = 0;
    std::uint64_t shifted = 0;
    const nlohmann::json told = told_by(chips);
    EXPECT_EQ(told["schema"], "fatctx.packed/1");
    EXPECT_EQ(told["path"], path);
    EXPECT_EQ(told["uuid"], std::string(report.uuid));
    ASSERT_EQ(told["records"].size(), report.record_count);
    for (std::size_t i = 0; i < report.record_count; ++i) {
      const nlohmann::json& row = told["records"][i];
      EXPECT_EQ(row["id"], i + 1);
      stored += row["stored_bytes"].get<std::uint64_t>();
      shared += row["shared_bytes"].get<std::uint64_t>();
      shifted += row["shifted_bytes"].get<std::uint64_t>();
      pieces = std::max(pieces, row["pieces"].get<std::uint32_t>());
      EXPECT_EQ(row["recipe_steps"] != 0, row["recipe_bytes"] != 0);
      EXPECT_EQ(row["recipe_steps"] != 0, row["pieces"] == 0);
      if (row["recipe_steps"] != 0) {
        ++recipes;
        EXPECT_GT(row["mappable_bytes"], 0U);
        EXPECT_LE(row["mappable_bytes"], row["size_bytes"]);
      }
      EXPECT_EQ(row["sharing_order"] == 0, row["name"] == "description") << row["name"];
    }
    EXPECT_EQ(stored, report.stored_bytes);
    EXPECT_EQ(shared, report.shared_bytes);
    EXPECT_EQ(recipes != 0, sharing == FATCTX_SHARING_BYTES);
    EXPECT_EQ(pieces > 1 && shifted > 0, sharing == FATCTX_SHARING_PAGES);
    EXPECT_EQ(fatctx_packer_close(chips, &error), FATCTX_OK);
  }
}

TEST_F(CPacker, APartOfAFileIsARecord) {
  const std::string larger = folder.file("larger");
  support::write_file(larger, support::pattern(9'000, 4));
  auto record = opaque("part");
  record.bytes = nullptr;
  record.source_path = larger.c_str();
  record.source_is_part = 1;
  record.source_offset = 1'000;
  record.source_size = 5'000;
  ASSERT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_packer_publish(packer, path.c_str(), nullptr, &error), FATCTX_OK) << text_of(error);
  const auto container = Container::open(path);
  ASSERT_TRUE(container.ok());
  const auto view = container.value().acquire("part");
  ASSERT_TRUE(view.ok());
  const Bytes expected = support::pattern(9'000, 4);
  EXPECT_TRUE(std::equal(view.value().bytes().begin(), view.value().bytes().end(), expected.begin() + 1'000,
                         expected.begin() + 6'000));

  const fatctx_packer beyond = create();
  record.source_size = 8'001;
  ASSERT_EQ(fatctx_packer_add(beyond, &record, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(fatctx_packer_publish(beyond, folder.file("none").c_str(), nullptr, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("larger"));
  EXPECT_EQ(fatctx_packer_close(beyond, &error), FATCTX_OK);
}

TEST_F(CPacker, ProgressIsToldAndMayStopTheWork) {
  struct Seen {
    std::uint64_t calls = 0;
    std::int32_t answer = 0;
  } seen;
  auto options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&options, sizeof options);
  options.progress = [](void* user, std::uint64_t, std::uint64_t) -> std::int32_t {
    ++static_cast<Seen*>(user)->calls;
    return static_cast<Seen*>(user)->answer;
  };
  options.progress_user = &seen;
  const fatctx_packer watched = create(&options);
  auto record = opaque("one");
  ASSERT_EQ(fatctx_packer_add(watched, &record, &error), FATCTX_OK);

  seen.answer = 1;
  EXPECT_EQ(fatctx_packer_publish(watched, path.c_str(), nullptr, &error), FATCTX_ERROR_CANCELLED);
  EXPECT_TRUE(folder.names().empty());
  seen.answer = 0;
  EXPECT_EQ(fatctx_packer_publish(watched, path.c_str(), nullptr, &error), FATCTX_OK) << text_of(error);
  EXPECT_THAT(folder.names(), ElementsAre("model.fatctx"));
  EXPECT_GE(seen.calls, 2U);
  EXPECT_EQ(fatctx_packer_close(watched, &error), FATCTX_OK);
}

TEST_F(CPacker, ACallOutOfItsOwnProgressIsNotPermitted) {
  struct Nested {
    fatctx_packer packer = {};
    std::int32_t code = 0;
  } nested;
  auto options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&options, sizeof options);
  options.progress = [](void* user, std::uint64_t, std::uint64_t) -> std::int32_t {
    auto* self = static_cast<Nested*>(user);
    const auto record = opaque("late");
    self->code = fatctx_packer_add(self->packer, &record, nullptr);
    return 0;
  };
  options.progress_user = &nested;
  nested.packer = create(&options);
  auto record = opaque("one");
  ASSERT_EQ(fatctx_packer_add(nested.packer, &record, &error), FATCTX_OK);

  EXPECT_EQ(fatctx_packer_publish(nested.packer, path.c_str(), nullptr, &error), FATCTX_OK);

  EXPECT_EQ(nested.code, FATCTX_ERROR_OPERATION_NOT_PERMITTED);
  EXPECT_EQ(fatctx_packer_close(nested.packer, &error), FATCTX_OK);
}

TEST_F(CPacker, BadRecordsAreRefusedAndChangeNothing) {
  auto good = opaque("good");
  ASSERT_EQ(fatctx_packer_add(packer, &good, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_packer_add(packer, &good, &error), FATCTX_ERROR_EXISTS);
  const auto refused = [&](const char* why, auto change) {
    auto record = opaque("bad");
    change(record);
    EXPECT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_ERROR_INVALID_ARGUMENT) << why;
    EXPECT_THAT(error.message, HasSubstr(why));
  };
  refused("name of the record is null", [](fatctx_pack_record& r) { r.name = nullptr; });
  refused("record name", [](fatctx_pack_record& r) { r.name = "a/b"; });
  refused("bytes is null", [](fatctx_pack_record& r) { r.bytes = nullptr; });
  refused("type is 99", [](fatctx_pack_record& r) { r.type = 99; });
  refused("type is 65543", [](fatctx_pack_record& r) { r.type = 65'543; });  // 7 in sixteen bits
  refused("weights is null", [](fatctx_pack_record& r) { r.weight_count = 1; });
  refused("tensors is null", [](fatctx_pack_record& r) { r.tensor_count = 1; });
  refused("graphs is null", [](fatctx_pack_record& r) { r.graph_count = 1; });
  refused("options is null", [](fatctx_pack_record& r) { r.option_count = 1; });
  refused("source_path is empty", [](fatctx_pack_record& r) { r.source_path = ""; });
  refused("tensors_from_irpa", [](fatctx_pack_record& r) { r.tensors_from_irpa = 1; });
  refused("tensors_from_safetensors", [](fatctx_pack_record& r) { r.tensors_from_safetensors = 1; });
  refused("tensors_from_gguf", [](fatctx_pack_record& r) { r.tensors_from_gguf = 1; });
  refused("more than one of", [](fatctx_pack_record& r) { r.tensors_from_irpa = r.tensors_from_gguf = 1; });
  refused("set it to take a part", [](fatctx_pack_record& r) { r.source_offset = 1; });
  refused("set it to take a part", [](fatctx_pack_record& r) { r.source_size = 1; });
  refused("without a source_path", [](fatctx_pack_record& r) { r.source_is_part = 1; });
  refused("offsets in the whole file", [](fatctx_pack_record& r) {
    r.source_path = "w.gguf";
    r.tensors_from_gguf = r.source_is_part = 1;
  });
  refused("feature word", [](fatctx_pack_record& r) { r.features = "a,,b"; });
  refused("struct_size", [](fatctx_pack_record& r) { r.struct_size = 4; });
  refused("name of a weight blob is null", [](fatctx_pack_record& r) {
    static const char* const names[] = {nullptr};
    r.weights = names;
    r.weight_count = 1;
  });

  auto report = sized<fatctx_pack_report>();
  ASSERT_EQ(fatctx_packer_publish(packer, path.c_str(), &report, &error), FATCTX_OK);
  EXPECT_EQ(report.record_count, 2U);  // the description is one of them
  EXPECT_EQ(fatctx_packer_publish(packer, path.c_str(), &report, &error), FATCTX_ERROR_EXISTS);
}

TEST_F(CPacker, OptionsThatCannotBeAreRefused) {
  fatctx_packer none = {};
  auto options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&options, sizeof options);
  options.sharing = 3;
  EXPECT_EQ(fatctx_packer_create(&options, &none, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  fatctx_pack_options_init(&options, sizeof options);
  options.extent_log2 = 272;  // 16 in eight bits
  EXPECT_EQ(fatctx_packer_create(&options, &none, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(none.id, 0U);
}

TEST_F(CPacker, EqualPagesAreStoredOnceAsOftenAsTheCallerAllows) {
  constexpr std::uint64_t kShared = 64 * 1024;
  const Bytes first = support::pattern(100 * 1024, 3);
  constexpr std::size_t kOwn = 32 * 1024;
  Bytes second = support::pattern(kOwn + kShared, 9);
  std::memcpy(second.data() + kOwn, first.data(), kShared);
  auto options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&options, sizeof options);
  EXPECT_EQ(options.max_pieces, 4096U);
  options.sharing = FATCTX_SHARING_PAGES;
  const auto shared_bytes = [&] {
    options.overwrite = 1;
    const fatctx_packer pages = create(&options);
    for (const Bytes* bytes : std::initializer_list<const Bytes*>{&first, &second}) {
      auto record = opaque(bytes == &first ? "first" : "second");
      record.bytes = bytes->data();
      record.size = bytes->size();
      EXPECT_EQ(fatctx_packer_add(pages, &record, &error), FATCTX_OK) << text_of(error);
    }
    auto report = sized<fatctx_pack_report>();
    EXPECT_EQ(fatctx_packer_publish(pages, path.c_str(), &report, &error), FATCTX_OK) << text_of(error);
    EXPECT_EQ(fatctx_packer_close(pages, &error), FATCTX_OK);
    return report.shared_bytes;
  };

  EXPECT_EQ(shared_bytes(), kShared);
  options.max_pieces = 1;
  EXPECT_EQ(shared_bytes(), 0U);
  options.max_pieces = 0;
  const fatctx_packer none = create(&options);
  auto record = opaque("one");
  EXPECT_EQ(fatctx_packer_add(none, &record, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_packer_publish(none, path.c_str(), nullptr, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_packer_close(none, &error), FATCTX_OK);
}

TEST_F(CPacker, EqualRangesAreStoredOnceWhereverTheyLieOnAnyNumberOfThreads) {
  const Bytes parts[] = {support::pattern(90'000, 1), support::pattern(120'000, 2)};
  Bytes first = parts[0];
  first.insert(first.end(), parts[1].begin(), parts[1].end());
  Bytes second = parts[1];
  second.insert(second.end(), parts[0].begin(), parts[0].end());
  const fatctx_pack_range of_first[] = {{"a", 0, 90'000}, {"b", 90'000, 120'000}};
  const fatctx_pack_range of_second[] = {{"b", 0, 120'000}, {"a", 120'000, 90'000}};
  auto options = sized<fatctx_pack_options>();
  fatctx_pack_options_init(&options, sizeof options);
  EXPECT_EQ(options.threads, 0U);
  options.overwrite = 1;
  Bytes expected;
  for (const std::uint32_t threads : {0U, 1U, 7U}) {
    options.threads = threads;
    const fatctx_packer by_ranges = create(&options);
    for (const bool is_first : {true, false}) {
      auto record = opaque(is_first ? "first" : "second");
      record.bytes = is_first ? first.data() : second.data();
      record.size = first.size();
      record.ranges = is_first ? of_first : of_second;
      record.range_count = 2;
      ASSERT_EQ(fatctx_packer_add(by_ranges, &record, &error), FATCTX_OK) << text_of(error);
    }
    auto report = sized<fatctx_pack_report>();
    ASSERT_EQ(fatctx_packer_publish(by_ranges, path.c_str(), &report, &error), FATCTX_OK) << text_of(error);
    EXPECT_LT(report.stored_bytes, 211'000U);
    EXPECT_EQ(fatctx_packer_close(by_ranges, &error), FATCTX_OK);
    if (expected.empty()) expected = support::read_file(path);
    EXPECT_EQ(support::read_file(path), expected) << threads;
  }
  auto record = opaque("third");
  const fatctx_pack_range nameless = {nullptr, 0, 1};
  record.ranges = &nameless;
  record.range_count = 1;
  EXPECT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  const fatctx_pack_range empty = {"e", 0, 0};
  record.ranges = &empty;
  EXPECT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_ERROR_INVALID_ARGUMENT);
}

// Shows S5.5.
TEST_F(CPacker, TensorsComeFromTheIndexOfASafetensorsOrGgufFile) {
  const std::string safe = folder.file("w.safetensors");
  support::write_file(safe, support::safetensors_file(R"({"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})", 8));
  const std::string quantised = folder.file("w.gguf");
  support::GgufWriter writer;
  writer.tensor("q", {512}, support::GgufWriter::kQ4K, 0, 288);
  support::write_file(quantised, writer.write());
  for (const std::string& file : {safe, quantised}) {
    auto record = opaque(file == safe ? "safe" : "quantised");
    record.type = FATCTX_RECORD_WEIGHT_BLOB;
    record.source_path = file.c_str();
    record.bytes = nullptr;
    (file == safe ? record.tensors_from_safetensors : record.tensors_from_gguf) = 1;
    ASSERT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_OK) << text_of(error);
  }
  ASSERT_EQ(fatctx_packer_publish(packer, path.c_str(), nullptr, &error), FATCTX_OK) << text_of(error);

  const auto container = Container::open(path);
  ASSERT_TRUE(container.ok());
  const auto tensor = [&](const char* of, const char* name) {
    return container.value().tensors(container.value().find(of).value().id).value().view(name).value();
  };
  EXPECT_EQ(tensor("safe", "a").dtype(), DType::kF16);
  const WeightView blocks = tensor("quantised", "q");
  EXPECT_EQ(blocks.bytes().size(), 288U);
  std::string types;
  const ContainerDescription description = container.value().describe().value();
  for (const RecordDescription& of : description.records) {
    for (const DescribedOption& option : of.options) types += option.key + "=" + option.value + ";";
  }
  EXPECT_EQ(types, "tensor.q.type=q4_k [512];");
}

TEST_F(CPacker, AFileIsReadWhenPublishingAndTensorsComeFromItsIndex) {
  const std::string archive = folder.file("weights.irpa");
  support::IrpaWriter writer;
  writer.data("first", 0, 64);
  writer.data("second", 64, 32);
  support::write_file(archive, writer.write(96));
  auto record = opaque("weights");
  record.type = FATCTX_RECORD_WEIGHT_BLOB;
  record.source_path = archive.c_str();
  record.bytes = nullptr;
  record.tensors_from_irpa = 1;
  ASSERT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_packer_publish(packer, path.c_str(), nullptr, &error), FATCTX_OK) << text_of(error);

  const auto container = Container::open(path);
  ASSERT_TRUE(container.ok());
  const auto weights = container.value().find("weights");
  ASSERT_TRUE(weights.ok());
  EXPECT_EQ(container.value().tensors(weights.value().id).value().size(), 2U);
}

}  // namespace packer_test
}  // namespace fatctx::capi::testing
