#include "fatctx/rewrite.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "container/edit/file_sharing.h"
#include "container/edit/replacing.h"
#include "container/edit/stored_container.h"
#include "container/read/stored_rows.h"
#include "container/write/header_build.h"
#include "container/write/incoming_records.h"
#include "container/write/plan.h"
#include "container/write/publish_records.h"

namespace fatctx {

using namespace container;

namespace {

RewriteSource source_of(const StoredContainer& container) {
  return {.path = container.path(),
          .generation = container.header().generation,
          .file_size = container.identity().size,
          .dead_bytes = container.dead_bytes(),
          .record_count = static_cast<std::uint32_t>(container.toc().records.size())};
}

// Returns which records to keep, by index in the table. A tensor table is kept with its blob.
Result<std::vector<bool>> kept_records(const StoredContainer& container, const RewriteOptions& options) {
  const Toc& toc = container.toc();
  if (!options.keep) return std::vector<bool>(toc.records.size(), true);
  std::vector<bool> kept(toc.records.size());
  for (const std::uint32_t id : *options.keep) {
    const RecordInfo* record = toc.find(id);
    if (record == nullptr) {
      return Error{ErrorCode::kNotFound, fmt::format("{}: there is no record {}", container.path(), id)};
    }
    kept[toc.index_of(*record)] = true;
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (toc.records[i].type == RecordType::kDescription) kept[i] = true;
  }
  for (const Reference& reference : toc.references) {
    const RecordInfo& from = *toc.find(reference.from_record);
    const RecordInfo& to = *toc.find(reference.to_record);
    if (reference.kind == ReferenceKind::kTensorTable) {
      kept[toc.index_of(from)] = kept[toc.index_of(to)];
    } else if (kept[toc.index_of(from)] && !kept[toc.index_of(to)]) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}: record \"{}\" refers to weights \"{}\", which would go; remove it too, or keep the "
                               "weights",
                               container.path(), from.name, to.name),
                   {.record_id = from.id}};
    }
  }
  return kept;
}

void report_what_went(const Toc& toc, const std::vector<bool>& kept, RewriteReport& report) {
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) report.removed.emplace_back(toc.records[i].name);
  }
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const RecordInfo& blob = toc.records[i];
    if (!kept[i] || blob.type != RecordType::kWeightBlob) continue;
    bool used = false;
    bool was_used = false;
    for (const Reference& reference : toc.references) {
      if (reference.to_record != blob.id || reference.kind != ReferenceKind::kWeights) continue;
      was_used = true;
      used = used || kept[toc.index_of(*toc.find(reference.from_record))];
    }
    if (was_used && !used) report.unused.emplace_back(blob.name);
  }
}

template <typename Options>
PackOptions pack_options(const Options& given) {
  PackOptions pack;
  pack.overwrite = given.overwrite;
  pack.max_pieces = given.max_pieces;
  pack.progress = given.progress;
  pack.cancel = given.cancel;
  pack.threads = given.threads;
  return pack;
}

// Returns the alignment for a file written anew. A small file may grow out of its form. A large one keeps its own,
// which somebody may have asked for.
std::uint8_t kept_extent(const Header& header) {
  return header.extent_log2 == kSmallExtentLog2 ? std::uint8_t{0} : header.extent_log2;
}

std::string signature_gone(const std::string& path) {
  return fmt::format("{} is signed, and the new file is not: sign it with `fatctx sign`", path);
}

// `replacing` is null unless `target` is the file at `path`.
Result<RewriteReport> rewrite(const std::string& path, const std::string& target, const Replacing* replacing,
                              const RewriteOptions& options) {
  FATCTX_ASSIGN(const std::shared_ptr<const StoredContainer> source,
                StoredContainer::open(path, options.generation, options.max_made_bytes));
  RewriteReport report;
  report.sources.push_back(source_of(*source));
  FATCTX_ASSIGN(const std::vector<bool> kept, kept_records(*source, options));
  report_what_went(source->toc(), kept, report);

  const Header& header = source->header();
  PackOptions pack = pack_options(options);
  pack.seal = options.seal.value_or(header.sealed);
  pack.overwrite = options.overwrite || replacing != nullptr;
  pack.sharing = options.sharing.value_or(sharing_of(source->toc()));
  pack.extent_log2 = kept_extent(header);
  pack.sha256 = !header.signature && StoredRows(source->toc()).has_digests();  // without the key, the work is in vain
  pack.granule_log2 = header.granule_log2;
  pack.model_name = source->description().name;
  pack.options = source->description().options;
  IncomingRecords incoming;
  FATCTX_ASSIGN(std::vector<PackRecord> records, source->records(kept));
  for (PackRecord& record : records) {
    auto added = incoming.add(std::move(record));
    if (!added.ok()) return in_context(std::move(added).error(), path);
  }
  // The result follows the newest generation even if an earlier one is written anew.
  FATCTX_ASSIGN(const Header newest, read_header(source->file(), source->identity().size));
  auto generation = next_generation(newest.generation);
  if (!generation.ok()) return in_context(std::move(generation).error(), path);
  const Lineage lineage{.uuid = header.uuid, .generation = generation.value()};
  PublishAs as{.lineage = &lineage};
  if (replacing != nullptr) {
    as.mode_of = path;
    as.target_lock = mapping::TargetLock::kHeld;
    as.may_replace = [&] { return replacing->check(path, source->identity()); };
  }
  FATCTX_ASSIGN(report.pack, publish_records(incoming, pack, target, as));
  report.generation = lineage.generation;
  if (header.signature) report.pack.warnings.push_back(signature_gone(path));
  return report;
}

