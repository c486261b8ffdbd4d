// A packer's refusals, its state after failures, and its memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "container/format/disk_format.h"
#include "container/read/open.h"
#include "container/write/publish_records.h"
#include "support/large_input.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace packer_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::pack;
using support::TempDir;

Status add_changed(void (*change)(PackRecord&)) {
  Packer packer{PackOptions{}};
  for (PackRecord& record : support::cpu_records()) {
    record.name = "first " + record.name;
    record.weights.clear();
    FATCTX_TRY(packer.add(std::move(record)));
  }
  PackRecord record = support::binary_record("binary", "x86-64-v9", support::pattern(100, 1));
  change(record);
  return packer.add(std::move(record));
}

TEST(Packer, RefusesAtOnceWhatNoReaderWouldTake) {
  struct Row {
    const char* name;
    void (*change)(PackRecord&);
    ErrorCode code;
    std::string_view rule;
  };
  const Row rows[] = {
      {"no name", [](auto& r) { r.name.clear(); }, ErrorCode::kInvalidArgument, "F29"},
      {"a long name", [](auto& r) { r.name.assign(256, 'n'); }, ErrorCode::kInvalidArgument, "F29"},
      {"a slash in a name", [](auto& r) { r.name = "../a"; }, ErrorCode::kInvalidArgument, "F29"},
      {"a NUL in a name", [](auto& r) { r.name = std::string("a\0b", 3); }, ErrorCode::kInvalidArgument, "F29"},
      {"a name that is not UTF-8", [](auto& r) { r.name = "\xc0\x80"; }, ErrorCode::kInvalidArgument, "F29"},
      {"a slash in a group", [](auto& r) { r.key.group = "a/b"; }, ErrorCode::kInvalidArgument, "F29"},
      {"a control character in a unit", [](auto& r) { r.key.unit = "\x1f"; }, ErrorCode::kInvalidArgument, "F29"},
      {"a bad backend", [](auto& r) { r.key.backend = "\n"; }, ErrorCode::kInvalidArgument, "F29"},
      {"a bad part", [](auto& r) { r.key.part = "\n"; }, ErrorCode::kInvalidArgument, "F29"},
      {"a bad arch", [](auto& r) { r.key.arch = "\n"; }, ErrorCode::kInvalidArgument, "F29"},
      {"a bad variant", [](auto& r) { r.key.variant = "\n"; }, ErrorCode::kInvalidArgument, "F29"},
      {"a bad feature", [](auto& r) { r.key.features = {"\n"}; }, ErrorCode::kInvalidArgument, "F29"},
      {"a comma in a feature", [](auto& r) { r.key.features = {"a,b"}; }, ErrorCode::kInvalidArgument, ""},
      {"an empty feature", [](auto& r) { r.key.features = {""}; }, ErrorCode::kInvalidArgument, ""},
      {"no backend", [](auto& r) { r.key.backend.clear(); }, ErrorCode::kInvalidArgument, ""},
      {"a name that is there", [](auto& r) { r.name = "first weights"; }, ErrorCode::kExists, ""},
      {"the name of the description", [](auto& r) { r.name = "description"; }, ErrorCode::kExists, ""},
      {"a key that is there", [](auto& r) { r.key.arch = "x86-64-v2"; }, ErrorCode::kExists, ""},
      {"a description", [](auto& r) { r.type = RecordType::kDescription; }, ErrorCode::kInvalidArgument, ""},
      {"a tensor table", [](auto& r) { r.type = RecordType::kTensorTable; }, ErrorCode::kInvalidArgument, ""},
      {"a compressed binary", [](auto& r) { r.codec = Codec::kLz4; }, ErrorCode::kInvalidArgument, "F23"},
      {"tensors of a binary", [](auto& r) { r.tensors.resize(1); }, ErrorCode::kInvalidArgument, ""},
      {"weights of an opaque record", [](auto& r) { r.type = RecordType::kOpaque, r.weights = {"first weights"}; },
       ErrorCode::kInvalidArgument, ""},
  };
  for (const Row& row : rows) EXPECT_TRUE(fails_with(add_changed(row.change), row.code, row.rule)) << row.name;
  EXPECT_TRUE(is_ok(add_changed([](auto&) {})));
  EXPECT_TRUE(is_ok(add_changed([](auto& r) { r.key.arch = "x86-64-v2", r.key.variant = "debug"; })));
}

TEST(Packer, SaysWhichInputItTakesForTheRecordsThatItWrites) {
  const Status description = add_changed([](auto& r) { r.type = RecordType::kDescription; });
  ASSERT_FALSE(description.ok());
  EXPECT_EQ(description.error().message,
            "record \"binary\": description records are written by the packer; give descriptions of records instead");
  const Status table = add_changed([](auto& r) { r.type = RecordType::kTensorTable; });
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().message,
            "record \"binary\": tensor_table records are written by the packer; give the tensors of a weight blob "
            "instead");
}

