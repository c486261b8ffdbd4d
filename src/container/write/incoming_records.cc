#include "container/write/incoming_records.h"

#include <algorithm>

#include <fmt/format.h>

#include "container/format/metadata_codec.h"
#include "container/format/names.h"
#include "container/read/tensor_table.h"
#include "fatctx/base/checked.h"

namespace fatctx::container {
namespace {

Error as_argument(Error error) {  // the same rule, but the caller's own text breaks it
  if (error.code == ErrorCode::kMalformed) error.code = ErrorCode::kInvalidArgument;
  return error;
}

Status check_text(const std::string& text, std::string_view what) {
  if (text.empty()) return Done{};
  auto status = check_name(text, kMaxNameSize, false, what);
  return status.ok() ? Status(Done{}) : Status(as_argument(std::move(status).error()));
}

Status check_key(const PackRecord& record) {
  FATCTX_TRY(check_text(record.key.group, "the group"));
  FATCTX_TRY(check_text(record.key.unit, "the unit"));
  FATCTX_TRY(check_text(record.key.backend, "the backend"));
  FATCTX_TRY(check_text(record.key.part, "the part"));
  FATCTX_TRY(check_text(record.key.arch, "the arch"));
  FATCTX_TRY(check_text(record.key.variant, "the variant"));
  for (const std::string& word : record.key.features) {
    if (word.empty() || word.find_first_of(", ") != std::string::npos) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" is not a feature word: blanks and commas separate them", word)};
    }
  }
  const std::string features = canonical_features(record.key.features);
  FATCTX_TRY(check_text(features, "the list of features"));
  if (record.type == RecordType::kContextBinary && record.key.backend.empty()) {
    return Error{ErrorCode::kInvalidArgument, "a context binary needs the backend it was built for"};
  }
  return Done{};
}

// Checks ranges without the file; opening it checks that they are inside it.
Status check_ranges(const PackRecord& record) {
  if (record.ranges.empty()) return Done{};
  if (!record.tensors.empty()) {
    return Error{ErrorCode::kInvalidArgument, "it has tensors, which say where its parts are; leave out its ranges"};
  }
  if (record.codec != Codec::kNone) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("nothing of a compressed record is shared, so that its ranges have no use; leave them "
                             "out, or take codec {}",
                             codec_name(Codec::kNone))};
  }
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < record.ranges.size(); ++i) {
    const PackRange& range = record.ranges[i];
    const auto range_end = checked_add(range.offset, range.size_bytes);
    if (range.size_bytes == 0 || !range_end) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("range \"{}\" has {} bytes at {}; at least 1 byte and an end below 2^64 are needed",
                               range.name, range.size_bytes, range.offset)};
    }
    if (range.offset < end) {
      const PackRange& before = record.ranges[i - 1];
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("range \"{}\" begins at {}, {} \"{}\", which has {} bytes at {}; list ranges in the order "
                      "of their offsets, and apart",
                      range.name, range.offset, range.offset < before.offset ? "in front of" : "inside", before.name,
                      before.size_bytes, before.offset)};
    }
    end = *range_end;
  }
  return Done{};
}

// Refuses a record that is not finished, or whose loaded bytes belong to another file.
Status check_bytes(const PackRecord& record) {
  const PackSource& source = record.source;
  if (source.loaded && !record.copy) {
    return Error{ErrorCode::kOperationNotPermitted,
                 fmt::format("record \"{}\": its bytes were loaded and belong to another file already; set `copy` if a "
                             "second one of them is meant",
                             record.name)};
  }
  const bool in_memory = source.path.empty() && !source.source && !source.loaded;
  if (in_memory && source.bytes.empty() && record.type != RecordType::kOpaque) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("record \"{}\": a {} without bytes is not finished; give it a file, bytes or a source",
                             record.name, record_type_name(record.type))};
  }
  return Done{};
}

std::string key_text(const SelectionKey& key) {
  return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", static_cast<int>(key.type),
                     key.group, key.unit, key.backend, key.qnn_soc, key.part, key.arch, key.features, key.vtcm_mb,
                     to_text(key.sdk), key.variant);
}

// Copies what a plan needs of a record. Its tensors, which can take the most memory, are in a record of their own.
PackRecord without_tensors(const PackRecord& record) {
  PackRecord copy;
  copy.type = record.type;
  copy.name = record.name;
  copy.key = record.key;
  copy.source = record.source;
  copy.weights = record.weights;
  copy.description = record.description;
  copy.codec = record.codec;
  copy.own_extent = record.own_extent;
  copy.ranges = record.ranges;
  return copy;
}

}  // namespace

