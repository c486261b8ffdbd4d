// A bench's results, as a table for people and as JSON, from the same rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "support/paired_loop.h"

namespace fatctx::bench {

struct Target {
  std::string text;      // "median ratio <= 3"
  bool reached = false;  // judged from the unrounded figures
};

struct Row {
  std::string what;            // the side: "floor: open, fstat, mmap, touch, munmap, close"
  std::string policy;          // the verified part: "none", "record_on_acquire", "nothing" for rivals without checks
  std::string cache = "warm";  // state of the page cache
  std::uint64_t size_bytes = 0;
  std::string unit = "us";
  double minimum = 0;
  double median = 0;
  std::optional<double> ratio_of_minima = {};  // to the row marked as the floor, in the same run
  std::optional<double> median_ratio = {};
  std::optional<Target> target = {};
};

[[nodiscard]] Row timed_row(std::string what, std::string policy, std::uint64_t size_bytes, const Timing& timing);
[[nodiscard]] Target at_most(const std::string& what, double found, double limit);
[[nodiscard]] Target at_least(const std::string& what, double found, double limit);

struct Report {
  std::string question;  // one sentence
  std::string workload;
  std::vector<std::string> notes = {};
  std::vector<Row> rows = {};
};

struct Machine {
  std::string cpu;
  unsigned cores = 0;
  std::string kernel;
  std::string filesystem;  // that stores the files
  std::string build;
};
[[nodiscard]] Machine describe_machine(const std::string& folder);

[[nodiscard]] std::string as_table(const Report& report, const Machine& machine);
// Returns JSON of schema "fatctx.bench/1".
[[nodiscard]] std::string as_json(const Report& report, const Machine& machine);

}  // namespace fatctx::bench
