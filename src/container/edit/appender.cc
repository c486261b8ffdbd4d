// Appender: implements the commit protocol of docs/format.md, section 13.
#include "fatctx/appender.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "container/edit/append.h"
#include "container/edit/append_rows.h"
#include "container/edit/evidence.h"
#include "container/edit/file_sharing.h"
#include "container/edit/present_bytes.h"
#include "container/edit/present_runs.h"
#include "container/edit/restore.h"
#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "container/read/read_description.h"
#include "container/write/check_opens.h"
#include "container/write/copy_payload.h"
#include "container/write/header_build.h"
#include "container/write/incoming_records.h"
#include "container/write/pack_report.h"
#include "container/write/plan.h"
#include "container/write/rebuild.h"
#include "container/write/settle_sharing.h"
#include "fatctx/base/checked.h"
#include "mapping/append_file.h"
#include "mapping/file_below.h"
#include "mapping/process.h"

namespace fatctx {

using namespace container;

namespace {

constexpr std::size_t kPairs = 2;  // of slots; the mirrors of pair p are slots p and p + 2

Error refused(std::string message) { return Error{ErrorCode::kOperationNotPermitted, std::move(message)}; }

Error sealed_error() {
  return refused(
      "the container is sealed and never changes; make an unsealed copy with `fatctx compact FILE -o NEW` and append "
      "to that");
}

std::uint64_t dead_bytes_of(const TocRows& rows) {
  std::uint64_t bytes = 0;
  for (const SegmentEntry& segment : rows.segments) {
    if (segment.kind == static_cast<std::uint16_t>(SegmentKind::kDead)) bytes += segment.size;
  }
  return bytes;
}

}  // namespace

struct Appender::Impl {
  std::unique_ptr<mapping::OsFile> file;
  std::string path;
  std::string name = {};  // absolute path; empty for a file in memory
  AppendOptions options;
  std::int64_t process = mapping::process_id();
  bool spent = false;
  std::uint64_t file_size = 0;
  OpenedToc opened;
  IncomingRecords records;
  std::vector<std::pair<std::uint32_t, EvidenceNote>> notes;  // by record id
  std::vector<std::uint32_t> taken_back;                      // ids of records

  [[nodiscard]] Status check_usable() const {
    if (process != mapping::process_id()) {
      return refused(fmt::format("{}: it was opened for appending by the process that this one was forked from", path));
    }
    if (spent) return refused(fmt::format("{}: this append is over; open it again", path));
    return Done{};
  }

  [[nodiscard]] PackOptions pack_options() const {
    PackOptions pack;
    pack.extent_log2 = opened.header.extent_log2;
    pack.granule_log2 = opened.header.granule_log2;
    pack.progress = options.progress;
    pack.threads = options.threads;
    pack.cancel = options.cancel;
    pack.strict_sharing = options.strict_sharing;
    return pack;
  }

  Status take() {
    FATCTX_ASSIGN(const mapping::FileIdentity identity, file->identity());
    file_size = identity.size;
    FATCTX_ASSIGN(opened, read_toc(*file, file_size));
    const Header& header = opened.header;
    if (header.sealed) return sealed_error();
    FATCTX_TRY(check_changeable(header));
    if (options.one_per_soc) records.allow_one_per_soc();
    for (const RecordInfo& record : opened.toc.records) records.take(record);
    if (options.replace) records.replace_taken();
    return Done{};
  }

