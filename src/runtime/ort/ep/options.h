// What a session asks of the execution provider: its options and the entries of the session that concern EPContext.
//
// ONNX Runtime's Python falls back to the CPU without a word when the creation of a provider fails. So what is wrong
// with the options is kept, and said when there is a graph to compile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/description.h"
#include "runtime/ort/ep/api.h"

namespace fatctx::ort {

// How the inner session holds its weights.
enum class MemoryMode : std::uint8_t {
  kLeast,      // "least": borrowed from the mapping, nothing is rearranged
  kFullSpeed,  // "full_speed": one rearranged copy of those that a kernel wants so, shared by the sessions of a process
};

// How far a graph is optimised before it is packed.
enum class Optimisation : std::uint8_t { kNone, kBasic, kExtended };

struct ProviderOptions {
  std::string container;  // path; empty: found by the rules of docs/onnxruntime.md
  std::string group;      // empty: the node's, or the only one
  MemoryMode memory = MemoryMode::kLeast;
  int intra_op_num_threads = 0;  // of the inner session; 0: as ONNX Runtime chooses
  OpenOptions open = {};
  Optimisation optimisation = Optimisation::kExtended;
  // Fault injection, for tests of applications: from this run of the session on, every run ends as after a restart of
  // the backend. 0: never.
  std::uint64_t inject_restart_at_run = 0;
  std::vector<DescribedOption> record_options;  // written down in the description of what is compiled
};

struct SessionEntries {
  bool context_enable = false;
  std::string context_file_path;
  bool embed = false;
  std::string node_name_prefix;
  bool share = false;
  bool stop_share = false;
  bool compile_only = false;  // the Compile API set it: nobody will run this session
  bool fail_on_suboptimal = false;
};

struct Options {
  ProviderOptions provider = {};
  SessionEntries session = {};
};

// Errors: invalid_argument (an option that is not known, with the nearest one; a value that is none of the allowed).
[[nodiscard]] Result<Options> read_options(const OrtSessionOptions& options);

}  // namespace fatctx::ort
