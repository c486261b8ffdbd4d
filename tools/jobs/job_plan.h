// The file of `fatctx compile --plan`: one run of the command as jobs, one for each target, which any machine can do.
// docs/compile_on_many_machines.md has its form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"

namespace fatctx::tools {

inline constexpr std::uint64_t kMostJobs = 4096;

// A file that the jobs read.
struct JobInput {
  std::string path;  // from the folder of the plan, unless it is absolute
  std::uint64_t size_bytes = 0;
  std::string sha256;  // 64 hexadecimal digits
};

struct CompileJob {
  std::string target;    // as the lines of `fatctx compile` name it: "x86-64-v3", "SM8650 1x3x320x320"
  std::string compiler;  // "iree-compile 3.13.0"
};

struct JobPlan {
  std::string made_by;  // "fatctx 0.1.0": another version may write other bytes
  std::string model;    // one of the inputs
  // The options of the run, without "--": a text, a list of texts, or true.
  Json options = Json::object();
  std::vector<JobInput> inputs;
  std::vector<CompileJob> jobs;
  // Filled in by read_job_plan(): digest of the file, and the folder that paths begin at ("" for the current one).
  std::string sha256 = {};
  std::string folder = {};

  // Returns a path of the plan as this process opens it.
  [[nodiscard]] std::string path_of(const std::string& path) const;
};

// Returns the input at `path` for a plan in `folder`. Errors: not_found, not_regular_file, io.
[[nodiscard]] Result<JobInput> job_input(const std::string& path, const std::string& folder);

// Returns the text of the file. The sha256 and the folder are left out.
[[nodiscard]] std::string job_plan_text(const JobPlan& plan);

// Reads the file. Errors: invalid_argument (with a JSON pointer), not_found, not_regular_file, limit_exceeded, io.
[[nodiscard]] Result<JobPlan> read_job_plan(const std::string& path);

// Compares the inputs with their digests. Errors: changed, naming the file; not_found, not_regular_file, io.
[[nodiscard]] Status check_inputs(const JobPlan& plan);

// Returns the number that decimal digits state; nothing for other text, and above kMostJobs.
[[nodiscard]] std::optional<std::uint64_t> job_number(std::string_view text) noexcept;

// A plan and the number of one of its jobs, as --job names them: "jobs.json#3".
struct JobName {
  std::string file;
  std::uint64_t number = 0;
};
// Errors: invalid_argument.
[[nodiscard]] Result<JobName> parse_job_name(const std::string& text);

}  // namespace fatctx::tools