TEST(Packer, SaysWhatIsWrongWithWeights) {
  const auto with_weights = [](const std::string& weights) {
    const TempDir folder;
    std::vector<PackRecord> records = support::cpu_records();
    records[0].weights = {weights};
    const auto packed = pack(std::move(records), folder.file("out.fatctx"));
    return packed.ok() ? std::string() : packed.error().message;
  };
  EXPECT_EQ(with_weights("wights"), "record \"cpu-x86-64-v2\" refers to weights \"wights\", which do not exist");
  EXPECT_EQ(with_weights("cpu-aarch64"),
            "record \"cpu-x86-64-v2\" refers to \"cpu-aarch64\" as weights, but that is a context_binary");
}

TEST(Packer, ANameLeavesRoomForThatOfItsTensorTable) {
  const auto with_name = [](std::size_t size) {
    const TempDir folder;
    PackRecord weights = std::move(support::cpu_records()[4]);
    weights.name.assign(size, 'w');
    return pack({std::move(weights)}, folder.file("out.fatctx"));
  };
  constexpr std::size_t kMost = container::kMaxNameSize - std::string_view(".tensors").size();
  EXPECT_TRUE(is_ok(with_name(kMost)));
  EXPECT_TRUE(fails_with(with_name(kMost + 1), ErrorCode::kExists));
}

TEST(Packer, DoubtsAboutARecordAreWarningsOfTheReport) {
  const TempDir folder;
  PackRecord record = support::plain_record(RecordType::kOpaque, "o", support::pattern(10, 1));
  record.warnings = {"the SoC is unknown", "the SDK too"};
  const auto packed = pack({std::move(record)}, folder.file("out.fatctx"));
  ASSERT_TRUE(is_ok(packed));
  EXPECT_EQ(packed.value().warnings,
            (std::vector<std::string>{"record \"o\": the SoC is unknown", "record \"o\": the SDK too"}));
}

