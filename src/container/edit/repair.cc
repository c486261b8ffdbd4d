#include "container/edit/repair.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "container/check/verify.h"
#include "container/edit/repair_sources.h"
#include "container/edit/restore.h"
#include "container/edit/restored_file.h"
#include "container/edit/synced_file.h"
#include "container/fetch/wanted_leaves.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "mapping/append_file.h"

namespace fatctx {

namespace container {
namespace {

bool is_damage(ErrorCode code) { return code == ErrorCode::kChecksumMismatch || code == ErrorCode::kMalformed; }

Result<OpenedToc> open_damaged(const mapping::OsFile& file, const Trust& trust = {}) {
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file.identity());
  auto opened = read_toc(file, identity.size, trust);
  if (opened.ok() || !is_damage(opened.error().code)) return opened;
  Error error = std::move(opened).error();
  error.message += "; nothing in the file says what belongs there: fetch the file again";
  return error;
}

// Returns whether a range is a sector that the present generation relies on, or the second mirror of a pair: no other
// sector is in its page.
bool comes_first(const Header& header, const Restoration& restoration) {
  const HeaderForm& form = header.form();
  const auto is_at = [&](std::uint64_t offset) { return restoration.range.offset == offset; };
  return is_at(form.prologues[0]) || is_at(form.prologues[1]) || is_at(form.slots[header.pair]) ||
         is_at(form.slots[2]) || is_at(form.slots[3]);
}

Result<std::vector<Restoration>> everything_restorable(const mapping::OsFile& file, const OpenedToc& opened) {
  FATCTX_ASSIGN(const std::uint32_t degraded, degraded_copies(file, opened.header));
  FATCTX_ASSIGN(std::vector<Restoration> found, restorations_of(file, opened.header, degraded));
  std::stable_partition(found.begin(), found.end(),
                        [&](const Restoration& restoration) { return comes_first(opened.header, restoration); });
  std::vector<Restoration> older = restorations_of_older_pair(opened);
  // A slot of the older pair is written once, with its right contents, not first with those of its outdated mirror.
  std::erase_if(found, [&](const Restoration& restoration) {
    return std::any_of(older.begin(), older.end(),
                       [&](const Restoration& newer) { return newer.range.offset == restoration.range.offset; });
  });
  found.insert(found.end(), std::make_move_iterator(older.begin()), std::make_move_iterator(older.end()));
  FATCTX_ASSIGN(std::vector<Restoration> behind, restorations_behind_header(file, opened.toc));
  found.insert(found.end(), std::make_move_iterator(behind.begin()), std::make_move_iterator(behind.end()));
  FATCTX_ASSIGN(std::vector<Restoration> padding, restorations_of_padding(file, opened));
  found.insert(found.end(), std::make_move_iterator(padding.begin()), std::make_move_iterator(padding.end()));
  return found;
}

// Writes the sectors that the present generation relies on first. Nothing else in their pages is touched before all of
// them are on the disk.
Status write_restorations(mapping::OsFile& file, const Header& header, std::span<const Restoration> restorations) {
  const auto others = std::find_if(restorations.begin(), restorations.end(),
                                   [&](const Restoration& restoration) { return !comes_first(header, restoration); });
  // Nobody appends to a sealed file, so no sync of a commit has failed on it.
  const bool write_again = !header.sealed || !restorations.empty();
  FATCTX_TRY(restore(file, header, {restorations.begin(), others}));
  if (write_again) FATCTX_TRY(write_present_pair_again(file, header));
  FATCTX_TRY(restore(file, header, {others, restorations.end()}));
  return write_again ? write_older_pair_again(file, header) : Done{};
}

// Checks that the written bytes can be read back, and that the file opens with the same generation.
Status check_restored(const mapping::OsFile& file, const OpenedToc& before,
                      const std::vector<Restoration>& restorations) {
  const auto otherwise = [](const std::string& what, std::uint64_t offset) {
    return Error{ErrorCode::kIo,
                 fmt::format("{} was written and synced, but reads back differently: copy the "
                             "file to another disk",
                             what),
                 {.file_offset = offset}};
  };
  for (const Restoration& restoration : restorations) {
    FATCTX_ASSIGN(const std::vector<std::byte> wanted, bytes_of(file, restoration));
    std::vector<std::byte> found(wanted.size());
    FATCTX_TRY(file.read_at(restoration.range.offset, found));
    if (found != wanted) return otherwise(restoration.what, restoration.range.offset);
  }
  FATCTX_ASSIGN(const OpenedToc after, open_damaged(file));
  if (after.header.toc_hash != before.header.toc_hash) return otherwise("the header", 0);
  return Done{};
}

// Explains findings about slots: a slot that is still damaged has no good mirror.
void explain_lost_copies(VerifyReport& report) {
  for (VerifyFinding& finding : report.findings) {
    Error& error = finding.error;
    if (error.code != ErrorCode::kChecksumMismatch || error.where.rule != "F6") continue;
    error.message += "; so is its mirror, and nothing says what stood there";
  }
}

// Returns the size that a file had before it was cut, if a source can bring the rest; else the present one.
Result<std::uint64_t> size_before_cut(const mapping::OsFile& file, std::uint64_t size, RepairSources& sources) {
  if (sources.none()) return size;
  std::vector<std::byte> header(static_cast<std::size_t>(std::min<std::uint64_t>(size, kMostHeaderSize)));
  FATCTX_TRY(file.read_at(0, header));
  const auto end = committed_end_of(header, size);
  if (!end.ok() || end.value() <= size || end.value() > kMaxFileSize) return size;
  FATCTX_ASSIGN(const bool useful, sources.any_opens());
  return useful ? end.value() : size;
}

// Gives a file its former size. Nobody has bytes there mapped, and none of them is right before it is restored.
Status lengthen(mapping::OsFile& file, std::uint64_t size) {
  const std::byte zero{0};
  auto written = file.write_at(size - 1, ByteView(&zero, 1));
  if (written.ok()) written = file.sync();
  return written.ok() ? written : in_context(std::move(written).error(), "lengthening the file");
}

// Returns the leaves whose hashes are in the file: in pages, so that missing hashes hide no others.
std::vector<SegmentLeaves> leaves_with_hashes(const mapping::OsFile& file, const Toc& toc) {
  std::vector<SegmentLeaves> known;
  const LeafHash which = toc.authenticated ? LeafHash::kBoth : LeafHash::kXxh3;
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload()) continue;
    for (std::uint64_t first = 0; first < segment.leaf_count(); first += kLeavesPerPage) {
      const LeafRange page{first, std::min(segment.leaf_count(), first + kLeavesPerPage)};
      if (read_leaves(file, toc, segment, which, page).ok()) known.push_back({i, page});
    }
  }
  return known;
}

