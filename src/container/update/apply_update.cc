#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "container/sharing/work_progress.h"
#include "container/update/checked_leaves.h"
#include "container/update/container_file.h"
#include "container/update/follow_steps.h"
#include "container/update/made_file.h"
#include "container/update/part_of_new.h"
#include "container/update/unknown_bytes.h"
#include "container/update/update_file.h"
#include "container/update/update_format.h"
#include "fatctx/update.h"
#include "mapping/publish.h"

namespace fatctx {

using namespace container;

namespace {

class UpdateApplier {
 public:
  UpdateApplier(UpdateFile& update, const ApplyUpdateOptions& options)
      : update_(update), options_(options), progress_(options.progress) {}

  // Finds the files that the update needs among those at `paths`.
  Status open_olds(std::span<const std::string> paths) {
    std::vector<std::optional<ContainerFile>> given;
    for (const std::string& path : paths) {
      FATCTX_ASSIGN(ContainerFile container, ContainerFile::open(path));
      given.emplace_back(std::move(container));
    }
    for (const ContainerName& wanted : update_.olds()) {
      const auto found = std::find_if(given.begin(), given.end(), [&](const std::optional<ContainerFile>& one) {
        return one && one->name() == wanted;
      });
      if (found == given.end()) return none_is(wanted, given);
      olds_.push_back(std::move(**found));
      found->reset();
    }
    for (const ContainerFile& old : olds_) {
      old_bytes_.push_back(std::make_unique<UpdateBytes>(bytes_of_old(*old.file, old.opened, options_.cancel)));
      UpdateContainer described = container_of(old.name());
      described.path = old.path;
      report_.update.old.push_back(std::move(described));
    }
    return Done{};
  }

  Status check_size() const {
    std::uint64_t given = 0;
    for (const ContainerName& old : update_.olds()) given += old.size;
    return update_.check_size(given, options_.max_made_bytes);
  }

  Result<ApplyReport> apply(mapping::PendingFile& pending) {
    report_.update.path = update_.path();
    report_.update.for_partial = update_.for_partial();
    report_.update.update_bytes = update_.size();
    report_.update.made = container_of(update_.made());
    FATCTX_TRY(pending.file().allocate(update_.made().size));
    auto made = make(pending.file());
    const bool lacks = !made.ok() && made.error().code == ErrorCode::kNotPresent;
    if (lacks && update_.for_partial()) {
      FATCTX_TRY(find_absent());
      made = make(pending.file());
    }
    if (!made.ok()) return lacks && !unknown_ ? for_all_of_old(std::move(made).error()) : std::move(made).error();
    FATCTX_ASSIGN(const bool sealed, check_made(pending.file()));
    FATCTX_TRY(pending.publish(sealed));
    return std::move(report_);
  }

 private:
  Error none_is(const ContainerName& wanted, std::span<const std::optional<ContainerFile>> given) const {
    std::string found;
    for (const std::optional<ContainerFile>& one : given) {
      if (!one) continue;  // another one that the update needs
      const ContainerName name = one->name();
      const bool same = name.uuid == wanted.uuid && name.generation == wanted.generation;
      found += fmt::format("{}{} is {}{}", found.empty() ? "" : ", ", one->path, text_of(name),
                           same ? " with another table of contents" : "");
    }
    return Error{ErrorCode::kChanged, fmt::format("{}: it needs {}; {}", update_.path(), text_of(wanted),
                                                  found.empty() ? std::string("no such file was named") : found)};
  }

  Error for_all_of_old(Error error) const {
    error.message += fmt::format(
        "; {} needs all of OLD, but an update of `fatctx delta --for-partial` makes a part of the new file, and so "
        "does "
        "`fatctx fetch SOURCE --from OLD`",
        update_.path());
    return error;
  }

  // From here on, only the part of NEW is made whose bytes are here. These bytes must be right: the hash of a part of
  // NEW says nothing if one byte of it is unknown.
  Status find_absent() {
    std::vector<ByteSet> absent;
    for (const ContainerFile& old : olds_) {
      FATCTX_TRY(check_payload(old, Absent::kAllowed, 1, progress_));
      FATCTX_ASSIGN(ByteSet lacking, absent_bytes_of(*old.file, old.opened.toc, [this] { return go_on(); }));
      absent.push_back(std::move(lacking));
    }
    unknown_.emplace(std::move(absent), update_.path());
    return Done{};
  }

  // Begins anew if it is called again. Bytes of NEW whose source is absent come out as zeros or wrong.
  Status make(mapping::OsFile& file) {
    progress_.begin(update_.made().size);
    update_.rewind();
    report_.update.copies = report_.update.copied_bytes = report_.update.filled_bytes = 0;
    report_.update.literal_bytes = 0;
    read_.assign(olds_.size(), {});
    return follow_steps(update_, file,
                        {.read_old = [this](std::size_t old, std::uint64_t offset,
                                            std::span<std::byte> out) { return read_old(old, offset, out); },
                         .step = [this](const DecodedStep& decoded) -> Status {
                           count(decoded.step);
                           return unknown_ ? unknown_->note(decoded) : Status(Done{});
                         },
                         .part = [this](const StoredPart& part, const Hash128& made) -> Status {
                           const bool known = !unknown_ || unknown_->within(part.made).empty();
                           if (known && made.bytes != part.part.made_hash) return why_differs(part.made);
                           read_.assign(olds_.size(), {});
                           return progress_.add(part.made.size);
                         }});
  }

