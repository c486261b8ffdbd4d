#include "tools/compile/compile_jobs.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/command.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/compile/compile_cache.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

// The options that decide about the bytes of the results. Options of a machine, such as --cache, are not among them.
struct TextOption {
  const char* key;
  std::string CompileFlags::*value;
  bool is_file = false;
};
constexpr TextOption kTexts[] = {{"name", &CompileFlags::name},
                                 {"targets", &CompileFlags::targets_file, true},
                                 {"config-file", &CompileFlags::config_file, true},
                                 {"htp-socs", &CompileFlags::htp_socs},
                                 {"soc-table", &CompileFlags::soc_table, true},
                                 {"reference-weight-sharing-enabled-override", &CompileFlags::sharing_override},
                                 {"sharing", &CompileFlags::sharing},
                                 {"common-arch", &CompileFlags::common_arch},
                                 {"command", &CompileFlags::command},
                                 {"format", &CompileFlags::format}};
struct ListOption {
  const char* key;
  std::vector<std::string> CompileFlags::*value;
};
constexpr ListOption kLists[] = {{"target", &CompileFlags::target_words}, {"shape", &CompileFlags::shapes}};
struct Switch {
  const char* key;
  bool CompileFlags::*value;
};
constexpr Switch kSwitches[] = {{"allow-cpu", &CompileFlags::allow_cpu},
                                {"check", &CompileFlags::check},
                                {"no-check", &CompileFlags::no_check},
                                {"keep-source", &CompileFlags::keep_source},
                                {"seal", &CompileFlags::seal}};
constexpr const char* kVtcm = "vtcm-mb";
constexpr std::uint64_t kMostVtcmMb = UINT32_MAX;

// Returns the options that were given.
Json options_of(const CompileFlags& flags) {
  Json options = Json::object();
  for (const TextOption& one : kTexts) {
    if (!(flags.*one.value).empty()) options.add(one.key, flags.*one.value);
  }
  for (const ListOption& one : kLists) {
    if (!(flags.*one.value).empty()) options.add(one.key, flags.*one.value);
  }
  if (!flags.vtcm_mb.empty()) options.add(kVtcm, flags.vtcm_mb);
  for (const Switch& one : kSwitches) {
    if (flags.*one.value) options.add(one.key, true);
  }
  return options;
}

Status put_option(const std::string& key, const JsonPlace& place, const JobPlan& plan, CompileFlags& flags) {
  for (const TextOption& one : kTexts) {
    if (key != one.key) continue;
    FATCTX_ASSIGN(const std::string text, place.text());
    flags.*one.value = one.is_file ? plan.path_of(text) : text;
    return Done{};
  }
  for (const ListOption& one : kLists) {
    if (key == one.key) return store(place.texts(), flags.*one.value);
  }
  for (const Switch& one : kSwitches) {
    if (key == one.key) return store(place.boolean(), flags.*one.value);
  }
  if (key == kVtcm) {
    FATCTX_ASSIGN(const std::vector<JsonPlace> elements, place.elements());
    for (const JsonPlace& element : elements) {
      FATCTX_ASSIGN(const std::uint64_t number, element.number(kMostVtcmMb));
      flags.vtcm_mb.push_back(static_cast<std::uint32_t>(number));
    }
    return Done{};
  }
  return place.error("this version of fatctx knows no such option; make the plan with this version");
}

// One target of a compiler.
class OneTarget final : public CompileDriver {
 public:
  OneTarget(std::unique_ptr<CompileDriver> driver, std::size_t target) : driver_(std::move(driver)), target_(target) {}

  [[nodiscard]] std::string name() const override { return driver_->name(); }
  [[nodiscard]] std::size_t target_count() const noexcept override { return 1; }
  [[nodiscard]] std::string label(std::size_t) const override { return driver_->label(target_); }
  [[nodiscard]] std::string unit(std::size_t) const override { return driver_->unit(target_); }
  [[nodiscard]] bool explains_its_log(std::size_t) const override { return driver_->explains_its_log(target_); }
  [[nodiscard]] Status begin(std::string& log) override { return driver_->begin(log); }
  [[nodiscard]] Result<CompiledTarget> compile(std::size_t, std::string& log) const override {
    return driver_->compile(target_, log);
  }
  [[nodiscard]] Result<std::vector<ManifestRecord>> shared_records() const override {
    return driver_->shared_records();
  }

