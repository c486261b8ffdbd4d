// The whole of ctx-gen: everything is made in a folder of its own beside the outputs, and moved into place when all of
// it is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "fatctx/base/result.h"
#include "fatctx/record.h"
#include "tools/ctx_gen/ctx_gen_engine.h"
#include "tools/ctx_gen/ctx_gen_library.h"
#include "tools/ctx_gen/ctx_gen_plan.h"

namespace fatctx::tools {

struct CtxGenRecord {
  std::string name;
  RecordType type = RecordType::kOpaque;
  std::string target;
  std::uint64_t size_bytes = 0;
};

struct CtxGenResult {
  ProviderLibrary library;
  EngineReport engine;
  std::vector<std::string> files;  // that were written, the container and the binaries first
  std::string container;           // path
  std::uint64_t container_size = 0;
  std::vector<CtxGenRecord> records;
  std::vector<std::string> notes;       // of the work; those of the plan are said before it
  std::vector<std::string> provenance;  // -v: what the target is, and how that is known
};

// Errors: those of find_provider_library, of the engine, of packing; exists (without `force`, a file that the provider
// writes besides); io. But for io while files are moved, nothing has changed then, and then what was there is put back.
[[nodiscard]] Result<CtxGenResult> run_ctx_gen(const CtxGenPlan& plan, const CtxGenFlags& flags, CtxGenEngine engine);

[[nodiscard]] std::string ctx_gen_text(const CtxGenPlan& plan, const CtxGenResult& result);
[[nodiscard]] nlohmann::ordered_json ctx_gen_json(const CtxGenPlan& plan, const CtxGenResult& result);

}  // namespace fatctx::tools
