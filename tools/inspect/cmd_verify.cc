// fatctx verify: runs every check and prints every finding.
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/made_flag.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/recording.h"
#include "tools/cli/threads_flag.h"
#include "tools/cli/trust_flags.h"
#include "tools/cli/whole_container.h"
#include "tools/inspect/findings.h"
#include "tools/wrap/onnx_fit.h"

namespace fatctx::tools {

namespace {

struct VerifyFlags {
  TrustFlags trust;
  std::string path;
  std::uint64_t generation = 0;
  std::string record;
  bool strict = false;
  std::string range;
  std::string onnx;
  std::uint32_t threads = 0;
  std::uint64_t max_made_bytes = 0;
  bool json = false;
};

// Parses "0x10000:4096": an offset and a size, each hexadecimal or decimal.
Result<ByteRange> parse_range(const std::string& text) {
  const auto number = [](std::string_view digits) -> std::optional<std::uint64_t> {
    const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
    if (hexadecimal) digits.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hexadecimal ? 16 : 10);
    if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  };
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) {
    const auto offset = number(std::string_view(text).substr(0, colon));
    const auto size = number(std::string_view(text).substr(colon + 1));
    if (offset && size) return ByteRange{*offset, *size};
  }
  return Error{
      ErrorCode::kInvalidArgument,
      fmt::format("--range: {} is not a range; write OFFSET:SIZE in bytes, as in 0x10000:4096 or 65536:4096", text)};
}

Result<VerifyReport> check(const VerifyFlags& flags) {
  if (flags.strict && !(flags.record.empty() && flags.range.empty())) {
    return Error{ErrorCode::kInvalidArgument, "--strict looks at the whole file: leave out --record and --range"};
  }
  FATCTX_ASSIGN(OpenOptions open, open_options(flags.trust, flags.generation));
  open.max_made_bytes = flags.max_made_bytes;
  ProgressLine line("verify");
  VerifyOptions options{.strict = flags.strict, .threads = flags.threads, .progress = line.callback()};
  if (!flags.range.empty()) {
    FATCTX_ASSIGN(options.range, parse_range(flags.range));
  }
  if (flags.record.empty()) return verify_file(flags.path, options, open);
  FATCTX_ASSIGN(const Container container, open_whole(flags.path, open));
  FATCTX_ASSIGN(const RecordInfo record, find_record(container, flags.record));
  return container.verify_record(record.id, options);
}

std::string report_json(const VerifyFlags& flags, const VerifyReport& report) {
  Json json = {{"schema", "fatctx.verify/1"}, {"file", flags.path}};
  if (flags.generation != 0) json.add("generation", flags.generation);
  if (!flags.record.empty()) json.add("record", flags.record);
  if (!flags.range.empty()) json.add("range", flags.range);
  json.add("strict", flags.strict);
  json.add("whole", report.findings.empty());
  json.add("checked_bytes", report.checked_bytes);
  json.add("absent_bytes", report.absent_bytes);
  json.add("key_id", text_or_null(report.key_id));
  json.add("signature_verified", report.signature_verified);
  json.add("findings", findings_json(report.findings));
  return json_text(json);
}

std::string report_text(const VerifyFlags& flags, const VerifyReport& report) {
  std::string out;
  for (const VerifyFinding& finding : report.findings) out += bad(escaped(to_text(finding.error))) + "\n";
  std::string subject = flags.path;
  if (flags.generation != 0) subject += fmt::format(": generation {}", flags.generation);
  if (!flags.record.empty()) subject += fmt::format(": record {}", flags.record);
  if (!flags.range.empty()) subject += fmt::format(": range {}", flags.range);
  std::string verdict = report.findings.empty() ? (flags.strict ? "whole and strict" : "whole")
                                                : count_text(report.findings.size(), "finding");
  if (report.absent_bytes != 0) verdict += fmt::format(", {} not present", size_text(report.absent_bytes));
  if (only_absent(report.findings)) verdict += ", all that is present is whole";
  verdict = report.findings.empty() ? good(verdict) : bad(verdict);
  const std::string signer = report.key_id.empty() ? ""
                                                   : ", " + signature_text(report.key_id, report.signature_verified,
                                                                           !flags.trust.keys.empty());
  return out +
         fmt::format("{}: {}, {} checked{}\n", escaped(subject), verdict, size_text(report.checked_bytes), signer);
}

