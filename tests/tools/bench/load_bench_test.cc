// `fatctx bench load` touches the bytes that a session of the model holds, for any number of units.
#include "tools/bench/load_bench.h"

#include <gtest/gtest.h>

#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::tools {
namespace load_bench_test {

using support::is_ok;

constexpr std::size_t kUnitBytes = 8U << 20U;
constexpr std::size_t kWeightBytes = 4U << 20U;

// Returns two units for one target, and the weights that they share.
std::vector<PackRecord> two_units() {
  std::vector<PackRecord> records;
  std::uint32_t seed = 1;
  for (const char* unit : {"prefill", "decode"}) {
    PackRecord record = support::binary_record(unit, "x86-64-v3", support::pattern(kUnitBytes, seed++));
    record.key.unit = unit;
    record.weights = {"weights"};
    records.push_back(std::move(record));
  }
  records.push_back(support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(kWeightBytes, seed++)));
  records.back().key.group = "model";
  return records;
}

TEST(LoadBench, ReadsTheBinariesOfAllUnitsAndTheirWeightsOnce) {
  const support::TempDir folder;
  const std::string path = folder.file("two_units.fatctx");
  ASSERT_TRUE(is_ok(support::pack(two_units(), path)));
  LoadBenchOptions options;
  options.model.device = Device{};
  options.model.device->arch = "x86-64-v3";
  options.model.open.verify = VerifyPolicy::kNone;  // only the bench touches the bytes
  options.sessions = {1};
  options.repetitions = 1;

  const auto bench = bench_load(path, options);

  ASSERT_TRUE(is_ok(bench));
  constexpr std::size_t kAll = 2 * kUnitBytes + kWeightBytes;
  EXPECT_EQ(bench.value().record, "decode, prefill");
  EXPECT_EQ(bench.value().record_bytes, kAll);
  if (!bench.value().figures.at(0).memory) GTEST_SKIP() << "the system does not say what memory a process has";
  // The system counts in steps of some pages, so half a unit may be missing, but not a whole one.
  constexpr auto kLeast = static_cast<std::int64_t>(kAll - kUnitBytes / 2);
  EXPECT_GE(bench.value().figures.at(0).memory->file_backed_bytes, kLeast) << "mapped, every page of it touched";
  EXPECT_GE(bench.value().figures.at(1).memory->anonymous_bytes, kLeast)
      << "a copy of everything, although the heap has held as much before";
}

}  // namespace load_bench_test
}  // namespace fatctx::tools
