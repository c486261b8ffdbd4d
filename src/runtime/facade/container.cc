#include "fatctx/container.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/named_values.h"
#include "container/check/verify.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "container/read/pieces.h"
#include "container/read/read_description.h"
#include "runtime/observe/observe.h"
#include "runtime/open/attachments.h"
#include "runtime/open/mapped_container.h"
#include "runtime/open/registry.h"
#include "runtime/view/composed_view.h"
#include "runtime/view/record_copy.h"
#include "runtime/view/sealed_copy.h"
#include "runtime/view/stitched_view.h"

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
};

Result<VerifyReport> ended(observe::Span& span, const std::string& path, Result<VerifyReport> report) {
  if (report.ok()) span.succeeded(report.value().checked_bytes);
  if (!report.ok() && (report.error().code == ErrorCode::kInvalidArgument ||
                       report.error().code == ErrorCode::kNotFound)) {  // about what was asked for
    return in_context(std::move(report).error(), path);
  }
  return report;
}

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

Container::Container(std::shared_ptr<const MappedContainer> mapped, Origin origin, bool already_live,
                     std::string copy_reason) noexcept
    : mapped_(std::move(mapped)),
      origin_(std::move(origin)),
      already_live_(already_live),
      copy_reason_(std::move(copy_reason)) {}

Container Container::with_copies(std::string reason) const {
  return {mapped_, origin_, already_live_, std::move(reason)};
}

Result<Container> Container::open(const std::string& path, const OpenOptions& options) {
  return open(Registry::process(), path, options);
}

Result<Container> Container::open_unobserved(Registry& registry, const std::string& path, const OpenOptions& options) {
  FATCTX_ASSIGN(Registry::Opened opened, registry.open_path(path, options));
  return Container(std::move(opened.container),
                   {.registry = &registry, .path = path, .by_path = true, .options = options}, opened.already_live,
                   std::move(opened.copy_reason));
}

Result<Container> Container::open_descriptor_unobserved(int descriptor, const OpenOptions& options,
                                                        const FileWindow& window) {
  Origin origin{.registry = &Registry::process(),
                .path = Registry::descriptor_name(descriptor, window),
                .window = window,
                .options = options};
  FATCTX_ASSIGN(Registry::Opened opened, origin.registry->open_descriptor(descriptor, options, window));
  return Container(std::move(opened.container), std::move(origin), opened.already_live, std::move(opened.copy_reason));
}

Result<Container> Container::open_memory_unobserved(ByteView bytes, const OpenOptions& options,
                                                    std::shared_ptr<const void> owner) {
  FATCTX_ASSIGN(Registry::Opened opened, Registry::open_memory(bytes, owner, options));
  return Container(std::move(opened.container), {.path = "memory", .owner = std::move(owner), .options = options},
                   false, std::move(opened.copy_reason));
}

Result<Container> Container::reopen() const {
  if (origin_.registry == nullptr) return open_memory(mapped_->file().memory(), origin_.options, origin_.owner);
  if (origin_.by_path) return open(*origin_.registry, origin_.path, origin_.options);
  FATCTX_ASSIGN(Registry::Opened opened,
                origin_.registry->open_descriptor(mapped_->file().descriptor(), origin_.options, origin_.window));
  return Container(std::move(opened.container), origin_, opened.already_live, std::move(opened.copy_reason));
}

Status Container::check() const {
  if (!copy_reason_.empty()) return Done{};  // a copy is what it is, whatever became of the file
  FATCTX_TRY(mapped_->recheck());
  return recheck_caches(*mapped_);
}

OpenReport Container::report() const {
  const container::Header& header = mapped_->header();
  OpenReport report;
  report.path = origin_.path;
  report.generation = header.generation;
  report.newest_generation = header.newest_generation;
  for (const container::Generation& earlier : mapped_->toc().generations) {
    report.earlier_generations.push_back({earlier.number, earlier.committed_end});
  }
  report.slot = header.pair == 0 ? 'A' : 'B';
  report.degraded = container::degraded_texts(header.degraded);
  report.tail_bytes = header.tail_bytes;
  report.sealed = header.sealed;
  report.signed_file = header.signature.has_value();
  if (header.signature) report.key_id = to_hex(header.signature->key_id);
  report.signature_verified = mapped_->toc().authenticated;
  report.filesystem = mapped_->filesystem().name;
  report.remote_filesystem = mapped_->filesystem().remote;
  report.file_size = header.committed_end + header.tail_bytes;
  report.committed_end = header.committed_end;
  report.dead_bytes = mapped_->toc().dead_bytes();
  report.format_version = header.format_version;
  report.uuid = container::uuid_text(header.uuid);
  report.toc_hash = header.toc_hash;
  report.already_live = already_live_;
  report.verify = origin_.options.verify;
  report.mapped = copy_reason_.empty();
  report.copy_reason = copy_reason_;
  if (report.mapped) {
    for (const RecordInfo& record : records()) {
      if (record.slice_count < 2 || record.codec != Codec::kNone || !record.supported) continue;
      const std::vector<container::Piece> pieces = container::pieces_of(mapped_->toc(), record);
      if (pieces.size() < 2) continue;
      std::string obstacle = stitch_obstacle(*mapped_, record, pieces);
      if (obstacle.empty() || is_composed(*this, record)) continue;
      if (report.copied_records++ == 0) report.copied_records_reason = std::move(obstacle);
    }
  }
  return report;
}

