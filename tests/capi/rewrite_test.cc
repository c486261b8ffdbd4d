// Rewriting and merging through C: the files and reports are those of C++, and failures leave nothing behind.
#include "fatctx/rewrite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <utility>

#include "capi/c_model.h"
#include "support/chip_corpus.h"
#include "support/opened.h"

namespace fatctx::capi::testing {
namespace rewrite_test {

using support::read_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

fatctx_rewrite_options rewrite_options() {
  auto options = sized<fatctx_rewrite_options>();
  fatctx_rewrite_options_init(&options, sizeof options);
  return options;
}

class CRewrite : public CModel {
 protected:
  // The report of a rewrite or a merge, which answered `code`.
  nlohmann::json report_of(std::int32_t code) {
    EXPECT_EQ(code, FATCTX_OK) << text_of(error);
    return code == FATCTX_OK ? json_of(std::exchange(report, {})) : nlohmann::json();
  }
  // Reads ids in two calls: first the count, then the ids.
  std::vector<std::uint32_t> ids_from(
      const std::function<std::int32_t(std::uint32_t*, std::uint64_t, std::uint64_t*)>& call) {
    std::uint64_t count = 0;
    EXPECT_EQ(call(nullptr, 0, &count), FATCTX_OK) << text_of(error);
    std::vector<std::uint32_t> ids(static_cast<std::size_t>(count) + 1, 0xABABABAB);
    std::uint64_t again = 0;
    EXPECT_EQ(call(ids.data(), count, &again), FATCTX_OK) << text_of(error);
    EXPECT_EQ(again, count);
    EXPECT_EQ(ids.back(), 0xABABABABU) << "written behind the capacity";
    ids.pop_back();
    return ids;
  }
  std::vector<std::string> names_in(const std::string& file) {
    std::vector<std::string> names;
    const Container opened = Container::open(file).value();
    for (const RecordInfo& record : support::records_in(opened)) names.emplace_back(record.name);
    return names;
  }

  std::string out = folder.file("out.fatctx");
  fatctx_report report = {};
};

TEST_F(CRewrite, TheFileAndTheReportAreThoseOfCxx) {
  const std::string expected_file = folder.file("expected.fatctx");
  const std::vector<std::uint32_t> keep = {2, 5};  // one of the binaries, and the weights
  RewriteOptions wanted;
  wanted.keep = keep;
  wanted.seal = true;
  const RewriteReport expected = rewrite_container(path, expected_file, wanted).value();

  auto options = rewrite_options();
  options.keep = keep.data();
  options.keep_count = keep.size();
  options.seal = FATCTX_SEAL_YES;
  const nlohmann::json told = report_of(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, &report, &error));
  EXPECT_EQ(told["schema"], "fatctx.rewrite/1");
  EXPECT_EQ(told["path"], out);
  EXPECT_EQ(told["generation"], 2);
  EXPECT_EQ(told["sealed"], true);
  EXPECT_EQ(told["uuid"], expected.pack.uuid);
  EXPECT_EQ(told["file_size"], expected.pack.file_size);
  EXPECT_EQ(told["input_bytes"], expected.pack.input_bytes);
  EXPECT_EQ(told["stored_bytes"], expected.pack.stored_bytes);
  EXPECT_EQ(told["shared_bytes"], expected.pack.shared_bytes);
  EXPECT_EQ(told["record_count"], expected.pack.record_count);
  EXPECT_EQ(told["shared_records"], expected.pack.shared_records);
  EXPECT_EQ(told["removed"], nlohmann::json({"cpu-aarch64", "cpu-x86-64-v3", "cpu-x86-64-v4"}));
  EXPECT_EQ(told["unused_weights"].size(), 0U);
  EXPECT_EQ(told["notes"].size(), 0U);
  ASSERT_EQ(told["sources"].size(), 1U);
  const nlohmann::json& source = told["sources"][0];
  EXPECT_EQ(source["path"], path);
  EXPECT_EQ(source["generation"], 1);
  EXPECT_EQ(source["file_size"], read_file(path).size());
  EXPECT_EQ(source["dead_bytes"], expected.sources[0].dead_bytes);
  EXPECT_EQ(source["record_count"], 7);
  std::uint64_t stored = 0;
  ASSERT_EQ(told["records"].size(), expected.pack.records.size());
  for (std::size_t i = 0; i < expected.pack.records.size(); ++i) {
    EXPECT_EQ(told["records"][i]["name"], expected.pack.records[i].name);
    EXPECT_EQ(told["records"][i]["id"], i + 1);
    stored += told["records"][i]["stored_bytes"].get<std::uint64_t>();
  }
  EXPECT_EQ(stored, expected.pack.stored_bytes);
  EXPECT_TRUE(read_file(out) == read_file(expected_file));
}

TEST_F(CRewrite, WeightsThatNoBinaryUsesAnyMoreAreTold) {
  const std::uint32_t weights = 5;
  auto options = rewrite_options();
  options.keep = &weights;
  options.keep_count = 1;
  const nlohmann::json told = report_of(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, &report, &error));
  EXPECT_EQ(told["removed"].size(), 4U);
  EXPECT_EQ(told["unused_weights"], nlohmann::json({"weights"}));
}

