// Runs ctx-gen: creates everything in a temporary folder beside the outputs, and moves it into place when it
// is complete.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
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

// A file that context models name, and that the container holds.
struct CtxGenBinary {
  std::string file;     // its name, as the models have it
  std::string command;  // writes it beside the models
  bool written = false;
};

struct CtxGenResult {
  ProviderLibrary library;
  EngineReport engine;
  std::vector<std::string> files;  // all written files, the container and the binaries first
  std::string container;           // path
  std::uint64_t container_size = 0;
  std::vector<CtxGenRecord> records;
  std::vector<CtxGenBinary> binaries;
  std::vector<std::string> notes;       // of the work; those of the plan are printed before it
  std::vector<std::string> provenance;  // -v: the target, and how it is known
};

// Runs the plan. On any error but io while files are moved, nothing has changed; on that one, the old files
// are restored.
// Errors: those of find_provider_library, of the engine, of packing; exists (without `force`, a file that the provider
// writes besides); io.
[[nodiscard]] Result<CtxGenResult> run_ctx_gen(const CtxGenPlan& plan, const CtxGenFlags& flags, CtxGenEngine engine);

[[nodiscard]] std::string ctx_gen_text(const CtxGenPlan& plan, const CtxGenResult& result);
[[nodiscard]] Json ctx_gen_json(const CtxGenPlan& plan, const CtxGenResult& result);

}  // namespace fatctx::tools
