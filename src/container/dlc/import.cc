#include "fatctx/import_dlc.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "container/dlc/contents.h"
#include "container/dlc/thin.h"
#include "container/names.h"
#include "mapping/os_file.h"
#include "mapping/publish.h"

namespace fatctx {
namespace {

namespace dlc = container::dlc;

constexpr std::size_t kCopyUnit = std::size_t{1} << 20;

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

void describe_target(const DlcSoc& soc, const DlcInfo& info, PackRecord& record) {
  record.key.backend = "htp";
  record.key.qnn_soc = soc.qnn_soc;
  record.key.arch = soc.arch;
  record.key.vtcm_mb = soc.vtcm_mb;
  record.key.sdk = soc.sdk;
  record.key.api = soc.api;
  record.key.blob = soc.blob;
  record.description.producer = soc.build_id;
  for (const std::string& graph : soc.graphs)
    record.description.graphs.push_back({.name = graph, .inputs = {}, .outputs = {}});
  for (const std::size_t entry : soc.shared) {
    if (info.entries[entry].kind == DlcEntryKind::kSharedWeights) record.weights.push_back(info.entries[entry].name);
  }
}

auto target_of(const PackRecord& record) {
  return std::tuple(record.key.qnn_soc, record.key.arch, record.key.vtcm_mb, record.key.sdk);
}

std::string target_words(const DlcSoc& soc, const DlcInfo& info) {
  return fmt::format("{} ({})", soc.qnn_soc, info.entries[soc.entry].name);
}

Result<std::vector<bool>> choose(const DlcInfo& info, const DlcChoice& choice) {
  std::vector<bool> chosen(info.entries.size(), false);
  const auto refuse = [&](const std::string& what) {
    std::vector<std::string> there;
    for (const DlcSoc& soc : info.socs) there.push_back(target_words(soc, info));
    return Error{ErrorCode::kNoMatch, fmt::format("no context binary {} in it; there are: {}", what,
                                                  there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", ")))};
  };
  if (choice.qnn_socs.empty() && choice.entries.empty()) return refuse("was chosen");
  for (const std::uint32_t number : choice.qnn_socs) {
    bool found = false;
    for (const DlcSoc& soc : info.socs) {
      if (soc.qnn_soc != number) continue;
      chosen[soc.entry] = true;
      found = true;
    }
    if (!found) return refuse(fmt::format("for SoC {} is", number));
  }
  for (const std::string& name : choice.entries) {
    const auto found = std::find_if(info.socs.begin(), info.socs.end(),
                                    [&](const DlcSoc& soc) { return info.entries[soc.entry].name == name; });
    if (found == info.socs.end()) return refuse(fmt::format("named \"{}\" is", name));
    chosen[found->entry] = true;
  }
  return chosen;
}

Result<ThinDlc> thin_of(const Opened& opened, const std::string& path, const DlcChoice& choice) {
  FATCTX_ASSIGN(const dlc::Contents contents, contents_of(opened, path));
  auto chosen = choose(contents.info, choice);
  if (!chosen.ok()) return in_context(std::move(chosen).error(), path);
  const std::vector<bool> kept = dlc::entries_to_keep(contents, chosen.value());
  dlc::Names dropped;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) dropped.insert(contents.info.entries[i].name);
  }
  std::optional<dlc::Replacement> replacement;
  if (!dropped.empty()) {
    if (!contents.metadata_entry) {
      return Error{
          ErrorCode::kBadReference,
          fmt::format("{}: there is no entry \"dlc.metadata\" to say what is left; compile the DLC again", path)};
    }
    const std::size_t entry = *contents.metadata_entry;
    auto text = dlc::cut_metadata(contents.metadata_text, contents.info.entries[entry].data.offset, dropped);
    if (!text.ok()) return in_context(std::move(text).error(), path);
    replacement = dlc::Replacement{entry, std::move(text).value()};
  }
  auto thin = dlc::build_thin(*opened.file, contents.archive, kept, replacement);
  if (!thin.ok()) return in_context(std::move(thin).error(), path);
  return thin;
}

