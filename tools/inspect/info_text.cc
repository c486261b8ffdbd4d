#include "tools/inspect/info_text.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/info.h"
#include "fatctx/layout.h"
#include "fatctx/soc_table.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/trust_flags.h"
#include "tools/cli/whole_container.h"
#include "tools/facts/provider_options.h"
#include "tools/facts/quant_facts.h"
#include "tools/inspect/graph_facts.h"
#include "tools/inspect/info_filter.h"

namespace fatctx::tools {

namespace {

using Align = Table::Align;

constexpr std::size_t kMostPartners = 4;  // that a row names
constexpr std::size_t kMostTargets = 8;   // that the head names

std::string name_of(const Container& container, std::uint32_t id) {
  const auto found = container.record(id);
  if (!found.ok() || found.value().name.empty()) return fmt::format("record {}", id);
  return std::string(found.value().name);
}

std::string names_of(const Container& container, std::span<const std::uint32_t> ids) {
  std::string names;
  for (const std::uint32_t id : ids) names += (names.empty() ? "" : ", ") + name_of(container, id);
  return names;
}

// Returns the shortest words that say whom a record is for: its part or arch, else its name.
std::string owner_words(const RecordInfo& record) {
  if (record.type == RecordType::kContextBinary && !record.key.part.empty()) return std::string(record.key.part);
  if (record.type == RecordType::kContextBinary && !record.key.arch.empty()) return std::string(record.key.arch);
  return record.name.empty() ? fmt::format("record {}", record.id) : std::string(record.name);
}

// Returns the first texts, each once, and how many more there are: "v73, v75 and 2 more".
std::string first_of(const std::vector<std::string>& texts, std::size_t most) {
  std::vector<std::string> different;
  std::unordered_set<std::string_view> seen;
  for (const std::string& text : texts) {
    if (seen.insert(text).second) different.push_back(text);
  }
  const std::size_t shown = std::min(different.size(), most);
  std::string result =
      fmt::format("{}", fmt::join(different.begin(), different.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  return shown == different.size() ? result : fmt::format("{} and {} more", result, different.size() - shown);
}

// The sharing of a whole container: made once, and asked about each record. Thousands of records may have the same
// bytes, so nothing is kept for pairs of records.
class SharedBytes {
 public:
  explicit SharedBytes(const Container& container)
      : same_bytes(all_records(container)), records_(all_records(container)), twins_of_(records_.size()) {
    std::unordered_map<std::uint32_t, std::size_t> places;
    for (std::size_t i = 0; i < records_.size(); ++i) {
      places.emplace(records_[i].id, i);
      for (const std::uint32_t weights : records_[i].weights) ++users_[weights];
    }
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (same_bytes.repeats(records_[i])) continue;
      twins_of_[i] = i;
      for (const std::uint32_t other : same_bytes.others(records_[i])) twins_of_[places.at(other)] = i;
    }
    const std::vector<FileExtent> extents = file_extents(container).value();  // open_whole() opened it
    for (const FileExtent& extent : extents) {
      if (extent.kind != "payload" || extent.records.size() < 2) continue;
      std::vector<std::size_t>& sharers = sharers_.emplace_back();
      for (const std::uint32_t id : extent.records) {
        sharers.push_back(places.at(id));
        extents_of_[sharers.back()].push_back(sharers_.size() - 1);
      }
    }
  }

  // Returns the other records that use bytes of the same segments, but are not those bytes as a whole.
  // Cost: once for all records that have the same bytes.
  [[nodiscard]] const std::vector<std::string>& partners_of(const RecordInfo& record) const {
    const auto place =
        static_cast<std::size_t>(std::lower_bound(records_.begin(), records_.end(), record.id,
                                                  [](const RecordInfo& one, std::uint32_t id) { return one.id < id; }) -
                                 records_.begin());
    const auto [known, fresh] = partners_.try_emplace(twins_of_[place]);
    const auto extents = extents_of_.find(place);
    if (!fresh || extents == extents_of_.end()) return known->second;
    std::vector<bool> seen(records_.size());
    for (const std::size_t extent : extents->second) {
      for (const std::size_t sharer : sharers_[extent]) seen[sharer] = true;
    }
    for (std::size_t i = 0; i < records_.size(); ++i) {
      if (seen[i] && twins_of_[i] != twins_of_[place]) known->second.push_back(owner_words(records_[i]));
    }
    return known->second;
  }

  // How many records refer to these weights.
  [[nodiscard]] std::size_t users_of(const RecordInfo& weights) const {
    const auto found = users_.find(weights.id);
    return found == users_.end() ? 0 : found->second;
  }

  const SameBytes same_bytes;

 private:
  const std::span<const RecordInfo> records_;  // by ascending id
  std::vector<std::size_t> twins_of_;          // the first record with the same bytes
  std::unordered_map<std::uint32_t, std::size_t> users_;
  std::vector<std::vector<std::size_t>> sharers_;                               // of each segment with several records
  std::unordered_map<std::size_t, std::vector<std::size_t>> extents_of_;        // of a record, among those
  mutable std::unordered_map<std::size_t, std::vector<std::string>> partners_;  // by the first of the twins
};

// Returns the last column of the record table: where the bytes are stored, if that is special, and which
// records use them.
std::string sharing_text(const RecordInfo& record, const Container& container, const SharedBytes& shared) {
  std::vector<std::string> parts;
  if (!record.supported) parts.emplace_back("not readable by this version");
  if (!record.weights.empty()) parts.push_back("uses " + names_of(container, record.weights));
  if (record.type == RecordType::kWeightBlob) {
    const std::size_t users = shared.users_of(record);
    parts.push_back(users == 0 ? "used by nothing" : "used by " + count_text(users, "record"));
  }
  const auto twins = shared.same_bytes.others(record);
  if (!twins.empty()) {
    const std::size_t shown = std::min(twins.size(), kMostPartners);
    std::string names = names_of(container, std::span(twins).first(shown));
    if (shown < twins.size()) names += fmt::format(" and {} more", twins.size() - shown);
    parts.push_back("same bytes as " + names);
  }
  const std::vector<std::string>& partners = shared.partners_of(record);
  if (!partners.empty()) parts.push_back("shared with " + first_of(partners, kMostPartners));
  if (record.recipe) parts.emplace_back("composed in memory");
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Returns the same after the codec and the stored size.
std::string storage_text(const RecordInfo& record, const Container& container, const SharedBytes& shared) {
  std::string sharing = sharing_text(record, container, shared);
  if (record.codec == Codec::kNone) return sharing;
  return fmt::format("{}, {} stored{}{}", codec_name(record.codec), short_size_text(record.stored_bytes),
                     sharing.empty() ? "" : "; ", sharing);
}

// Returns what the records would take if each had all of its bytes, and its weights, for itself. A compressed record
// counts as it is stored.
std::uint64_t alone_bytes(const Container& container, const SharedBytes& shared) {
  std::uint64_t bytes = 0;
  for (const RecordInfo& record : all_records(container)) {
    const std::uint64_t own = record.recipe ? record.size_bytes : record.stored_bytes;
    const std::size_t users = record.type == RecordType::kWeightBlob ? shared.users_of(record) : 0;
    bytes += own * std::max<std::size_t>(users, 1);
  }
  return bytes;
}

std::uint64_t stored_bytes(const Container& container) {
  std::uint64_t bytes = 0;
  const std::vector<FileExtent> extents = file_extents(container).value();  // open_whole() opened it
  for (const FileExtent& extent : extents) {
    if (extent.kind == "payload" || extent.kind == "packed") bytes += extent.range.size;
  }
  return bytes;
}

// Returns what sharing saved, with the weights that are stored once.
std::string saved_text(const Container& container) {
  const SharedBytes shared(container);
  std::vector<std::string> blobs;
  for (const RecordInfo& record : all_records(container)) {
    const std::size_t users = record.type == RecordType::kWeightBlob ? shared.users_of(record) : 0;
    if (users < 2) continue;
    blobs.push_back(fmt::format("{} stored once for {}", owner_words(record), count_text(users, "record")));
  }
  const std::uint64_t alone = alone_bytes(container, shared);
  const std::uint64_t stored = stored_bytes(container);
  if (alone <= stored) return "nothing is shared";
  const double percent = 100.0 * static_cast<double>(alone - stored) / static_cast<double>(alone);
  return fmt::format("{} saved, {:.0f} % of {}{}{}", size_text(alone - stored), percent, short_size_text(alone),
                     blobs.empty() ? "" : ": ", first_of(blobs, kMostPartners));
}

// Returns the chip of a record as it is sold, if the table knows it: "SM8650 (Snapdragon 8 Gen 3)".
std::string device_words(const RecordInfo& record) {
  static const SocTable table = SocTable::built_in();
  const Soc* soc = record.key.part.empty() ? nullptr : table.name_part(record.key.part).soc;
  if (soc == nullptr && record.key.qnn_soc != 0) {
    const auto with_number = table.with_qnn_soc(record.key.qnn_soc);
    if (!with_number.empty()) soc = with_number.front();
  }
  if (soc == nullptr) return owner_words(record);
  return soc->name.empty() ? soc->part : fmt::format("{} ({})", soc->part, soc->name);
}

// Returns the devices that have a binary of their own, by the names under which they are sold.
std::string devices_text(const Container& container) {
  std::vector<std::string> devices;
  std::size_t binaries = 0;
  for (const RecordInfo& record : all_records(container)) {
    if (record.type != RecordType::kContextBinary) continue;
    ++binaries;
    if (record.key.generic) {
      devices.push_back(
          fmt::format("every device of {}", record.key.backend.empty() ? "any backend" : record.key.backend));
      continue;
    }
    devices.push_back(device_words(record));
  }
  if (binaries == 0) return "no device: no context binaries";
  return first_of(devices, kMostTargets);
}

// Returns the state of what `info` has read.
std::string state_text(const OpenReport& report, bool remote) {
  std::vector<std::string> parts = {report.degraded.empty() ? "header and tables whole" : "damaged, see below",
                                    report.signed_file ? "signed" : "not signed"};
  if (report.tail_bytes != 0) parts.emplace_back("an append did not finish");
  return fmt::format("{}; payload: {}", fmt::join(parts, ", "), remote ? "fatctx fetch" : "fatctx verify");
}

template <typename Number>
std::string shape_text(std::span<const Number> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) text += ", ";
    const bool dynamic = std::is_signed_v<Number> && shape[i] == static_cast<Number>(-1);
    text += dynamic ? "?" : fmt::format("{}", shape[i]);
  }
  return text + "]";
}

std::string version_or_empty(const Version& version) { return version.known() ? to_text(version) : ""; }

void add_if(Block& block, std::string label, std::string_view value) {
  if (!value.empty()) block.add(std::move(label), value);
}

std::string scales_text(const DescribedTensor& tensor) {
  if (tensor.scales.empty()) return {};
  const auto text = [](const DescribedScale& one) { return fmt::format("scale {}, offset {}", one.scale, one.offset); };
  if (tensor.scales.size() == 1) return "  " + text(tensor.scales[0]);
  return fmt::format("  {} scales along dimension {}, the first: {}", tensor.scales.size(), tensor.axis,
                     text(tensor.scales[0]));
}

std::string io_text(std::string_view role, const std::vector<DescribedTensor>& tensors, std::size_t width) {
  constexpr std::size_t kLeastName = 24;  // columns
  std::string out;
  for (const DescribedTensor& tensor : tensors) {
    const std::string before = fmt::format("    {}  ", role);
    std::string behind =
        escaped(fmt::format("  {} {}", tensor.dtype, shape_text(std::span<const std::int64_t>(tensor.shape))));
    const std::string scales = escaped(scales_text(tensor));
    const std::string name = escaped(tensor.name);
    const std::size_t least = before.size() + std::min(name.size(), kLeastName) + behind.size() + scales.size();
    // Scales have a line of their own where they would leave too little of the name.
    const bool alone = width != 0 && least > width && !scales.empty();
    if (!alone) behind += scales;
    const std::size_t taken = before.size() + behind.size();
    const std::size_t left = width > taken + kLeastName ? width - taken : kLeastName;
    out += fmt::format("{}{}{}\n", before, width == 0 ? name : shortened(name, left), behind);
    if (alone) out += fmt::format("{:{}}{}\n", "", before.size() - 2, scales);
  }
  return out;
}

std::string graph_names(const RecordDescription& record) {
  std::string names;
  for (const DescribedGraph& graph : record.graphs) names += (names.empty() ? "" : ", ") + graph.name;
  return names;
}

// Adds a line for each option of a record that has one.
void add_facts(Block& block, const std::vector<DescribedOption>& options) {
  for (const DescribedOption& option : options) {
    if (option.owner == kQuantOwner) block.add("quant", fmt::format("{} {}", option.key, option.value));
    if (option.owner == "onnx" && option.key == "operators") block.add("operators", option.value);
  }
  add_if(block, "optimisation", optimization_level_text(options));
}

// Returns "12.5 MiB (13,107,200 bytes) are not present; 3 of 5 records are".
std::string partial_text(const PresenceReport& presence) {
  const auto present = std::count_if(presence.records.begin(), presence.records.end(),
                                     [](const RecordPresence& record) { return record.absent_bytes == 0; });
  return fmt::format("{} are not present; {} of {} records are", size_text(presence.absent_bytes), present,
                     presence.records.size());
}

// Returns "", "not present" or "1.2 MiB not present".
std::string absent_text(const RecordPresence& record) {
  if (record.absent_bytes == 0) return {};
  if (record.absent_bytes == record.needed_bytes) return "not present";
  return fmt::format("{} not present", short_size_text(record.absent_bytes));
}

// Returns the newest earlier states, each with its size: "1 (644.0 KiB), 2 (1.2 MiB); --generation opens
// one".
std::string earlier_text(const OpenReport& report) {
  constexpr std::size_t kMost = 6;
  const std::vector<GenerationInfo>& all = report.earlier_generations;
  const std::size_t left_out = all.size() > kMost ? all.size() - kMost : 0;
  std::string text = left_out == 0 ? "" : fmt::format("{} more, ", left_out);
  for (std::size_t i = left_out; i < all.size(); ++i) {
    text += fmt::format("{}{} ({})", i == left_out ? "" : ", ", all[i].number, short_size_text(all[i].committed_end));
  }
  return text + "; --generation opens one";
}

}  // namespace

std::string header_text(const Container& container, const ContainerDescription& description,
                        const PresenceReport& presence, std::size_t width) {
  const OpenReport& report = open_report(container);
  Block block;
  block.add("file", report.path);
  block.add("for", devices_text(container));
  block.add("sharing", saved_text(container));
  block.add("state", state_text(report, presence.records.empty()));
  block.add("model", description.name.empty() ? "(no name)" : description.name);
  block.add("format", fmt::format("fatctx {}, written by {}", report.format_version,
                                  description.writer.empty() ? "an unnamed writer" : description.writer));
  if (!report.newer_features.empty()) {
    block.add("newer", fmt::format("it has fields of a newer version ({}), which this one does not show",
                                   report.newer_features));
  }
  block.add("uuid", report.uuid);
  const std::string where = report.generation == report.newest_generation
                                ? fmt::format("slot pair {}", report.slot)
                                : fmt::format("the newest is {}", report.newest_generation);
  block.add("generation",
            fmt::format("{} ({}){}", report.generation, where, report.sealed ? ", sealed" : ", unsealed"));
  if (report.signed_file) block.add("signature", signature_text(report.key_id, report.signature_verified));
  if (!report.earlier_generations.empty()) block.add("earlier", earlier_text(report));
  block.add("size", size_text(report.file_size));
  block.add("records", fmt::format("{}", all_records(container).size()));
  if (presence.absent_bytes != 0) block.add("partial", partial_text(presence));
  if (report.dead_bytes != 0) {
    block.add("dead", fmt::format("{} that no record uses any more; `fatctx compact` gives them back",
                                  size_text(report.dead_bytes)));
  }
  if (report.tail_bytes != 0) {
    block.add("tail", fmt::format("{} at {}, an append that did not finish; never read", size_text(report.tail_bytes),
                                  offset_text(report.committed_end)));
  }
  if (report.copied_records != 0) {
    block.add("copies", fmt::format("views of {} are copies: {}", count_text(report.copied_records, "record"),
                                    report.copied_records_reason));
  }
  if (report.remote_filesystem) {
    block.add("filesystem", fmt::format("{}: a remote file can be cut under a mapping", report.filesystem));
  }
  std::string text = block.text(width);
  const std::size_t state = text.find("\nstate");  // behind the name of the file, which may hold these words
  return report.degraded.empty() ? with_good(std::move(text), "header and tables whole", state)
                                 : with_bad(std::move(text), "damaged, see below", state);
}

std::string degraded_text(const OpenReport& report) {
  if (report.degraded.empty()) return "";
  return escaped(fmt::format("degraded: {} damaged; a good copy was used; pack the model again or restore the file",
                             fmt::join(report.degraded, ", "))) +
         "\n";
}

std::string record_table_text(const Container& container, const PresenceReport& presence, const ViewFilter& filter,
                              std::size_t width) {
  Table table({{"id", Align::kRight}, {"type"}, {"name"}, {"target"}, {"bytes", Align::kRight}, {"sharing"}});
  const SharedBytes shared(container);
  std::unordered_map<std::uint32_t, const RecordPresence*> by_id;
  for (const RecordPresence& one : presence.records) by_id.emplace(one.record_id, &one);
  for (const RecordInfo& record : chosen_records(container, filter)) {
    const bool targeted = record.type == RecordType::kContextBinary;
    const auto presence_of = by_id.find(record.id);
    const std::string absent = presence_of == by_id.end() ? std::string() : absent_text(*presence_of->second);
    const std::string storage = storage_text(record, container, shared);
    table.add_row({fmt::format("{}", record.id), std::string(record_type_name(record.type)), std::string(record.name),
                   targeted ? target_text(record.key) : "", grouped(record.size_bytes),
                   fmt::format("{}{}{}", absent, absent.empty() || storage.empty() ? "" : "; ", storage)});
  }
  return table.text("", width);
}

std::string presence_text(const Container& container, const PresenceReport& presence) {
  Table table({{"id", Align::kRight}, {"name"}, {"needs", Align::kRight}, {"not present", Align::kRight}, {"state"}});
  const std::span<const RecordInfo> records = all_records(container);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RecordPresence& record = presence.records[i];
    table.add_row({fmt::format("{}", record.record_id), std::string(records[i].name), grouped(record.needed_bytes),
                   grouped(record.absent_bytes),
                   record.absent_bytes == 0                     ? "present"
                   : record.absent_bytes == record.needed_bytes ? "not present"
                                                                : "partly present"});
  }
  const std::string verdict = presence.absent_bytes == 0 ? "all of the payload is present" : partial_text(presence);
  return table.text() + verdict + "\n";
}

