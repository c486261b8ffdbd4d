#include "runtime/inspect/stored_dlc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "container/dlc/contents.h"
#include "container/dlc/cut.h"
#include "container/format/hash.h"
#include "container/read/open.h"
#include "container/read/record_stream.h"
#include "mapping/publish.h"
#include "runtime/open/container_impl.h"

namespace fatctx {
namespace {

namespace dlc = container::dlc;

bool may_be_layout(const RecordInfo& record) noexcept {
  return record.type == RecordType::kOpaque && record.name.ends_with(dlc::kLayoutName);
}

Result<dlc::ArchiveLayout> read_layout_of(const MappedContainer& mapped, const RecordInfo& record) {
  const auto read = [&]() -> Result<dlc::ArchiveLayout> {
    if (record.size_bytes > dlc::kMaxLayoutBytes) {
      return Error{ErrorCode::kLimitExceeded,
                   fmt::format("a layout of {} bytes; at most {} are read", record.size_bytes, dlc::kMaxLayoutBytes)};
    }
    const container::WorkBudget budget(mapped.toc());
    std::vector<std::byte> bytes;
    FATCTX_TRY(container::stream_logical(mapped.file(), mapped.toc(), record, budget, [&](ByteView piece) -> Status {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return Done{};
    }));
    return dlc::parse_layout(bytes);
  };
  auto layout = read();
  if (layout.ok()) return layout;
  return in_context(container::in_record(std::move(layout).error(), record), mapped.name());
}

Result<const RecordInfo*> find_layout(const Container& container, std::string_view layout) {
  const std::string& name = container.path();
  std::vector<const RecordInfo*> found;
  std::vector<std::string_view> names;
  FATCTX_ASSIGN(const auto records, container.records());
  for (const RecordInfo& record : records) {
    if (!may_be_layout(record)) continue;
    if (record.name == layout) return &record;
    found.push_back(&record);
    names.push_back(record.name);
  }
  if (found.empty()) {
    return Error{ErrorCode::kNotFound, fmt::format("{}: no DLC was imported into it: there is no record \"{}\"; pack "
                                                   "the DLC with --dlc",
                                                   name, layout.empty() ? dlc::kLayoutName : layout)};
  }
  if (!layout.empty()) {
    return Error{ErrorCode::kNotFound, fmt::format("{}: no DLC has its layout in \"{}\"; there are: {}", name, layout,
                                                   fmt::join(names, ", "))};
  }
  if (found.size() > 1) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} DLCs were imported into it; name the layout record of the one that is meant: {}",
                             name, found.size(), fmt::join(names, ", "))};
  }
  return found.front();
}

}  // namespace

OpenedDlc::OpenedDlc(Container container, const RecordInfo& record, dlc::ArchiveLayout layout)
    : container_(std::move(container)),
      name_(container_.path()),
      record_(&record),
      layout_(std::move(layout)),
      ranges_(mapped_of(container_)->file(), mapped_of(container_)->toc(),
              container::WorkBudget(mapped_of(container_)->toc(), options_of(container_).max_made_bytes)),
      archive_(layout_, [this](std::size_t entry, std::uint64_t offset, std::span<std::byte> out) -> Status {
        FATCTX_ASSIGN(const RecordInfo* from, record_of(entry));
        auto read = ranges_.read(*from, offset, out);
        if (!read.ok()) return container::in_record(std::move(read).error(), *from);
        return Done{};
      }) {}

Result<std::unique_ptr<OpenedDlc>> OpenedDlc::open(const Container& container, std::string_view layout) {
  const MappedContainer& mapped = *mapped_of(container);
  FATCTX_TRY(mapped.recheck());
  FATCTX_ASSIGN(const RecordInfo* record, find_layout(container, layout));
  FATCTX_ASSIGN(dlc::ArchiveLayout parsed, read_layout_of(mapped, *record));
  return std::make_unique<OpenedDlc>(container, *record, std::move(parsed));
}

StoredDlc OpenedDlc::description() const {
  StoredDlc result;
  result.layout = record_->name;
  result.layout_id = record_->id;
  result.size_bytes = layout_.file_size;
  for (const dlc::LayoutEntry& entry : layout_.entries) result.records.push_back(entry.record);
  return result;
}

Error OpenedDlc::about(Error error) const {
  switch (error.code) {
    case ErrorCode::kChanged:  // from MappedContainer::recheck()
    case ErrorCode::kMappingLost:
    case ErrorCode::kIo:  // perhaps about the output file
    case ErrorCode::kNoSpace:
      return error;
    default:
      return in_context(std::move(error), name_);
  }
}