// Names ranges of payload by their records.
class PayloadNames {
 public:
  explicit PayloadNames(const Toc& toc) {
    for (const RecordInfo& record : toc.records) {
      for (std::uint32_t i = 0; i < record.slice_count; ++i) {
        slices_.emplace_back(toc.in_file(toc.slices[toc.forms[toc.index_of(record)].first_slice + i]), &record);
      }
    }
    std::stable_sort(slices_.begin(), slices_.end(),
                     [](const auto& a, const auto& b) { return a.first.offset < b.first.offset; });
  }
  // Returns text such as: payload of record 5 "weights". If several records have the bytes, it is the last of them.
  [[nodiscard]] std::string of(ByteRange range) const {
    auto next = std::partition_point(slices_.begin(), slices_.end(),
                                     [&](const auto& slice) { return slice.first.offset <= range.offset; });
    if (next != slices_.begin() && overlap(std::prev(next)->first, range).size != 0) --next;
    if (next == slices_.end() || overlap(next->first, range).size == 0) return "payload";
    return fmt::format("payload of record {} \"{}\"", next->second->id, next->second->name);
  }

 private:
  std::vector<std::pair<ByteRange, const RecordInfo*>> slices_;  // by their first bytes
};

// Replaces leaves that are damaged or absent by those of the sources, or says what they promise.
Status mend_payload(mapping::OsFile& file, const Toc& toc, RepairSources& sources, const RepairOptions& options,
                    RepairReport& report) {
  SyncedFile synced(file);
  FATCTX_ASSIGN(WantedLeaves wanted, WantedLeaves::make(synced, toc, leaves_with_hashes(file, toc),
                                                        toc.authenticated ? Proof::kAll : Proof::kWhatIsThere));
  FATCTX_TRY(wanted.look_at_file(Wrong::kKeep));
  ByteSet mended = wanted.missing();
  report.lacking_bytes = mended.bytes();
  const auto lacking = sources.take_leaves(toc, wanted, options.dry_run, options.mending);
  if (!options.dry_run) FATCTX_TRY(synced.sync());
  if (!lacking.ok()) return lacking.error();
  for (const ByteRange& range : lacking.value().ranges()) mended.remove(range);
  if (mended.empty()) return Done{};
  const PayloadNames names(toc);
  for (const Segment& segment : toc.segments) {
    if (!segment.holds_payload()) continue;
    for (const ByteRange& range : mended.within({segment.offset, segment.size})) {
      report.restored.push_back({names.of(range), range});
    }
  }
  return Done{};
}

// Leaves out what the sources of a dry run promise to bring: damage of payload, and of records made from it.
void leave_out_promised(const RepairReport& report, std::vector<VerifyFinding>& findings) {
  std::uint64_t promised = 0;
  for (const RestoredRange& restored : report.restored) {
    if (restored.what.starts_with("payload")) promised += restored.range.size;
  }
  if (promised == 0 || promised < report.lacking_bytes) return;
  std::erase_if(findings, [](const VerifyFinding& finding) {
    return finding.error.where.record_id || finding.error.where.rule == "F26";
  });
}

}  // namespace