namespace {

std::string number_or_dash(std::uint32_t number) { return number == 0 ? "-" : fmt::format("{}", number); }
std::string text_or_dash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

std::string binaries_text(const Container& container, std::size_t width) {
  Table table({{"name"},
               {"backend"},
               {"arch"},
               {"soc", Align::kRight},
               {"part"},
               {"vtcm", Align::kRight},
               {"sdk"},
               {"variant"},
               {"size", Align::kRight},
               {"sharing"}});
  const SharedBytes shared(container);
  bool any = false;
  for (const RecordInfo& record : all_records(container)) {
    if (record.type != RecordType::kContextBinary) continue;
    const SelectionKey& key = record.key;
    table.add_row({std::string(record.name), text_or_dash(key.backend), text_or_dash(key.arch),
                   number_or_dash(key.qnn_soc), text_or_dash(key.part), number_or_dash(key.vtcm_mb),
                   text_or_dash(version_or_empty(key.sdk)), text_or_dash(key.variant),
                   short_size_text(record.size_bytes), sharing_text(record, container, shared)});
    any = true;
  }
  return any ? table.text("  ", width) : "  none\n";
}

// Returns a table of the records of one type: name, size and how they are stored and shared.
std::string plain_records_text(const Container& container, RecordType type, std::size_t width) {
  Table table({{"name"}, {"size", Align::kRight}, {"sharing"}});
  const SharedBytes shared(container);
  bool any = false;
  for (const RecordInfo& record : all_records(container)) {
    if (record.type != type) continue;
    table.add_row(
        {std::string(record.name), short_size_text(record.size_bytes), storage_text(record, container, shared)});
    any = true;
  }
  return any ? table.text("  ", width) : "  none\n";
}

// Returns a line for a container without weight blobs whose binaries store bytes of each other; else empty.
std::string shared_without_blob(const Container& container) {
  const SharedBytes shared(container);
  std::size_t binaries = 0;
  std::size_t sharing = 0;
  for (const RecordInfo& record : all_records(container)) {
    if (record.type == RecordType::kWeightBlob) return {};
    if (record.type != RecordType::kContextBinary) continue;
    ++binaries;
    if (record.slice_count > 1 || record.recipe || !shared.same_bytes.others(record).empty()) ++sharing;
  }
  if (sharing == 0) return {};
  return fmt::format("  none as a record of its own; {} of {} binaries are stored with bytes of others (--sharing)\n",
                     sharing, binaries);
}

}  // namespace

