#include "tools/source/remote_container.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "fatctx/fetch_plan.h"
#include "tools/cli/whole_container.h"
#include "tools/source/fetch_run.h"
#include "tools/source/temporary_folder.h"

namespace fatctx::tools {

Result<RemoteContainer> open_remote(const std::string& url, const OpenOptions& options,
                                    const std::vector<std::string>& tensors_of, const HttpOptions& http) {
  if (options.generation != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: of a container at a URL, only the newest generation can be looked at; fetch it: "
                             "fatctx fetch {} --all -o FILE",
                             url, url)};
  }
  FATCTX_ASSIGN(std::shared_ptr<std::string> folder, temporary_folder());
  const std::string path = (std::filesystem::path(*folder) / "metadata.fatctx").string();
  auto source = open_url_source(url, http);
  if (!source.ok()) return in_context(std::move(source).error(), url);
  FetchOptions wanted;
  wanted.metadata = true;
  wanted.records = tensors_of;
  wanted.source_name = url;
  wanted.trusted_keys = options.trusted_keys;
  wanted.minimum_generation = options.minimum_generation;
  wanted.toc_sha256 = source.value()->toc_sha256();
  FATCTX_ASSIGN(FetchPlan plan, FetchPlan::begin(path, source.value()->size(), std::move(wanted)));
  auto run = run_plan(plan, *source.value(), FetchStage::kDone);
  if (run.ok()) run = plan.publish();
  if (!run.ok()) return in_context(std::move(run).error(), url);
  OpenOptions fetched = options;
  // The plan has checked all that came. A table of tensors belongs to weights, which are zeros here.
  fetched.verify = VerifyPolicy::kNone;
  FATCTX_ASSIGN(Container container, open_whole(Source(path).named(url), fetched));
  return RemoteContainer{std::move(container), std::move(folder)};
}

}  // namespace fatctx::tools