Result<RepairReport> repair_file(mapping::OsFile& file, const std::string& path, const RepairOptions& options) {
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file.identity());
  const Trust trust{options.trusted_keys, options.minimum_generation};
  RepairSources sources(options, identity);
  FATCTX_ASSIGN(const std::uint64_t size, size_before_cut(file, identity.size, sources));
  const PaddedFile padded(file, size);
  std::vector<Restoration> tables;  // that the file has no good copy of
  auto opened_file = open_damaged(padded, trust);
  if (!opened_file.ok() && opened_file.error().code == ErrorCode::kChecksumMismatch && !sources.none()) {
    FATCTX_ASSIGN(const Header header, read_header(padded, size));
    FATCTX_ASSIGN(tables, sources.table_of(header));
    if (!tables.empty()) opened_file = open_damaged(RestoredFile(padded, tables), trust);
  }
  FATCTX_ASSIGN(const OpenedToc opened, std::move(opened_file));
  const Toc& toc = opened.toc;
  FATCTX_TRY(check_changeable(opened.header));

  RepairReport report;
  report.path = path;
  report.uuid = uuid_text(opened.header.uuid);
  report.generation = opened.header.generation;
  report.dry_run = options.dry_run;
  if (size > identity.size) {
    report.restored.push_back({"the end of the file", {identity.size, size - identity.size}});
    if (!options.dry_run) FATCTX_TRY(lengthen(file, size));
  }

  FATCTX_ASSIGN(std::vector<Restoration> restorations, everything_restorable(RestoredFile(padded, tables), opened));
  const auto others = std::find_if(restorations.begin(), restorations.end(),
                                   [&](const Restoration& one) { return !comes_first(opened.header, one); });
  restorations.insert(others, std::make_move_iterator(tables.begin()), std::make_move_iterator(tables.end()));
  if (!options.dry_run) {
    FATCTX_TRY(write_restorations(file, opened.header, restorations));
    FATCTX_TRY(check_restored(file, opened, restorations));
  }
  RestoredFile restored(padded, restorations);
  mapping::OsFile& result = options.dry_run ? static_cast<mapping::OsFile&>(restored) : file;
  const auto add = [&](std::vector<Restoration> more) -> Status {
    if (!options.dry_run) {
      FATCTX_TRY(restore(file, opened.header, more));
      FATCTX_TRY(check_restored(file, opened, more));
    }
    restorations.insert(restorations.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    return Done{};
  };
  std::vector<RestoredRange> payload;
  if (!sources.none()) {
    FATCTX_ASSIGN(std::vector<Restoration> hashes, sources.leaf_hashes_for(result, toc));
    FATCTX_TRY(add(std::move(hashes)));
    RepairReport mended;
    FATCTX_TRY(mend_payload(result, toc, sources, options, mended));
    payload = std::move(mended.restored);
    report.lacking_bytes = mended.lacking_bytes;
    if (!options.dry_run && !payload.empty()) {  // which may prove leaf hashes that no source has
      FATCTX_ASSIGN(std::vector<Restoration> proved, restorations_behind_header(file, toc));
      FATCTX_TRY(add(std::move(proved)));
    }
  }
  for (const Restoration& one : restorations) report.restored.push_back({one.what, one.range});
  report.restored.insert(report.restored.end(), payload.begin(), payload.end());
  report.sources = sources.reports();

  const VerifyOptions verify{.threads = options.threads, .progress = options.progress};
  FATCTX_ASSIGN(VerifyReport verified, verify_container(result, verify, 0, trust));
  explain_lost_copies(verified);
  if (options.dry_run) leave_out_promised(report, verified.findings);
  report.remaining = std::move(verified.findings);
  report.checked_bytes = verified.checked_bytes;
  return report;
}

}  // namespace container

namespace {

Result<RepairReport> repair_unlocked(const std::string& path, const RepairOptions& options) {
  FATCTX_ASSIGN(const std::unique_ptr<mapping::OsFile> file,
                mapping::open_for_reading(path, {.follow_symlinks = false}));
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  auto report = container::repair_file(*file, path, options);
  if (!report.ok()) return in_context(std::move(report).error(), path);
  return report;
}

}  // namespace

Result<RepairReport> repair(const std::string& path, const RepairOptions& options) {
  if (options.dry_run) return repair_unlocked(path, options);
  auto file = mapping::open_for_appending(path);
  if (file.ok()) {
    auto report = container::repair_file(*file.value(), path, options);
    if (!report.ok()) return in_context(std::move(report).error(), path);
    return report;
  }
  if (file.error().code != ErrorCode::kOperationNotPermitted) return std::move(file).error();
  // A sealed file is usually read-only. If it is intact, no write permission is needed.
  RepairOptions look = options;
  look.dry_run = true;
  FATCTX_ASSIGN(RepairReport report, repair_unlocked(path, look));
  report.dry_run = false;
  if (report.restored.empty()) return report;
  Error error = std::move(file).error();
  error.message += fmt::format("; {} {} damaged: allow writing with `chmod u+w` and repair again, or repair a copy",
                               report.restored.front().what, report.restored.size() == 1 ? "is" : "and more are");
  return error;
}

}  // namespace fatctx