TEST(Packer, RefusesWhatOnlyTheWholeSetShowsAndWritesNothing) {
  struct Row {
    const char* name;
    void (*change)(std::vector<PackRecord>&, PackOptions&);
    ErrorCode code;
    std::string_view rule;
  };
  const Row rows[] = {
      {"weights that are not there", [](auto& r, auto&) { r[0].weights = {"wights"}; }, ErrorCode::kBadReference,
       "F27"},
      {"weights that are no weights", [](auto& r, auto&) { r[0].weights = {r[1].name}; }, ErrorCode::kBadReference,
       "F27"},
      {"a tensor outside its blob", [](auto& r, auto&) { r[4].tensors[0].offset_in_blob = 149'999; },
       ErrorCode::kInvalidArgument, "F33"},
      {"an empty binary", [](auto& r, auto&) { r[0].source.bytes.clear(); }, ErrorCode::kInvalidArgument, ""},
      {"an input that is not there", [](auto& r, auto&) { r[0].source.path = "no-such-folder/x"; },
       ErrorCode::kNotFound, ""},
      {"an input that is a folder", [](auto& r, auto&) { r[0].source.path = "/"; }, ErrorCode::kNotRegularFile, ""},
      {"an input that is a device", [](auto& r, auto&) { r[0].source.path = "/dev/zero"; }, ErrorCode::kNotRegularFile,
       ""},
      {"a name that the tensor table needs",
       [](auto& r, auto&) { r.push_back(support::plain_record(RecordType::kOpaque, "weights.tensors", {})); },
       ErrorCode::kExists, ""},
      {"extent_log2 17", [](auto&, auto& o) { o.extent_log2 = 17; }, ErrorCode::kInvalidArgument, "F4"},
      {"granule_log2 13", [](auto&, auto& o) { o.granule_log2 = 13; }, ErrorCode::kInvalidArgument, "F4"},
      {"a description above 1 MiB", [](auto&, auto& o) { o.model_name.assign(1'048'577, 'm'); },
       ErrorCode::kLimitExceeded, "F32"},
      {"a model name that is not UTF-8", [](auto&, auto& o) { o.model_name = "\xff"; }, ErrorCode::kInvalidArgument,
       "F32"},
      {"a graph name that is not UTF-8", [](auto& r, auto&) { r[0].description.graphs[0].name = "\xff"; },
       ErrorCode::kInvalidArgument, "F32"},
      {"a tensor name that is not UTF-8", [](auto& r, auto&) { r[0].description.graphs[0].inputs[0].name = "\xff"; },
       ErrorCode::kInvalidArgument, "F32"},
      {"an option that is not UTF-8",
       [](auto& r, auto&) {
         r[0].description.options = {{"k", "\xff", ""}};
       },
       ErrorCode::kInvalidArgument, "F32"},
  };
  const TempDir folder;
  for (const Row& row : rows) {
    std::vector<PackRecord> records = support::cpu_records();
    PackOptions options;
    row.change(records, options);

    const auto report = pack(std::move(records), folder.file("out.fatctx"), std::move(options));

    EXPECT_TRUE(fails_with(report, row.code, row.rule)) << row.name;
    EXPECT_EQ(folder.names(), std::vector<std::string>{}) << row.name;
  }
}

TEST(Packer, MoreRecordsThanAllowedAreRefused) {
  std::vector<PackRecord> records;
  for (std::size_t i = 0; i < container::kMaxRecords; ++i) {
    records.push_back(support::plain_record(RecordType::kOpaque, "r" + std::to_string(i), {}));
  }
  const TempDir folder;

  EXPECT_TRUE(fails_with(pack(records, folder.file("a.fatctx")), ErrorCode::kLimitExceeded)) << "and the description";
  records.pop_back();
  EXPECT_TRUE(is_ok(pack(records, folder.file("a.fatctx"))));
}

TEST(Packer, MoreInputFilesThanDescriptorsAreFine) {
  for (const std::size_t size : {64U, 200'000U}) {  // collected in units; copied one by one
    const TempDir folder;
    std::vector<PackRecord> records;
    for (std::uint32_t i = 0; i < 100; ++i) {
      PackRecord record = support::plain_record(RecordType::kOpaque, "r" + std::to_string(i), {});
      record.source.path = folder.file("in" + std::to_string(i));
      support::write_file(record.source.path, support::pattern(size, i));  // equal sizes: all are compared
      records.push_back(std::move(record));
    }
    rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = 40;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);

    const auto report = pack(std::move(records), folder.file("out.fatctx"));

    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_TRUE(is_ok(report)) << size;
  }
}

TEST(Packer, ValuesOfPathOptionsAreNotStored) {
  const TempDir folder;
  std::vector<PackRecord> records = support::cpu_records();
  records[0].description.options = {{"htp.backend_path", "libSecret.so", "qnn"},
                                    {"other", "/secret/place", "qnn"},
                                    {"windows", "C:\\secret", "qnn"},
                                    {"harmless", "value/with/slashes", "qnn"}};
  PackOptions options;
  options.options = {{"cache_dir", "secret-cache", ""}};

  const auto report = pack(std::move(records), folder.file("out.fatctx"), std::move(options));

  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().warnings.size(), 4U);
  const Bytes file = support::read_file(folder.file("out.fatctx"));
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  for (const char* secret : {"Secret", "secret", folder.path().c_str()}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << secret;
  }
  EXPECT_NE(text.find("value/with/slashes"), std::string::npos);
}

TEST(Packer, AnInputThatChangesWhileItIsPackedIsRefused) {
  struct Row {
    const char* name;
    void (*change)(const std::string& path);
  };
  const Row rows[] = {
      {"grown", [](const auto& path) { std::ofstream(path, std::ios::app) << "more"; }},
      {"cut", [](const auto& path) { std::filesystem::resize_file(path, 5); }},
      {"rewritten",
       [](const auto& path) { support::write_file(path, support::pattern(support::kSampleWeightsSize, 99)); }},
      {"replaced",
       [](const auto& path) {
         support::write_file(path + ".new", support::pattern(support::kSampleWeightsSize, 99));
         std::filesystem::rename(path + ".new", path);
       }},
      {"removed", [](const auto& path) { std::filesystem::remove(path); }},
  };
  for (const Row& row : rows) {
    const TempDir inputs;
    const TempDir folder;
    std::vector<PackRecord> records = support::cpu_records();
    const std::string path = inputs.file("weights");
    support::write_file(path, records[4].source.bytes);
    records[4].source = {path, {}};
    PackOptions options;
    int calls = 0;
    options.progress = [&](std::uint64_t, std::uint64_t) {
      if (++calls == 1) row.change(path);
    };

    const auto report = pack(std::move(records), folder.file("out.fatctx"), std::move(options));

    ASSERT_FALSE(report.ok()) << row.name;
    EXPECT_TRUE(report.error().code == ErrorCode::kChanged || report.error().code == ErrorCode::kNotFound)
        << row.name << ": " << to_text(report.error());
    EXPECT_NE(report.error().message.find(path), std::string::npos) << report.error().message;
    EXPECT_EQ(folder.names(), std::vector<std::string>{}) << row.name;
  }
}

