// Calls recorded as lines, and replayed. Shows S3.19.
#include "fatctx/trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "fatctx/model.h"
#include "mapping/unique_fd.h"
#include "runtime/large_model.h"
#include "support/descriptors.h"

namespace fatctx {
namespace trace_test {

using Json = nlohmann::ordered_json;

class TraceOfALoad : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::pack_small_model(path_);
    set_trace([this](std::string_view line) { trace_.append(line).append("\n"); });
  }
  void TearDown() override { set_trace({}); }

  void load() const {
    const Model model = Model::open(path_, {.policy = {.strict = true}, .device = testing::cpu("x86-64-v3")}).value();
    const Session session = model.begin_session().value();
    ASSERT_FALSE(Model::choose(*model.container(), {.device = testing::cpu("x86-64-v1")}).ok());
    ASSERT_FALSE(model.container()->acquire(77).ok());
    ASSERT_FALSE(Container::open(path_ + ".missing").ok());
  }
  std::vector<Json> lines() const {
    std::vector<Json> found;
    std::istringstream stream(trace_);
    for (std::string line; std::getline(stream, line);) found.push_back(Json::parse(line));
    return found;
  }

  const testing::Folder folder_;
#ifdef _WIN32
  const std::string path_ = folder_ / "m.fatctx";  // no name has a line feed there
#else
  const std::string path_ = folder_ / "m\n\xc3\xa4.fatctx";
#endif
  std::string trace_;
};

TEST_F(TraceOfALoad, HasALineForEachCallWithWhatItGave) {
  load();

  const auto found = lines();

  std::vector<std::string> calls;
  for (const Json& line : found) calls.push_back(line.value("call", "title"));
  EXPECT_EQ(calls, (std::vector<std::string>{"title", "open", "select", "view", "view", "select", "view", "open"}));
  EXPECT_EQ(found[0].at("schema"), "fatctx.trace/1");
  EXPECT_EQ(found[1].at("path"), path_);
  EXPECT_EQ(found[1].at("options").at("verify"), "record_on_acquire");
  EXPECT_EQ(found[1].at("gave").at("records"), 7);
  EXPECT_EQ(found[2].at("device").at("arch"), "x86-64-v3");
  EXPECT_EQ(found[2].at("policy").at("strict"), true);
  EXPECT_EQ(found[2].at("gave").at("chosen"), Json({"small.x86-64-v3"}));
  EXPECT_EQ(found[3].at("record"), 3);
  EXPECT_EQ(found[3].at("gave").at("size"), testing::kBinarySize);
  EXPECT_EQ(found[4].at("gave").at("name"), "weights");
  EXPECT_EQ(found[5].at("gave").at("chosen"), Json::array());
  EXPECT_EQ(found[6].at("gave").at("error"), "not_found");
  EXPECT_EQ(found[7].at("gave").at("error"), "not_found");
  for (const char c : trace_) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 127)) << "lines are pure ASCII";
}

TEST_F(TraceOfALoad, OfAFileUnderAnotherNameOpensThatFile) {
  ASSERT_TRUE(Model::open(Source(path_).named("the model"), {.device = testing::cpu("x86-64-v3")}).ok());
  set_trace({});

  const auto found = lines();
  EXPECT_EQ(found[1].at("path"), "the model");
  EXPECT_EQ(found[1].at("file"), path_);
  EXPECT_EQ(found[2].at("path"), "the model");
  const auto replay = replay_trace(trace_);
  ASSERT_TRUE(replay.ok()) << replay.error().message;
  EXPECT_EQ(replay.value().calls, 2U);
  EXPECT_TRUE(replay.value().differences.empty());
}

TEST_F(TraceOfALoad, ReplayedGivesTheSame) {
  load();
  set_trace({});

  const auto report = replay_trace(trace_);

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  EXPECT_EQ(report.value().calls, 7U);
  EXPECT_EQ(report.value().skipped, 0U);
  EXPECT_TRUE(report.value().differences.empty());
  EXPECT_EQ(testing::mappings_of(path_), 0) << "what was opened is closed";
}

