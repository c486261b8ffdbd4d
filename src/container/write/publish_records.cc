#include "container/write/publish_records.h"

#include <map>

#include <fmt/format.h>

#include "container/format/hash.h"
#include "container/write/check_opens.h"
#include "container/write/copy_payload.h"
#include "container/write/digests.h"
#include "container/write/header_build.h"
#include "container/write/input.h"
#include "container/write/pack_report.h"
#include "container/write/plan.h"
#include "container/write/rebuild.h"
#include "container/write/toc_build.h"
#include "mapping/publish.h"

namespace fatctx::container {
namespace {

Status check_options(const PackOptions& options) {
  constexpr std::uint32_t kMostPieces = 65536;  // more maps than any process has
  if (options.max_pieces == 0 || options.max_pieces > kMostPieces) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("max_pieces is {}; allowed: 1 to {}", options.max_pieces, kMostPieces)};
  }
  const std::uint8_t extent = options.extent_log2;
  if ((extent != 0 && extent != kSmallExtentLog2 && extent != kExtentLog2 && extent != kLargeExtentLog2) ||
      (options.granule_log2 != 12 && options.granule_log2 != 14 && options.granule_log2 != 16) ||
      (extent != 0 && options.granule_log2 > extent)) {
    return Error{ErrorCode::kInvalidArgument,
                 "extent_log2 must be 12, 16 or 21, granule_log2 12, 14 or 16 and not above extent_log2",
                 {.rule = "F4"}};
  }
  return Done{};
}

// Requires: every hash of the plan is that of the bytes in the file.
Status check_known_hashes(const Plan& plan) {
  for (const PlannedRecord& planned : plan.records) {
    const std::optional<Hash128> known = planned.input.known_hash();
    if (!known || *known == plan.records[planned.stored_as].hash) continue;
    return Error{ErrorCode::kChecksumMismatch,
                 fmt::format("{}: its bytes do not match its hash, although every leaf does", planned.input.name()),
                 {.rule = "F37"}};
  }
  return Done{};
}

PackReport report_of(const Plan& plan, const std::string& path, const DiskUuid& uuid, const PackOptions& options) {
  PackReport report;
  report.path = path;
  report.uuid = uuid_text(uuid);
  report.file_size = plan.committed_end;
  report.record_count = static_cast<std::uint32_t>(plan.records.size());
  put_records(plan, report);
  report.shared_records = stored_elsewhere(plan);
  report.sealed = options.seal;
  return report;
}

}  // namespace

Result<PackReport> publish_records(const IncomingRecords& incoming, const PackOptions& options, const std::string& path,
                                   const PublishAs& as) {
  FATCTX_TRY(check_options(options));
  FATCTX_TRY(incoming.check_references());
  // Before the inputs are read: an existing target is the most common refusal.
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending,
                mapping::PendingFile::create(path, options.overwrite, mapping::Readers::kAll, as.target_lock));
  if (!as.mode_of.empty()) FATCTX_TRY(pending->take_mode(as.mode_of));
  std::map<std::string, std::uint64_t> blob_sizes;
  PartsByName parts;
  FATCTX_ASSIGN(std::vector<PackRecord> records, incoming.with_tensor_tables(blob_sizes, parts));
  WorkProgress progress(options.progress);
  FATCTX_ASSIGN(Plan plan, make_plan(std::move(records), std::move(parts), options, progress));
  FATCTX_TRY(check_blob_sizes(plan, blob_sizes));
  mapping::OsFile& file = pending->file();
  FATCTX_TRY(file.allocate(plan.committed_end));
  FATCTX_TRY(copy_payload(plan, file, progress));
  FATCTX_TRY(check_rebuilt(plan, file, options.threads, progress));
  FATCTX_TRY(check_known_hashes(plan));
  FATCTX_TRY(add_digests(plan, file, options, progress));
  const std::uint64_t generation = as.lineage == nullptr ? 1 : as.lineage->generation;
  FATCTX_ASSIGN(std::vector<std::byte> toc, build_toc(plan, options, generation));
  const DiskUuid uuid =
      as.lineage == nullptr ? derive_uuid(toc, plan.extent_log2, options.granule_log2) : as.lineage->uuid;
  put_uuid(toc, uuid);
  for (const std::uint64_t offset : plan.toc_offset) FATCTX_TRY(file.write_at(offset, toc));
  const GenerationFacts facts{.generation = generation,
                              .committed_end = plan.committed_end,
                              .toc_offset = plan.toc_offset,
                              .toc_size = plan.toc_size.all,
                              .toc_head_size = plan.toc_size.head,
                              .toc_hash = hash128(head_of(toc)),
                              .previous_toc_hash = {},
                              .sealed = options.seal};
  FATCTX_TRY(file.write_at(0, first_header(uuid, plan.extent_log2, options.granule_log2, facts)));
  FATCTX_TRY(check_opens(file, facts));
  FATCTX_TRY(go_on(options.cancel));
  if (as.may_replace) FATCTX_TRY(as.may_replace());
  FATCTX_TRY(pending->publish(options.seal));
  PackReport report = report_of(plan, path, uuid, options);
  report.warnings = incoming.warnings();
  report.warnings.insert(report.warnings.end(), plan.warnings.begin(), plan.warnings.end());
  return report;
}

}  // namespace fatctx::container
