// Measures weights that are stored once: the size of a file of several chips, the time to make it, and the
// cost of using one of its records.
#include <fmt/format.h>

#include "sharing/questions.h"

namespace fatctx::bench {
namespace {

// Measures the user's own files. Binaries of real compilers cannot be part of the project; a user who has
// some, and the vendor's archive of them, can compare.
Report measure_inputs(const Options& options, const BenchFolder& folder) {
  Report report;
  report.question = "Sharing of given files: size, packing";
  const GivenFiles given = given_files(options.inputs);
  report.workload = fmt::format("{} files of {} bytes", given.files.files.size(), given.files.size_bytes());
  report.notes = {"sizes: the whole file with header, tables and alignment; ratios are to all files together"};
  add_given_sizes(report, folder, given);
  add_packing(report, options, folder, given.files);
  return report;
}

Report measure(const Options& options, const BenchFolder& folder) {
  if (!options.inputs.empty()) return measure_inputs(options, folder);
  const std::uint64_t part = options.smoke ? 1'000'000 : options.full ? 100'000'000 : 25'000'000;
  Report report;
  report.question = "Sharing: size, packing, views";
  report.workload = fmt::format(
      "made files of about {} MB: 4 chips x 2 models; 5 chips of a transformer; 4 weight blobs", part / 1'000'000);
  report.notes = {
      fmt::format("A B A B in one process, {} repetitions; ratios are to the first row of the group",
                  options.repetitions),
      "sizes: the whole file with header, tables and alignment; floors by floor.py, from the lists of parts",
      "a part is what the maker of the files laid down as one; in another tiling it is another part",
      "packing on files in the page cache; memory: the peak of anonymous, shared and program pages",
      "views: of chips of the transformer of 100 MB, warm, in one process; memory with every page of the view touched",
  };
  constexpr double kMostOfParts = 1.00;
  constexpr double kMostOfTensors = 1.03;
  {
    const Corpus soc4 = make_soc4(folder, part);
    add_sizes(report, folder, soc4, {.bytes = kMostOfParts});
    add_packing(report, options, folder, soc4);
  }
  add_sizes(report, folder, make_tensors(folder, part), {.tensors = kMostOfTensors});
  Corpus five = make_transformer(folder, part);
  add_sizes(report, folder, without_chip(folder, five, "v69", "transformer, four chips"), {});
  add_sizes(report, folder, five, {});
  add_packing(report, options, folder, five);
  // The limits for a view are defined for a record of this size, because a part of the cost is the same for
  // every record.
  constexpr std::uint64_t kViewedRecord = 100'000'000;
  if (!options.smoke && part != kViewedRecord) five = make_transformer(folder, kViewedRecord);  // replaces the others
  add_views(report, options, folder, five);
  return report;
}

}  // namespace
}  // namespace fatctx::bench

int main(int argc, char** argv) {
  return fatctx::bench::run_bench(argc, argv, "Size, packing and views of what is stored once", 7,
                                  fatctx::bench::measure, {.full = true, .inputs = true});
}
