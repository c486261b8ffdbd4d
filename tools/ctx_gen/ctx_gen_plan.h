// Turns the command line of ctx-gen into a plan: which model becomes which file, under which names.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/ctx_gen/ctx_gen_options.h"

namespace fatctx::tools {

struct CtxGenFlags {
  std::string provider = "qnn";
  bool verbose = false;
  std::string session_entries;
  std::string provider_options;
  std::vector<std::string> models;  // each may be a comma list
  std::string output_dir;
  std::string container_name;
  std::string library;
  bool binaries = false;  // the provider's binaries stay beside the models, a second copy
  bool force = false;
  bool json = false;
};

struct CtxGenModel {
  std::string input;
  std::string output;  // name of the file: "model1_ctx.onnx"
  std::string graph;   // its name in the model
  std::string prefix;  // of the graph's name in the container
};

struct CtxGenPlan {
  CtxGenProvider provider;
  std::vector<CtxGenModel> models;
  std::string folder;     // of the outputs; empty: the current one
  std::string container;  // name of the file
  CtxGenEntries entries;
  CtxGenProviderOptions options;
  std::vector<std::string> notes;  // everything to print before the work begins
};

// Makes the plan. Reads the models' heads, writes nothing.
// Errors: invalid_argument (no models, two of one name, models of several folders without an output folder, a model
// that is compiled already, names of graphs that would collide in spite of prefixes, those of ctx_gen_options.h),
// exists (an output already exists, without --force), those of read_onnx.
[[nodiscard]] Result<CtxGenPlan> plan_ctx_gen(const CtxGenFlags& flags);

// Returns "model1_ctx.onnx" for "folder.v2/model1.onnx": replaces the part after the last dot of the file's
// name.
[[nodiscard]] std::string context_name_of(const std::string& model);

// Returns the path of an output.
[[nodiscard]] std::string output_path(const CtxGenPlan& plan, const std::string& name);

}  // namespace fatctx::tools
