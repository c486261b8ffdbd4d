#include "tools/ctx_gen/ctx_gen_plan.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/output_place.h"
#include "tools/facts/provider_options.h"
#include "tools/facts/qnn_operators.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

std::string file_stem_of(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return name.substr(0, name.rfind('.'));  // npos: the whole name
}

Result<std::vector<std::string>> models_of(const std::vector<std::string>& words) {
  std::vector<std::string> models;
  for (const std::string& word : words) {
    if (word.empty())
      return invalid_argument("a model is missing; write MODEL1,MODEL2");  // an unset variable causes this
    for (std::size_t from = 0; from <= word.size();) {
      const std::size_t to = std::min(word.find(',', from), word.size());
      if (to == from) {
        return invalid_argument(fmt::format("\"{}\": a model is missing beside a comma; write MODEL1,MODEL2", word));
      }
      models.push_back(word.substr(from, to - from));
      from = to + 1;
    }
  }
  return models;
}

// Returns the folder of all outputs.
Result<std::string> folder_of(const CtxGenFlags& flags, const std::vector<std::string>& models) {
  std::error_code error;
  if (!flags.output_dir.empty()) {
    if (fs::exists(flags.output_dir, error) && !fs::is_directory(flags.output_dir, error)) {
      return invalid_argument(fmt::format("--output-dir {}: already exists and is not a folder", flags.output_dir));
    }
    return flags.output_dir;
  }
  const auto folder = [&](const std::string& model) {
    const fs::path parent = fs::path(model).parent_path();
    return fs::weakly_canonical(parent.empty() ? fs::path(".") : parent, error);
  };
  for (const std::string& model : models) {
    if (folder(model) == folder(models.front())) continue;
    return invalid_argument(
        fmt::format("{} and {} are in different folders, and models find their container in their own folder "
                    "only; say with --output-dir DIR where all outputs go",
                    models.front(), model));
  }
  return fs::path(models.front()).parent_path().string();
}

Result<std::string> container_of(const CtxGenFlags& flags, const std::string& first) {
  if (flags.container_name.empty()) return file_stem_of(first) + ".fatctx";
  const fs::path name(flags.container_name);
  if (name.has_parent_path() || name == "." || name == "..") {
    return invalid_argument(fmt::format(
        "--container-name {}: is a name without a folder; --output-dir says where it goes", flags.container_name));
  }
  return flags.container_name;
}

Status check_names(const CtxGenPlan& plan) {
  std::map<std::string, std::string> whose = {{plan.container, "the container"}};
  for (const CtxGenModel& model : plan.models) {
    const auto [there, fresh] = whose.emplace(model.output, model.input);
    if (fresh) continue;
    return invalid_argument(fmt::format("{} and {} would both be written to {}; give one of them another name",
                                        there->second, model.input, model.output));
  }
  for (const CtxGenModel& model : plan.models) {
    if (same_file(model.input, output_path(plan, plan.container))) {
      return invalid_argument(
          fmt::format("--container-name {}: is a model that is read; call the container otherwise", plan.container));
    }
    for (const CtxGenModel& other : plan.models) {
      if (!same_file(model.input, output_path(plan, other.output))) continue;
      return invalid_argument(
          fmt::format("{} would be written over {}, which is read; say with --output-dir DIR where the "
                      "outputs go",
                      other.output, model.input));
    }
  }
  return Done{};
}

Status check_not_there(const CtxGenPlan& plan) {
  std::vector<std::string> names = {plan.container};
  for (const CtxGenModel& model : plan.models) names.push_back(model.output);
  for (const std::string& name : names) {
    const std::string path = output_path(plan, name);
    std::error_code error;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::exists(status)) continue;
    return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", path)};
  }
  return Done{};
}

// Gives each graph of the container a different name. A provider that derives names from the path needs no
// prefix.
Status settle_prefixes(CtxGenPlan& plan) {
  for (CtxGenModel& model : plan.models) model.prefix = plan.entries.prefix;
  const auto collide = [&] {
    std::set<std::string> names;
    return std::any_of(plan.models.begin(), plan.models.end(),
                       [&](const CtxGenModel& model) { return !names.insert(model.prefix + model.graph).second; });
  };
  if (!collide()) return Done{};
  for (CtxGenModel& model : plan.models) {
    model.prefix = fmt::format("{}{}_", plan.entries.prefix, file_stem_of(model.input));
    plan.notes.push_back(fmt::format("{}: several models have graphs of one name, so its graph is called \"{}{}\"",
                                     model.input, model.prefix, model.graph));
  }
  if (!collide()) return Done{};
  return invalid_argument(
      "the models have graphs of one name, with their file names before them too; give the graphs or the "
      "files other names");
}

}  // namespace

std::string context_name_of(const std::string& model) { return file_stem_of(model) + "_ctx.onnx"; }

std::string output_path(const CtxGenPlan& plan, const std::string& name) {
  return (fs::path(plan.folder) / name).string();
}

Result<CtxGenPlan> plan_ctx_gen(const CtxGenFlags& flags) {
  CtxGenPlan plan;
  FATCTX_ASSIGN(plan.provider, ctx_gen_provider(flags.provider));
  FATCTX_ASSIGN(const std::vector<std::string> models, models_of(flags.models));
  FATCTX_ASSIGN(plan.entries, check_session_entries(flags.session_entries, models.size()));
  FATCTX_ASSIGN(plan.options, check_provider_options(plan.provider, flags.provider_options));
  plan.notes = plan.entries.notes;
  plan.notes.insert(plan.notes.end(), plan.options.notes.begin(), plan.options.notes.end());
  FATCTX_ASSIGN(plan.folder, folder_of(flags, models));
  FATCTX_ASSIGN(plan.container, container_of(flags, models.front()));
  const std::string_view backend = asks_for_cpu_backend(plan.options.stored) ? "cpu" : "htp";
  for (const std::string& path : models) {
    FATCTX_ASSIGN(const OnnxModel model, read_onnx(path));
    if (!model.ep_contexts.empty()) {
      return invalid_argument(
          fmt::format("{}: has EPContext nodes, so it is the result of an earlier compilation; give the "
                      "model that it was made from",
                      path));
    }
    if (plan.provider.is_qnn()) {
      for (const std::string& line : beyond_qnn_operators(model.used, backend)) {
        plan.notes.push_back(fmt::format("{}: {}", path, line));
      }
    }
    plan.models.push_back({.input = path, .output = context_name_of(path), .graph = model.graph.name, .prefix = {}});
  }
  if (flags.binaries && plan.provider.is_reference()) {
    return invalid_argument(
        "--binaries is for providers that write a binary of their own; reference reads the container");
  }
  FATCTX_TRY(check_names(plan));
  if (!flags.force) FATCTX_TRY(check_not_there(plan));
  FATCTX_TRY(settle_prefixes(plan));
  return plan;
}

}  // namespace fatctx::tools