std::string parts_text(const Container& container, std::size_t width) {
  const std::string inside = shared_without_blob(container);
  return "source models\n" + plain_records_text(container, RecordType::kSourceModel, width) + "\ncontext binaries\n" +
         binaries_text(container, width) + "\nshared weights\n" +
         (inside.empty() ? plain_records_text(container, RecordType::kWeightBlob, width) : inside);
}

std::string extents_text(const Container& container, std::size_t width) {
  Table table({{"offset"}, {"bytes", Align::kRight}, {"holds"}, {"generation", Align::kRight}, {"records"}});
  const std::vector<FileExtent> extents = file_extents(container).value();  // open_whole() opened it
  for (const FileExtent& extent : extents) {
    table.add_row({offset_text(extent.range.offset), grouped(extent.range.size), std::string(extent.kind),
                   extent.segment ? fmt::format("{}", extent.generation) : "", names_of(container, extent.records)});
  }
  return table.text("", width);
}

std::string record_details_text(const Container& container, const ContainerDescription& description,
                                const ViewFilter& filter, std::size_t width) {
  const SharedBytes shared(container);
  std::string out;
  for (const RecordInfo& record : chosen_records(container, filter)) {
    Block block;
    block.add("record", fmt::format("{}", record.id));
    block.add("type", record_type_name(record.type));
    add_if(block, "name", record.name);
    block.add("size", size_text(record.size_bytes));
    block.add("stored", record.recipe ? fmt::format("{}, a recipe and what it reads", size_text(record.stored_bytes))
                        : record.codec == Codec::kNone
                            ? size_text(record.stored_bytes)
                            : fmt::format("{}, {}", size_text(record.stored_bytes), codec_name(record.codec)));
    block.add("slices", fmt::format("{}", record.slice_count));
    if (record.size_bytes != 0) block.add("file offset", offset_text(record.file_offset));
    block.add("xxh3-128", to_hex(record.hash.bytes));
    const SelectionKey& key = record.key;
    add_if(block, "group", key.group);
    add_if(block, "unit", key.unit);
    add_if(block, "backend", key.backend);
    if (key.qnn_soc != 0) block.add("qnn soc", fmt::format("{}", key.qnn_soc));
    add_if(block, "part", key.part);
    add_if(block, "arch", key.arch);
    add_if(block, "features", key.features);
    if (key.vtcm_mb != 0) block.add("vtcm", fmt::format("{} MB", key.vtcm_mb));
    add_if(block, "sdk", version_or_empty(key.sdk));
    add_if(block, "variant", key.variant);
    add_if(block, "api", version_or_empty(key.api));
    add_if(block, "blob", version_or_empty(key.blob));
    if (key.generic) block.add("generic", "fits every device of its backend");
    if (record.ignorable) block.add("ignorable", "yes");
    if (const RecordDescription* said = description.find(record.id)) {
      add_if(block, "format", said->format);
      add_if(block, "producer", said->producer);
      add_if(block, "graphs", graph_names(*said));
      if (const std::uint64_t bytes = largest_spill_fill(*said); bytes != 0) {
        block.add("spill-fill", fmt::format("{}{}", size_text(bytes), said->graphs.size() > 1 ? " at most" : ""));
      }
      add_facts(block, said->options);
      for (const EvidenceNote& note : said->notes) {
        block.add("note", fmt::format("{} {} on {}{}, {}", note.metric, note.value, note.device,
                                      note.tool.empty() ? "" : " by " + note.tool, note.date));
      }
    }
    add_if(block, "sharing", sharing_text(record, container, shared));
    if (!out.empty()) out += '\n';
    out += block.text(width);
  }
  return out;
}

