#include "container/dlc/contents.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace fatctx::container::dlc {
namespace {

constexpr std::string_view kMetadataPrefix = "dlc.metadata";  // some writers append a version
constexpr std::string_view kCachePrefix = "htp.cache.";
constexpr std::string_view kNumberedCachePrefix = "backend.metadata";  // followed by a number
constexpr std::string_view kWeightsPrefix = "htp.shared.weights.";
constexpr std::string_view kWeightsMetadataPrefix = "htp.metadata.shared_weights.";

bool is_number(std::string_view text) noexcept {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

DlcEntryKind kind_of(std::string_view name) noexcept {
  if (name.starts_with(kMetadataPrefix)) return DlcEntryKind::kMetadata;
  if (name.starts_with(kCachePrefix)) return DlcEntryKind::kContextBinary;
  if (name.starts_with(kNumberedCachePrefix) && is_number(name.substr(kNumberedCachePrefix.size()))) {
    return DlcEntryKind::kContextBinary;
  }
  if (name.starts_with(kWeightsPrefix)) return DlcEntryKind::kSharedWeights;
  if (name.starts_with(kWeightsMetadataPrefix)) return DlcEntryKind::kSharedWeightsMetadata;
  if (name == "model" || name == "model.params" || name == "model.params.bin") return DlcEntryKind::kSourceModel;
  return DlcEntryKind::kOther;
}

// Returns 57 for "htp.cache.57.0": the fallback if the metadata names no SoC.
std::uint32_t soc_in_name(std::string_view name) noexcept {
  if (!name.starts_with(kCachePrefix)) return 0;
  std::uint32_t number = 0;
  for (const char c : name.substr(kCachePrefix.size())) {
    if (c == '.') return number;
    if (c < '0' || c > '9' || number > 99'999) return 0;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return 0;
}

bool belongs_to_weights(DlcEntryKind kind) noexcept {
  return kind == DlcEntryKind::kSharedWeights || kind == DlcEntryKind::kSharedWeightsMetadata;
}

// Returns for each entry the relations that mention it.
std::vector<std::vector<std::size_t>> relations_of(const Contents& contents) {
  std::vector<std::vector<std::size_t>> relations(contents.info.entries.size());
  for (std::size_t r = 0; r < contents.relations.size(); ++r) {
    for (const std::size_t entry : contents.relations[r]) relations[entry].push_back(r);
  }
  return relations;
}

// Returns the entries that are reachable from `start` over relations, without passing through other context binaries.
std::vector<bool> reachable(const Contents& contents, const std::vector<std::vector<std::size_t>>& relations,
                            const std::vector<bool>& start) {
  std::vector<bool> reached = start;
  std::vector<bool> used(contents.relations.size(), false);
  std::vector<std::size_t> due;
  for (std::size_t i = 0; i < start.size(); ++i) {
    if (start[i]) due.push_back(i);
  }
  while (!due.empty()) {
    const std::size_t from = due.back();
    due.pop_back();
    for (const std::size_t r : relations[from]) {
      if (used[r]) continue;
      used[r] = true;
      for (const std::size_t entry : contents.relations[r]) {
        if (reached[entry] || contents.info.entries[entry].kind == DlcEntryKind::kContextBinary) continue;
        reached[entry] = true;
        due.push_back(entry);
      }
    }
  }
  return reached;
}

// The vendor's reader cannot find entries whose headers lack two numbers that compilers write beside those of ZIP64.
void find_headers_of_others(Contents& contents) {
  const auto& entries = contents.archive.entries;
  const auto lacks = [](const Entry& entry) { return !entry.alignment; };
  const auto first = std::find_if(entries.begin(), entries.end(), lacks);
  if (first == entries.end()) return;
  const auto count = std::count_if(first, entries.end(), lacks);
  contents.info.findings.push_back(fmt::format(
      "the header of \"{}\"{} does not state padding and alignment as compilers do; the vendor's reader does not find "
      "the entry; fatctx dlc thin writes new headers",
      first->name, count == 1 ? std::string() : fmt::format(" and {} more", count - 1)));
}

std::string names_of(const std::vector<DescribedGraph>& graphs) {
  std::string names;
  for (const DescribedGraph& graph : graphs) names += graph.name + '\n';
  return names;
}

void find_oddities(const Metadata& metadata, Contents& contents) {
  DlcInfo& info = contents.info;
  for (const std::string& name : metadata.missing) {
    info.findings.push_back(name.empty() ? "the metadata lists a context binary without a name"
                                         : fmt::format("the metadata lists \"{}\", which does not exist", name));
  }
  if (metadata.left_out_facts != 0) {
    info.findings.push_back(
        fmt::format("the metadata is not shown whole: {} too long, too many, or not UTF-8",
                    metadata.left_out_facts == 1 ? "a fact is" : fmt::format("{} facts are", metadata.left_out_facts)));
  }
  if (metadata.undescribed_graphs != 0) {
    info.findings.push_back(fmt::format(
        "inputs, outputs and facts of {} are not taken over: {}",
        metadata.undescribed_graphs == 1 ? "a graph" : fmt::format("{} graphs, the first", metadata.undescribed_graphs),
        metadata.first_undescribed));
  }
  std::map<std::pair<std::uint32_t, std::string>, std::string_view> seen;
  for (const DlcSoc& soc : info.socs) {
    const std::string& name = info.entries[soc.entry].name;
    if (soc.qnn_soc == 0) {
      info.findings.push_back(fmt::format(
          "\"{}\" is for a SoC that is not known (0); compilers silently write 0 for a name they do not know", name));
      continue;
    }
    const auto [first, fresh] = seen.emplace(std::pair(soc.qnn_soc, names_of(soc.graphs)), name);
    if (!fresh)
      info.findings.push_back(fmt::format("\"{}\" is for SoC {}, as \"{}\" is", name, soc.qnn_soc, first->second));
    std::uint64_t weights = 0;
    for (const std::size_t entry : soc.shared) {
      if (info.entries[entry].kind == DlcEntryKind::kSharedWeights) weights += info.entries[entry].data.size;
    }
    if (weights != 0 && info.entries[soc.entry].data.size >= weights / 2 && weights >= (std::uint64_t{1} << 20)) {
      info.findings.push_back(
          fmt::format("\"{}\" refers to {} bytes of shared weights, but has {} bytes itself: nothing "
                      "seems to be shared; compile with a SoC of its generation first",
                      name, weights, info.entries[soc.entry].data.size));
    }
  }
}

}  // namespace

bool is_dlc_name(std::string_view name) noexcept {
  const DlcEntryKind kind = kind_of(name);
  return kind != DlcEntryKind::kOther && kind != DlcEntryKind::kSourceModel;
}

Result<bool> is_dlc(const mapping::OsFile& file, std::uint64_t file_size) {
  FATCTX_ASSIGN(const std::string first, first_entry_name(file, file_size));
  if (first.empty()) return false;
  if (is_dlc_name(first)) return true;
  const auto archive = read_archive(file, file_size);
  if (!archive.ok()) return false;
  const auto& entries = archive.value().entries;
  return std::any_of(entries.begin(), entries.end(), [](const Entry& entry) { return is_dlc_name(entry.name); });
}

Result<Contents> read_contents(const mapping::OsFile& file, std::uint64_t file_size) {
  Contents contents;
  FATCTX_ASSIGN(contents.archive, read_archive(file, file_size));
  DlcInfo& info = contents.info;
  info.file_size = file_size;
  Names names;
  std::map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < contents.archive.entries.size(); ++i) {
    const Entry& entry = contents.archive.entries[i];
    info.entries.push_back({entry.name, kind_of(entry.name), entry.data});
    names.insert(entry.name);
    index.emplace(entry.name, i);
    if (info.entries.back().kind != DlcEntryKind::kMetadata) continue;
    if (contents.metadata_entry) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("dlc: entries \"{}\" and \"{}\" are both the archive's metadata",
                               contents.archive.entries[*contents.metadata_entry].name, entry.name),
                   {.file_offset = entry.header_offset}};
    }
    contents.metadata_entry = i;
  }
  Metadata metadata;
  if (contents.metadata_entry) {
    const ByteRange range = contents.archive.entries[*contents.metadata_entry].data;
    if (range.size > kMaxMetadataBytes) {
      return Error{ErrorCode::kLimitExceeded,
                   fmt::format("dlc: entry \"{}\": {} bytes of metadata; at most {} are read",
                               contents.archive.entries[*contents.metadata_entry].name, range.size, kMaxMetadataBytes),
                   {.file_offset = range.offset}};
    }
    contents.metadata_text.resize(static_cast<std::size_t>(range.size));
    if (range.size != 0) {
      FATCTX_TRY(file.read_at(range.offset, std::as_writable_bytes(std::span(contents.metadata_text))));
    }
    FATCTX_ASSIGN(metadata, parse_metadata(contents.metadata_text, range.offset, names));
  } else {
    info.findings.emplace_back("there is no entry \"dlc.metadata\": targets are not known");
  }
  info.written_at = metadata.written_at;
  info.facts = std::move(metadata.facts);
  std::map<std::size_t, const CacheFacts*> facts_of;
  for (const CacheFacts& facts : metadata.caches) {
    const std::size_t entry = index.find(facts.entry)->second;
    info.entries[entry].kind = DlcEntryKind::kContextBinary;  // overrides the kind that the name suggests
    facts_of.emplace(entry, &facts);
  }
  for (const auto& relation : metadata.relations) {
    std::vector<std::size_t> group;
    group.reserve(relation.size());
    for (const std::string& name : relation) group.push_back(index.find(name)->second);
    contents.relations.push_back(std::move(group));
  }
  const auto relations = relations_of(contents);
  for (std::size_t i = 0; i < info.entries.size(); ++i) {
    if (info.entries[i].kind != DlcEntryKind::kContextBinary) continue;
    DlcSoc soc;
    soc.entry = i;
    const auto found = facts_of.find(i);
    if (found != facts_of.end()) {
      const CacheFacts& facts = *found->second;
      soc.qnn_soc = facts.qnn_soc;
      if (facts.arch != 0) soc.arch = fmt::format("v{}", facts.arch);
      soc.vtcm_mb = facts.vtcm_mb;
      soc.build_id = facts.build_id;
      soc.sdk = facts.sdk;
      soc.api = facts.api;
      soc.blob = facts.blob;
      soc.graphs = facts.graphs;
      soc.facts = facts.facts;
    } else if (metadata.json) {
      info.findings.push_back(fmt::format("\"{}\" is not in the metadata's list", info.entries[i].name));
    }
    if (soc.qnn_soc == 0) soc.qnn_soc = soc_in_name(info.entries[i].name);
    std::vector<bool> start(info.entries.size(), false);
    start[i] = true;
    const std::vector<bool> reached = reachable(contents, relations, start);
    for (std::size_t other = 0; other < reached.size(); ++other) {
      if (reached[other] && belongs_to_weights(info.entries[other].kind)) soc.shared.push_back(other);
    }
    info.socs.push_back(std::move(soc));
  }
  find_oddities(metadata, contents);
  find_headers_of_others(contents);
  return contents;
}

std::vector<bool> entries_to_keep(const Contents& contents, const std::vector<bool>& chosen) {
  const auto& entries = contents.info.entries;
  const auto relations = relations_of(contents);
  const std::vector<bool> reached = reachable(contents, relations, chosen);
  std::vector<bool> kept(entries.size(), true);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].kind == DlcEntryKind::kContextBinary) kept[i] = chosen[i];
    // An entry without a relation may be needed by any binary.
    if (belongs_to_weights(entries[i].kind)) kept[i] = reached[i] || relations[i].empty();
  }
  return kept;
}

}  // namespace fatctx::container::dlc
