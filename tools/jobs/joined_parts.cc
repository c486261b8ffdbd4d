#include "tools/jobs/joined_parts.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/container.h"

namespace fatctx::tools {

namespace {

// Equal wrapper models of several targets become one, as in one run.
class WrapperNames {
 public:
  void add(const std::string& model, std::span<const RecordInfo> records) {
    for (const RecordInfo& record : records) {
      if (record.type != RecordType::kWrapperModel) continue;
      names_[{record.hash, std::string(record.key.group), std::string(record.key.unit)}].insert(
          std::string(record.name));
    }
    model_ = model;
  }
  // Returns the new name of each model that gets one.
  [[nodiscard]] std::map<std::string, std::string> renamed() const {
    std::map<std::string, std::string> renamed;
    for (const auto& [model, names] : names_) {
      const std::string name = names_.size() == 1 ? model_ + ".onnx" : *names.begin();
      for (const std::string& old : names) {
        if (old != name) renamed.emplace(old, name);
      }
    }
    return renamed;
  }

 private:
  struct Model {
    Hash128 hash;
    std::string group;
    std::string unit;
    auto operator<=>(const Model&) const = default;
  };
  std::map<Model, std::set<std::string>> names_;
  std::string model_;
};

Error twice(std::uint64_t job, const std::string& first, const std::string& second) {
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} and {} are both parts of job {}; leave one of them out", first, second, job)};
}

}  // namespace

Result<std::optional<JobMark>> join_parts(std::span<const std::string> files, bool allow_missing,
                                          MergeOptions& options) {
  std::optional<JobMark> first;
  std::map<std::uint64_t, std::string> parts;  // by job
  WrapperNames wrappers;
  for (const std::string& file : files) {
    FATCTX_ASSIGN(const Container container, Container::open(file, {.verify = VerifyPolicy::kNone}));
    FATCTX_ASSIGN(const ContainerDescription description, container.describe());
    auto read = mark_of(description.options);
    if (!read.ok()) return in_context(std::move(read).error(), file);
    const std::optional<JobMark> mark = std::move(read).value();
    if (!mark) continue;
    if (first && mark->plan_sha256 != first->plan_sha256) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{} and {} are parts of two plans; merge the parts of each plan, and then the results",
                               parts.begin()->second, file)};
    }
    const auto [there, is_new] = parts.emplace(mark->number, file);
    if (!is_new) return twice(mark->number, there->second, file);
    FATCTX_ASSIGN(const std::span<const RecordInfo> records, container.records());
    wrappers.add(description.name, records);
    if (!first) first = mark;
  }
  if (!first) return std::optional<JobMark>();
  std::vector<std::uint64_t> missing;
  for (std::uint64_t job = 0; job < first->count; ++job) {
    if (!parts.contains(job)) missing.push_back(job);
  }
  if (!missing.empty() && !allow_missing) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("of {} jobs of the plan, {} {} no part here: fatctx compile --job PLAN#{} -o PART.fatctx "
                    "makes it; --allow-missing-jobs merges without",
                    first->count, fmt::join(missing, ", "), missing.size() == 1 ? "has" : "have", missing.front())};
  }
  options.new_names = wrappers.renamed();
  options.without_options_of = std::string(kJobOwner);
  if (!options.sharing) options.sharing = first->sharing;
  options.seal = options.seal || first->seal;
  return first;
}

}  // namespace fatctx::tools
