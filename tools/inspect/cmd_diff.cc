// fatctx diff: compares two containers, or a container and a DLC; and models, with each other or with a container.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/diff.h"
#include "fatctx/update.h"
#include "tools/cli/command.h"
#include "tools/cli/made_flag.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/whole_container.h"
#include "tools/inspect/dlc_container.h"
#include "tools/inspect/model_diff.h"

namespace fatctx::tools {

namespace {

struct DiffFlags {
  std::string before;
  std::string after;
  std::uint64_t max_made_bytes = 0;
  bool update = false;
  bool json = false;
};

std::string before_and_after(std::string_view before, std::string_view after) {
  return before == after ? fmt::format("{} in both", before) : fmt::format("{} -> {}", before, after);
}

std::string share_text(std::uint64_t in_both, std::uint64_t all) {
  const double percent = all == 0 ? 100.0 : 100.0 * static_cast<double>(in_both) / static_cast<double>(all);
  return fmt::format("{} of {} ({:.1f} %)", size_text(in_both), size_text(all), percent);
}

std::string counts_text(const DiffReport& report) {
  std::string text = fmt::format("{} the same", report.same_records);
  for (const Change change :
       {Change::kAdded, Change::kRemoved, Change::kChanged, Change::kRetargeted, Change::kRenamed, Change::kRebound}) {
    std::size_t count = 0;
    for (const RecordDifference& difference : report.records) count += difference.change == change ? 1 : 0;
    if (count != 0) text += fmt::format(", {} {}", count, change_name(change));
  }
  return text;
}

std::string names_text(const std::vector<std::string>& names) {
  return names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "));
}

// Returns the remark on a record, beside its name and size.
std::string remark(const RecordDifference& difference) {
  const DiffedRecord& before = difference.before;
  const DiffedRecord& after = difference.after;
  switch (difference.change) {
    case Change::kAdded:
      return after.target;
    case Change::kRemoved:
      return before.target;
    case Change::kRetargeted: {
      const std::string was = before.name == after.name ? "" : fmt::format("{}: ", before.name);
      return fmt::format("was {}{}, is {}", was, before.target.empty() ? "for no target" : before.target,
                         after.target.empty() ? "for no target" : after.target);
    }
    case Change::kRenamed:
      return "was " + before.name;
    case Change::kRebound:
      return fmt::format("referred to {}, refers to {}", names_text(before.weights), names_text(after.weights));
    case Change::kChanged:
      break;
  }
  if (difference.tensors.empty() && difference.same_tensors == 0) return after.target;
  return fmt::format("{} of {} tensors differ", difference.tensors.size(),
                     difference.tensors.size() + difference.same_tensors);
}

std::string sizes_text(std::uint64_t before, std::uint64_t after, Change change) {
  if (change == Change::kAdded || before == after) return short_size_text(after);
  if (change == Change::kRemoved) return short_size_text(before);
  return fmt::format("{} -> {}", short_size_text(before), short_size_text(after));
}

std::string records_text(const DiffReport& report) {
  if (report.records.empty()) return "";
  Table table({{"  change"}, {"name"}, {"type"}, {"size"}, {""}});
  for (const RecordDifference& difference : report.records) {
    const bool removed = difference.change == Change::kRemoved;
    table.add_row(
        {fmt::format("  {}", change_name(difference.change)), removed ? difference.before.name : difference.after.name,
         std::string(record_type_name(difference.type)),
         sizes_text(difference.before.size_bytes, difference.after.size_bytes, difference.change), remark(difference)});
  }
  std::string text = table.text();
  for (const RecordDifference& difference : report.records) {
    if (difference.tensors.empty()) continue;
    text += fmt::format("tensors of {}:\n", escaped(difference.after.name));
    Table tensors({{"  change"}, {"name"}, {"before"}, {"after"}});
    for (const DiffedTensor& tensor : difference.tensors) {
      const bool same_type = tensor.type_before == tensor.type_after;
      tensors.add_row({fmt::format("  {}", change_name(tensor.change)), tensor.name, tensor.type_before,
                       same_type ? "other bytes" : tensor.type_after});
    }
    text += tensors.text();
  }
  return text;
}

std::string description_text(const DiffReport& report) {
  if (report.description.empty()) return "";
  std::string text = "description:\n";
  for (const DescriptionDifference& difference : report.description) {
    const auto shown = [](const std::string& value) { return value.empty() ? "nothing" : '"' + escaped(value) + '"'; };
    text +=
        fmt::format("  {}: {} -> {}\n", escaped(difference.what), shown(difference.before), shown(difference.after));
  }
  return text;
}

std::string report_text(const DiffReport& report) {
  const DiffedContainer& before = report.before;
  const DiffedContainer& after = report.after;
  Block block;
  block.add("uuid", before_and_after(before.uuid, after.uuid));
  block.add("generation", before_and_after(std::to_string(before.generation), std::to_string(after.generation)));
  block.add("sealed", before_and_after(before.sealed ? "yes" : "no", after.sealed ? "yes" : "no"));
  block.add("file", before_and_after(size_text(before.file_size), size_text(after.file_size)));
  block.add("records", counts_text(report));
  std::string text = block.text() + records_text(report) + description_text(report);
  text += "in both, as records of equal content:\n";
  text +=
      fmt::format("  {} of {}\n", share_text(before.record_bytes_in_both, before.record_bytes), escaped(before.path));
  text += fmt::format("  {} of {}\n", share_text(after.record_bytes_in_both, after.record_bytes), escaped(after.path));
  text += "in both, as stored runs of 64 KiB on multiples of 64 KiB (bytes that moved by less are not seen):\n";
  text +=
      fmt::format("  {} of {}\n", share_text(before.stored_bytes_in_both, before.stored_bytes), escaped(before.path));
  text += fmt::format("  {} of {}\n", share_text(after.stored_bytes_in_both, after.stored_bytes), escaped(after.path));
  return text + fmt::format("{}; {} read\n", report.same() ? "records and descriptions are the same" : "they differ",
                            size_text(report.read_bytes));
}

// Returns the name of the model in a container; empty for other files, whose error comes when they are opened.
Result<std::string> name_of_model(const std::string& path, const OpenOptions& options) {
  auto opened = open_whole(path, options);
  if (!opened.ok()) return std::string();
  FATCTX_ASSIGN(const ContainerDescription description, opened.value().describe());
  return description.name;
}

// Returns a line with the size of an update from one container to the other.
Result<std::string> update_text(const DiffFlags& flags) {
  ProgressLine line("measure the update");
  FATCTX_ASSIGN(const UpdateReport update,
                measure_update(std::vector{flags.before}, flags.after, {.progress = line.callback()}));
  return fmt::format("an update from the first to the second takes {} (`fatctx delta`)\n",
                     size_text(update.update_bytes));
}

Result<ExitCode> run_diff(const DiffFlags& flags) {
  const OpenOptions options{.max_made_bytes = flags.max_made_bytes};
  if (is_model_file(flags.before) || is_model_file(flags.after)) {
    if (flags.update)
      return Error{ErrorCode::kInvalidArgument, "--update is about containers: leave it out for models"};
    FATCTX_ASSIGN(const ModelDiff found, diff_models(flags.before, flags.after, options));
    print_result(flags.json ? json_text(model_diff_json(found)) : model_diff_text(found, result_columns()));
    return found.differences.empty() ? ExitCode::kOk : ExitCode::kCheckFailed;
  }
  // A DLC has no name of its own, so it gets that of the container beside it.
  FATCTX_ASSIGN(std::string name, name_of_model(flags.before, options));
  if (name.empty()) {
    FATCTX_ASSIGN(name, name_of_model(flags.after, options));
  }
  FATCTX_ASSIGN(const OpenedOrPacked before, open_or_pack(flags.before, options, name));
  FATCTX_ASSIGN(const OpenedOrPacked after, open_or_pack(flags.after, options, name));
  DiffReport report;
  {
    ProgressLine line("compare");
    FATCTX_ASSIGN(report, diff(before.container, after.container, line.callback()));
  }
  report.before.path = flags.before;
  report.after.path = flags.after;
  std::string text = flags.json ? to_json(report) + "\n" : report_text(report);
  if (flags.update && !report.same()) {
    FATCTX_ASSIGN(const std::string line_of_update, update_text(flags));
    text += line_of_update;
  }
  print_result(text);
  return report.same() ? ExitCode::kOk : ExitCode::kCheckFailed;
}

}  // namespace

void add_diff(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<DiffFlags>();
  CLI::App* command =
      describe(app, "diff",
               {.purpose = "Compare two containers, DLCs or models",
                .synopsis = "fatctx diff BEFORE AFTER [options]",
                .examples = {"fatctx diff old.fatctx new.fatctx", "fatctx diff old.fatctx new.fatctx --json"},
                .more = "docs/cli/inspect.md"});
  command->add_option("BEFORE", flags->before, "A container, a DLC, an ONNX model or the JSON of a converter")
      ->required();
  command->add_option("AFTER", flags->after, "Another one")->required();
  add_made_limit(*command, flags->max_made_bytes);
  command->add_flag("--update", flags->update, "Also say how large an update is, as `fatctx delta --dry-run`");
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.diff/1; of models fatctx.model_diff/1)")
      ->excludes("--update");
  command->callback([flags, &outcome] { outcome.finish(run_diff(*flags)); });
}

}  // namespace fatctx::tools
