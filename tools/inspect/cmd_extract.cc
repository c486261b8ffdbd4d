// fatctx extract: writes one record's bytes to a file, and verifies them on the way out.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/made_flag.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/recording.h"
#include "tools/cli/trust_flags.h"

namespace fatctx::tools {

namespace {

struct ExtractOptions {
  TrustFlags trust;
  std::string path;
  std::uint64_t generation = 0;
  std::string record;
  std::string output;
  std::uint64_t max_made_bytes = 0;
  bool force = false;
};

Status write_to_stdout(const Container& container, std::uint32_t id, const Progress& progress) {
  const auto write = [](ByteView bytes) -> Status {
    print_as_it_is({reinterpret_cast<const char*>(bytes.data()), bytes.size()});  // char may alias anything
    if (!flush_result()) return Error{ErrorCode::kIo, "standard output does not take the record's bytes"};
    return Done{};
  };
  return stream_record(container, id, write, progress);
}

Result<ExitCode> run_extract(const ExtractOptions& options) {
  FATCTX_TRY(check_is_no_input(options.output, {{"container", options.path}}));
  FATCTX_ASSIGN(OpenOptions open, open_options(options.trust, options.generation));
  open.max_made_bytes = options.max_made_bytes;
  FATCTX_ASSIGN(const Container container, Container::open(options.path, open));
  FATCTX_ASSIGN(const RecordInfo record, find_record(container, options.record));
  {
    ProgressLine line("extract");
    if (options.output == "-") {
      FATCTX_TRY(write_to_stdout(container, record.id, line.callback()));
    } else {
      auto written = extract_record(container, record.id, options.output, options.force, line.callback());
      if (!written.ok() && written.error().code == ErrorCode::kExists) {
        return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", options.output)};
      }
      FATCTX_TRY(std::move(written));
    }
  }
  if (options.output != "-") {
    print_note(escaped(fmt::format("{}: {} written, hash {} checked", options.output, size_text(record.size_bytes),
                                   to_hex(record.hash.bytes))));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_extract(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<ExtractOptions>();
  CLI::App* command = describe(app, "extract",
                               {.purpose = "Write one record's bytes to a file, checked",
                                .synopsis = "fatctx extract FILE RECORD -o OUT [options]",
                                .examples = {"fatctx extract model.fatctx weights -o weights.irpa",
                                             "fatctx extract model.fatctx '#2' -o - | sha256sum"},
                                .more = "docs/cli/inspect.md"});
  command->add_option("FILE", options->path, "The container")->required();
  command->add_option("RECORD", options->record, "A record's name, or # and its id")->required();
  command->add_option("-o,--output", options->output, "Where to; - is stdout")->required()->type_name("OUT");
  add_generation(*command, options->generation);
  command->add_flag("--force", options->force, "Replace OUT if it exists");
  add_trust_flags(*command, options->trust);
  add_made_limit(*command, options->max_made_bytes);
  const auto recording = add_recording(*command);
  command->callback([options, recording, &outcome] {
    outcome.finish(recorded(*recording, options->path, [&] { return run_extract(*options); }));
  });
}

}  // namespace fatctx::tools