std::string fit_json(const VerifyFlags& flags, const OnnxFit& fit) {
  Json nodes = Json::array();
  for (const FittedNode& node : fit.nodes) {
    nodes.push_back({{"node", node.node},
                     {"source", node.source},
                     {"binary", text_or_null(node.binary)},
                     {"record", text_or_null(node.record)}});
  }
  return json_text({{"schema", "fatctx.verify_onnx/1"},
                    {"file", flags.path},
                    {"onnx", flags.onnx},
                    {"fits", fit.findings.empty()},
                    {"checked_bytes", fit.checked_bytes},
                    {"nodes", std::move(nodes)},
                    {"findings", findings_json(fit.findings)},
                    {"notes", fit.notes}});
}

std::string fit_text(const VerifyFlags& flags, const OnnxFit& fit) {
  std::string out;
  for (const VerifyFinding& finding : fit.findings) out += bad(escaped(to_text(finding.error))) + "\n";
  for (const FittedNode& node : fit.nodes) {
    if (node.record.empty()) continue;
    const std::string binary = node.binary.empty() ? std::string() : fmt::format(", {}", node.binary);
    out +=
        escaped(fmt::format("node \"{}\" of {}{}: record \"{}\"", node.node, node.source, binary, node.record)) + "\n";
  }
  const std::string verdict =
      fit.findings.empty() ? fmt::format("fits {}", flags.onnx) : count_text(fit.findings.size(), "finding");
  // A model of fatctx's own provider has a digest to compare, and no second copy of the bytes.
  const std::string compared =
      fit.checked_bytes == 0 ? std::string() : fmt::format(", {} compared", size_text(fit.checked_bytes));
  const std::string shown = fit.findings.empty() ? good(escaped(verdict)) : bad(escaped(verdict));
  return out + fmt::format("{}: {}{}\n", escaped(flags.path), shown, compared);
}

// Runs the fit check. It is separate from the others: it reads the files that the model names, and compares
// them with the container.
Result<ExitCode> run_fit(const VerifyFlags& flags) {
  if (flags.strict || !flags.record.empty() || !flags.range.empty()) {
    return Error{ErrorCode::kInvalidArgument, "--onnx is a check of its own: leave out --strict, --record and --range"};
  }
  FATCTX_ASSIGN(OpenOptions open, open_options(flags.trust, flags.generation));
  open.max_made_bytes = flags.max_made_bytes;
  open.max_copied_bytes = std::numeric_limits<std::uint64_t>::max();  // for thin DLCs, which are compared and dropped
  FATCTX_ASSIGN(const Container container, open_whole(flags.path, open));
  ProgressLine line("verify");
  FATCTX_ASSIGN(const OnnxFit fit, fit_of_onnx(container, flags.onnx, line.callback()));
  for (const std::string& note : fit.notes) print_note(escaped("note: " + note));
  print_result(flags.json ? fit_json(flags, fit) : fit_text(flags, fit));
  return fit.findings.empty() ? ExitCode::kOk : ExitCode::kFile;
}

Result<ExitCode> run_verify(const VerifyFlags& flags) {
  if (!flags.onnx.empty()) return run_fit(flags);
  FATCTX_ASSIGN(const VerifyReport report, check(flags));
  print_result(flags.json ? report_json(flags, report) : report_text(flags, report));
  return exit_code_of(report.findings);
}

}  // namespace

void add_verify(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command =
      describe(app, "verify",
               {.purpose = "Check every byte of a container, of one record, or of a range",
                .synopsis = "fatctx verify FILE [options]",
                .examples = {"fatctx verify model.fatctx", "fatctx verify model.fatctx --record weights --json",
                             "fatctx verify model.fatctx --range 0x6000:4096",
                             "fatctx verify model.fatctx --onnx model_ctx.onnx"},
                .more = "docs/cli/inspect.md; the rules a finding names are in docs/format.md"});
  command->add_option("FILE", flags->path, "The container")->required();
  command->add_option("--record", flags->record, "Check this record only; a name, or # and an id")->type_name("NAME");
  command->add_flag("--strict", flags->strict, "As for delivery: no unfinished append, no unused bytes");
  command->add_option("--range", flags->range, "Check the leaves under OFFSET:SIZE, bytes of the file or the record")
      ->type_name("RANGE");
  command->add_option("--onnx", flags->onnx, "Check that this model with EPContext nodes fits, and nothing else")
      ->type_name("MODEL");
  add_generation(*command, flags->generation);
  add_trust_flags(*command, flags->trust);
  add_threads(*command, flags->threads, "read and hash");
  add_made_limit(*command, flags->max_made_bytes);
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.verify/1)");
  const auto recording = add_recording(*command);
  command->callback([flags, recording, &outcome] {
    outcome.finish(recorded(*recording, flags->path, [&] { return run_verify(*flags); }));
  });
}

}  // namespace fatctx::tools