std::string graph_text(const DescribedGraph& graph, std::size_t width) {
  std::string out =
      "  " + escaped(graph.name) + "\n" + io_text("in ", graph.inputs, width) + io_text("out", graph.outputs, width);
  if (graph.spill_fill_bytes != 0) out += fmt::format("    spill-fill  {}\n", size_text(graph.spill_fill_bytes));
  return out + graph_facts_text(graph.options, width);
}

std::string graphs_text(const Container& container, const ContainerDescription& description, const ViewFilter& filter,
                        std::size_t width) {
  std::string out;
  for (const RecordDescription& record : description.records) {
    const auto info = container.record(record.record_id);
    if (!info.ok() || !is_chosen(info.value(), filter)) continue;
    std::string graphs;
    for (const DescribedGraph& graph : record.graphs) {
      if (fits_pattern(filter.graph, graph.name)) graphs += graph_text(graph, width);
    }
    if (graphs.empty()) continue;
    out += escaped(name_of(container, record.record_id)) + "\n" +
           producer_text(record.producer, record.options, width) + graphs;
  }
  if (!out.empty()) return out;
  const bool filtered = filter.any_of_records() || !filter.graph.empty();
  return filtered ? "no described graph fits\n" : "no record describes its graphs\n";
}

std::string options_text(const Container& container, const ContainerDescription& description) {
  Table table({{"record"}, {"owner"}, {"option"}, {"value"}});
  bool any = false;
  const auto add = [&](const std::string& record, const DescribedOption& option) {
    table.add_row({record, option.owner, option.key, option.value});
    any = true;
  };
  for (const DescribedOption& option : description.options) add("(all)", option);
  for (const RecordDescription& record : description.records) {
    for (const DescribedOption& option : record.options) add(name_of(container, record.record_id), option);
  }
  return any ? table.text() : "no options are stored\n";
}