  [[nodiscard]] Result<std::vector<bool>> gone_records() const {
    const Toc& toc = opened.toc;
    std::vector<bool> gone(toc.records.size());
    const std::set<std::string_view> names(records.superseded().begin(), records.superseded().end());
    const std::set<std::uint32_t> ids(taken_back.begin(), taken_back.end());
    for (std::size_t i = 0; i < toc.records.size(); ++i) {
      gone[i] = names.contains(toc.records[i].name) || ids.contains(toc.records[i].id);
    }
    // A tensor table is removed with its blob; a remaining binary keeps its weights.
    for (const Reference& reference : toc.references) {
      const std::size_t from = toc.index_of(*toc.find(reference.from_record));
      const std::size_t to = toc.index_of(*toc.find(reference.to_record));
      if (reference.kind == ReferenceKind::kTensorTable && gone[to]) gone[from] = true;
      if (reference.kind != ReferenceKind::kWeights || !gone[to] || gone[from]) continue;
      return Error{
          ErrorCode::kBadReference,
          fmt::format("record \"{}\" refers to weights \"{}\", which cannot be {} under it; {} it too",
                      toc.records[from].name, toc.records[to].name, taken_back.empty() ? "replaced" : "left out",
                      taken_back.empty() ? "replace" : "leave out"),
          {.record_id = toc.records[from].id, .rule = "F27"}};
    }
    return gone;
  }

  [[nodiscard]] Result<AppendStart> start_of(const std::vector<bool>& gone, std::uint64_t first_byte, std::size_t added,
                                             WorkProgress& progress) {
    const Toc& toc = opened.toc;
    AppendStart start;
    start.first_byte = first_byte;
    FATCTX_ASSIGN(start.description, read_whole_description(*file, toc));
    std::erase_if(start.description.records, [&](const RecordDescription& described) {
      const RecordInfo* record = toc.find(described.record_id);
      return record == nullptr || gone[toc.index_of(*record)];
    });
    for (const auto& [record_id, note] : notes) {
      const std::size_t at = toc.index_of(*toc.find(record_id));
      auto added_note = gone[at]
                            ? Status(Error{ErrorCode::kBadReference, "this append replaces it, and it is noted on"})
                            : add_note(start.description, record_id, note);
      if (!added_note.ok()) return in_record(std::move(added_note).error(), toc.records[at]);
    }
    for (const Segment& segment : toc.segments) start.present.push_back({segment.offset, segment.size});
    std::uint32_t highest_id = 0;
    for (std::size_t i = 0; i < toc.records.size(); ++i) {
      const RecordInfo& record = toc.records[i];
      // Ids grow through all generations. Each generation has its own description, with the highest or second highest
      // id.
      highest_id = std::max(highest_id, record.id);
      if (record.type == RecordType::kWeightBlob && !gone[i]) {
        start.present_weights.emplace(std::string(record.name), PresentRecord{record.id, record.hash});
      }
    }
    // One more id: a description comes with the new records.
    if (std::numeric_limits<std::uint32_t>::max() - highest_id <= added) {
      return Error{ErrorCode::kLimitExceeded,
                   "the file has no ids for more records; write it anew with `fatctx compact`"};
    }
    start.first_id = highest_id + 1;
    start.find_in_file = [this, &gone, &progress](Plan& plan) -> Status {
      std::vector<bool> left_out = plan.present_alone;
      std::transform(gone.begin(), gone.end(), left_out.begin(), left_out.begin(), std::logical_or<>());
      FATCTX_TRY(find_present_bytes(plan, *file, opened.toc, left_out));
      if (options.sharing.value_or(sharing_of(opened.toc, left_out)) != Sharing::kBytes) return Done{};
      return find_present_runs(plan, *file, opened.toc, left_out, pack_options(), progress);
    };
    return start;
  }

  // Returns the file's records as candidates. `description` has their entries and must outlive the result.
  [[nodiscard]] std::vector<SharingCandidate> candidates(const std::vector<bool>& gone,
                                                         const ContainerDescription& description) const {
    const Toc& toc = opened.toc;
    std::vector<SharingCandidate> found(toc.records.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (gone[i]) continue;
      const RecordInfo& record = toc.records[i];
      found[i].name = record.name;
      found[i].type = record.type;
      found[i].group = record.key.group;
      found[i].unit = record.key.unit;
      for (const std::uint32_t weights : record.weights) found[i].weights.emplace_back(toc.find(weights)->name);
      found[i].description = description.find(record.id);
    }
    return found;
  }

