// Joins the parts of a plan, so that `fatctx merge` writes the bytes that one run on one machine would have written.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "fatctx/base/result.h"
#include "fatctx/rewrite.h"
#include "tools/jobs/job_mark.h"

namespace fatctx::tools {

// Completes `options` if a file is a part: new names of wrapper models, sharing and sealing as the plan has them, and
// without the marks. Changes nothing if none is. Returns one of the marks.
// Errors: invalid_argument (parts of several plans, a job twice, jobs without a part unless `allow_missing`), those of
//         opening a container; malformed.
[[nodiscard]] Result<std::optional<JobMark>> join_parts(std::span<const std::string> files, bool allow_missing,
                                                        MergeOptions& options);

}  // namespace fatctx::tools