Status IncomingRecords::add(PackRecord record) {
  auto named = check_name(record.name, kMaxNameSize, false, "record name");
  if (!named.ok()) return as_argument(std::move(named).error());
  if (record.type == RecordType::kDescription || record.type == RecordType::kTensorTable) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("record \"{}\": {} records are written by the packer; give {} instead", record.name,
                             record_type_name(record.type),
                             record.type == RecordType::kDescription ? "descriptions of records"
                                                                     : "the tensors of a weight blob")};
  }
  if (record.codec != Codec::kNone && record.type != RecordType::kSourceModel && record.type != RecordType::kOpaque) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("record \"{}\": a {} is mapped as it is and cannot be compressed; codec {} is for "
                             "{} and {} records",
                             record.name, record_type_name(record.type), codec_name(record.codec),
                             record_type_name(RecordType::kSourceModel), record_type_name(RecordType::kOpaque)),
                 {.rule = "F23"}};
  }
  auto key_ok = check_key(record);
  if (!key_ok.ok()) return in_context(std::move(key_ok).error(), fmt::format("record \"{}\"", record.name));
  // Records that are not selected by target still need a unique key.
  if (record.type != RecordType::kContextBinary && record.key.variant.empty()) record.key.variant = record.name;
  if (record.type != RecordType::kContextBinary && !record.weights.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("record \"{}\": only a context binary refers to weights", record.name)};
  }
  if (record.type != RecordType::kWeightBlob && !record.tensors.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("record \"{}\": only a weight blob has tensors", record.name)};
  }
  auto ranges_ok = check_ranges(record);
  if (!ranges_ok.ok()) return in_context(std::move(ranges_ok).error(), fmt::format("record \"{}\"", record.name));
  FATCTX_TRY(check_bytes(record));
  const std::string features = canonical_features(record.key.features);
  const SelectionKey key = key_of(record, features);
  std::string text = key_text(key);
  const auto existing = keys_.find(text);
  const bool supersedes = replace_ && existing != keys_.end() && taken_.contains(existing->second);
  const bool gives_name_up = supersedes && existing->second == record.name;
  if ((names_.contains(record.name) && !gives_name_up) || record.name == kDescriptionName) {
    const bool same_key = existing != keys_.end() && existing->second == record.name;
    return Error{ErrorCode::kExists, fmt::format("a record named \"{}\" already exists{}", record.name,
                                                 !taken_.contains(record.name) ? ""
                                                 : same_key ? ", for the same target; replace it, or leave this one out"
                                                            : "; give this one another name")};
  }
  if (existing != keys_.end() && !supersedes) {
    return Error{ErrorCode::kExists,
                 fmt::format("record \"{}\" has the same selection key as \"{}\": {}; {}", record.name,
                             existing->second, target_text(key),
                             taken_.contains(existing->second) ? "replace that one, or give this one a variant"
                                                               : "give one of them a variant")};
  }
  if (one_per_soc_ && !supersedes) {
    for (const SocPlace& place : soc_places(key)) {
      const auto found = socs_.find(place);
      if (found == socs_.end() || found->second.empty()) continue;
      const std::string& other = found->second.front();
      return Error{
          ErrorCode::kExists,
          fmt::format(
              "record \"{}\" is for {}, as \"{}\" is, and one context binary for each SoC was requested; {}",
              record.name, place.back(), other,
              taken_.contains(other) ? "remove that one first, or leave this one out" : "leave one of them out")};
    }
  }
  if (supersedes) {
    names_.erase(existing->second);
    forget_soc(key, existing->second);
    taken_.erase(existing->second);
    superseded_.push_back(existing->second);
    existing->second = record.name;
  } else {
    keys_.emplace(std::move(text), record.name);
  }
  std::sort(record.weights.begin(), record.weights.end());
  record.weights.erase(std::unique(record.weights.begin(), record.weights.end()), record.weights.end());
  for (const std::string& warning : record.warnings) {
    warnings_.push_back(fmt::format("record \"{}\": {}", record.name, warning));
  }
  drop_paths(record.description.options, fmt::format("record \"{}\"", record.name));
  note_soc(key_of(record, features), record.name);
  names_.emplace(record.name, record.type);
  records_.push_back(std::move(record));
  return Done{};
}

