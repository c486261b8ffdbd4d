// What every bench program shares: its options, and where its report goes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "support/report.h"
#include "support/sample_files.h"

namespace fatctx::bench {

struct Options {
  bool smoke = false;  // tiny sizes, few repetitions: does it run? Its figures mean nothing.
  bool full = false;   // the sizes of real files; only where the bench has them
  int repetitions = 0;
};

enum class Sizes : std::uint8_t { kOne, kUsualAndFull };  // of the inputs; with the second, there is --full

// Parses --smoke, --full, --repetitions, --folder and --json, runs `bench` with a folder for its files, prints the
// table and writes the JSON. Returns the exit code: 0 also when a target is missed, because a busy machine is no error.
int run_bench(int argc, char** argv, const std::string& description, int usual_repetitions,
              const std::function<Report(const Options&, const BenchFolder&)>& bench, Sizes sizes = Sizes::kOne);

}  // namespace fatctx::bench