 private:
  std::unique_ptr<CompileDriver> driver_;
  std::size_t target_;
};

// Writes a text file, whole or not at all.
Status write_whole(const std::string& path, const std::string& text) {
  const fs::path folder = fs::path(path).parent_path();
  FATCTX_ASSIGN(const WorkFolder work, WorkFolder::create_in(folder.empty() ? "." : folder.string()));
  FATCTX_TRY(write_text_file(work.file("plan"), text));
  std::error_code error;
  fs::rename(work.file("plan"), path, error);
  if (!error) return Done{};
  return Error{ErrorCode::kIo, fmt::format("{}: cannot be written: {}", path, error.message())};
}

// The flags of the vendor's generator describe one run on one machine.
Status refuse_vendor_flags(const VendorLine& line, std::string_view option) {
  if (line.backend.empty() && line.model.empty() && line.dlc_path.empty() && line.output_dlc.empty() &&
      line.output_dir.empty()) {
    return Done{};
  }
  return invalid_argument(fmt::format(
      "{}: the flags of the vendor's generator are for one run; write MODEL.onnx and --htp_socs into the plan",
      option));
}

std::string title_of(const CompileDriver& driver, std::size_t target) {
  return target_title(driver.label(target), driver.unit(target));
}

}  // namespace

Result<CompileFlags> flags_of_plan(const CompileFlags& flags) {
  if (!flags.output.empty()) {
    return invalid_argument("-o: --plan compiles nothing; each job has a -o of its own, and so has merge");
  }
  FATCTX_TRY(refuse_vendor_flags(flags.vendor, "--plan"));
  FATCTX_TRY(check_is_no_input(flags.plan_file, {{"model", flags.model},
                                                 {"list of targets", flags.targets_file},
                                                 {"configuration", flags.config_file},
                                                 {"table of SoCs", flags.soc_table}}));
  std::error_code error;
  if (!flags.force && fs::exists(fs::symlink_status(flags.plan_file, error))) {
    return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", flags.plan_file)};
  }
  CompileFlags all = flags;
  all.output = "parts.fatctx";  // nothing is written there
  const char* const table = std::getenv("FATCTX_SOC_TABLE");
  if (all.soc_table.empty() && table != nullptr) all.soc_table = table;
  return all;
}

Status write_job_plan(const CompileFlags& flags, const CompilePlan& plan, const CompileInput& input,
                      const Drivers& drivers) {
  const std::string folder = fs::path(flags.plan_file).parent_path().string();
  JobPlan jobs;
  jobs.made_by = version_line();
  const auto add = [&](const std::string& path) -> Result<std::string> {
    FATCTX_ASSIGN(JobInput file, job_input(path, folder));
    const std::string name = file.path;
    const bool known =
        std::any_of(jobs.inputs.begin(), jobs.inputs.end(), [&](const JobInput& other) { return other.path == name; });
    if (!known) jobs.inputs.push_back(std::move(file));
    return name;
  };
  FATCTX_ASSIGN(jobs.model, add(input.path));
  if (input.onnx != nullptr) {
    for (const std::string& path : input.files()) FATCTX_TRY(add(path));
  }
  CompileFlags stored = flags;
  for (const TextOption& one : kTexts) {
    if (!one.is_file || (stored.*one.value).empty()) continue;
    FATCTX_ASSIGN(stored.*one.value, add(stored.*one.value));
  }
  for (const HtpTarget& target : plan.htp.targets) {
    if (!target.file.empty()) FATCTX_TRY(add(target.file));
  }
  jobs.options = options_of(stored);
  for (const auto& driver : drivers) {
    for (std::size_t i = 0; i < driver->target_count(); ++i)
      jobs.jobs.push_back({title_of(*driver, i), driver->name()});
  }
  if (jobs.jobs.size() > kMostJobs) {
    return invalid_argument(fmt::format("--plan: {} targets are more than {} jobs", jobs.jobs.size(), kMostJobs));
  }
  FATCTX_TRY(write_whole(flags.plan_file, job_plan_text(jobs)));
  if (flags.json) {
    print_result(job_plan_text(jobs));
    return Done{};
  }
  std::string text = fmt::format("{}: {}, {}\n", escaped(flags.plan_file), count_text(jobs.jobs.size(), "job"),
                                 count_text(jobs.inputs.size(), "input"));
  for (std::size_t i = 0; i < jobs.jobs.size(); ++i) {
    text += fmt::format("  fatctx compile --job {}#{} -o part-{}.fatctx  # {}\n", escaped(flags.plan_file), i, i,
                        escaped(jobs.jobs[i].target));
  }
  if (jobs.jobs.size() > 1) text += fmt::format("  fatctx merge part-*.fatctx -o {}.fatctx\n", escaped(input.name));
  print_result(text);
  return Done{};
}

