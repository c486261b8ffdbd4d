// Shared by all bench programs: their options, and the output of their report.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "support/report.h"
#include "support/sample_files.h"

namespace fatctx::bench {

struct Options {
  bool smoke = false;  // tiny sizes, few repetitions: tests only that it runs; its figures mean nothing
  int repetitions = 0;
  bool full = false;                // the sizes of real files
  std::vector<std::string> inputs;  // the user's own files, instead of made ones
};

// A choice of the options that only some benches have.
struct Choices {
  bool full = false;    // --full
  bool inputs = false;  // --inputs FILE...
};

// Parses --smoke, --repetitions, --folder, --json and the choices, runs `bench` with a folder for its files,
// prints the table and writes the JSON. Returns the exit code: 0 also if a target is missed, because a busy
// machine is not an error.
int run_bench(int argc, char** argv, const std::string& description, int usual_repetitions,
              const std::function<Report(const Options&, const BenchFolder&)>& bench, const Choices& choices = {});

}  // namespace fatctx::bench