Result<const RecordInfo*> OpenedDlc::record_of(std::size_t entry) const {
  const dlc::LayoutEntry& wanted = layout_.entries[entry];
  FATCTX_ASSIGN(const RecordInfo* const record, mapped_of(container_)->find(wanted.record));
  const auto refuse = [&](std::string_view what) {
    return Error{ErrorCode::kBadReference,
                 fmt::format("record \"{}\", which the DLC of \"{}\" needs, {}; pack the DLC again", wanted.record,
                             record_->name, what)};
  };
  if (record == nullptr) return refuse("does not exist any more");
  if (record->size_bytes != wanted.data.size || record->hash != wanted.hash) return refuse("has other bytes now");
  return record;
}

Result<std::vector<StoredDlc>> stored_dlcs(const Container& container) {
  std::vector<StoredDlc> found;
  FATCTX_ASSIGN(const auto records, container.records());
  for (const RecordInfo& record : records) {
    if (!may_be_layout(record)) continue;
    FATCTX_ASSIGN(const std::unique_ptr<OpenedDlc> opened, OpenedDlc::open(container, record.name));
    found.push_back(opened->description());
  }
  return found;
}

Result<DlcInfo> list_stored_dlc(const Container& container, std::string_view layout) {
  FATCTX_ASSIGN(const std::unique_ptr<OpenedDlc> opened, OpenedDlc::open(container, layout));
  auto contents = dlc::read_contents(opened->archive(), opened->layout().file_size);
  if (!contents.ok()) return opened->about(std::move(contents).error());
  return std::move(contents.value().info);
}

Result<StoredDlc> export_dlc(const Container& container, std::string_view layout, const std::string& out,
                             bool overwrite, const Progress& progress) {
  FATCTX_ASSIGN(const std::unique_ptr<OpenedDlc> opened, OpenedDlc::open(container, layout));
  const dlc::ArchiveLayout& archive = opened->layout();
  std::vector<const RecordInfo*> records;
  for (std::size_t i = 0; i < archive.entries.size(); ++i) {
    auto record = opened->record_of(i);
    if (!record.ok()) return opened->about(std::move(record).error());
    records.push_back(record.value());
  }
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending, mapping::PendingFile::create(out, overwrite));
  FATCTX_TRY(pending->file().allocate(archive.file_size));
  container::Hasher hasher;
  std::uint64_t at = 0;
  const auto write = [&](ByteView bytes) -> Status {
    FATCTX_TRY(pending->file().write_at(at, bytes));
    hasher.update(bytes);
    at += bytes.size();
    if (progress) progress(at, archive.file_size);
    return Done{};
  };
  const MappedContainer& mapped = *mapped_of(container);
  const container::WorkBudget budget(mapped.toc(), options_of(container).max_made_bytes);
  for (const dlc::LayoutRun& run : dlc::runs_in(archive, {0, archive.file_size})) {
    if (run.entry == dlc::LayoutRun::kRest) {
      FATCTX_TRY(write(
          ByteView(archive.rest).subspan(static_cast<std::size_t>(run.offset), static_cast<std::size_t>(run.size))));
      continue;
    }
    const RecordInfo& record = *records[run.entry];
    auto written = container::stream_logical(mapped.file(), mapped.toc(), record, budget, write);
    if (!written.ok()) return opened->about(container::in_record(std::move(written).error(), record));
  }
  if (hasher.digest() != archive.hash) {
    return opened->about(
        {ErrorCode::kChecksumMismatch,
         fmt::format("what record \"{}\" and the others make is not the DLC that was imported; pack the DLC again",
                     opened->description().layout)});
  }
  FATCTX_TRY(pending->publish(false));
  return opened->description();
}

Result<ThinDlc> thin_stored_dlc(const Container& container, std::string_view layout, const DlcChoice& choice) {
  FATCTX_ASSIGN(const std::unique_ptr<OpenedDlc> opened, OpenedDlc::open(container, layout));
  auto thin = dlc::cut(opened->archive(), opened->layout().file_size, choice);
  if (!thin.ok()) return opened->about(std::move(thin).error());
  return thin;
}

Result<ThinDlc> extract_stored_thin_dlc(const Container& container, std::string_view layout, const DlcChoice& choice,
                                        const std::string& out, bool overwrite) {
  FATCTX_ASSIGN(const std::unique_ptr<OpenedDlc> opened, OpenedDlc::open(container, layout));
  auto thin = dlc::cut(opened->archive(), opened->layout().file_size, choice);
  if (!thin.ok()) return opened->about(std::move(thin).error());
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending, mapping::PendingFile::create(out, overwrite));
  auto written = dlc::write_pieces(opened->archive(), thin.value(), pending->file());
  if (!written.ok()) return opened->about(std::move(written).error());
  FATCTX_TRY(pending->publish(false));
  return thin;
}

}  // namespace fatctx