TEST_F(CRewrite, InPlaceTheFileIsReplacedAndDefaultsKeepWhatItIs) {
  const Bytes before = read_file(path);
  ASSERT_EQ(fatctx_rewrite_container(path.c_str(), path.c_str(), nullptr, nullptr, &error), FATCTX_OK)
      << text_of(error);  // without a report
  const Container opened = Container::open(path).value();
  EXPECT_EQ(support::report_of(opened).generation, 2U);
  EXPECT_FALSE(support::report_of(opened).sealed);
  EXPECT_EQ(opened.describe().value().name, "sample");
  EXPECT_EQ(read_file(path).size(), before.size());
  EXPECT_THAT(folder.names(), ElementsAre("model.fatctx"));
}

TEST_F(CRewrite, EmptyKeepIsNoneAndNullIsAll) {
  static constexpr std::uint32_t kNone[] = {1};
  auto options = rewrite_options();
  options.overwrite = 1;
  options.keep = kNone;
  ASSERT_EQ(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, nullptr, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_THAT(names_in(out), ElementsAre("description"));
  options.keep = nullptr;
  ASSERT_EQ(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, nullptr, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_EQ(names_in(out).size(), 7U);
}

TEST_F(CRewrite, EveryOptionReachesTheFile) {
  const auto corpus = support::make_chip_corpus(3, {.tensors = 8, .rows = 64});
  std::vector<PackRecord> records;
  for (std::size_t i = 0; i < 2; ++i) {
    records.push_back(
        support::binary_record("chip" + std::to_string(i), "x86-64-v" + std::to_string(2 + i), corpus.chips[i]));
  }
  PackOptions pack;
  pack.seal = true;
  support::write_file(path, support::packed_bytes(std::move(records), pack));
  auto options = rewrite_options();
  options.overwrite = 1;
  const auto stored = [&](std::uint32_t sharing, std::uint32_t max_pieces, std::uint32_t seal) {
    options.sharing = sharing;
    options.max_pieces = max_pieces;
    options.seal = seal;
    const nlohmann::json told =
        report_of(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, &report, &error));
    EXPECT_EQ(told["sealed"], seal != FATCTX_SEAL_NO);
    return told["stored_bytes"].get<std::uint64_t>();
  };
  const std::uint64_t as_source = stored(FATCTX_SHARING_AS_SOURCE, 4096, FATCTX_SEAL_AS_SOURCE);
  const std::uint64_t off = stored(FATCTX_SHARING_OFF, 4096, FATCTX_SEAL_NO);
  const std::uint64_t bytes = stored(FATCTX_SHARING_BYTES, 4096, FATCTX_SEAL_YES);
  EXPECT_EQ(stored(FATCTX_SHARING_PAGES, 4096, FATCTX_SEAL_NO), as_source);
  EXPECT_EQ(stored(FATCTX_SHARING_PAGES, 1, FATCTX_SEAL_NO), off) << "one piece each: nothing is shared";
  EXPECT_LT(bytes, as_source);
  EXPECT_LT(as_source, off);

  options.generation = 9;
  EXPECT_EQ(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, &report, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(report.id, 0U);
}

TEST_F(CRewrite, OptionsThatCannotBeAreRefusedBeforeAnythingIsWritten) {
  const char* const sources[] = {path.c_str(), path.c_str()};
  const std::uint32_t id = 1;
  struct Case {
    const char* what;
    void (*set)(fatctx_rewrite_options& options, const std::uint32_t* id);
    std::int32_t rewrite;
    std::int32_t merge;
    const char* says;
  };
  constexpr std::int32_t kInvalid = FATCTX_ERROR_INVALID_ARGUMENT;
  const Case cases[] = {
      {"seal", [](auto& o, auto*) { o.seal = 3; }, kInvalid, kInvalid, "FATCTX_SEAL_AS_SOURCE"},
      {"sharing", [](auto& o, auto*) { o.sharing = 4; }, kInvalid, kInvalid, "FATCTX_SHARING_OFF"},
      {"pieces", [](auto& o, auto*) { o.max_pieces = 0; }, kInvalid, kInvalid, "max_pieces"},
      {"size", [](auto& o, auto*) { o.struct_size = 4; }, kInvalid, kInvalid, "struct_size is 4"},
      {"no ids", [](auto& o, auto*) { o.keep_count = 1; }, kInvalid, kInvalid, "keep"},
      {"keep", [](auto& o, auto* k) { o.keep = k, o.keep_count = 1; }, kInvalid, kInvalid, ""},  // lacks its weights
      {"generation", [](auto& o, auto*) { o.generation = 1; }, FATCTX_OK, kInvalid, ""},
      {"name", [](auto& o, auto*) { o.model_name = "x"; }, kInvalid, FATCTX_OK, ""},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    auto options = rewrite_options();
    one.set(options, &id);
    EXPECT_EQ(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, nullptr, &error), one.rewrite)
        << error.message;
    if (one.rewrite != FATCTX_OK) {
      EXPECT_THAT(error.message, HasSubstr(one.says));
    }
    const std::string merged = folder.file("merged.fatctx");
    EXPECT_EQ(fatctx_merge_containers(sources, 2, merged.c_str(), &options, nullptr, &error), one.merge)
        << error.message;
    if (one.merge != FATCTX_OK) {
      EXPECT_THAT(error.message, HasSubstr(one.says));
    }
    EXPECT_EQ(std::filesystem::remove(out), one.rewrite == FATCTX_OK);
    EXPECT_EQ(std::filesystem::remove(merged), one.merge == FATCTX_OK);
  }
}

TEST_F(CRewrite, AnOlderProgramsOptionsHaveTheDefaultsForTheRest) {
  auto options = rewrite_options();
  options.sharing = FATCTX_SHARING_OFF;
  options.max_pieces = 0;  // outside the older struct
  options.struct_size = offsetof(fatctx_rewrite_options, max_pieces);
  EXPECT_EQ(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, nullptr, &error), FATCTX_OK)
      << text_of(error);
}