Result<AskedJob> asked_job(const CompileFlags& flags) {
  FATCTX_TRY(refuse_vendor_flags(flags.vendor, "--job"));
  const Json given = options_of(flags);
  if (!flags.model.empty() || !given.members()->empty()) {
    return invalid_argument(fmt::format("{}: belongs to the plan, which --job reads; leave it out",
                                        flags.model.empty() ? "--" + given.members()->front().key : flags.model));
  }
  FATCTX_ASSIGN(const JobName name, parse_job_name(flags.job));
  AskedJob job;
  FATCTX_ASSIGN(job.plan, read_job_plan(name.file));
  if (name.number >= job.plan.jobs.size()) {
    return invalid_argument(
        fmt::format("--job {}: the plan has the jobs 0 to {}", flags.job, job.plan.jobs.size() - 1));
  }
  job.number = static_cast<std::size_t>(name.number);
  if (job.plan.made_by != version_line()) {
    return invalid_argument(fmt::format("{}: was made by {}, and this is {}: equal bytes need one version everywhere",
                                        name.file, job.plan.made_by, version_line()));
  }
  FATCTX_TRY(check_is_no_input(flags.output, {{"plan", name.file}}));
  for (const JobInput& input : job.plan.inputs) {
    FATCTX_TRY(check_is_no_input(flags.output, {{"input", job.plan.path_of(input.path)}}));
  }
  FATCTX_TRY(check_inputs(job.plan));
  return job;
}

Result<CompileFlags> flags_of_job(const CompileFlags& flags, const AskedJob& job) {
  CompileFlags run = flags;
  run.model = job.plan.path_of(job.plan.model);
  const std::string file = flags.job.substr(0, flags.job.rfind('#'));
  const Json whole = {{"options", job.plan.options}};
  FATCTX_ASSIGN(const auto options, JsonPlace(file, whole).at("options").members());
  for (const auto& [key, place] : options) FATCTX_TRY(put_option(key, place, job.plan, run));
  return run;
}

std::size_t only_compiler_of(std::size_t job, std::size_t input_count, CompilePlan& plan) {
  if (!plan.by_iree || !plan.by_qnn) return job;
  const std::size_t cpus = plan.iree.targets.size() * input_count;
  if (job < cpus) {
    plan.by_qnn = false;
    return job;
  }
  plan.by_iree = false;
  return job - cpus;
}

Result<std::unique_ptr<CompileDriver>> only_target(Drivers drivers, std::size_t target, const CompileJob& job,
                                                   const std::string& file) {
  std::size_t at = 0;
  while (at < drivers.size() && target >= drivers[at]->target_count()) target -= drivers[at++]->target_count();
  if (at == drivers.size()) return invalid_argument(fmt::format("{}: has more jobs than targets", file));
  CompileDriver& driver = *drivers[at];
  if (title_of(driver, target) != job.target) {
    return invalid_argument(fmt::format("{}: the job is for {}, and its options give {}; make the plan again", file,
                                        job.target, title_of(driver, target)));
  }
  if (driver.name() != job.compiler) {
    return Error{ErrorCode::kBackendLibraryMissing,
                 fmt::format("{}: was made with {}, and here is {}: equal bytes need one version everywhere", file,
                             job.compiler, driver.name())};
  }
  return std::unique_ptr<CompileDriver>(std::make_unique<OneTarget>(std::move(drivers[at]), target));
}

}  // namespace fatctx::tools