  Status read_old(std::size_t old, std::uint64_t offset, std::span<std::byte> out) {
    const ByteRange range{offset, out.size()};
    std::vector<ByteRange>& read = read_[old];
    if (!read.empty() && read.back().offset + read.back().size == range.offset) {
      read.back().size += range.size;
    } else {
      read.push_back(range);
    }
    auto bytes = old_bytes_[old]->read_at(range.offset, out);
    return bytes.ok() ? std::move(bytes) : Status(in_context(std::move(bytes).error(), olds_[old].path));
  }

  // Returns why a part came out wrong. Either an old file differs from its table, or the update is wrong.
  Error why_differs(ByteRange part) const {
    for (std::size_t i = 0; i < olds_.size(); ++i) {
      const auto identity = olds_[i].file->identity();
      if (!identity.ok()) return identity.error();
      const auto now = read_header(*olds_[i].file, identity.value().size);
      if (!now.ok() || name_of(now.value()) != update_.olds()[i]) {
        return Error{ErrorCode::kChanged, fmt::format("{}: it was written to meanwhile", olds_[i].path)};
      }
      auto checked = check_leaves_under(olds_[i], read_[i]);
      if (!checked.ok()) return std::move(checked).error();
    }
    return Error{ErrorCode::kChecksumMismatch,
                 fmt::format("{}: bytes {:#x} to {:#x} of the new file do not come out as it promises", update_.path(),
                             part.offset, part.offset + part.size)};
  }

  void count(const UpdateStep& step) {
    switch (step.kind) {
      case UpdateStep::Kind::kCopy:
        ++report_.update.copies;
        report_.update.copied_bytes += step.size;
        break;
      case UpdateStep::Kind::kFill:
        report_.update.filled_bytes += step.size;
        break;
      case UpdateStep::Kind::kLiteral:
        report_.update.literal_bytes += step.size;
        break;
    }
  }

  // Checks the whole new file. Returns whether it is sealed.
  Result<bool> check_made(mapping::OsFile& file) {
    const Trust trust{options_.trusted_keys, options_.minimum_generation};
    auto opened = read_toc(file, update_.made().size, trust);
    if (!opened.ok()) return in_context(std::move(opened).error(), "the new file");
    const OpenedToc& container = opened.value();
    if (name_of(container.header) != update_.made()) {
      return Error{ErrorCode::kMalformed, fmt::format("{}: it makes {}, and promises {}", update_.path(),
                                                      text_of(name_of(container.header)), text_of(update_.made()))};
    }
    std::uint64_t payload = 0;
    for (const Segment& segment : container.toc.segments) payload += segment.holds_payload() ? segment.size : 0;
    progress_.begin(payload);
    auto checked = unknown_ ? keep_known(file, container.toc) : make_leaf_hashes(file, container.toc);
    if (!checked.ok()) return in_context(std::move(checked).error(), update_.path());
    report_.signature_verified = container.toc.authenticated;
    return container.header.sealed;
  }

  Status go_on() const {
    if (options_.cancel == nullptr || !options_.cancel->load(std::memory_order_relaxed)) return Done{};
    return Error{ErrorCode::kCancelled, "cancelled"};
  }

  Status make_leaf_hashes(mapping::OsFile& file, const Toc& toc) {
    FATCTX_ASSIGN(const std::uint64_t written, write_leaf_hashes(file, toc, [this](std::uint64_t size) -> Status {
                    FATCTX_TRY(go_on());
                    return progress_.add(size);
                  }));
    if (!update_.for_partial()) report_.update.hash_bytes = written;
    return Done{};
  }

  Status keep_known(mapping::OsFile& file, const Toc& toc) {
    const auto after = [this](std::uint64_t) { return go_on(); };
    FATCTX_ASSIGN(const std::set<std::string> required, whole_records_of(olds_, after));
    FATCTX_ASSIGN(PartOfNew part, keep_part(file, toc, *unknown_, required, after));
    report_.absent_bytes = part.absent_bytes;
    report_.records = std::move(part.records);
    return Done{};
  }

  UpdateFile& update_;
  const ApplyUpdateOptions& options_;
  WorkProgress progress_;
  std::vector<ContainerFile> olds_;  // in the order of the update
  std::vector<std::unique_ptr<UpdateBytes>> old_bytes_;
  std::vector<std::vector<ByteRange>> read_;  // of each OLD, for the part that is being made
  std::optional<UnknownBytes> unknown_;       // if a part of NEW is made
  ApplyReport report_;
};

}  // namespace

Result<ApplyReport> apply_update(const std::string& update, std::span<const std::string> old, const std::string& target,
                                 const ApplyUpdateOptions& options) {
  FATCTX_ASSIGN(UpdateFile file, UpdateFile::open(update));
  FATCTX_TRY(file.check(options.cancel));
  UpdateApplier applier(file, options);
  FATCTX_TRY(applier.open_olds(old));
  FATCTX_TRY(applier.check_size());
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending,
                mapping::PendingFile::create(target, options.overwrite));
  FATCTX_ASSIGN(ApplyReport report, applier.apply(*pending));
  report.path = target;
  report.update.made.path = target;
  return report;
}

}  // namespace fatctx