  // Restores the copies that this generation depends on. One copy is enough to open the file, but two are promised: of
  // the identity, and of the present generation's slots and table. The commit itself writes the slots of the other pair
  // anew; other damage is left to repair.
  Status restore_copies(AppendReport& report) {
    const Header& header = opened.header;
    FATCTX_ASSIGN(const std::uint32_t degraded, degraded_copies(*file, header));
    constexpr std::uint32_t kBothSlots = kDegradedSlotA0 | (kDegradedSlotA0 << kPairs);
    const std::uint32_t needed =
        kDegradedPrologue0 | kDegradedPrologue1 | (kBothSlots << header.pair) | kDegradedToc0 | kDegradedToc1;
    FATCTX_ASSIGN(const std::vector<Restoration> restorations, restorations_of(*file, header, degraded & needed));
    FATCTX_TRY(restore(*file, header, restorations));
    for (const Restoration& restoration : restorations) report.restored.push_back(restoration.what);
    return Done{};
  }

  // Zeroes the bytes from the end to the next extent: they become padding. Leftover bytes from there on become DEAD. No
  // attempt to append has ever named the padding. It is written even if it reads as zeros, because the disk may differ.
  Status clear_padding() {
    const std::uint64_t from = opened.header.committed_end;
    const std::uint64_t end = std::min(file_size, *checked_align_up(from, opened.header.form().unit_log2));
    if (end == from) return Done{};
    return file->write_at(from, std::vector<std::byte>(static_cast<std::size_t>(end - from)));
  }

  Result<AppendReport> commit() {
    AppendReport report;
    const Header& header = opened.header;
    FATCTX_TRY(next_generation(header.generation));
    FATCTX_TRY(records.check_references());
    FATCTX_TRY(check_compatible(records.records()));
    FATCTX_ASSIGN(const std::vector<bool> gone, gone_records());
    if (const std::size_t earlier = opened.toc.generations.size(); earlier >= kMaxGenerations) {
      return Error{ErrorCode::kLimitExceeded,
                   fmt::format("the file has {} earlier generations, and no more are allowed; write it anew with "
                               "`fatctx compact`",
                               earlier)};
    }
    const auto first_byte = checked_align_up(std::max(header.committed_end, file_size), header.extent_log2);
    if (!first_byte || *first_byte > kMaxFileSize) return Error{ErrorCode::kLimitExceeded, "the file is too large"};
    const PackOptions pack = pack_options();
    std::map<std::string, std::uint64_t> blob_sizes;
    PartsByName parts;
    FATCTX_ASSIGN(std::vector<PackRecord> incoming, records.with_tensor_tables(blob_sizes, parts));
    WorkProgress progress(pack.progress);
    FATCTX_ASSIGN(AppendStart start, start_of(gone, *first_byte, incoming.size(), progress));
    const ContainerDescription described = start.description;
    start.present_candidates = candidates(gone, described);
    FATCTX_ASSIGN(Plan plan, make_append_plan(std::move(incoming), std::move(parts), std::move(start), pack, progress));
    FATCTX_TRY(check_blob_sizes(plan, blob_sizes));
    const auto rows = [&] { return rows_after_append(header, opened.toc, plan, gone, *first_byte, pack); };
    FATCTX_ASSIGN(plan.toc_size, toc_size_of(rows()));
    FATCTX_TRY(place_toc(plan, header.form().unit_log2));

    FATCTX_TRY(restore_copies(report));
    FATCTX_TRY(clear_padding());
    FATCTX_TRY(file->allocate(plan.committed_end));
    FATCTX_TRY(write_slot_again(*file, header, header.pair));
    FATCTX_TRY(copy_payload(plan, *file, progress));
    FATCTX_TRY(check_rebuilt(plan, *file, pack.threads, progress));
    const TocRows final_rows = rows();
    FATCTX_ASSIGN(const std::vector<std::byte> toc, toc_bytes(final_rows));
    const GenerationFacts facts{.generation = header.generation + 1,
                                .committed_end = plan.committed_end,
                                .toc_offset = plan.toc_offset,
                                .toc_size = plan.toc_size.all,
                                .toc_head_size = plan.toc_size.head,
                                .toc_hash = hash128(head_of(toc)),
                                .previous_toc_hash = header.toc_hash};
    FATCTX_TRY(check_opens(facts, toc));
    for (const std::uint64_t offset : plan.toc_offset) FATCTX_TRY(file->write_at(offset, toc));
    fill_report(report, plan, final_rows);  // now: no allocation may fail once a slot is written
    FATCTX_TRY(file->sync());  // barrier 1: everything that the slots will name, and a mirror of the present pair

    auto named = write_slots(facts);
    // Last, and not before barrier 1: a crash may spoil every mirror that is being written. If barrier 2 fails, reads
    // show the new pair, and the next writer starts from it.
    if (named.ok()) named = write_slot_again(*file, header, header.pair + kPairs);
    if (named.ok()) named = file->sync();  // barrier 2
    if (!named.ok()) {
      Error error = std::move(named).error();
      error.code = ErrorCode::kCommitUnknown;
      error.message +=
          "; reads may show the new generation although the disk has not got it; append again, or run `fatctx repair`, "
          "when the disk works again";
      return error;
    }
    return report;
  }

