// `fatctx compile --plan` and `--job`: the targets of a run as jobs that any machine does (tools/jobs).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_driver.h"
#include "tools/compile/compile_plan.h"
#include "tools/jobs/job_plan.h"

namespace fatctx::tools {

using Drivers = std::vector<std::unique_ptr<CompileDriver>>;

// A job that this process does.
struct AskedJob {
  JobPlan plan;
  std::size_t number = 0;
};

// Returns the flags of a run without targets, for `--plan`. Errors: invalid_argument (flags without effect), exists.
[[nodiscard]] Result<CompileFlags> flags_of_plan(const CompileFlags& flags);
// Writes the plan of a run, and prints its jobs. Errors: io, those of job_input(); invalid_argument (too many jobs).
[[nodiscard]] Status write_job_plan(const CompileFlags& flags, const CompilePlan& plan, const CompileInput& input,
                                    const Drivers& drivers);

// Reads the job that --job names, and compares its inputs. Errors: those of read_job_plan(), parse_job_name() and
// check_inputs(); invalid_argument (no such job, flags that the plan has, a plan of another version of fatctx).
[[nodiscard]] Result<AskedJob> asked_job(const CompileFlags& flags);
// Returns the flags of the run that the job is a part of. Those of this machine stay as in `flags`.
// Errors: invalid_argument, with a JSON pointer.
[[nodiscard]] Result<CompileFlags> flags_of_job(const CompileFlags& flags, const AskedJob& job);
// Takes compilers out of the plan that the job does not need, so that a machine without them can do it. Returns the
// number of its target among the others.
[[nodiscard]] std::size_t only_compiler_of(std::size_t job, std::size_t input_count, CompilePlan& plan);
// Returns a compiler of one target: of the one with this number. Errors: invalid_argument, backend_library_missing (the
// plan was made with another compiler, or lists another target).
[[nodiscard]] Result<std::unique_ptr<CompileDriver>> only_target(Drivers drivers, std::size_t target,
                                                                 const CompileJob& job, const std::string& file);

}  // namespace fatctx::tools
