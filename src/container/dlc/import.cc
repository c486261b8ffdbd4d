#include "fatctx/import_dlc.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "container/dlc/archive_layout.h"
#include "container/dlc/contents.h"
#include "container/dlc/cut.h"
#include "container/format/disk_format.h"
#include "container/format/names.h"
#include "mapping/os_file.h"
#include "mapping/publish.h"

namespace fatctx {
namespace {

namespace dlc = container::dlc;

struct Opened {
  std::unique_ptr<mapping::OsFile> file;
  mapping::FileIdentity identity;
};

Result<Opened> open_archive(const std::string& path) {
  Opened opened;
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  opened.file = std::move(file).value();
  FATCTX_ASSIGN(opened.identity, opened.file->identity());
  if (!opened.identity.regular) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  }
  return opened;
}

Result<dlc::Contents> contents_of(const Opened& opened, const std::string& path) {
  auto contents = dlc::read_contents(*opened.file, opened.identity.size);
  if (!contents.ok()) return in_context(std::move(contents).error(), path);
  return contents;
}

RecordType record_type_of(DlcEntryKind kind) noexcept {
  switch (kind) {
    case DlcEntryKind::kContextBinary:
      return RecordType::kContextBinary;
    case DlcEntryKind::kSharedWeights:
      return RecordType::kWeightBlob;
    case DlcEntryKind::kSourceModel:
      return RecordType::kSourceModel;
    case DlcEntryKind::kSharedWeightsMetadata:
    case DlcEntryKind::kMetadata:
    case DlcEntryKind::kOther:
      return RecordType::kOpaque;
  }
  return RecordType::kOpaque;
}

std::string_view format_name(DlcEntryKind kind) noexcept {
  switch (kind) {
    case DlcEntryKind::kContextBinary:
      return "qnn-context-binary";
    case DlcEntryKind::kSharedWeights:
      return "qnn-shared-weights";
    case DlcEntryKind::kSharedWeightsMetadata:
      return "qnn-shared-weights-metadata";
    case DlcEntryKind::kSourceModel:
      return "dlc-model";
    case DlcEntryKind::kMetadata:
      return "dlc-metadata";
    case DlcEntryKind::kOther:
      return {};
  }
  return {};
}

void describe_target(const DlcSoc& soc, PackRecord& record) {
  record.key.backend = "htp";
  record.key.qnn_soc = soc.qnn_soc;
  record.key.arch = soc.arch;
  record.key.vtcm_mb = soc.vtcm_mb;
  record.key.sdk = soc.sdk;
  record.key.api = soc.api;
  record.key.blob = soc.blob;
  record.description.producer = soc.build_id;
  record.description.graphs = soc.graphs;
  record.description.options = soc.facts;
}

// Returns whether a thin DLC takes over such entries unchanged: then it is worth storing even small ones so that they
// can be mapped.
bool stays_when_cut(DlcEntryKind kind) noexcept {
  return kind == DlcEntryKind::kSharedWeightsMetadata || kind == DlcEntryKind::kOther;
}

Status check_record_name(const std::string& path, const DlcEntry& entry, const std::string& name,
                         const DlcImport& import) {
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: entry \"{}\": {}", path, entry.name, why),
                 {.file_offset = entry.data.offset}};
  };
  auto named = container::check_name(name, container::kMaxNameSize, false, "record name");
  if (!named.ok()) return refuse(named.error().message);
  if (import.keep_layout && entry.name == dlc::kLayoutName) {
    return refuse("its name is that of the record which keeps the archive's layout");
  }
  return Done{};
}

auto target_of(const PackRecord& record) {
  return std::tuple(record.key.qnn_soc, record.key.arch, record.key.vtcm_mb, record.key.sdk);
}

Result<ThinDlc> cut_of(const Opened& opened, const std::string& path, const DlcChoice& choice) {
  auto thin = dlc::cut(*opened.file, opened.identity.size, choice);
  if (!thin.ok()) return in_context(std::move(thin).error(), path);
  return thin;
}

Status check_still(const Opened& opened, const std::string& path) {
  FATCTX_ASSIGN(const mapping::FileIdentity now, opened.file->identity());
  if (now == opened.identity) return Done{};
  return Error{ErrorCode::kChanged,
               fmt::format("{}: changed while it was being read; try again when it is still", path)};
}

}  // namespace