  // Parses the result as a reader would, because limits and rules apply to old and new rows together. A file that
  // readers would refuse is never committed.
  [[nodiscard]] Status check_opens(const GenerationFacts& facts, const std::vector<std::byte>& toc) const {
    std::array<HeaderSector, 2> slots;
    std::vector<LaterBytes> later;
    for (std::size_t mirror = 0; mirror < slots.size(); ++mirror) {
      const auto index = static_cast<std::uint8_t>((1 - opened.header.pair) + mirror * kPairs);
      slots[mirror] = slot_sector(index, opened.header.uuid, facts);
      later.push_back({opened.header.form().slots[index], slots[mirror]});
    }
    for (const std::uint64_t offset : facts.toc_offset) later.push_back({offset, toc});
    return container::check_opens(*file, facts, later);
  }

  // Checks that the file still has its name: nobody would find bytes in a file without a name.
  [[nodiscard]] Status check_named() const {
    if (name.empty()) return Done{};
    auto named = mapping::check_named(*file, name);
    if (named.ok()) return named;
    Error error = std::move(named).error();
    if (error.code == ErrorCode::kChanged) {
      error.message = "another file took its place while it was appended to; append to that one again";
    } else {
      error.code = ErrorCode::kCommitUnknown;
      error.message += "; the new generation is written, and nobody knows whether the file still has its name";
    }
    return error;
  }

  static Status place_toc(Plan& plan, unsigned unit_log2) {
    for (std::uint64_t& offset : plan.toc_offset) {
      const auto aligned = checked_align_up(plan.committed_end, unit_log2);
      if (!aligned || *aligned + plan.toc_size.all > kMaxFileSize) {
        return Error{ErrorCode::kLimitExceeded, fmt::format("the file would exceed {} bytes", kMaxFileSize)};
      }
      offset = *aligned;
      plan.committed_end = offset + plan.toc_size.all;
    }
    return Done{};
  }

  // Writes both mirrors of the pair that the present generation does not use.
  Status write_slots(const GenerationFacts& facts) {
    for (std::size_t mirror = 0; mirror < 2; ++mirror) {
      const auto index = static_cast<std::uint8_t>((1 - opened.header.pair) + mirror * kPairs);
      FATCTX_TRY(file->write_at(opened.header.form().slots[index], slot_sector(index, opened.header.uuid, facts)));
    }
    return Done{};
  }

