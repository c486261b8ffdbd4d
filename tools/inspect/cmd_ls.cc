// fatctx ls: lists the records of a container, one a line.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/open_options.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/cli/whole_container.h"

namespace fatctx::tools {

namespace {

struct LsOptions {
  std::string path;
  std::uint64_t generation = 0;
  bool details = false;
  bool json = false;
};

// Every command that takes a record takes this word.
std::string word_of(const RecordInfo& record) {
  return record.name.empty() ? fmt::format("#{}", record.id) : std::string(record.name);
}

std::string table_text(const std::vector<RecordInfo>& records) {
  Table rows({{"record"}, {"type"}, {"size", Table::Align::kRight}, {"target"}});
  for (const RecordInfo& record : records) {
    rows.add_row({word_of(record), std::string(record_type_name(record.type)), grouped(record.size_bytes),
                  record.type == RecordType::kContextBinary ? target_text(record.key) : "-"});
  }
  return rows.text();
}

Json records_json(const std::vector<RecordInfo>& records) {
  Json list = Json::array();
  for (const RecordInfo& record : records) {
    list.push_back({{"id", record.id},
                    {"name", text_or_null(std::string(record.name))},
                    {"type", record_type_name(record.type)},
                    {"size_bytes", record.size_bytes},
                    {"target", record.type == RecordType::kContextBinary ? Json(target_text(record.key)) : Json()}});
  }
  return {{"schema", "fatctx.ls/1"}, {"records", list}};
}

Result<ExitCode> run_ls(const LsOptions& options) {
  OpenOptions open;
  open.generation = options.generation;
  FATCTX_ASSIGN(const Container container, open_whole(options.path, open));
  const auto records = all_records(container);
  const std::vector<RecordInfo> listed(records.begin(), records.end());
  if (options.json) {
    print_result(json_text(records_json(listed)));
  } else if (options.details) {
    print_result(table_text(listed));
  } else {
    for (const RecordInfo& record : listed) print_result(escaped(word_of(record)) + '\n');
  }
  return ExitCode::kOk;
}

}  // namespace

void add_ls(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<LsOptions>();
  CLI::App* command = describe(app, "ls",
                               {.purpose = "List the records of a container, one a line",
                                .synopsis = "fatctx ls FILE [options]",
                                .examples = {"fatctx ls model.fatctx", "fatctx ls model.fatctx -l"},
                                .more = "docs/cli/inspect.md; fatctx info prints everything"});
  command->add_option("FILE", options->path, "The container")->required();
  command->add_flag("-l,--long", options->details, "With type, size and target");
  add_generation(*command, options->generation);
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.ls/1)");
  command->callback([options, &outcome] { outcome.finish(run_ls(*options)); });
}

}  // namespace fatctx::tools
