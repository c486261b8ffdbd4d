#include "fatctx/container.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/named_values.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "container/read/pieces.h"
#include "runtime/facade/select_from.h"
#include "runtime/facade/trace_lines.h"
#include "runtime/observe/observe.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/registry.h"
#include "runtime/select/candidates.h"
#include "runtime/view/composed_view.h"
#include "runtime/view/stitched_view.h"
#include "runtime/view/view_of.h"

namespace fatctx {
namespace {

std::string names_of(std::span<const RecordInfo> records) {
  constexpr std::size_t kMost = 8;
  std::string list;
  for (std::size_t i = 0; i < std::min(records.size(), kMost); ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : ", ", records[i].name);
  }
  if (records.size() > kMost) list += fmt::format(" and {} more", records.size() - kMost);
  return list;
}

constexpr NamedValue<VerifyPolicy> kVerifyPolicies[] = {
    {VerifyPolicy::kRecordOnAcquire, "record_on_acquire"},
    {VerifyPolicy::kNone, "none"},
    {VerifyPolicy::kPrivateCopy, "private_copy"},
    {VerifyPolicy::kBesideLoad, "beside_load"},
};

}  // namespace

std::string_view access_path_name(AccessPath path) noexcept {
  switch (path) {
    case AccessPath::kDirect:
      return "direct";
    case AccessPath::kCopied:
      return "copied";
    case AccessPath::kStitched:
      return "stitched";
    case AccessPath::kComposed:
      return "composed";
  }
  return "unknown";
}

std::string_view verify_policy_name(VerifyPolicy policy) noexcept { return name_in(kVerifyPolicies, policy); }

std::optional<VerifyPolicy> verify_policy_from_name(std::string_view name) noexcept {
  return value_in(kVerifyPolicies, name);
}

const std::string& Container::path() const& noexcept { return impl_->source.name(); }

ContainerIdentity Container::identity() const noexcept {
  const container::Header& header = impl_->mapped->header();
  return {.uuid = header.uuid, .generation = header.generation, .toc_hash = header.toc_hash};
}

Status Container::check() const {
  if (!impl_->copy_reason.empty()) return Done{};  // a copy stays valid, whatever happened to the file
  FATCTX_TRY(impl_->mapped->recheck());
  return recheck_caches(*impl_->mapped);
}

Result<OpenReport> Container::report() const {
  FATCTX_TRY(impl_->mapped->need_all());
  const container::Header& header = impl_->mapped->header();
  OpenReport report;
  report.path = path();
  report.generation = header.generation;
  report.newest_generation = header.newest_generation;
  for (const container::Generation& earlier : impl_->mapped->toc().generations) {
    report.earlier_generations.push_back({earlier.number, earlier.committed_end});
  }
  report.slot = header.pair == 0 ? 'A' : 'B';
  report.degraded = container::degraded_texts(impl_->mapped->degraded());
  report.tail_bytes = header.tail_bytes;
  report.sealed = header.sealed;
  report.signed_file = header.signature.has_value();
  if (header.signature) report.key_id = to_hex(header.signature->key_id);
  report.signature_verified = impl_->mapped->toc().authenticated;
  report.filesystem = impl_->mapped->filesystem().name;
  report.remote_filesystem = impl_->mapped->filesystem().remote;
  report.file_size = header.committed_end + header.tail_bytes;
  report.committed_end = header.committed_end;
  report.dead_bytes = impl_->mapped->toc().dead_bytes();
  report.format_version = header.format_version;
  report.newer_features = container::newer_features_text(header);
  report.uuid = container::uuid_text(header.uuid);
  report.toc_hash = header.toc_hash;
  report.already_live = impl_->already_live;
  report.verify = impl_->options.verify;
  report.mapped = impl_->copy_reason.empty();
  report.copy_reason = impl_->copy_reason;
  if (report.mapped) {
    for (const RecordInfo& record : impl_->mapped->toc().records) {
      if (record.slice_count < 2 || record.codec != Codec::kNone || !record.supported) continue;
      const std::vector<container::Piece> pieces = container::pieces_of(impl_->mapped->toc(), record);
      if (pieces.size() < 2) continue;
      std::string obstacle = stitch_obstacle(*impl_->mapped, record, pieces);
      if (obstacle.empty() || is_composed(*this, record)) continue;
      if (report.copied_records++ == 0) report.copied_records_reason = std::move(obstacle);
    }
  }
  return report;
}