  void fill_report(AppendReport& report, const Plan& plan, const TocRows& rows) const {
    report.path = path;
    report.uuid = uuid_text(opened.header.uuid);
    report.generation = opened.header.generation + 1;
    report.file_size_before = file_size;
    report.file_size = plan.committed_end;
    put_records(plan, report);
    report.dead_bytes = dead_bytes_of(rows);
    report.superseded = records.superseded();
    report.warnings = records.warnings();
    report.warnings.insert(report.warnings.end(), plan.warnings.begin(), plan.warnings.end());
    if (opened.header.signature) {
      report.warnings.push_back(fmt::format(
          "generation {} is signed and generation {} is not: readers with keys refuse it; sign it with `fatctx sign`",
          opened.header.generation, report.generation));
    }
  }
};

Result<Appender> appender_over(std::unique_ptr<mapping::OsFile> file, std::string path, const AppendOptions& options) {
  if (options.sharing == Sharing::kOff) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: an append shares by pages or by bytes; sharing \"off\" is for a new file", path)};
  }
  auto impl = std::make_unique<Appender::Impl>();
  impl->file = std::move(file);
  impl->path = std::move(path);
  impl->options = options;
  auto taken = impl->take();
  if (!taken.ok()) return in_context(std::move(taken).error(), impl->path);
  return Appender(std::move(impl));
}

Status leave_out(Appender& appender, std::uint32_t record_id, const std::string& name) {
  Appender::Impl& impl = appender.impl();
  FATCTX_TRY(impl.check_usable());
  const RecordInfo* record = impl.opened.toc.find(record_id);
  if (record == nullptr || record->name != name) {
    return Error{ErrorCode::kNotFound, fmt::format("{}: record {} is not \"{}\"; somebody has written the file anew",
                                                   impl.path, record_id, name)};
  }
  impl.taken_back.push_back(record_id);
  return Done{};
}

Appender::Appender(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Appender::~Appender() = default;
Appender::Appender(Appender&&) noexcept = default;
Appender& Appender::operator=(Appender&&) noexcept = default;

Result<Appender> Appender::open(const std::string& path, const AppendOptions& options) {
  {  // Checked before opening for writing: "sealed" says more than "read-only".
    const auto file = mapping::open_for_reading(path);
    if (!file.ok()) return in_context(file.error(), path);
    const auto identity = file.value()->identity();
    if (identity.ok() && identity.value().regular) {
      const auto header = read_header(*file.value(), identity.value().size);
      if (header.ok() && header.value().sealed) return in_context(sealed_error(), path);
    }
  }
  FATCTX_ASSIGN(std::unique_ptr<mapping::OsFile> file, mapping::open_for_appending(path));
  FATCTX_ASSIGN(Appender appender, appender_over(std::move(file), path, options));
  appender.impl_->name = mapping::absolute_path(path);
  return appender;
}

Status Appender::add(PackRecord record) {
  FATCTX_TRY(impl_->check_usable());
  return impl_->records.add(std::move(record));
}

Status Appender::note(const std::string& record_name, EvidenceNote note) {
  FATCTX_TRY(impl_->check_usable());
  auto checked = check_note(note);
  if (!checked.ok()) return in_context(std::move(checked).error(), fmt::format("record \"{}\"", record_name));
  for (const RecordInfo& record : impl_->opened.toc.records) {
    if (record.name != record_name || record.type == RecordType::kDescription) continue;
    impl_->notes.emplace_back(record.id, std::move(note));
    return Done{};
  }
  return Error{ErrorCode::kNotFound,
               fmt::format("{}: there is no record \"{}\"; `fatctx info` lists them", impl_->path, record_name)};
}

Result<AppendReport> Appender::commit() {
  FATCTX_TRY(impl_->check_usable());
  impl_->spent = true;
  if (impl_->records.empty() && impl_->notes.empty() && impl_->taken_back.empty()) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}: there is nothing to append", impl_->path)};
  }
  auto report = impl_->commit();
  if (!report.ok()) return in_context(std::move(report).error(), impl_->path);
  try {
    auto named = impl_->check_named();
    if (!named.ok()) return in_context(std::move(named).error(), impl_->path);
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::kCommitUnknown, "out of memory"};  // short enough to need none
  }
  return report;
}

}  // namespace fatctx
