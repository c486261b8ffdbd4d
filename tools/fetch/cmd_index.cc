// fatctx index: writes the block index of a container, for devices that have any older file.
#include <cstdint>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/block_index.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/threads_flag.h"
#include "tools/fetch/beside_source.h"
#include "tools/fetch/update_text.h"

namespace fatctx::tools {

namespace {

struct IndexFlags {
  std::string file;
  std::string output;
  std::uint32_t threads = 0;
  bool force = false;
  bool json = false;
};

Result<ExitCode> run_index(const IndexFlags& flags) {
  const std::string output = flags.output.empty() ? flags.file + std::string(kBlockIndexSuffix) : flags.output;
  FATCTX_TRY(check_is_no_input(output, {{"container", flags.file}}));
  FATCTX_TRY(check_is_free(output, flags.force));
  ProgressLine line("index");
  const Interrupt interrupt;
  FATCTX_ASSIGN(const BlockIndexReport report, make_block_index(flags.file, output,
                                                                {.overwrite = flags.force,
                                                                 .threads = flags.threads,
                                                                 .progress = line.callback(),
                                                                 .cancel = interrupt.flag()}));
  if (flags.json) {
    print_result(json_text({{"schema", "fatctx.index/1"},
                            {"file", flags.file},
                            {"index", report.path},
                            {"index_bytes", report.index_bytes},
                            {"block_bytes", report.block_bytes},
                            {"uuid", report.uuid},
                            {"generation", report.generation},
                            {"file_size", report.file_size}}));
    return ExitCode::kOk;
  }
  print_result(fmt::format("{}: {}, {} of the container's {}\nblocks of {}, generation {} of {}\n",
                           escaped(report.path), size_text(report.index_bytes),
                           percent_text(report.index_bytes, report.file_size), size_text(report.file_size),
                           size_text(report.block_bytes), report.generation, report.uuid));
  return ExitCode::kOk;
}

}  // namespace

void add_index(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<IndexFlags>();
  CLI::App* command = describe(app, "index",
                               {.purpose = "Index the blocks of a container, so that a fetch can use any old file",
                                .synopsis = "fatctx index FILE [-o INDEX] [options]",
                                .examples = {"fatctx index model.fatctx"},
                                .more = "docs/cli/fetch.md, docs/delivery.md"});
  command->add_option("FILE", flags->file, "The container")->required();
  command->add_option("-o,--output", flags->output, "The index to write; default: FILE.blocks")->type_name("INDEX");
  command->add_flag("--force", flags->force, "Replace INDEX if it exists");
  add_threads(*command, flags->threads, "check the payload");
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.index/1)");
  command->callback([flags, &outcome] { outcome.finish(run_index(*flags)); });
}

}  // namespace fatctx::tools