Result<bool> same_bytes(const PackRecord& a, const PackRecord& b, const std::atomic<bool>* cancel) {
  if (a.source.source->hash() != b.source.source->hash()) return false;
  FATCTX_ASSIGN(const Input left, Input::open(a.source, cancel));
  FATCTX_ASSIGN(const Input right, Input::open(b.source, cancel));
  return equal_bytes(left, right);
}

bool same_tensors(const PackRecord& a, const PackRecord& b) {
  const auto equal = [](const PackTensor& x, const PackTensor& y) {
    return x.name == y.name && x.dtype == y.dtype && x.shape == y.shape && x.offset_in_blob == y.offset_in_blob &&
           x.size_bytes == y.size_bytes && x.alias == y.alias;
  };
  return a.tensors.empty() || b.tensors.empty() ||
         std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(), equal);
}

// A union of the records of several containers; equal records are taken once.
class Merged {
 public:
  explicit Merged(const MergeOptions& options) : cancel_(options.cancel), new_names_(options.new_names) {}

  Status add(const StoredContainer& container) {
    FATCTX_ASSIGN(std::vector<PackRecord> records,
                  container.records(std::vector<bool>(container.toc().records.size(), true)));
    for (PackRecord& record : records) {
      rename(record);
      const auto found = by_name_.find(record.name);
      if (found == by_name_.end()) {
        std::string name = record.name;
        by_name_.emplace(std::move(name), Taken{std::move(record), container.path()});
        continue;
      }
      FATCTX_TRY(join(found->second, record, container.path()));
    }
    return Done{};
  }

  // Adds the records in the order of their names.
  Status hand_to(IncomingRecords& incoming) {
    for (auto& [name, taken] : by_name_) {
      auto added = incoming.add(std::move(taken.record));
      if (!added.ok()) return in_context(std::move(added).error(), taken.path);
    }
    return Done{};
  }

 private:
  struct Taken {
    PackRecord record;
    std::string path;
  };

  void rename(PackRecord& record) const {
    const auto new_name_of = [&](const std::string& name) {
      const auto found = new_names_.find(name);
      return found == new_names_.end() ? name : found->second;
    };
    if (record.key.variant == record.name) record.key.variant = new_name_of(record.name);  // as wrapper models have it
    record.name = new_name_of(record.name);
    for (std::string& weights : record.weights) weights = new_name_of(weights);
  }

  Status join(Taken& there, PackRecord& record, const std::string& path) {
    const std::string features = canonical_features(record.key.features);
    const std::string features_there = canonical_features(there.record.key.features);
    const auto differ = [&](std::string_view how) {
      return Error{ErrorCode::kExists,
                   fmt::format("record \"{}\" is in {} and in {}, {}; remove it from one of them, or pack one of them "
                               "again under other names",
                               record.name, there.path, path, how)};
    };
    const SelectionKey key = key_of(record, features);
    const SelectionKey known = key_of(there.record, features_there);
    if (compare_keys(key, known) != 0) return differ("for another target");
    if (key.api != known.api || key.blob != known.blob) return differ("for other API versions");
    if (key.generic != known.generic) return differ("as the fallback in one of them only");
    FATCTX_ASSIGN(const bool same, same_bytes(there.record, record, cancel_));
    if (!same) return differ("with other bytes");
    if (there.record.weights != record.weights) return differ("referring to other weights");
    if (!same_tensors(there.record, record)) return differ("with other tensors");
    if (there.record.tensors.empty()) there.record.tensors = std::move(record.tensors);
    RecordDescription& said = there.record.description;
    add_notes(record.description.notes, said.notes);
    if (said.producer.empty() && said.format.empty() && said.graphs.empty() && said.options.empty()) {
      record.description.notes = std::move(said.notes);
      said = std::move(record.description);
    }
    return Done{};
  }

