#include "container/edit/repair.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "container/check/verify.h"
#include "container/edit/restore.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "mapping/append_file.h"
#include "mapping/read_only_file.h"

namespace fatctx {

namespace container {
namespace {

// A view of the file in its restored state; writes nothing.
class RestoredFile final : public mapping::ReadOnlyFile {
 public:
  RestoredFile(const mapping::OsFile& file, const std::vector<Restoration>& restorations)
      : file_(file), restorations_(restorations) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    FATCTX_TRY(file_.read_at(offset, buffer));
    for (const Restoration& restoration : restorations_) {
      const ByteRange range = restoration.range;
      const std::uint64_t first = std::max(offset, range.offset);
      const std::uint64_t end = std::min(offset + buffer.size(), range.offset + range.size);
      if (first >= end) continue;
      FATCTX_ASSIGN(const std::vector<std::byte> bytes, bytes_of(file_, restoration));
      const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(first - range.offset);
      std::copy_n(from, end - first, buffer.begin() + static_cast<std::ptrdiff_t>(first - offset));
    }
    return Done{};
  }
  Result<mapping::FileIdentity> identity() const override { return file_.identity(); }

 private:
  const mapping::OsFile& file_;
  const std::vector<Restoration>& restorations_;
};

bool is_damage(ErrorCode code) { return code == ErrorCode::kChecksumMismatch || code == ErrorCode::kMalformed; }

Result<OpenedToc> open_damaged(const mapping::OsFile& file) {
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file.identity());
  auto opened = read_toc(file, identity.size);
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

}  // namespace

Result<RepairReport> repair_file(mapping::OsFile& file, const std::string& path, const RepairOptions& options) {
  FATCTX_ASSIGN(const OpenedToc opened, open_damaged(file));
  FATCTX_TRY(check_changeable(opened.header));
  FATCTX_ASSIGN(const std::vector<Restoration> restorations, everything_restorable(file, opened));
  if (!options.dry_run) {
    FATCTX_TRY(write_restorations(file, opened.header, restorations));
    FATCTX_TRY(check_restored(file, opened, restorations));
  }
  const VerifyOptions verify{.threads = options.threads, .progress = options.progress};
  const RestoredFile restored(file, restorations);
  const mapping::OsFile& result = options.dry_run ? static_cast<const mapping::OsFile&>(restored) : file;
  FATCTX_ASSIGN(VerifyReport verified, verify_container(result, verify));
  explain_lost_copies(verified);

  RepairReport report;
  report.path = path;
  report.uuid = uuid_text(opened.header.uuid);
  report.generation = opened.header.generation;
  report.dry_run = options.dry_run;
  for (const Restoration& restoration : restorations) report.restored.push_back({restoration.what, restoration.range});
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
