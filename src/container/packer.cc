// Packer: plans what was added, copies and publishes.
#include "fatctx/packer.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "container/copy_payload.h"
#include "container/hash.h"
#include "container/header_build.h"
#include "container/incoming_records.h"
#include "container/pack_report.h"
#include "container/plan.h"
#include "container/rebuild.h"
#include "container/toc_build.h"
#include "mapping/publish.h"

namespace fatctx {

using namespace container;

struct Packer::Impl {
  PackOptions options;
  IncomingRecords records;
};

Packer::Packer(PackOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->records.drop_paths(impl_->options.options, "container");
}
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

Status Packer::add(PackRecord record) { return impl_->records.add(std::move(record)); }

Result<PackReport> Packer::publish(const std::string& path) {
  const PackOptions& options = impl_->options;
  if (options.max_pieces == 0 || options.max_pieces > kMaxSlices) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("max_pieces is {}; allowed: 1 to {}", options.max_pieces, kMaxSlices)};
  }
  if ((options.extent_log2 != kExtentLog2 && options.extent_log2 != kLargeExtentLog2) ||
      (options.granule_log2 != 12 && options.granule_log2 != 14 && options.granule_log2 != 16)) {
    return Error{
        ErrorCode::kInvalidArgument, "extent_log2 must be 16 or 21, granule_log2 12, 14 or 16", {.rule = "F4"}};
  }
  FATCTX_TRY(impl_->records.check_references());
  // Before the inputs are read: an existing target is the commonest refusal.
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending,
                mapping::PendingFile::create(path, options.overwrite));
  std::map<std::string, std::uint64_t> blob_sizes;
  PartsByName parts;
  FATCTX_ASSIGN(std::vector<PackRecord> records, impl_->records.with_tensor_tables(blob_sizes, parts));
  FATCTX_ASSIGN(Plan plan, make_plan(std::move(records), std::move(parts), options));
  FATCTX_TRY(check_blob_sizes(plan, blob_sizes));
  mapping::OsFile& file = pending->file();
  FATCTX_TRY(file.allocate(plan.committed_end));
  FATCTX_TRY(copy_payload(plan, file, options.progress));
  FATCTX_TRY(check_rebuilt(plan, file));
  FATCTX_ASSIGN(std::vector<std::byte> toc, build_toc(plan, options));
  const DiskUuid uuid = derive_uuid(toc, options);
  put_uuid(toc, uuid);
  for (const std::uint64_t offset : plan.toc_offset) FATCTX_TRY(file.write_at(offset, toc));
  const GenerationFacts facts{.committed_end = plan.committed_end,
                              .toc_offset = plan.toc_offset,
                              .toc_size = plan.toc_size,
                              .toc_hash = hash128(toc),
                              .previous_toc_hash = {},
                              .sealed = options.seal};
  FATCTX_TRY(file.write_at(0, first_header(uuid, options.extent_log2, options.granule_log2, facts)));
  FATCTX_TRY(pending->publish(options.seal));

  PackReport report;
  report.path = path;
  report.uuid = uuid_text(uuid);
  report.file_size = plan.committed_end;
  report.record_count = static_cast<std::uint32_t>(plan.records.size());
  report.records = record_reports(plan);
  for (const PackedRecordReport& record : report.records) {
    report.input_bytes += record.size_bytes;
    report.stored_bytes += record.stored_bytes;
    report.shared_bytes += record.shared_bytes;
  }
  report.shared_records = stored_elsewhere(plan);
  report.sealed = options.seal;
  report.warnings = impl_->records.warnings();
  report.warnings.insert(report.warnings.end(), plan.warnings.begin(), plan.warnings.end());
  return report;
}

}  // namespace fatctx