TEST_F(TraceOfALoad, ReplayedOnAnotherFileTellsWhatDiffers) {
  load();
  set_trace({});
  testing::pack_small_model(path_, false, 2);

  const auto report = replay_trace(trace_);

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  ASSERT_EQ(report.value().differences.size(), 3U) << "the open and both views; the choice is the same";
  EXPECT_EQ(report.value().differences[0].line, 2U);
  EXPECT_EQ(report.value().differences[0].call, "open " + path_);
  EXPECT_EQ(report.value().differences[1].call, "view " + path_ + " record 3");
  EXPECT_NE(report.value().differences[1].gave, report.value().differences[1].gives);
}

TEST_F(TraceOfALoad, ReplayedOnADamagedFileTellsTheError) {
  load();
  set_trace({});
  testing::flip_byte(path_, Container::open(path_).value().find("weights").value().file_offset);

  const auto report = replay_trace(trace_);

  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report.value().differences.size(), 1U);
  EXPECT_EQ(report.value().differences[0].gives, R"({"error":"checksum_mismatch"})");
}

TEST_F(TraceOfALoad, DescriptorsAndBuffersAreWrittenDownAndSkipped) {
  const mapping::UniqueFd descriptor = support::open_descriptor(path_);
  const Container container = Container::open(Source::of_descriptor(descriptor.get())).value();
  ASSERT_TRUE(container.acquire("weights").ok());
  set_trace({});

  const auto report = replay_trace(trace_);

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  EXPECT_EQ(report.value().calls, 0U);
  EXPECT_EQ(report.value().skipped, 2U);
  EXPECT_EQ(lines()[1].at("way"), "descriptor");
}

TEST_F(TraceOfALoad, ASinkMayUseTheLibrary) {
  std::size_t calls = 0;
  set_trace([&](std::string_view) {
    ++calls;
    EXPECT_TRUE(Container::open(path_).ok() || calls == 1);
  });

  ASSERT_TRUE(Container::open(path_).ok());

  EXPECT_EQ(calls, 2U) << "the title and the one call from outside";
}

TEST_F(TraceOfALoad, WhatIsNoTraceIsRefusedByLine) {
  set_trace({});
  const std::string title = "{\"schema\":\"fatctx.trace/1\"}\n";
  struct Case {
    std::string trace;
    const char* says;
  };
  const Case cases[] = {
      {"", "begins with its schema"},
      {"nonsense", "line 1: is not a JSON object"},
      {"{\"call\":\"open\"}", "line 1: \"schema\""},
      {"{\"schema\":\"fatctx.trace/2\"}", "this version reads"},
      {title + "\n[]", "line 3: is not a JSON object"},
      {title + "{\"call\":\"open\"}", "line 2: names no \"path\""},
      {title + "{\"call\":\"open\",\"path\":\"x\"}", "line 2: does not say"},
      {title + "{\"call\":\"close\",\"path\":\"x\",\"gave\":{}}", "\"close\""},
      {title + "{\"call\":\"open\",\"path\":\"x\",\"gave\":{},\"options\":{\"verify\":\"some\"}}", "options/verify"},
      {title + "{\"call\":\"open\",\"path\":\"x\",\"gave\":{},\"options\":{\"verify\":3}}", "options/verify"},
      {title + "{\"call\":\"open\",\"path\":\"x\",\"gave\":{},\"options\":{\"new\":true}}", "keys of this version"},
      {title + "{\"call\":\"open\",\"path\":\"x\",\"gave\":{},\"options\":[]}", "an object"},
      {title + "{\"call\":\"view\",\"path\":\"x\",\"gave\":{},\"record\":-1}", "\"record\""},
      {title + "{\"call\":\"view\",\"path\":\"x\",\"gave\":{},\"record\":4294967296}", "\"record\""},
      {title + std::string(100'000, '['), "line 2"},
  };
  for (const Case& one : cases) {
    const auto report = replay_trace(one.trace);
    ASSERT_FALSE(report.ok()) << one.trace;
    EXPECT_EQ(report.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(report.error().message.find(one.says), std::string::npos) << report.error().message;
  }
}

}  // namespace trace_test
}  // namespace fatctx
