// Carries out the plan of a fetch with the bytes of a source.
#pragma once

#include <functional>

#include "fatctx/base/result.h"
#include "fatctx/fetch_plan.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {

// Reads what the plan wants until it reaches `stage`; calls `progressed`, if it is given, after each piece. Bytes that
// came damaged are asked for once more.
// Errors: those of FetchPlan::take and of ByteSource::read.
[[nodiscard]] Status run_plan(FetchPlan& plan, ByteSource& source, FetchStage stage,
                              const std::function<void()>& progressed = {});

}  // namespace fatctx::tools
