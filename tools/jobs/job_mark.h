// Marks a part with the job and the plan that made it. Options of the container hold the mark; `fatctx merge` removes
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"

namespace fatctx::tools {

inline constexpr std::string_view kJobOwner = "fatctx.job";

struct JobMark {
  std::string plan_sha256;  // SHA-256 of the plan's file
  std::uint64_t number = 0;
  std::uint64_t count = 0;  // number of jobs in the plan
  // Options of the run for the joined container.
  std::optional<Sharing> sharing;
  bool seal = false;
};

[[nodiscard]] std::vector<DescribedOption> mark_options(const JobMark& mark);
// Returns nothing for a container that no job made. Errors: malformed.
[[nodiscard]] Result<std::optional<JobMark>> mark_of(std::span<const DescribedOption> options);

}  // namespace fatctx::tools
