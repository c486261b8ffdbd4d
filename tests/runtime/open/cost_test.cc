// The cost for a server that opens an untrusted file with the defaults: at most a second and 64 MiB for each 10 MB of
// the file.
#include <gtest/gtest.h>

#include <ctime>

#include "fatctx/container.h"
#include "fatctx/diff.h"
#include "fatctx/extract.h"
#include "support/costly_file.h"
#include "support/opened.h"
#include "support/peak_memory.h"
#include "support/result_matchers.h"
#include "support/sanitized.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace cost_test {

using support::is_ok;

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kLargestRecord = std::uint64_t{1} << 47;

[[nodiscard]] ::testing::AssertionResult is_too_costly(const Error& error) {
  const bool says =
      error.code == ErrorCode::kLimitExceeded && error.message.find("max_made_bytes") != std::string::npos;
  if (says) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << to_text(error);
}

// Does what such a server does with every file that it receives.
void serve(const std::string& path) {
  const auto container = Container::open(path);
  ASSERT_TRUE(is_ok(container));
  const auto selection = container.value().select(device_from_text("x86-64-v3").value());
  if (selection.ok()) {
    for (const std::uint32_t id : selection.value().chosen) {
      const auto view = container.value().acquire(id);
      EXPECT_TRUE(view.ok() || !view.error().message.empty());
    }
  }
  const auto report = container.value().verify();
  EXPECT_TRUE(report.ok() || is_too_costly(report.error()));
}

TEST(CostOfAServer, IsAtMostASecondAnd64MebibytesForEach10MegabytesOfAStrangersFile) {
  struct Row {
    const char* name;
    support::Bytes file;
  };
  // Each is shorter than 1 MB.
  const Row rows[] = {
      {"a fill of 2^47 bytes", support::file_of_fills(kLargestRecord, 1, false)},
      {"a thousand of them", support::file_of_fills(kLargestRecord, 1000, false)},
      {"a fill that is just allowed", support::file_of_fills(900 * kMebibyte, 1, true)},
      {"a thousand records of one fill, just allowed", support::file_of_fills(kMebibyte / 2, 1000, true)},
      {"64 large programs of one slice", support::file_of_programs(900'000, 64)},
      {"12 programs that are just allowed", support::file_of_programs(600'000, 12)},
      {"64 tables of one slice", support::file_of_tables(200 * kMebibyte, 64)},
      {"64 tables that are just allowed", support::file_of_tables(3 * kMebibyte, 64)},
  };
  const support::TempDir dir;
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    ASSERT_LT(row.file.size(), kMebibyte);
    const std::string path = dir.file(row.name);
    support::write_file(path, row.file);
    const std::clock_t began = std::clock();
    const support::PeakMemory memory;

    serve(path);

    if (support::kSanitized) continue;  // slower, and with memory of its own
    EXPECT_LT(static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC, 1.0);
    EXPECT_LT(memory.grown_bytes(), 64 * kMebibyte);
  }
}

TEST(CostOfARecord, IsBoundedWhereItIsStreamedExtractedAndComposed) {
  const support::TempDir dir;
  const std::string path = dir.file("costly.fatctx");
  support::write_file(path, support::file_of_fills(kLargestRecord, 1, false));
  const auto opened = Container::open(path, {.max_copied_bytes = UINT64_MAX});
  ASSERT_TRUE(is_ok(opened));
  const std::uint32_t id = support::records_in(opened.value()).back().id;
  const std::string out = dir.file("out");

  const auto streamed = stream_record(opened.value(), id, [](ByteView /*bytes*/) -> Status { return Done{}; });
  const auto extracted = extract_record(opened.value(), id, out, false);
  const auto composed = opened.value().acquire(id);

  ASSERT_FALSE(streamed.ok());
  EXPECT_TRUE(is_too_costly(streamed.error()));
  EXPECT_NE(streamed.error().message.find("record "), std::string::npos) << streamed.error().message;
  ASSERT_FALSE(extracted.ok());
  EXPECT_TRUE(is_too_costly(extracted.error()));
  ASSERT_FALSE(composed.ok());
  EXPECT_TRUE(is_too_costly(composed.error()));
  EXPECT_EQ(dir.names(), std::vector<std::string>{"costly.fatctx"}) << "nothing is left behind";
}

TEST(CostOfARecord, IsWhatTheCallerAllows) {
  const support::TempDir dir;
  const std::string path = dir.file("fill.fatctx");
  support::write_file(path, support::file_of_fills(8 * kMebibyte, 1, true));
  const auto small = Container::open(path, {.max_copied_bytes = UINT64_MAX, .max_made_bytes = 4 * kMebibyte});
  const auto large = Container::open(path, {.max_copied_bytes = UINT64_MAX, .max_made_bytes = 64 * kMebibyte});
  ASSERT_TRUE(is_ok(small));
  ASSERT_TRUE(is_ok(large));
  const std::uint32_t id = support::records_in(small.value()).back().id;

  EXPECT_FALSE(extract_record(small.value(), id, dir.file("a"), false).ok());
  EXPECT_TRUE(is_ok(extract_record(large.value(), id, dir.file("b"), false)));
  EXPECT_FALSE(small.value().acquire(id).ok());
  EXPECT_TRUE(is_ok(large.value().acquire(id)));
  EXPECT_FALSE(small.value().verify().ok());
  EXPECT_TRUE(is_ok(large.value().verify()));
  EXPECT_FALSE(verify_file(path, {}, {.max_made_bytes = 4 * kMebibyte}).ok());
}

TEST(CostOfARecord, IsCountedForWhoAsksForTheCheckOfALiveView) {
  const support::TempDir dir;
  const std::string path = dir.file("fill.fatctx");
  support::write_file(path, support::file_of_fills(8 * kMebibyte, 1, true));
  const auto opened = [&](VerifyPolicy verify, std::uint64_t made) {
    return Container::open(path, {.verify = verify, .max_copied_bytes = UINT64_MAX, .max_made_bytes = made}).value();
  };
  const Container careless = opened(VerifyPolicy::kNone, 64 * kMebibyte);
  const std::uint32_t id = support::records_in(careless).back().id;
  const auto live = careless.acquire(id);
  ASSERT_TRUE(is_ok(live));

  const auto refused = opened(VerifyPolicy::kRecordOnAcquire, 4 * kMebibyte).acquire(id);

  ASSERT_FALSE(refused.ok());
  EXPECT_TRUE(is_too_costly(refused.error()));
  EXPECT_TRUE(is_ok(opened(VerifyPolicy::kRecordOnAcquire, 64 * kMebibyte).acquire(id)));
}

}  // namespace cost_test
}  // namespace fatctx
