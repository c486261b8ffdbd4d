// fatctx cache: lists and prunes a cache folder of composed views.
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/view_cache.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"

namespace fatctx::tools {

namespace {

struct CacheOptions {
  std::string action;
  std::string folder;
  std::uint64_t limit_bytes = kDefaultCacheLimitBytes;
  bool limit_given = false;
  bool all = false;
  bool json = false;
};

std::string time_text(std::int64_t seconds) {
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::string list_text(const std::vector<ViewCacheFile>& files) {
  using Align = Table::Align;
  Table table({{"file", Align::kLeft},
               {"size", Align::kRight},
               {"of record", Align::kRight},
               {"pages", Align::kRight},
               {"made (UTC)", Align::kLeft},
               {"used (UTC)", Align::kLeft}});
  std::uint64_t total = 0;
  for (const ViewCacheFile& file : files) {
    total += file.size_bytes;
    table.add_row({file.name, short_size_text(file.size_bytes),
                   file.whole ? short_size_text(file.record_bytes) : "damaged",
                   file.whole ? short_size_text(file.page_bytes) : "", time_text(file.made_seconds),
                   time_text(file.used_seconds)});
  }
  return (files.empty() ? "" : table.text() + "\n") +
         fmt::format("{}, {}\n", count_text(files.size(), "file"), size_text(total));
}

Result<ExitCode> run_list(const CacheOptions& options) {
  if (options.limit_given || options.all) {
    return Error{ErrorCode::kInvalidArgument, "--limit and --all go with `fatctx cache gc`"};
  }
  FATCTX_ASSIGN(const std::vector<ViewCacheFile> files, list_view_cache(options.folder));
  print_result(options.json ? to_json(options.folder, files) + "\n" : list_text(files));
  return ExitCode::kOk;
}

Result<ExitCode> run_collect(const CacheOptions& options) {
  FATCTX_ASSIGN(const ViewCacheCollection done,
                collect_view_cache(options.folder, options.all ? 0 : options.limit_bytes));
  if (options.json) {
    print_result(json_text({{"schema", "fatctx.cache_gc/1"},
                            {"folder", options.folder},
                            {"removed_files", done.removed_files},
                            {"removed_bytes", done.removed_bytes},
                            {"removed_temporaries", done.removed_temporaries},
                            {"left_files", done.left_files},
                            {"left_bytes", done.left_bytes}}));
    return ExitCode::kOk;
  }
  Block block;
  block.add("removed", fmt::format("{}, {}", count_text(done.removed_files, "file"), size_text(done.removed_bytes)));
  if (done.removed_temporaries != 0) {
    block.add("left behind", count_text(done.removed_temporaries, "file") + " of processes that died, removed too");
  }
  block.add("left", fmt::format("{}, {}", count_text(done.left_files, "file"), size_text(done.left_bytes)));
  print_result(block.text());
  return ExitCode::kOk;
}

}  // namespace

void add_cache(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App* command = describe(app, "cache",
                               {.purpose = "List or shrink a cache folder of composed views",
                                .synopsis = "fatctx cache ls|gc DIR [options]",
                                .examples = {"fatctx cache ls views", "fatctx cache gc views --limit 1GiB",
                                             "fatctx cache gc views --all --json"},
                                .more = "docs/cli/change.md, docs/sharing.md"});
  command->add_option("ACTION", options->action, "ls, or gc: remove the least recently used")
      ->required()
      ->check(CLI::IsMember({"ls", "gc"}));
  command->add_option("DIR", options->folder, "The cache folder")->required();
  auto* limit =
      command->add_option("--limit", options->limit_bytes, "gc: the most to keep, in bytes, KiB, MiB, GiB; 4GiB");
  limit->transform(CLI::AsSizeValue(false))->transform(size_number())->type_name("SIZE");
  command->add_flag("--all", options->all, "gc: remove every view")->excludes(limit);
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.cache/1, gc: fatctx.cache_gc/1)");
  command->callback([options, limit, &outcome] {
    options->limit_given = limit->count() != 0;
    outcome.finish(options->action == "ls" ? run_list(*options) : run_collect(*options));
  });
}

}  // namespace fatctx::tools
