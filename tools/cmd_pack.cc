// fatctx pack: files and a description of what they are become one container.
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "tools/manifest.h"
#include "tools/manifest_schema.h"
#include "tools/pack_run.h"
#include "tools/print.h"

namespace fatctx::tools {

namespace {

struct PackFlags {
  std::string manifest;
  std::string output;
  std::string name;
  std::vector<std::string> binaries;
  std::vector<std::string> weights;
  std::string tensors_from;
  std::string sharing;
  std::string reference_weight_sharing;
  bool seal = false;
  bool force = false;
  bool json = false;
};

Error invalid(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

// What the first bytes of a file say it is: "irpa", "iree-vmfb", or nothing.
std::string format_of(const std::string& path) {
  std::string head(8, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head.starts_with("IRPA")) return "irpa";
  if (head.ends_with("IREE") || (head.starts_with("PK\x03\x04") && path.ends_with(".vmfb"))) return "iree-vmfb";
  return {};
}

Result<Manifest> manifest_of_flags(const PackFlags& flags) {
  if (flags.name.empty()) return invalid("--name is missing: it names the model and the records that have no name");
  if (flags.binaries.empty() && flags.weights.empty()) {
    return invalid("nothing to pack: give a MANIFEST, or --binary FILE@TARGET and --weights FILE");
  }
  Manifest manifest;
  manifest.name = flags.name;
  std::vector<std::string> weight_names;
  for (std::size_t i = 0; i < flags.weights.size(); ++i) {
    FATCTX_ASSIGN(ManifestRecord record, parse_weights_flag(flags.weights[i], flags.name, i));
    record.record.description.format = format_of(record.record.source.path);
    if (record.record.description.format == "irpa") {
      record.tensors = ManifestTensors{.irpa = true, .shapes_from = flags.tensors_from, .ranges = {}};
    }
    weight_names.push_back(record.record.name);
    manifest.records.push_back(std::move(record));
  }
  for (const std::string& binary : flags.binaries) {
    FATCTX_ASSIGN(ManifestRecord record, parse_binary_flag(binary, flags.name));
    record.record.description.format = format_of(record.record.source.path);
    record.record.weights = weight_names;
    record.graphs_from = flags.tensors_from;
    manifest.records.push_back(std::move(record));
  }
  return manifest;
}

// --sharing, and the vendor's words for it. Nothing: go on with "off".
std::optional<Error> sharing_refusal(const PackFlags& flags) {
  std::string asked = flags.sharing;
  const std::string& vendor = flags.reference_weight_sharing;
  if (!vendor.empty()) {
    const std::string meant = vendor == "off" ? "off" : "pages";
    if (!asked.empty() && asked != meant) {
      return invalid(
          fmt::format("--sharing {} and --reference-weight-sharing {} (which means --sharing {}) contradict "
                      "each other; give one of them",
                      asked, vendor, meant));
    }
    asked = meant;
  }
  if (asked.empty() || asked == "off") return std::nullopt;
  const std::string option = vendor.empty() ? "--sharing " + asked : "--reference-weight-sharing " + vendor;
  return Error{
      ErrorCode::kUnsupported,
      fmt::format("{}: not yet; this version stores equal records once and shares nothing else (--sharing off)",
                  option)};
}

Result<ExitCode> run_pack(const PackFlags& flags) {
  if (auto refusal = sharing_refusal(flags)) {
    print_note("fatctx: " + escaped(to_text(*refusal)));
    return ExitCode::kUsage;
  }
  PackRequest request{.manifest = {}, .models = {}, .output = flags.output, .seal = flags.seal, .force = flags.force};
  if (flags.manifest.empty()) {
    FATCTX_ASSIGN(request.manifest, manifest_of_flags(flags));
  } else {
    const bool mixed =
        !flags.binaries.empty() || !flags.weights.empty() || !flags.tensors_from.empty() || !flags.name.empty();
    if (mixed) return invalid("--name, --binary, --weights and --tensors-from stand for a manifest; give either");
    FATCTX_ASSIGN(request.manifest, read_manifest(flags.manifest));
  }
  FATCTX_ASSIGN(const PackSummary summary, pack_manifest(std::move(request)));
  for (const std::string& note : summary.notes) print_note("note: " + escaped(note));
  print_result(flags.json ? json_text(summary_json(summary)) : summary_text(summary));
  return ExitCode::kOk;
}

}  // namespace

void add_pack(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<PackFlags>();
  CLI::App* command =
      describe(app, "pack",
               {.purpose = "Put context binaries and their weights into one container",
                .synopsis = "fatctx pack MANIFEST -o OUT [options]",
                .examples = {"fatctx pack manifest.json -o model.fatctx",
                             "fatctx pack -o m.fatctx --name m --binary m_v3.vmfb@cpu:x86-64-v3 --weights m.irpa"},
                .more = "docs/manifest.md, docs/cli.md"});
  command->add_option("MANIFEST", flags->manifest, "What to pack, as JSON with comments");
  command->add_option("-o,--output", flags->output, "The container to write")->required()->type_name("OUT");
  command->add_option("--name", flags->name, "Without MANIFEST: name of the model")->type_name("NAME");
  command
      ->add_option("--binary", flags->binaries, "A context binary: FILE@BACKEND:ARCH[+FEATURE...][,unit=...,name=...]")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--weights", flags->weights, "A weight blob: FILE[,name=...]; its tensors, if it is an .irpa")
      ->type_name("SPEC")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--tensors-from", flags->tensors_from, "ONNX model with tensor types, shapes, inputs and outputs")
      ->type_name("MODEL");
  command->add_flag("--seal", flags->seal, "Write a sealed file (read-only, cannot be appended to)");
  command->add_flag("--force", flags->force, "Replace OUT if it is there");
  command->add_option("--sharing", flags->sharing, "How records share bytes: pages, bytes or off (the default)")
      ->check(CLI::IsMember({"pages", "bytes", "off"}))
      ->type_name("HOW");
  command
      ->add_option("--reference-weight-sharing,--reference-weight-sharing-enabled-override",
                   flags->reference_weight_sharing, "The vendor's words for it: on, off or require")
      ->check(CLI::IsMember({"on", "off", "require"}))
      ->type_name("WORD");
  command->add_flag("--json", flags->json, "Print the summary as JSON");
  const auto print_schema = [] {
    print_result(manifest_schema());
    throw CLI::Success();  // before anything that is missing is missed
  };
  command->add_flag_callback("--schema", print_schema, "Print the JSON Schema of a MANIFEST, and do nothing else");
  command->callback([flags, &outcome] { outcome.finish(run_pack(*flags)); });
}

}  // namespace fatctx::tools