std::string_view dlc_entry_kind_name(DlcEntryKind kind) noexcept {
  switch (kind) {
    case DlcEntryKind::kContextBinary:
      return "context_binary";
    case DlcEntryKind::kSharedWeights:
      return "shared_weights";
    case DlcEntryKind::kSharedWeightsMetadata:
      return "shared_weights_metadata";
    case DlcEntryKind::kSourceModel:
      return "source_model";
    case DlcEntryKind::kMetadata:
      return "metadata";
    case DlcEntryKind::kOther:
      return "other";
  }
  return "other";
}

Result<bool> is_dlc(const std::string& path) {
  FATCTX_ASSIGN(const Opened opened, open_archive(path));
  auto found = dlc::is_dlc(*opened.file, opened.identity.size);
  if (!found.ok()) return in_context(std::move(found).error(), path);
  return found;
}

Result<DlcInfo> list_dlc(const std::string& path) {
  FATCTX_ASSIGN(const Opened opened, open_archive(path));
  FATCTX_ASSIGN(dlc::Contents contents, contents_of(opened, path));
  return std::move(contents.info);
}

Result<std::vector<PackRecord>> records_from_dlc(const std::string& path, const DlcImport& import) {
  FATCTX_ASSIGN(const Opened opened, open_archive(path));
  FATCTX_ASSIGN(const dlc::Contents contents, contents_of(opened, path));
  const DlcInfo& info = contents.info;
  std::vector<PackRecord> records;
  std::vector<std::string> names;
  for (const DlcEntry& entry : info.entries) {
    names.push_back(import.prefix + entry.name);
    FATCTX_TRY(check_record_name(path, entry, names.back(), import));
    PackRecord record;
    record.type = record_type_of(entry.kind);
    record.name = names.back();
    record.key.group = import.group;
    record.description.format = format_name(entry.kind);
    record.source.path = path;
    record.source.part = entry.data;
    record.own_extent = stays_when_cut(entry.kind);
    // Only opaque records may be empty.
    if (entry.data.size == 0 && entry.kind != DlcEntryKind::kContextBinary) record.type = RecordType::kOpaque;
    records.push_back(std::move(record));
  }
  std::map<decltype(target_of(records.front())), std::size_t> targets;
  for (const DlcSoc& soc : info.socs) {
    PackRecord& record = records[soc.entry];
    record.key.unit = import.unit;
    describe_target(soc, record);
    std::vector<std::string> weights;
    for (const std::size_t entry : soc.shared) {
      if (records[entry].type == RecordType::kWeightBlob) weights.push_back(records[entry].name);
    }
    record.weights = std::move(weights);
    const auto [first, fresh] = targets.emplace(target_of(record), soc.entry);
    if (fresh) continue;
    record.key.variant = record.name;
    records[first->second].key.variant = records[first->second].name;
  }
  if (!import.keep_layout) return records;
  auto layout = dlc::read_layout(*opened.file, contents.archive, names);
  if (!layout.ok() && layout.error().code != ErrorCode::kTruncated) return in_context(layout.error(), path);
  FATCTX_TRY(check_still(opened, path));
  if (!layout.ok()) return in_context(layout.error(), path);
  PackRecord record;
  record.name = import.prefix + std::string(dlc::kLayoutName);
  record.key.group = import.group;
  record.description.format = dlc::kLayoutFormat;
  record.source.bytes = dlc::encode_layout(layout.value());
  record.codec = Codec::kLz4;  // most of it is padding
  records.push_back(std::move(record));
  return records;
}

Result<ThinDlc> thin_dlc(const std::string& path, const DlcChoice& choice) {
  FATCTX_ASSIGN(const Opened opened, open_archive(path));
  return cut_of(opened, path, choice);
}

Result<ThinDlc> extract_thin_dlc(const std::string& path, const DlcChoice& choice, const std::string& out,
                                 bool overwrite) {
  FATCTX_ASSIGN(const Opened opened, open_archive(path));
  FATCTX_ASSIGN(ThinDlc thin, cut_of(opened, path, choice));
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending, mapping::PendingFile::create(out, overwrite));
  const auto written = dlc::write_pieces(*opened.file, thin, pending->file());
  // If the file is too short now, it has shrunk: its entries were inside before.
  const bool shrunk = !written.ok() && written.error().code == ErrorCode::kTruncated;
  if (!written.ok() && !shrunk) return written.error();
  FATCTX_TRY(check_still(opened, path));
  if (shrunk) return written.error();
  FATCTX_TRY(pending->publish(false));
  return thin;
}

}  // namespace fatctx