void IncomingRecords::take(const RecordInfo& record) {
  if (record.type == RecordType::kDescription) return;  // every generation has its own
  names_.emplace(record.name, record.type);
  keys_.emplace(key_text(record.key), record.name);
  taken_.emplace(record.name);
  note_soc(record.key, record.name);
}

std::vector<IncomingRecords::SocPlace> IncomingRecords::soc_places(const SelectionKey& key) {
  std::vector<SocPlace> places;
  if (key.type != RecordType::kContextBinary) return places;
  const auto add = [&](std::string soc) {
    places.push_back({std::string(key.group), std::string(key.unit), std::string(key.backend), std::move(soc)});
  };
  if (key.qnn_soc != 0) add(fmt::format("SoC {}", key.qnn_soc));
  if (!key.part.empty()) add(fmt::format("\"{}\"", key.part));
  return places;
}

void IncomingRecords::note_soc(const SelectionKey& key, std::string_view record) {
  if (!one_per_soc_) return;
  for (SocPlace& place : soc_places(key)) socs_[std::move(place)].emplace_back(record);
}

void IncomingRecords::forget_soc(const SelectionKey& key, const std::string& record) {
  if (!one_per_soc_) return;
  for (const SocPlace& place : soc_places(key)) std::erase(socs_[place], record);
}

void IncomingRecords::drop_paths(std::vector<DescribedOption>& list, std::string_view of) {
  for (DescribedOption& option : list) {
    const bool absolute =
        option.value.starts_with('/') || (option.value.size() > 2 && option.value[1] == ':' && option.value[2] == '\\');
    if ((path_valued(option.key) || absolute) && option.value != kGivenAtRunTime) {
      warnings_.push_back(
          fmt::format("{}: the value of {} is a path of this machine and is not stored", of, option.key));
      option.value = kGivenAtRunTime;
    }
  }
}

Status IncomingRecords::check_references() const {
  for (const PackRecord& record : records_) {
    for (const std::string& weights : record.weights) {
      const auto found = names_.find(weights);
      if (found != names_.end() && found->second == RecordType::kWeightBlob) continue;
      return Error{ErrorCode::kBadReference,
                   found == names_.end()
                       ? fmt::format("record \"{}\" refers to weights \"{}\", which do not exist", record.name, weights)
                       : fmt::format("record \"{}\" refers to \"{}\" as weights, but that is a {}", record.name,
                                     weights, record_type_name(found->second)),
                   {.rule = "F27"}};
    }
  }
  return Done{};
}

Result<std::vector<PackRecord>> IncomingRecords::with_tensor_tables(std::map<std::string, std::uint64_t>& blob_sizes,
                                                                    PartsByName& parts) const {
  std::vector<PackRecord> all;
  for (const PackRecord& record : records_) {
    if (!record.tensors.empty()) {
      PackRecord table;
      table.type = RecordType::kTensorTable;
      table.name = record.name + ".tensors";
      table.key.group = record.key.group;
      table.key.variant = table.name;
      table.weights = {record.name};
      const auto size = Input::size_of(record.source);
      if (!size.ok()) return in_context(size.error(), fmt::format("record \"{}\"", record.name));
      blob_sizes.emplace(record.name, size.value());
      auto bytes = build_tensor_table(record.tensors, size.value());
      if (!bytes.ok())
        return in_context(std::move(bytes).error(), fmt::format("tensors of record \"{}\"", record.name));
      table.source.bytes = std::move(bytes).value();
      if (names_.contains(table.name) || table.name.size() > kMaxNameSize) {
        return Error{ErrorCode::kExists, fmt::format("the name \"{}\" is needed for the tensor table", table.name)};
      }
      all.push_back(std::move(table));
      std::vector<sharing::KnownPart>& of_blob = parts[record.name];
      of_blob.reserve(record.tensors.size());
      for (const PackTensor& tensor : record.tensors) {
        of_blob.push_back(
            {{tensor.offset_in_blob, tensor.size_bytes}, std::max<std::uint64_t>(1, dtype_bits(tensor.dtype) / 8)});
      }
    }
    all.push_back(without_tensors(record));
  }
  return all;
}

Status check_blob_sizes(const Plan& plan, const std::map<std::string, std::uint64_t>& blob_sizes) {
  for (const PlannedRecord& planned : plan.records) {
    const auto described = blob_sizes.find(planned.record.name);
    if (described == blob_sizes.end() || described->second == planned.input.size()) continue;
    return Error{ErrorCode::kChanged, fmt::format("{}: changed while it was being packed; pack again when it is still",
                                                  planned.input.name())};
  }
  return Done{};
}

}  // namespace fatctx::container