Result<Selection> Container::select(const Device& device, const SelectPolicy& policy) const {
  FATCTX_ASSIGN(std::vector<Candidate> candidates, this->candidates());
  return select_from(*this, std::move(candidates), device, policy);
}

Result<AccessPath> Container::access_path_of(std::uint32_t record_id) const {
  const container::Toc& toc = impl_->mapped->toc();
  FATCTX_ASSIGN(const RecordInfo* const record, impl_->mapped->find(record_id));
  if (record == nullptr) return this->record(record_id).error();
  auto supported = container::check_supported(*record, toc.forms[toc.index_of(*record)]);
  if (!supported.ok()) return in_context(std::move(supported).error(), path());
  if (!impl_->copy_reason.empty()) return AccessPath::kCopied;
  if (is_composed(*this, *record)) {
    FATCTX_TRY(check_composable(*this, *record));
    return AccessPath::kComposed;
  }
  if (record->slice_count < 2) return AccessPath::kDirect;
  const std::vector<container::Piece> pieces = container::pieces_of(toc, *record);
  if (pieces.size() < 2) return AccessPath::kDirect;
  const std::string obstacle = stitch_obstacle(*impl_->mapped, *record, pieces);
  if (obstacle.empty()) return AccessPath::kStitched;
  if (impl_->options.file_mapping == FileMapping::kRequire) return pieces_not_mapped(path(), *record, obstacle);
  return AccessPath::kCopied;
}

std::size_t Container::record_count() const noexcept { return impl_->mapped->toc().records.size(); }

Result<std::span<const RecordInfo>> Container::records() const& {
  FATCTX_TRY(impl_->mapped->need_all());
  return std::span<const RecordInfo>(impl_->mapped->toc().records);
}

Result<RecordInfo> Container::find(std::string_view name) const& {
  FATCTX_ASSIGN(const RecordInfo* const found, impl_->mapped->find(name));
  if (found != nullptr) return *found;
  FATCTX_ASSIGN(const auto there, records());
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: no record is named \"{}\"; there are {}", path(), name, names_of(there))};
}

Result<RecordInfo> Container::record(std::uint32_t id) const& {
  FATCTX_ASSIGN(const RecordInfo* const found, impl_->mapped->find(id));
  if (found != nullptr) return *found;
  FATCTX_ASSIGN(const auto there, records());
  return Error{ErrorCode::kNotFound, fmt::format("{}: there is no record {}; ids go from 1 to {}", path(), id,
                                                 there.empty() ? 0 : there.back().id)};
}

Result<std::vector<Candidate>> Container::candidates() const& {
  FATCTX_ASSIGN(const auto records, this->records());
  return candidates_among(records);
}

Result<RecordView> Container::acquire(std::uint32_t record_id) const {
  FATCTX_ASSIGN(const RecordInfo* const record, impl_->mapped->find(record_id));
  auto acquired = observe::observed(
      ProfileEventKind::kAcquire, path(), record, [&] { return view_of(*this, record_id); },
      [](const RecordView& view) { return view.size_bytes(); });
  if (observe::tracing()) trace::record_view(*this, record_id, acquired);
  return acquired;
}

Result<RecordView> Container::acquire(std::string_view name) const {
  FATCTX_ASSIGN(const RecordInfo record, find(name));
  return acquire(record.id);
}

}  // namespace fatctx