TEST(Packer, ProgressEndsAtTheTotal) {
  const TempDir folder;
  PackOptions options;
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t of) {
    EXPECT_GE(done, last);
    EXPECT_LE(done, of);
    last = done;
    total = of;
  };

  ASSERT_TRUE(is_ok(pack(support::cpu_records(), folder.file("out.fatctx"), std::move(options))));

  EXPECT_GT(total, support::kSampleWeightsSize);
  EXPECT_EQ(last, total);
}

TEST(Packer, MemoryDoesNotDependOnTheSizeOfTheInput) {
  for (const Sharing sharing : {Sharing::kOff, Sharing::kPages}) {
    PackOptions options;
    options.sharing = sharing;
    const auto packed =
        support::pack_large_input(support::plain_record(RecordType::kSourceModel, "a", {}), std::move(options));

    ASSERT_TRUE(is_ok(packed.report));
    // The input is full of holes, which are equal pages.
    EXPECT_EQ(packed.report.value().file_size > support::kLargeInput, sharing == Sharing::kOff);
    EXPECT_LT(packed.grown_bytes, 40'000'000U);
  }
}

TEST(Packer, AFileSizeLimitLeavesNothingBehind) {
  const TempDir folder;
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = ::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t limit : {rlim_t{1000}, rlim_t{65'536}, rlim_t{300'000}, rlim_t{600'000}}) {
    rlimit small = before;
    small.rlim_cur = limit;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);

    const auto report = pack(support::cpu_records(), folder.file("out.fatctx"));

    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_TRUE(fails_with(report, ErrorCode::kNoSpace)) << limit;
    EXPECT_EQ(folder.names(), std::vector<std::string>{}) << limit;
  }
  ::signal(SIGXFSZ, old_handler);
}

TEST(Packer, AFailureLeavesAnExistingTargetAsItWas) {
  const TempDir folder;
  const std::string path = folder.file("out.fatctx");
  support::write_file(path, support::pattern(1234, 5));
  PackOptions options;
  options.overwrite = true;
  std::vector<PackRecord> records = support::cpu_records();
  records[0].source.path = folder.file("not there");

  EXPECT_TRUE(fails_with(pack(std::move(records), path, options), ErrorCode::kNotFound));

  EXPECT_EQ(support::read_file(path), support::pattern(1234, 5));
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out.fatctx"});
}

TEST(Packer, AnExistingTargetIsReplacedOnlyWhenAsked) {
  const TempDir folder;
  const std::string path = folder.file("out.fatctx");
  ASSERT_TRUE(is_ok(pack(support::mixed_records(), path)));
  const Bytes first = support::read_file(path);

  EXPECT_TRUE(fails_with(pack(support::cpu_records(), path), ErrorCode::kExists));
  EXPECT_EQ(support::read_file(path), first);
  PackOptions options;
  options.overwrite = true;
  EXPECT_TRUE(is_ok(pack(support::cpu_records(), path, options)));
  EXPECT_NE(support::read_file(path), first);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"out.fatctx"});
}

TEST(Packer, NoFileGetsItsNameWithoutTheModeThatItShallHave) {
  const TempDir folder;
  container::PublishAs as;
  as.mode_of = folder.file("not there");
  const auto published = container::publish_records({}, {}, folder.file("out.fatctx"), as);
  EXPECT_TRUE(fails_with(published, ErrorCode::kNotFound));
  EXPECT_TRUE(folder.names().empty());
}

TEST(Packer, ASealedFileIsReadOnlyAndAnotherIsNot) {
  const TempDir folder;
  const mode_t old_mask = ::umask(027);
  PackOptions sealed;
  sealed.seal = true;
  const bool packed = pack(support::mixed_records(), folder.file("sealed"), sealed).ok() &&
                      pack(support::mixed_records(), folder.file("open")).ok();
  ::umask(old_mask);
  ASSERT_TRUE(packed);

  struct stat st = {};
  ASSERT_EQ(::stat(folder.file("sealed").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, mode_t{0440}) << "0444 less the umask";
  ASSERT_EQ(::stat(folder.file("open").c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 07777, mode_t{0640}) << "0644 less the umask";
}

TEST(Packer, APackerMayPublishTwice) {
  const TempDir folder;
  Packer packer{PackOptions{}};
  for (PackRecord& record : support::cpu_records()) ASSERT_TRUE(is_ok(packer.add(std::move(record))));

  ASSERT_TRUE(is_ok(packer.publish(folder.file("a"))));
  ASSERT_TRUE(is_ok(packer.publish(folder.file("b"))));

  EXPECT_EQ(support::read_file(folder.file("a")), support::read_file(folder.file("b")));
}

}  // namespace packer_test
}  // namespace fatctx
