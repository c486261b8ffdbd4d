#include "fatctx/presence.h"

#include "container/check/absent_leaves.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/step_watch.h"

namespace fatctx {
namespace {

using container::AbsentLeaves;
using container::LookFor;

Result<AbsentLeaves> absent_leaves(const MappedContainer& mapped, const PresenceOptions& options) {
  std::uint64_t total = 0;
  for (const container::Segment& segment : mapped.toc().segments) total += segment.holds_payload() ? segment.size : 0;
  std::uint64_t done = 0;
  const auto after = [&](std::uint64_t size) -> Status {
    done += size;
    if (options.progress) options.progress(done, total);
    return StepWatch::step(size);
  };
  auto found =
      AbsentLeaves::find(mapped.file(), mapped.toc(), options.read_payload ? LookFor::kZeros : LookFor::kHoles, after);
  if (!found.ok()) return in_context(std::move(found).error(), mapped.name());
  return found;
}

}  // namespace

Result<PresenceReport> find_absent(const Container& container, const PresenceOptions& options) {
  FATCTX_TRY(mapped_of(container)->need_all());
  const MappedContainer& mapped = *mapped_of(container);
  FATCTX_ASSIGN(const AbsentLeaves absent, absent_leaves(mapped, options));
  PresenceReport report;
  report.absent = absent.ranges();
  for (const ByteRange& range : report.absent) report.absent_bytes += range.size;
  report.records.reserve(mapped.toc().records.size());
  for (const RecordInfo& record : mapped.toc().records) {
    report.records.push_back({.record_id = record.id,
                              .needed_bytes = absent.needed_bytes_of(record),
                              .absent_bytes = absent.bytes_of(record)});
  }
  return report;
}

Result<std::vector<ByteRange>> find_absent(const Container& container, std::uint32_t record_id,
                                           const PresenceOptions& options) {
  FATCTX_TRY(mapped_of(container)->need_all());
  const MappedContainer& mapped = *mapped_of(container);
  FATCTX_ASSIGN(const RecordInfo record, container.record(record_id));
  FATCTX_ASSIGN(const AbsentLeaves absent, absent_leaves(mapped, options));
  return absent.ranges_of(mapped.known(record.id));
}

}  // namespace fatctx