Result<AccessPath> Container::access_path_of(std::uint32_t record_id) const {
  const container::Toc& toc = mapped_->toc();
  const RecordInfo* record = toc.find(record_id);
  if (record == nullptr) return this->record(record_id).error();
  auto supported = container::check_supported(*record, toc.forms[toc.index_of(*record)]);
  if (!supported.ok()) return in_context(std::move(supported).error(), origin_.path);
  if (!copy_reason_.empty()) return AccessPath::kCopied;
  if (is_composed(*this, *record)) {
    FATCTX_TRY(check_composable(*this, *record));
    return AccessPath::kComposed;
  }
  if (record->slice_count < 2) return AccessPath::kDirect;
  const std::vector<container::Piece> pieces = container::pieces_of(toc, *record);
  if (pieces.size() < 2) return AccessPath::kDirect;
  const std::string obstacle = stitch_obstacle(*mapped_, *record, pieces);
  if (obstacle.empty()) return AccessPath::kStitched;
  if (origin_.options.file_mapping == FileMapping::kRequire) return pieces_not_mapped(origin_.path, *record, obstacle);
  return AccessPath::kCopied;
}

std::span<const RecordInfo> Container::records() const& noexcept { return mapped_->toc().records; }

Result<RecordInfo> Container::find(std::string_view name) const& {
  if (const RecordInfo* found = mapped_->find(name)) return *found;
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: no record is named \"{}\"; there are {}", origin_.path, name, names_of(records()))};
}

Result<RecordInfo> Container::record(std::uint32_t id) const& {
  const RecordInfo* found = mapped_->toc().find(id);
  if (found != nullptr) return *found;
  return Error{ErrorCode::kNotFound, fmt::format("{}: there is no record {}; ids go from 1 to {}", origin_.path, id,
                                                 records().empty() ? 0 : records().back().id)};
}

Result<ContainerDescription> Container::describe() const {
  FATCTX_TRY(mapped_->check_not_lost());
  auto description = container::read_description(mapped_->file(), mapped_->toc());
  return description.ok() ? std::move(description) : in_context(std::move(description).error(), origin_.path);
}

std::vector<Candidate> Container::candidates() const& {
  std::vector<Candidate> candidates;
  candidates.reserve(records().size());
  for (const RecordInfo& record : records()) {
    const bool judged = record.type == RecordType::kContextBinary || record.type == RecordType::kSourceModel;
    if (!judged || !record.supported) continue;
    candidates.push_back({.record_id = record.id, .name = record.name, .key = record.key});
  }
  return candidates;
}

Result<RecordView> Container::acquire_unobserved(std::uint32_t record_id) const {
  const container::Toc& toc = mapped_->toc();
  const RecordInfo* record = toc.find(record_id);
  if (record == nullptr) return this->record(record_id).error();
  const container::RecordForm& form = toc.forms[toc.index_of(*record)];
  auto supported = container::check_supported(*record, form);
  if (!supported.ok()) return in_context(std::move(supported).error(), origin_.path);
  if (!copy_reason_.empty()) {
    const bool sealed = origin_.options.verify == VerifyPolicy::kPrivateCopy;
    return shared_copy(*this, *record, sealed ? sealed_allocator() : origin_.options.allocator);
  }
  FATCTX_TRY(mapped_->recheck());
  if (record->slice_count == 0) return RecordView(attach_view(mapped_, *record, nullptr), record_id, {});
  if (is_composed(*this, *record)) return composed_view(*this, *record);
  if (record->slice_count > 1) {
    const std::vector<container::Piece> pieces = container::pieces_of(toc, *record);
    if (pieces.size() > 1) return pieced_view(*this, *record, pieces);
  }
  if (origin_.options.verify == VerifyPolicy::kRecordOnAcquire) {
    auto verified = mapped_->verify_record(*record, origin_.options.max_made_bytes);
    if (!verified.ok()) return in_context(container::in_record(std::move(verified).error(), *record), mapped_->name());
  }
  // Inside the mapping: rules F16 and F38, and map_file() compared sizes.
  return RecordView(attach_view(mapped_, *record, nullptr), record_id,
                    mapped_->mapped().subspan(static_cast<std::size_t>(record->file_offset),
                                              static_cast<std::size_t>(record->size_bytes)));
}

Result<RecordView> Container::acquire(std::string_view name) const {
  FATCTX_ASSIGN(const RecordInfo record, find(name));
  return acquire(record.id);
}

Result<VerifyReport> Container::verify(const VerifyOptions& options) const {
  FATCTX_TRY(mapped_->check_not_lost());
  observe::Span span(ProfileEventKind::kVerify, origin_.path);
  return ended(span, origin_.path,
               container::verify_container(mapped_->file(), options, origin_.options.generation,
                                           trust_of(origin_.options), origin_.options.max_made_bytes));
}

Result<VerifyReport> Container::verify_record(std::uint32_t record_id, const VerifyOptions& options) const {
  const RecordInfo* record = mapped_->toc().find(record_id);
  if (record == nullptr) return this->record(record_id).error();
  FATCTX_TRY(mapped_->check_not_lost());
  observe::Span span(ProfileEventKind::kVerify, origin_.path);
  span.about(*record);
  return ended(span, origin_.path,
               container::verify_record(mapped_->file(), mapped_->header(), mapped_->toc(), *record, options,
                                        origin_.options.max_made_bytes));
}

Result<VerifyReport> verify_file(const std::string& path, const VerifyOptions& options, const OpenOptions& open) {
  observe::Span span(ProfileEventKind::kVerify, path);
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file.value()->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  return ended(
      span, path,
      container::verify_container(*file.value(), options, open.generation, trust_of(open), open.max_made_bytes));
}

}  // namespace fatctx
