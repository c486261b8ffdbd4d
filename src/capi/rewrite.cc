// Rewriting and merging through C.
#include <algorithm>

#include <fmt/format.h>

#include "capi/objects.h"
#include "fatctx/targets.h"

namespace fatctx::capi {
namespace {

// The caller's options with defaults for missing ones, and the words in them that are numbers.
struct GivenOptions {
  fatctx_rewrite_options fields = {};
  std::optional<bool> seal;
  std::optional<Sharing> sharing;
};

Result<GivenOptions> given_options(const fatctx_rewrite_options* options) {
  GivenOptions given;
  fatctx_rewrite_options_init(&given.fields, sizeof given.fields);
  if (options != nullptr) FATCTX_TRY(read_sized(options, given.fields));
  if (given.fields.seal > FATCTX_SEAL_YES) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("seal is {}; allowed are FATCTX_SEAL_AS_SOURCE (0), _NO (1) and _YES (2)", given.fields.seal)};
  }
  if (given.fields.sharing > FATCTX_SHARING_AS_SOURCE) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("sharing is {}; allowed are FATCTX_SHARING_OFF (0), _PAGES (1), _BYTES (2) and "
                             "_AS_SOURCE (3)",
                             given.fields.sharing)};
  }
  if (given.fields.seal != FATCTX_SEAL_AS_SOURCE) given.seal = given.fields.seal == FATCTX_SEAL_YES;
  if (given.fields.sharing != FATCTX_SHARING_AS_SOURCE) given.sharing = static_cast<Sharing>(given.fields.sharing);
  return given;
}

Result<RewriteOptions> rewrite_options_in(const fatctx_rewrite_options* options) {
  FATCTX_ASSIGN(const GivenOptions given, given_options(options));
  if (given.fields.model_name != nullptr) {
    return Error{ErrorCode::kInvalidArgument, "model_name is set, which is for a merge; a rewrite keeps the name"};
  }
  RewriteOptions result;
  FATCTX_ASSIGN(const auto keep, array_in(given.fields.keep, given.fields.keep_count, "keep"));
  if (given.fields.keep != nullptr) result.keep.emplace(keep.begin(), keep.end());
  result.seal = given.seal;
  result.overwrite = given.fields.overwrite != 0;
  result.sharing = given.sharing;
  result.max_pieces = given.fields.max_pieces;
  result.generation = given.fields.generation;
  result.progress = progress_in(given.fields.progress, given.fields.progress_user);
  result.threads = given.fields.threads;
  result.max_made_bytes = given.fields.max_made_bytes;
  return result;
}

Result<MergeOptions> merge_options_in(const fatctx_rewrite_options* options) {
  FATCTX_ASSIGN(const GivenOptions given, given_options(options));
  if (given.fields.keep != nullptr || given.fields.keep_count != 0 || given.fields.generation != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "keep or generation is set, which a merge does not take; rewrite the container first"};
  }
  MergeOptions result;
  result.model_name = text_in(given.fields.model_name);
  result.seal = given.seal.value_or(false);
  result.overwrite = given.fields.overwrite != 0;
  result.sharing = given.sharing;
  result.max_pieces = given.fields.max_pieces;
  result.progress = progress_in(given.fields.progress, given.fields.progress_user);
  result.threads = given.fields.threads;
  result.max_made_bytes = given.fields.max_made_bytes;
  return result;
}

Result<std::vector<TargetFilter>> filters_in(const fatctx_target_filter* filters, std::uint64_t count) {
  FATCTX_ASSIGN(const auto given, array_in(filters, count, "filters"));
  std::vector<TargetFilter> result;
  for (const fatctx_target_filter& filter : given) {
    FATCTX_TRY(check_reserved(filter.reserved));
    TargetFilter& wanted = result.emplace_back();
    wanted.group = text_in(filter.group);
    wanted.unit = text_in(filter.unit);
    wanted.backend = text_in(filter.backend);
    wanted.qnn_soc = filter.qnn_soc;
    wanted.part = text_in(filter.part);
    wanted.arch = text_in(filter.arch);
    wanted.features = words_in(filter.features);
    wanted.vtcm_mb = filter.vtcm_mb;
    wanted.sdk = version_in(filter.sdk);
    wanted.variant = text_in(filter.variant);
    wanted.generic = filter.generic != 0;
    wanted = complete_filter(std::move(wanted), SocTable::built_in());
  }
  return result;
}

