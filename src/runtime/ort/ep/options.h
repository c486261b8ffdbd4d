// The options of the execution provider, and the session entries about EPContext.
//
// ONNX Runtime's Python silently falls back to the CPU if the creation of a provider fails. Errors in the options are
// therefore kept, and reported once there is a graph to compile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/description.h"
#include "runtime/ort/graph/api.h"
#include "runtime/ort/graph/optimise.h"

namespace fatctx::ort {

// The memory that the inner session uses for its weights.
enum class MemoryMode : std::uint8_t {
  kLeast,      // "least": borrowed from the mapping, no weight is rearranged
  kFullSpeed,  // "full_speed": one rearranged copy of each prepacked weight, shared by the sessions of a process
};

struct ProviderOptions {
  std::string container;  // path; empty: found by the rules of docs/onnxruntime.md
  std::string group;      // empty: that of the node, or the only one
  MemoryMode memory = MemoryMode::kLeast;
  int intra_op_num_threads = 0;  // for the inner session; 0: ONNX Runtime chooses
  OpenOptions open = {};
  Optimisation optimisation = Optimisation::kExtended;
  bool grow_constants = false;  // works out constants also where that makes weights larger
  // Injects a fault, for tests of applications. From this run of the session on, every run fails as after a restart of
  // the backend. 0: never.
  std::uint64_t inject_restart_at_run = 0;
  std::vector<DescribedOption> record_options;  // stored in the description of the compiled record
};

struct SessionEntries {
  bool context_enable = false;
  std::string context_file_path;
  bool embed = false;
  std::string node_name_prefix;
  bool share = false;
  bool stop_share = false;
  bool compile_only = false;  // set by the Compile API: the session will not be run
  // Before 1.27 the Compile API sets nothing, so a session that generates may be either.
  bool may_be_compile_api = false;
  bool fail_on_suboptimal = false;
};

struct Options {
  ProviderOptions provider = {};
  SessionEntries session = {};
};

// Reads all options. Errors: invalid_argument (an unknown option, with the most similar one; a value that is not
// allowed).
[[nodiscard]] Result<Options> read_options(const OrtSessionOptions& options);

}  // namespace fatctx::ort