std::string tensors_text(const TensorTable& tensors, const ViewFilter& filter, std::size_t width) {
  Table table({{"name"},
               {"dtype"},
               {"shape"},
               {"offset", Align::kRight},
               {"size", Align::kRight},
               {"bytes", Align::kRight},
               {""}});
  for (const std::size_t i : chosen_tensors(tensors, filter)) {
    const TensorInfo tensor = tensors.at(i);
    table.add_row({std::string(tensor.name), std::string(dtype_name(tensor.dtype)), shape_text(tensor.shape),
                   offset_text(tensor.offset_in_blob), short_size_text(tensor.size_bytes), grouped(tensor.size_bytes),
                   tensor.alias ? "alias" : ""});
  }
  return table.text("", width);
}

std::string layout_text() {
  std::string out = fmt::format("format {}\n", format_version());
  for (const LayoutTable& layout : layout_tables()) {
    out += fmt::format("\n{} ({})\n", layout.name, count_text(layout.size, "byte"));
    Table table({{"offset", Align::kRight}, {"size", Align::kRight}, {"field"}});
    for (const LayoutField& field : layout.fields) {
      table.add_row({offset_text(field.offset), fmt::format("{}", field.size), std::string(field.name)});
    }
    out += table.text("  ");
  }
  return out;
}

}  // namespace fatctx::tools
