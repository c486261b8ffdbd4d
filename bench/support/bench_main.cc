#include "support/bench_main.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <CLI/CLI.hpp>

#include "support/or_stop.h"

namespace fatctx::bench {

int run_bench(int argc, char** argv, const std::string& description, int usual_repetitions,
              const std::function<Report(const Options&, const BenchFolder&)>& bench, const Choices& choices) {
  constexpr int kSmokeRepetitions = 2;
  Options options;
  std::string folder = std::filesystem::temp_directory_path().string();
  std::string json;
  CLI::App app(description);
  CLI::Option* smoke = app.add_flag("--smoke", options.smoke, "tiny sizes and few repetitions, to see that it runs");
  if (choices.full) {
    app.add_flag("--full", options.full, "files of the size of real ones; takes minutes")->excludes(smoke);
  }
  if (choices.inputs) {
    app.add_option("--inputs", options.inputs, "measure these files and not those that the bench makes")
        ->check(CLI::ExistingFile);
  }
  app.add_option("--repetitions", options.repetitions, "blocks per side, at least 15 for figures that are quoted")
      ->check(CLI::PositiveNumber);
  app.add_option("--folder", folder, "where the files are made and removed again; use the filesystem in question")
      ->check(CLI::ExistingDirectory);
  app.add_option("--json", json, "also write the rows to this file");
  CLI11_PARSE(app, argc, argv);
  if (options.repetitions == 0) options.repetitions = options.smoke ? kSmokeRepetitions : usual_repetitions;

  const Machine machine = describe_machine(folder);
  const BenchFolder files(folder);
  const Report report = bench(options, files);
  const std::string table = as_table(report, machine);
  std::fputs(table.c_str(), stdout);
  if (!json.empty()) {
    std::ofstream out(json, std::ios::binary);
    out << as_json(report, machine);
    if (!out.flush()) stop("cannot write " + json);
  }
  return 0;
}

}  // namespace fatctx::bench
