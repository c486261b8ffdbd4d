// fatctx pack: packs files and their description into one container.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/cli/threads_flag.h"
#include "tools/pack/manifest.h"
#include "tools/pack/manifest_schema.h"
#include "tools/pack/pack_run.h"
#include "tools/pack/record_flags.h"

namespace fatctx::tools {

namespace {

struct PackFlags {
  RecordFlags records;
  std::string output;
  std::string sharing;
  std::string reference_weight_sharing;
  std::uint32_t max_pieces = 0;  // 0: not passed
  std::uint32_t granule = 0;
  std::uint32_t threads = 0;
  bool seal = false;
  bool force = false;
  bool json = false;
  bool one_per_soc = false;
  bool strict_sharing = false;
  bool sha256 = false;
};

// Reads --sharing, the vendor's words for it, and the options that depend on it.
Result<SharingWish> sharing_of_flags(const PackFlags& flags) {
  std::string asked = flags.sharing;
  const std::string& vendor = flags.reference_weight_sharing;
  if (!vendor.empty()) {
    const std::string meant = vendor == "off" ? "off" : "pages";
    if (!asked.empty() && asked != meant) {
      return invalid_argument(
          fmt::format("--sharing {} and --reference-weight-sharing {} (which means --sharing {}) contradict "
                      "each other; give one of them",
                      asked, vendor, meant));
    }
    asked = meant;
  }
  SharingWish wish;
  wish.sharing = sharing_from_name(asked);
  if (flags.max_pieces != 0) wish.max_pieces = flags.max_pieces;
  if (flags.granule != 0) {
    wish.granule_log2 = flags.granule == 4    ? std::uint8_t{12}
                        : flags.granule == 16 ? std::uint8_t{14}
                                              : std::uint8_t{16};
  }
  return wish;
}

Result<ExitCode> run_pack(const PackFlags& flags) {
  auto wish = sharing_of_flags(flags);
  if (!wish.ok()) {
    print_note("fatctx: " + escaped(to_text(wish.error())));
    return ExitCode::kUsage;
  }
  PackRequest request{.manifest = {},
                      .models = {},
                      .output = flags.output,
                      .seal = flags.seal,
                      .force = flags.force,
                      .sharing = wish.value(),
                      .threads = flags.threads,
                      .explain_sharing = flags.reference_weight_sharing == "require",
                      .one_per_soc = flags.one_per_soc,
                      .strict_sharing = flags.strict_sharing,
                      .sha256 = flags.sha256};
  FATCTX_ASSIGN(request.manifest, manifest_of(flags.records));
  FATCTX_ASSIGN(const PackSummary summary, pack_manifest(std::move(request)));
  for (const std::string& note : summary.notes) print_note("note: " + escaped(note));
  print_result(flags.json ? json_text(summary_json(summary)) : summary_text(summary));
  if (flags.reference_weight_sharing != "require") return ExitCode::kOk;
  const std::vector<std::string> lacking = what_was_not_shared(summary);
  for (const std::string& line : lacking) print_note("fatctx: not shared: " + escaped(line));
  return lacking.empty() ? ExitCode::kOk : ExitCode::kCheckFailed;
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
                .more = "docs/manifest.md, docs/cli/pack.md"});
  add_manifest_argument(*command, flags->records);
  command->add_option("-o,--output", flags->output, "The container to write")->required()->type_name("OUT");
  add_record_flags(*command, flags->records);
  command->add_flag("--seal", flags->seal, "Write a sealed file (read-only, cannot be appended to)");
  command->add_flag("--force", flags->force, "Replace OUT if it exists");
  command->add_flag("--sha256", flags->sha256, "Store SHA-256 beside XXH3, of each record and of each 64 KiB");
  command->add_option("--sharing", flags->sharing, "How records share bytes: pages (the default), bytes or off")
      ->check(CLI::IsMember({"pages", "bytes", "off"}))
      ->type_name("HOW");
  command
      ->add_option("--reference-weight-sharing,--reference-weight-sharing-enabled-override",
                   flags->reference_weight_sharing, "The vendor's words for it: on, off or require")
      ->check(CLI::IsMember({"on", "off", "require"}))
      ->type_name("WORD");
  command->add_option("--max-pieces", flags->max_pieces, "Sharing by pages: most pieces of one record (4096)")
      ->check(whole_number(1, 65536))
      ->type_name("N");
  command->add_option("--granule", flags->granule, "Pages that are shared: 4, 16 or 64 KiB, no less than a host's")
      ->check(CLI::IsMember({4, 16, 64}))
      ->check(whole_number())
      ->type_name("KIB");
  add_adding_rules(*command, flags->one_per_soc, flags->strict_sharing);
  add_threads(*command, flags->threads, "look for shared bytes");
  command->add_flag("--json", flags->json, "Print the summary as JSON");
  const auto print_schema = [] {
    print_result(manifest_schema());
    throw CLI::Success();  // before a missing option is reported
  };
  command->add_flag_callback("--schema", print_schema, "Print the JSON Schema of a MANIFEST, and do nothing else");
  command->callback([flags, &outcome] { outcome.finish(run_pack(*flags)); });
}

}  // namespace fatctx::tools