  // Merges the notes of both files; equal ones appear once.
  static void add_notes(const std::vector<EvidenceNote>& more, std::vector<EvidenceNote>& notes) {
    for (const EvidenceNote& note : more) {
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
    }
  }

  const std::atomic<bool>* cancel_;
  const std::map<std::string, std::string>& new_names_;
  std::map<std::string, Taken> by_name_;
};

// Merges the statements about a container as a whole.
void merge_description(const ContainerDescription& description, const std::string& path, const MergeOptions& options,
                       PackOptions& pack, std::vector<std::string>& warnings) {
  const bool named = !options.model_name.empty();
  if (pack.model_name.empty()) pack.model_name = description.name;
  if (!named && !description.name.empty() && description.name != pack.model_name) {
    warnings.push_back(
        fmt::format("{}: its model is called \"{}\", the new file's \"{}\"", path, description.name, pack.model_name));
  }
  for (const DescribedOption& option : description.options) {
    if (!options.without_options_of.empty() && option.owner == options.without_options_of) continue;
    const auto there = std::find_if(pack.options.begin(), pack.options.end(), [&](const DescribedOption& one) {
      return one.key == option.key && one.owner == option.owner;
    });
    if (there == pack.options.end()) {
      pack.options.push_back(option);
    } else if (there->value != option.value) {
      warnings.push_back(
          fmt::format("{}: option {} is \"{}\" there and stays \"{}\"", path, option.key, option.value, there->value));
    }
  }
}

std::string filter_text(const TargetFilter& filter) {
  PackRecord record;
  record.key = filter;
  const std::string features = canonical_features(filter.features);
  std::string text = target_text(key_of(record, features));
  if (!filter.group.empty()) text += fmt::format(" in group {}", filter.group);
  if (!filter.unit.empty()) text += fmt::format(" of unit {}", filter.unit);
  return text;
}

}  // namespace

Result<RewriteReport> rewrite_container(const std::string& source, const std::string& target,
                                        const RewriteOptions& options) {
  FATCTX_ASSIGN(const bool in_place, is_in_place(source, target));
  if (!in_place) return rewrite(source, target, nullptr, options);
  FATCTX_ASSIGN(const Replacing replacing, Replacing::begin(target));
  return rewrite(target, target, &replacing, options);
}

Result<RewriteReport> merge_containers(std::span<const std::string> sources, const std::string& target,
                                       const MergeOptions& options) {
  if (sources.size() < 2) {
    return Error{ErrorCode::kInvalidArgument,
                 "a merge takes at least two containers; `fatctx compact` writes one anew"};
  }
  // A source that is replaced is locked before it is read, so that no append to it is lost.
  std::optional<Replacing> replacing;
  std::optional<mapping::FileIdentity> replaced;
  RewriteReport report;
  PackOptions pack = pack_options(options);
  pack.seal = options.seal;
  pack.model_name = options.model_name;
  Merged merged(options);
  std::vector<std::string> warnings;
  bool by_bytes = false;
  for (const std::string& path : sources) {
    FATCTX_ASSIGN(const bool in_place, is_in_place(path, target));
    if (in_place && !replacing) {
      FATCTX_ASSIGN(replacing, Replacing::begin(target));
    }
    FATCTX_ASSIGN(const std::shared_ptr<const StoredContainer> container,
                  StoredContainer::open(path, 0, options.max_made_bytes));
    if (in_place) replaced = container->identity();
    report.sources.push_back(source_of(*container));
    pack.extent_log2 = std::max(pack.extent_log2, kept_extent(container->header()));
    pack.granule_log2 = std::max(pack.granule_log2, container->header().granule_log2);
    if (container->header().signature) warnings.push_back(signature_gone(path));
    by_bytes = by_bytes || sharing_of(container->toc()) == Sharing::kBytes;
    merge_description(container->description(), path, options, pack, warnings);
    FATCTX_TRY(merged.add(*container));
  }
  pack.sharing = options.sharing.value_or(by_bytes ? Sharing::kBytes : Sharing::kPages);
  IncomingRecords incoming;
  FATCTX_TRY(merged.hand_to(incoming));
  PublishAs as;
  if (replaced) {
    as.mode_of = target;
    as.target_lock = mapping::TargetLock::kHeld;
    as.may_replace = [&] { return replacing->check(target, *replaced); };
  }
  FATCTX_ASSIGN(report.pack, publish_records(incoming, pack, target, as));
  report.generation = 1;
  report.pack.warnings.insert(report.pack.warnings.begin(), warnings.begin(), warnings.end());
  return report;
}