// The ids that `choose` gives for the records of a container, by the protocol of `ids`, `capacity` and `count`.
template <typename Choose>
std::int32_t put_ids(fatctx_container container, std::uint32_t* ids, std::uint64_t capacity, std::uint64_t* count,
                     fatctx_error* error, const Choose& choose) noexcept {
  return with_object(container, error, [&](const ContainerObject& object) -> Status {
    FATCTX_TRY(not_null(count, "count"));
    if (capacity != 0) FATCTX_TRY(not_null(ids, "ids"));
    FATCTX_ASSIGN(const auto records, object.container.records());
    FATCTX_ASSIGN(const std::vector<std::uint32_t> chosen, choose(records));
    std::copy_n(chosen.begin(), std::min<std::uint64_t>(capacity, chosen.size()), ids);
    *count = chosen.size();
    return Done{};
  });
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

void fatctx_rewrite_options_init(fatctx_rewrite_options* options, size_t struct_size) {
  fatctx_rewrite_options result = {};
  result.seal = FATCTX_SEAL_AS_SOURCE;
  result.sharing = FATCTX_SHARING_AS_SOURCE;
  result.max_pieces = fatctx::RewriteOptions().max_pieces;
  init_sized(result, options, struct_size);
}

int32_t fatctx_rewrite_container(const char* source, const char* target, const fatctx_rewrite_options* options,
                                 fatctx_report* report, fatctx_error* error) {
  return make_handle_before(report, error, [&](ReportObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(source, "source"));
    FATCTX_TRY(not_null(target, "target"));
    FATCTX_ASSIGN(const fatctx::RewriteOptions wanted, rewrite_options_in(options));
    FATCTX_ASSIGN(object.contents, fatctx::rewrite_container(source, target, wanted));
    return fatctx::Done{};
  });
}

int32_t fatctx_merge_containers(const char* const* sources, uint64_t count, const char* target,
                                const fatctx_rewrite_options* options, fatctx_report* report, fatctx_error* error) {
  return make_handle_before(report, error, [&](ReportObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(const auto given, array_in(sources, count, "sources"));
    std::vector<std::string> paths;
    for (const char* source : given) {
      FATCTX_TRY(not_null(source, "the path of a source"));
      paths.emplace_back(source);
    }
    FATCTX_TRY(not_null(target, "target"));
    FATCTX_ASSIGN(const fatctx::MergeOptions wanted, merge_options_in(options));
    FATCTX_ASSIGN(object.contents, fatctx::merge_containers(paths, target, wanted));
    return fatctx::Done{};
  });
}

int32_t fatctx_container_records_left(fatctx_container container, const fatctx_target_filter* filters,
                                      uint64_t filter_count, uint32_t* ids, uint64_t capacity, uint64_t* count,
                                      fatctx_error* error) {
  return put_ids(container, ids, capacity, count, error,
                 [&](std::span<const fatctx::RecordInfo> records) -> fatctx::Result<std::vector<std::uint32_t>> {
                   FATCTX_ASSIGN(const std::vector<fatctx::TargetFilter> wanted, filters_in(filters, filter_count));
                   return fatctx::records_left(records, wanted);
                 });
}

int32_t fatctx_container_records_without(fatctx_container container, const uint32_t* gone, uint64_t gone_count,
                                         uint32_t* ids, uint64_t capacity, uint64_t* count, fatctx_error* error) {
  return put_ids(container, ids, capacity, count, error,
                 [&](std::span<const fatctx::RecordInfo> records) -> fatctx::Result<std::vector<std::uint32_t>> {
                   FATCTX_ASSIGN(const auto given, array_in(gone, gone_count, "gone"));
                   return fatctx::records_without(records, given);
                 });
}

}  // extern "C"