// Ranges are read by pread in pieces of a fixed size.
Status write_pieces(const mapping::OsFile& from, const ThinDlc& thin, mapping::OsFile& to) {
  FATCTX_TRY(to.allocate(thin.size_bytes));
  std::vector<std::byte> buffer;
  std::uint64_t at = 0;
  for (const DlcPiece& piece : thin.pieces) {
    if (!piece.bytes.empty()) {
      FATCTX_TRY(to.write_at(at, piece.bytes));
      at += piece.bytes.size();
      continue;
    }
    for (std::uint64_t done = 0; done < piece.range.size; done += buffer.size()) {
      buffer.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyUnit, piece.range.size - done)));
      FATCTX_TRY(from.read_at(piece.range.offset + done, buffer));
      FATCTX_TRY(to.write_at(at + done, buffer));
    }
    at += piece.range.size;
  }
  return Done{};
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
  auto first = dlc::first_entry_name(*opened.file, opened.identity.size);
  if (!first.ok()) return in_context(std::move(first).error(), path);
  if (first.value().empty()) return false;
  if (dlc::is_dlc_name(first.value())) return true;
  const auto archive = dlc::read_archive(*opened.file, opened.identity.size);
  if (!archive.ok()) return false;
  const auto& entries = archive.value().entries;
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) { return dlc::is_dlc_name(entry.name); });
}

Result<DlcInfo> list_dlc(const std::string& path) {
  FATCTX_ASSIGN(const Opened opened, open_archive(path));
  FATCTX_ASSIGN(dlc::Contents contents, contents_of(opened, path));
  return std::move(contents.info);
}

Result<std::vector<PackRecord>> records_from_dlc(const std::string& path, const DlcImport& import) {
  FATCTX_ASSIGN(const DlcInfo info, list_dlc(path));
  std::vector<PackRecord> records;
  for (const DlcEntry& entry : info.entries) {
    auto named = container::check_name(entry.name, container::dlc::kMaxEntryName, false, "record name");
    if (!named.ok()) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{}: entry \"{}\": {}", path, entry.name, named.error().message),
                   {.file_offset = entry.data.offset}};
    }
    PackRecord record;
    record.type = record_type_of(entry.kind);
    record.name = entry.name;
    record.key.group = import.group;
    record.description.format = format_name(entry.kind);
    record.source.path = path;
    record.source.part = entry.data;
    // Only opaque records may be empty.
    if (entry.data.size == 0 && entry.kind != DlcEntryKind::kContextBinary) record.type = RecordType::kOpaque;
    records.push_back(std::move(record));
  }
  std::map<decltype(target_of(records.front())), std::size_t> targets;
  for (const DlcSoc& soc : info.socs) {
    PackRecord& record = records[soc.entry];
    record.key.unit = import.unit;
    describe_target(soc, info, record);
    std::erase_if(record.weights, [&](const std::string& name) {
      return std::any_of(records.begin(), records.end(), [&](const PackRecord& other) {
        return other.name == name && other.type != RecordType::kWeightBlob;
      });
    });
    const auto [first, fresh] = targets.emplace(target_of(record), soc.entry);
    if (fresh) continue;
    record.key.variant = record.name;
    records[first->second].key.variant = records[first->second].name;
  }
  return records;
}

Result<ThinDlc> thin_dlc(const std::string& path, const DlcChoice& choice) {
  FATCTX_ASSIGN(const Opened opened, open_archive(path));
  return thin_of(opened, path, choice);
}

Result<ThinDlc> extract_thin_dlc(const std::string& path, const DlcChoice& choice, const std::string& out,
                                 bool overwrite) {
  FATCTX_ASSIGN(const Opened opened, open_archive(path));
  FATCTX_ASSIGN(ThinDlc thin, thin_of(opened, path, choice));
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending, mapping::PendingFile::create(out, overwrite));
  const auto written = write_pieces(*opened.file, thin, pending->file());
  // A file that has become too short was not so when its entries were found inside.
  const bool shrunk = !written.ok() && written.error().code == ErrorCode::kTruncated;
  if (!written.ok() && !shrunk) return written.error();
  FATCTX_ASSIGN(const mapping::FileIdentity now, opened.file->identity());
  if (shrunk || now != opened.identity) {
    return Error{ErrorCode::kChanged,
                 fmt::format("{}: changed while it was being read; try again when it is still", path)};
  }
  FATCTX_TRY(pending->publish(false));
  return thin;
}

}  // namespace fatctx
