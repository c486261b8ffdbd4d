// Measures a choice among records of many SoCs, a choice for every known device, its explanation, and the
// detection of this SoC. Only detection reads files.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "fatctx/device.h"
#include "fatctx/select.h"
#include "fatctx/soc_table.h"
#include "support/bench_main.h"
#include "support/or_stop.h"
#include "support/paired_loop.h"

namespace fatctx::bench {
namespace {

// A list of context binaries for the HTP parts of the table, repeated with other SDKs: in key order, as
// `append` leaves them.
class Records {
 public:
  explicit Records(std::size_t count) {
    const SocTable table = SocTable::built_in();
    std::vector<const Soc*> parts;
    for (const Soc& soc : table.socs()) {
      if (soc.runtime == "HTP" && soc.alias_of.empty() && soc.qnn_soc) parts.push_back(&soc);
    }
    texts_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      const Soc& soc = *parts[i % parts.size()];
      const Texts& texts = texts_.emplace_back(Texts{fmt::format("record {}", i), soc.part, soc.arch});
      candidates_.push_back({.record_id = static_cast<std::uint32_t>(i + 1),
                             .name = texts.name,
                             .key = {.type = RecordType::kContextBinary,
                                     .group = "model",
                                     .backend = "htp",
                                     .qnn_soc = *soc.qnn_soc,
                                     .part = texts.part,
                                     .arch = texts.arch,
                                     .vtcm_mb = soc.vtcm_mb.value_or(0),
                                     .sdk = {2, static_cast<std::uint16_t>(40 + i / parts.size()), 0}}});
    }
  }
  [[nodiscard]] const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  struct Texts {
    std::string name, part, arch;
  };
  std::vector<Texts> texts_;
  std::vector<Candidate> candidates_;
};

Report measure(const Options& options, const BenchFolder& files) {
  (void)files;
  Report report;
  report.question = "The record for the chip: choosing, explaining, detecting";
  report.workload =
      "context binaries for the HTP parts of the table of SoCs, one unit each, over and over with newer SDKs";
  report.notes = {fmt::format("A B A B in one process, {} repetitions", options.repetitions),
                  "detection reads what this machine has; on one without a SoC every file is missing"};
  constexpr double kMostOfAChoice = 20;       // us
  constexpr double kMostOfDetection = 1'000;  // us
  constexpr double kMostOfAMatrix = 20'000;   // us
  const Records many(256);
  const Records fifty(50);
  Device device = or_stop(device_from_text("SM8650"));
  device.sdk = Version{2, 50, 0};
  std::vector<Device> devices;
  for (const Soc& soc : SocTable::built_in().socs()) devices.push_back(or_stop(device_from_text(soc.part)));
  devices.resize(150);
  const Selection chosen = or_stop(select(many.candidates(), device));
  if (chosen.chosen.size() != 1 || chosen.tier != 1) stop("not the record of the device");

  const std::vector<Side> sides = {
      {"select(), 256 records", [&] { benchmark::DoNotOptimize(or_stop(select(many.candidates(), device))); }},
      {"select(), 256 records, lower archs allowed",
       [&] { benchmark::DoNotOptimize(or_stop(select(many.candidates(), device, {.allow_lower_arch = true}))); }},
      {"explain_text() of it", [&] { benchmark::DoNotOptimize(explain_text(chosen, many.candidates(), device)); }},
      {"detect_device()", [] { benchmark::DoNotOptimize(detect_device()); }},
      {"select() for 150 devices, 50 records",
       [&] {
         for (const Device& one : devices) benchmark::DoNotOptimize(or_stop(select(fifty.candidates(), one)));
       }},
  };
  const std::vector<Timing> took = alternate(sides, {.repetitions = options.repetitions});
  const std::vector<double> most = {kMostOfAChoice, kMostOfAChoice, 0, kMostOfDetection, kMostOfAMatrix};
  for (std::size_t i = 0; i < sides.size(); ++i) {
    Row row = timed_row(sides[i].name, "nothing", 0, took[i]);
    row.ratio_of_minima.reset();  // they do different things
    row.median_ratio.reset();
    if (most[i] != 0) row.target = at_most("med us", took[i].median_us, most[i]);
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Time to choose a record, to explain it and to detect the SoC", 51,
                                  fatctx::bench::measure);
}