TEST_F(CRewrite, AnExistingFileIsKeptUnlessAsked) {
  support::write_file(out, support::pattern(100, 3));
  EXPECT_EQ(fatctx_rewrite_container(path.c_str(), out.c_str(), nullptr, &report, &error), FATCTX_ERROR_EXISTS);
  EXPECT_EQ(report.id, 0U);
  EXPECT_TRUE(read_file(out) == support::pattern(100, 3));
  auto options = rewrite_options();
  options.overwrite = 1;
  EXPECT_EQ(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, nullptr, &error), FATCTX_OK)
      << text_of(error);
  const std::string missing = folder.file("missing");
  EXPECT_EQ(fatctx_rewrite_container(missing.c_str(), out.c_str(), &options, nullptr, &error), FATCTX_ERROR_NOT_FOUND);
}

TEST_F(CRewrite, ProgressIsToldAndWhenItStopsTheFolderIsAsItWas) {
  struct Seen {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
    bool stops_at_the_end = false;
    bool stops = false;
  } seen;
  auto options = rewrite_options();
  options.progress_user = &seen;
  options.progress = [](void* user, std::uint64_t done, std::uint64_t total) -> std::int32_t {
    auto* self = static_cast<Seen*>(user);
    EXPECT_GE(done, self->done);
    self->done = done;
    self->total = total;
    return self->stops || (self->stops_at_the_end && done == total) ? 1 : 0;
  };
  ASSERT_EQ(fatctx_rewrite_container(path.c_str(), out.c_str(), &options, nullptr, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_GT(seen.done, 0U);
  EXPECT_EQ(seen.done, seen.total);

  const Bytes before = read_file(path);
  const char* const sources[] = {path.c_str(), out.c_str()};
  const std::string merged = folder.file("merged.fatctx");
  for (const bool at_the_end : {false, true}) {
    seen = {.stops_at_the_end = at_the_end, .stops = !at_the_end};
    EXPECT_EQ(fatctx_rewrite_container(path.c_str(), path.c_str(), &options, &report, &error), FATCTX_ERROR_CANCELLED);
    EXPECT_EQ(report.id, 0U);
    seen = {.stops_at_the_end = at_the_end, .stops = !at_the_end};
    EXPECT_EQ(fatctx_merge_containers(sources, 2, merged.c_str(), &options, &report, &error), FATCTX_ERROR_CANCELLED);
    EXPECT_EQ(report.id, 0U);
  }
  EXPECT_TRUE(read_file(path) == before);
  EXPECT_THAT(folder.names(), ElementsAre("model.fatctx", "out.fatctx"));
}

TEST_F(CRewrite, MergedFilesAreOne) {
  std::vector<PackRecord> records = support::cpu_records();
  const std::string first = folder.file("first");
  const std::string second = folder.file("second");
  PackOptions named;
  named.model_name = "first model";
  support::write_file(first, support::packed_bytes({records[0], records[4]}, named));
  named.model_name = "second model";
  support::write_file(second, support::packed_bytes({records[1], records[4]}, named));
  const char* const sources[] = {first.c_str(), second.c_str()};
  auto options = rewrite_options();
  nlohmann::json told = report_of(fatctx_merge_containers(sources, 2, out.c_str(), &options, &report, &error));
  EXPECT_EQ(told["generation"], 1);
  EXPECT_EQ(told["sealed"], false);
  EXPECT_EQ(told["record_count"], 5) << "the weights once, with their table";
  EXPECT_EQ(told["removed"].size(), 0U);
  ASSERT_EQ(told["sources"].size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(told["sources"][i]["path"], sources[i]);
  ASSERT_EQ(told["notes"].size(), 1U);
  EXPECT_THAT(told["notes"][0].get<std::string>(), HasSubstr("second model"));
  EXPECT_EQ(Container::open(out).value().describe().value().name, "first model");

  options.model_name = "both";
  options.seal = FATCTX_SEAL_YES;
  options.overwrite = 1;
  told = report_of(fatctx_merge_containers(sources, 2, out.c_str(), &options, &report, &error));
  EXPECT_EQ(told["sealed"], true);
  EXPECT_EQ(told["notes"].size(), 0U);
  EXPECT_EQ(Container::open(out).value().describe().value().name, "both");
  EXPECT_EQ(fatctx_merge_containers(sources, 1, out.c_str(), &options, &report, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  const char* const one_missing[] = {first.c_str(), nullptr};
  EXPECT_EQ(fatctx_merge_containers(one_missing, 2, out.c_str(), &options, &report, &error),
            FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("the path of a source is null"));
  EXPECT_EQ(report.id, 0U);
}

TEST_F(CRewrite, FiltersSayWhatStays) {
  const fatctx_container container = open();
  fatctx_target_filter filters[2] = {};
  filters[0].arch = "x86-64-v3";
  filters[1].backend = "cpu";
  filters[1].group = "model";
  filters[1].unit = "main";
  filters[1].features = "i8mm,dotprod";
  const auto left = [&](std::uint64_t from, std::uint64_t count) {
    return ids_from([&](std::uint32_t* ids, std::uint64_t capacity, std::uint64_t* found) {
      return fatctx_container_records_left(container, filters + from, count, ids, capacity, found, &error);
    });
  };
  EXPECT_THAT(left(0, 1), ElementsAre(3, 5, 6, 7));
  EXPECT_THAT(left(1, 1), ElementsAre(1, 5, 6, 7));
  EXPECT_THAT(left(0, 2), ElementsAre(1, 3, 5, 6, 7));

  std::uint32_t first = 0;
  std::uint64_t count = 0;
  ASSERT_EQ(fatctx_container_records_left(container, filters, 2, &first, 1, &count, &error), FATCTX_OK);
  EXPECT_EQ(first, 1U);
  EXPECT_EQ(count, 5U);

  // Every other field is compared, too.
  const std::function<void(fatctx_target_filter&)> none[] = {
      [](auto& f) { f.group = "other"; },   [](auto& f) { f.unit = "other"; }, [](auto& f) { f.backend = "htp"; },
      [](auto& f) { f.part = "SM8650"; },   [](auto& f) { f.arch = "v75"; },   [](auto& f) { f.features = "sve"; },
      [](auto& f) { f.variant = "other"; }, [](auto& f) { f.qnn_soc = 57; },   [](auto& f) { f.vtcm_mb = 8; },
      [](auto& f) { f.sdk.major = 2; },     [](auto& f) { f.generic = 1; },
  };
  for (const auto& set : none) {
    fatctx_target_filter filter = {};
    set(filter);
    EXPECT_EQ(fatctx_container_records_left(container, &filter, 1, nullptr, 0, &count, &error), FATCTX_ERROR_NO_MATCH);
    EXPECT_THAT(error.message, HasSubstr("there are some for cpu aarch64+dotprod+i8mm"));
  }
  filters[1].reserved = 1;
  EXPECT_EQ(fatctx_container_records_left(container, filters, 2, nullptr, 0, &count, &error), FATCTX_ERROR_UNSUPPORTED);
  EXPECT_EQ(fatctx_container_records_left(container, filters, 0, nullptr, 0, &count, &error),
            FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_container_records_left(container, filters, 1, nullptr, 1, &count, &error),
            FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CRewrite, RecordsThatGoLeaveTheOthers) {
  const fatctx_container container = open();
  const auto left = [&](std::vector<std::uint32_t> gone) {
    return ids_from([&](std::uint32_t* ids, std::uint64_t capacity, std::uint64_t* found) {
      return fatctx_container_records_without(container, gone.data(), gone.size(), ids, capacity, found, &error);
    });
  };
  EXPECT_THAT(left({}), ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(left({4, 2}), ElementsAre(1, 3, 5, 6, 7));
  std::uint64_t count = 0;
  const std::uint32_t table = 6;
  EXPECT_EQ(fatctx_container_records_without(container, &table, 1, nullptr, 0, &count, &error),
            FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("weights.tensors"));
  const std::uint32_t none = 99;
  EXPECT_EQ(fatctx_container_records_without(container, &none, 1, nullptr, 0, &count, &error), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace rewrite_test
}  // namespace fatctx::capi::testing
