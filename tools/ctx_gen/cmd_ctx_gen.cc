// fatctx ctx-gen: compiles several models that share weights into one container, with a context model for
// each.
//
// The work needs ONNX Runtime: its sessions are behind CtxGenEngine, which a build without its headers does not have.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/ctx_gen/ctx_gen_engine.h"
#include "tools/ctx_gen/ctx_gen_plan.h"
#include "tools/ctx_gen/ctx_gen_run.h"

namespace fatctx::tools {

namespace {

CtxGenEngine g_engine = nullptr;

std::string pairs_text(const KeyValues& pairs) {
  std::vector<std::string> words;
  words.reserve(pairs.size());
  for (const auto& [key, value] : pairs) words.push_back(fmt::format("{} = {}", key, value));
  return words.empty() ? std::string("none") : fmt::format("{}", fmt::join(words, ", "));
}

void tell_options(const CtxGenPlan& plan, const CtxGenFlags& flags) {
  Block block;
  block.add("provider", fmt::format("{} ({})", plan.provider.word, plan.provider.name));
  block.add("session entries", pairs_text(plan.entries.for_session));
  block.add("set by ctx-gen",
            "ep.context_enable = 1, ep.context_embed_mode = 0, ep.share_ep_contexts = 1, ep.stop_share_ep_contexts = 1 "
            "for the last model");
  block.add("provider options", pairs_text(plan.options.for_provider));
  for (const CtxGenModel& model : plan.models) {
    block.add("model", fmt::format("{} -> {}, graph \"{}{}\"", model.input, output_path(plan, model.output),
                                   model.prefix, model.graph));
  }
  block.add("container", output_path(plan, plan.container));
  block.add("overwrite", flags.force ? "yes" : "no");
  std::string text = block.text();
  text.pop_back();
  print_note(text);
}

// Prints the five steps of the vendor's page.
void tell_steps(const CtxGenPlan& plan, const CtxGenResult& result) {
  const auto line = [&](std::size_t i) {
    return fmt::format("{} into the context, {:.2f} s", escaped(plan.models[i].input), result.engine.seconds[i]);
  };
  print_note(fmt::format("step 1: create the context with weight sharing: {}", escaped(result.engine.device)));
  print_note(fmt::format("step 2: convert and compile {}", line(0)));
  if (plan.models.size() > 1) print_note(fmt::format("step 3: convert and compile {}", line(1)));
  for (std::size_t i = 2; i < plan.models.size(); ++i) {
    print_note(fmt::format("step 4: repeat for more models: {}", line(i)));
  }
  if (plan.models.size() < 3) print_note("step 4: repeat for more models: none");
  print_note(fmt::format("step 5: write {}", escaped(fmt::format("{}", fmt::join(result.files, ", ")))));
  for (const std::string& fact : result.provenance) {
    std::string text = escaped_lines(fact);
    if (text.ends_with('\n')) text.pop_back();
    print_note(text);
  }
}

Result<ExitCode> run(const CtxGenFlags& flags) {
  FATCTX_ASSIGN(const CtxGenPlan plan, plan_ctx_gen(flags));
  if (g_engine == nullptr) {
    return Error{
        ErrorCode::kBackendLibraryMissing,
        "this build has no ONNX Runtime; run scripts/ort_setup.sh, or name an installation in ONNXRUNTIME_ROOT, "
        "and build again with FATCTX_ONNXRUNTIME=ON"};
  }
  if (flags.verbose) tell_options(plan, flags);
  for (const std::string& note : plan.notes) print_note("note: " + escaped(note));
  FATCTX_ASSIGN(const CtxGenResult result, run_ctx_gen(plan, flags, g_engine));
  for (const std::string& note : result.notes) print_note("note: " + escaped(note));
  if (flags.verbose) tell_steps(plan, result);
  print_result(flags.json ? json_text(ctx_gen_json(plan, result)) : ctx_gen_text(plan, result));
  return ExitCode::kOk;
}

}  // namespace

void set_ctx_gen_engine(CtxGenEngine engine) noexcept { g_engine = engine; }

void add_ctx_gen(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<CtxGenFlags>();
  CLI::App* command =
      describe(app, "ctx-gen",
               {.purpose = "Compile models that share weights into one container and context models",
                .synopsis = "fatctx ctx-gen [options] MODEL1,MODEL2",
                .examples = {R"(fatctx ctx-gen -e reference model1.onnx,model2.onnx)",
                             R"(fatctx ctx-gen -e qnn -i "vtcm_mb|8 htp_arch|73" ./model1.onnx,./model2.onnx)"},
                .more = "docs/cli/compile.md; the program ep_weight_sharing_ctx_gen is the same"});
  command->add_option("MODEL", flags->models, "ONNX models, with commas between them or one by one")->required();
  command->add_option("-e,--ep", flags->provider, "qnn (the default), tensorrt, openvino, vitisai or reference")
      ->type_name("NAME");
  command->add_flag("-v,--verbose", flags->verbose, "Say options, steps, times, and how targets are known");
  command->add_option("-C,--session-entries", flags->session_entries, "Entries of the session: \"KEY|VALUE KEY|VALUE\"")
      ->type_name("PAIRS");
  command
      ->add_option("-i,--provider-options", flags->provider_options, "Options of the provider: \"KEY|VALUE KEY|VALUE\"")
      ->type_name("PAIRS");
  command->add_option("--output-dir", flags->output_dir, "Where all outputs go; else beside the models")
      ->type_name("DIR");
  command->add_option("--container-name", flags->container_name, "Else the first model's name with .fatctx")
      ->type_name("NAME");
  command->add_option("--library", flags->library, "The provider's library, if it is not found by itself")
      ->type_name("PATH");
  command->add_flag("--binaries", flags->binaries, "Also leave the provider's binaries beside the models");
  command->add_flag("--force", flags->force, "Replace existing outputs");
  command->add_flag("--json", flags->json, "Print the summary as JSON (schema fatctx.ctx_gen/1)");
  command->callback([flags, &outcome] { outcome.finish(run(*flags)); });
}

}  // namespace fatctx::tools
