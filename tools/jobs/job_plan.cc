#include "tools/jobs/job_plan.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "fatctx/content_hash.h"
#include "tools/cli/print.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSchema = "fatctx.compile_plan/1";
constexpr std::size_t kPiece = std::size_t{1} << 20U;

// Reads a file once. Errors: not_found, not_regular_file, io.
Result<JobInput> read_input(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Error{ErrorCode::kNotFound, fmt::format("{}: not there", path)};
  if (!fs::is_regular_file(path, error)) {
    return Error{ErrorCode::kNotRegularFile,
                 fmt::format("{}: is not a regular file; jobs know their inputs by a digest of each file", path)};
  }
  std::ifstream file(path, std::ios::binary);
  std::string piece(kPiece, '\0');
  Sha256Sum sum;
  JobInput input;
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() != 0) {
    const auto size = static_cast<std::size_t>(file.gcount());
    sum.add(std::as_bytes(std::span(piece).first(size)));
    input.size_bytes += size;
  }
  if (!file.eof()) return Error{ErrorCode::kIo, fmt::format("{}: cannot be read", path)};
  input.path = path;
  input.sha256 = sum.hex();
  return input;
}

Json input_json(const JobInput& input) {
  return {{"path", input.path}, {"size_bytes", input.size_bytes}, {"sha256", input.sha256}};
}

Result<JobInput> input_at(const JsonPlace& place) {
  FATCTX_TRY(place.only_keys({"path", "size_bytes", "sha256"}));
  JobInput input;
  FATCTX_ASSIGN(const JsonPlace path, place.required("path"));
  FATCTX_ASSIGN(input.path, path.text());
  FATCTX_ASSIGN(const JsonPlace size, place.required("size_bytes"));
  FATCTX_ASSIGN(input.size_bytes, size.number(INT64_MAX));
  FATCTX_ASSIGN(const JsonPlace sha256, place.required("sha256"));
  FATCTX_ASSIGN(input.sha256, sha256.text());
  if (!is_sha256_text(input.sha256)) return sha256.wrong("64 lower-case hexadecimal digits");
  return input;
}

Result<CompileJob> job_at(const JsonPlace& place) {
  FATCTX_TRY(place.only_keys({"target", "compiler"}));
  CompileJob job;
  FATCTX_ASSIGN(const JsonPlace target, place.required("target"));
  FATCTX_ASSIGN(job.target, target.text());
  FATCTX_ASSIGN(const JsonPlace compiler, place.required("compiler"));
  FATCTX_ASSIGN(job.compiler, compiler.text());
  return job;
}

}  // namespace

std::string JobPlan::path_of(const std::string& path) const { return (fs::path(folder) / path).string(); }

Result<JobInput> job_input(const std::string& path, const std::string& folder) {
  FATCTX_ASSIGN(JobInput input, read_input(path));
  std::error_code error;
  if (fs::path(path).is_relative()) {
    const fs::path from = fs::proximate(path, folder.empty() ? "." : folder, error);
    if (!error) input.path = from.generic_string();
  }
  return input;
}

std::string job_plan_text(const JobPlan& plan) {
  Json inputs = Json::array();
  for (const JobInput& input : plan.inputs) inputs.push_back(input_json(input));
  Json jobs = Json::array();
  for (const CompileJob& job : plan.jobs) jobs.push_back({{"target", job.target}, {"compiler", job.compiler}});
  const Json json = {{"schema", kSchema},       {"made_by", plan.made_by},     {"model", plan.model},
                     {"options", plan.options}, {"inputs", std::move(inputs)}, {"jobs", std::move(jobs)}};
  return json_text(json);
}

Result<JobPlan> read_job_plan(const std::string& path) {
  FATCTX_ASSIGN(const std::string text, read_text_file(path));
  FATCTX_ASSIGN(const Json json, parse_json(text, path));
  const JsonPlace root(path, json);
  FATCTX_TRY(root.only_keys({"schema", "made_by", "model", "options", "inputs", "jobs"}));
  FATCTX_ASSIGN(const JsonPlace schema, root.required("schema"));
  FATCTX_ASSIGN(const std::string found, schema.text());
  if (found != kSchema) return schema.wrong(fmt::format("\"{}\"; `fatctx compile … --plan FILE` writes it", kSchema));
  JobPlan plan;
  FATCTX_ASSIGN(const JsonPlace made_by, root.required("made_by"));
  FATCTX_ASSIGN(plan.made_by, made_by.text());
  FATCTX_ASSIGN(const JsonPlace model, root.required("model"));
  FATCTX_ASSIGN(plan.model, model.text());
  FATCTX_ASSIGN(const JsonPlace options, root.required("options"));
  if (!options.is_object()) return options.wrong("an object");
  plan.options = options.value();
  FATCTX_ASSIGN(const JsonPlace inputs, root.required("inputs"));
  FATCTX_ASSIGN(const std::vector<JsonPlace> input_places, inputs.elements());
  for (const JsonPlace& place : input_places) {
    FATCTX_ASSIGN(JobInput input, input_at(place));
    plan.inputs.push_back(std::move(input));
  }
  FATCTX_ASSIGN(const JsonPlace jobs, root.required("jobs"));
  FATCTX_ASSIGN(const std::vector<JsonPlace> job_places, jobs.elements());
  if (job_places.empty() || job_places.size() > kMostJobs)
    return jobs.error(fmt::format("allowed: 1 to {} jobs", kMostJobs));
  for (const JsonPlace& place : job_places) {
    FATCTX_ASSIGN(CompileJob job, job_at(place));
    plan.jobs.push_back(std::move(job));
  }
  Sha256Sum sum;
  sum.add(std::as_bytes(std::span(text)));
  plan.sha256 = sum.hex();
  plan.folder = fs::path(path).parent_path().string();
  return plan;
}

Status check_inputs(const JobPlan& plan) {
  for (const JobInput& input : plan.inputs) {
    FATCTX_ASSIGN(const JobInput found, read_input(plan.path_of(input.path)));
    if (found.size_bytes == input.size_bytes && found.sha256 == input.sha256) continue;
    return Error{ErrorCode::kChanged,
                 fmt::format("{}: is not the file that the plan was made for: {} bytes with SHA-256 {}, not {} bytes "
                             "with {}; bring that file, or make the plan again",
                             found.path, found.size_bytes, found.sha256, input.size_bytes, input.sha256)};
  }
  return Done{};
}

std::optional<std::uint64_t> job_number(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  if (text.empty() || problem != std::errc{} || stop != end || number > kMostJobs) return std::nullopt;
  return number;
}

Result<JobName> parse_job_name(const std::string& text) {
  const std::size_t at = text.rfind('#');
  const auto number = at == std::string::npos ? std::nullopt : job_number(std::string_view(text).substr(at + 1));
  if (at == 0 || !number) {
    return invalid_argument(fmt::format("--job {}: write the plan and the number of the job: jobs.json#0", text));
  }
  return JobName{.file = text.substr(0, at), .number = *number};
}

}  // namespace fatctx::tools