bool fits_target(const TargetFilter& filter, const SelectionKey& key) {
  const auto text = [](const std::string& wanted, std::string_view found) { return wanted.empty() || wanted == found; };
  const auto number = [](std::uint32_t wanted, std::uint32_t found) { return wanted == 0 || wanted == found; };
  const std::string features = fmt::format(",{},", key.features);
  return text(filter.group, key.group) && text(filter.unit, key.unit) && text(filter.backend, key.backend) &&
         number(filter.qnn_soc, key.qnn_soc) && text(filter.part, key.part) && text(filter.arch, key.arch) &&
         number(filter.vtcm_mb, key.vtcm_mb) && (filter.sdk == Version{} || filter.sdk == key.sdk) &&
         text(filter.variant, key.variant) && (!filter.generic || key.generic) &&
         std::all_of(filter.features.begin(), filter.features.end(), [&](const std::string& word) {
           return features.find(fmt::format(",{},", word)) != std::string::npos;
         });
}

std::vector<std::uint32_t> records_left(std::span<const RecordInfo> records,
                                        const std::function<bool(const RecordInfo&)>& stays) {
  std::set<std::uint32_t> used;    // referenced by any binary
  std::set<std::uint32_t> wanted;  // referenced by a binary that stays
  std::vector<bool> asked(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RecordInfo& record = records[i];
    const bool of_a_target = record.type == RecordType::kContextBinary || !record.key.backend.empty();
    asked[i] = of_a_target && stays(record);
    used.insert(record.weights.begin(), record.weights.end());
    if (asked[i]) wanted.insert(record.weights.begin(), record.weights.end());
  }
  std::vector<std::uint32_t> left;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RecordInfo& record = records[i];
    const bool of_a_target = record.type == RecordType::kContextBinary || !record.key.backend.empty();
    const bool free = !of_a_target && !used.contains(record.id);
    if (asked[i] || free || wanted.contains(record.id)) left.push_back(record.id);
  }
  return left;
}

Result<std::vector<std::uint32_t>> records_left(std::span<const RecordInfo> records,
                                                std::span<const TargetFilter> filters) {
  if (filters.empty()) return Error{ErrorCode::kInvalidArgument, "nothing says what stays: give a filter"};
  for (const TargetFilter& filter : filters) {
    if (std::any_of(records.begin(), records.end(), [&](const RecordInfo& record) {
          return record.type == RecordType::kContextBinary && fits_target(filter, record.key);
        })) {
      continue;
    }
    std::set<std::string> there;
    for (const RecordInfo& record : records) {
      if (record.type == RecordType::kContextBinary) there.insert(target_text(record.key));
    }
    return Error{ErrorCode::kNoMatch, there.empty() ? "there is no context binary that could stay"
                                                    : fmt::format("no context binary is for {}; there are some for {}",
                                                                  filter_text(filter), fmt::join(there, ", "))};
  }
  return records_left(records, [&](const RecordInfo& record) {
    return std::any_of(filters.begin(), filters.end(),
                       [&](const TargetFilter& filter) { return fits_target(filter, record.key); });
  });
}

Result<std::vector<std::uint32_t>> records_without(std::span<const RecordInfo> records,
                                                   std::span<const std::uint32_t> gone) {
  std::set<std::uint32_t> left;
  std::map<std::uint32_t, const RecordInfo*> by_id;
  for (const RecordInfo& record : records) {
    left.insert(record.id);
    by_id.emplace(record.id, &record);
  }
  for (const std::uint32_t id : gone) {
    const auto found = by_id.find(id);
    if (found == by_id.end()) return Error{ErrorCode::kNotFound, fmt::format("there is no record {}", id)};
    const RecordInfo* record = found->second;
    if (record->type == RecordType::kDescription || record->type == RecordType::kTensorTable) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("record \"{}\": a {} record goes with what it describes and cannot be removed by itself",
                               record->name, record_type_name(record->type)),
                   {.record_id = id}};
    }
    left.erase(id);
  }
  return std::vector<std::uint32_t>(left.begin(), left.end());
}

}  // namespace fatctx
