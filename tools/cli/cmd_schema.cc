// fatctx schema: lists the JSON Schemas of what fatctx prints, or prints one.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "fatctx/base/nearest.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/cli/schemas.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kMaxDepth = 64;  // deeper than any schema; a test reads them all

// Returns a text of the schema itself, such as its title; empty if it has none.
std::string member_of(const Json& schema, std::string_view key) {
  const Json* const member = schema.find(key);
  return member == nullptr || member->text() == nullptr ? std::string() : *member->text();
}

// Returns the name that documents give: "fatctx.info/1". The schemas state it as "urn:fatctx:info:1".
std::string document_name(const StoredSchema& stored, const Json& schema) {
  const std::string id = member_of(schema, "$id");
  return fmt::format("fatctx.{}/{}", stored.name, id.substr(id.rfind(':') + 1));
}

Result<Json> read_schema(const StoredSchema& stored) {
  JsonFault fault;
  auto schema = read_json(stored.text, kMaxDepth, fault);
  if (schema) return *std::move(schema);
  return Error{ErrorCode::kInternal, fmt::format("schema {} is not JSON", stored.name)};
}

Result<ExitCode> list_schemas() {
  Table table({{"schema"}, {"describes"}});
  for (const StoredSchema& stored : stored_schemas()) {
    FATCTX_ASSIGN(const Json schema, read_schema(stored));
    table.add_row({document_name(stored, schema), member_of(schema, "title")});
  }
  print_result(table.text());
  return ExitCode::kOk;
}

Error unknown_schema(const std::string& typed) {
  std::vector<std::string> names;
  for (const StoredSchema& stored : stored_schemas()) names.emplace_back(stored.name);
  const auto near = nearest(typed, names);
  return {ErrorCode::kInvalidArgument,
          fmt::format("no schema is named {}; {}", typed,
                      near ? fmt::format("did you mean {}?", *near) : "fatctx schema lists them")};
}

// Takes "info" and "fatctx.info/1", which is the text that the JSON itself has.
Result<ExitCode> print_schema(const std::string& typed) {
  const bool document = typed.starts_with("fatctx.") && typed.find('/') != std::string::npos;
  const std::size_t prefix = document ? std::string_view("fatctx.").size() : 0;
  const std::string name = typed.substr(prefix, document ? typed.find('/') - prefix : std::string::npos);
  const auto& all = stored_schemas();
  const auto found = std::find_if(all.begin(), all.end(), [&](const StoredSchema& each) { return each.name == name; });
  if (found == all.end()) return unknown_schema(name);
  FATCTX_ASSIGN(const Json schema, read_schema(*found));
  const std::string known = document_name(*found, schema);
  if (document && typed != known) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("this version of fatctx prints {}, not {}", known, typed)};
  }
  print_result(found->text);
  return ExitCode::kOk;
}

// Names the permitted values for the completions of shells. The command itself refuses others, with the nearest one.
CLI::Validator names_for_completion() {
  std::vector<std::string_view> names;
  for (const StoredSchema& stored : stored_schemas()) names.push_back(stored.name);
  return {[](std::string&) { return std::string(); }, fmt::format("{{{}}}", fmt::join(names, ","))};
}

}  // namespace

void add_schema(CLI::App& app, Outcome& outcome) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = describe(app, "schema",
                               {.purpose = "Print the JSON Schema of a JSON output, or list them",
                                .synopsis = "fatctx schema [NAME]",
                                .examples = {"fatctx schema", "fatctx schema info", "fatctx schema fatctx.info/1"},
                                .more = "docs/cli/help.md, docs/schemas/README.md"});
  command->add_option("NAME", *name, "A schema; without it, all of them are listed")->check(names_for_completion());
  command->callback([name, &outcome] { outcome.finish(name->empty() ? list_schemas() : print_schema(*name)); });
}

}  // namespace fatctx::tools
