#include "tools/jobs/job_mark.h"

#include <fmt/format.h>

#include "fatctx/content_hash.h"
#include "tools/jobs/job_plan.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

namespace {

constexpr std::string_view kPlan = "plan_sha256";
constexpr std::string_view kJob = "job";
constexpr std::string_view kJobs = "jobs";
constexpr std::string_view kSharing = "sharing";
constexpr std::string_view kSeal = "seal";

}  // namespace

std::vector<DescribedOption> mark_options(const JobMark& mark) {
  std::vector<DescribedOption> options;
  const auto add = [&](std::string_view key, std::string value) {
    options.push_back({std::string(key), std::move(value), std::string(kJobOwner)});
  };
  add(kPlan, mark.plan_sha256);
  add(kJob, std::to_string(mark.number));
  add(kJobs, std::to_string(mark.count));
  if (mark.sharing) add(kSharing, std::string(sharing_name(*mark.sharing)));
  if (mark.seal) add(kSeal, "true");
  return options;
}

Result<std::optional<JobMark>> mark_of(std::span<const DescribedOption> options) {
  JobMark mark;
  bool marked = false;
  for (const DescribedOption& option : options) {
    if (option.owner != kJobOwner) continue;
    marked = true;
    if (option.key == kPlan) mark.plan_sha256 = option.value;
    if (option.key == kJob) mark.number = job_number(option.value).value_or(kMostJobs);
    if (option.key == kJobs) mark.count = job_number(option.value).value_or(0);
    if (option.key == kSharing) mark.sharing = sharing_from_name(option.value);
    if (option.key == kSeal) mark.seal = option.value == "true";
  }
  if (!marked) return std::optional<JobMark>();
  if (!is_sha256_text(mark.plan_sha256) || mark.number >= mark.count) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("its options with the owner {} name no job of a plan; do the job again", kJobOwner)};
  }
  return std::optional(mark);
}

}  // namespace fatctx::tools
