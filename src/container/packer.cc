// Packer: collects and checks records, then plans, copies and publishes.
#include "fatctx/packer.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "container/copy_payload.h"
#include "container/hash.h"
#include "container/metadata_codec.h"
#include "container/names.h"
#include "container/plan.h"
#include "container/rebuild.h"
#include "container/tensor_table.h"
#include "container/toc_build.h"
#include "fatctx/base/checked.h"
#include "mapping/publish.h"

namespace fatctx {
namespace {

using namespace container;

// Large calls give large folios in the page cache, which make the first touch of a mapping cheaper; a multiple of
// the leaf size, so that a leaf never spans two of them.
constexpr std::size_t kCopyUnit = std::size_t{4} << 20;
static_assert(kCopyUnit % kLeafSize == 0);

Error as_argument(Error error) {  // the same rule, but it is the caller's own text that breaks it
  if (error.code == ErrorCode::kMalformed) error.code = ErrorCode::kInvalidArgument;
  return error;
}

// Fills segments: copies inputs, hashes records and leaves, and writes the leaves where the plan has them.
class Copier {
 public:
  Copier(Plan& plan, mapping::OsFile& file, const Progress& progress) : plan_(plan), file_(file), progress_(progress) {
    for (const PlannedSegment& segment : plan_.segments) {
      if (segment.kind != SegmentKind::kLeaves) total_ += segment.size;
    }
  }

  Status run() {
    leaves_at_ = plan_.segments.back().offset;
    for (PlannedSegment& segment : plan_.segments) {
      if (segment.kind != SegmentKind::kLeaves) FATCTX_TRY(copy_segment(segment));
    }
    FATCTX_TRY(flush_leaves());
    plan_.segments.back().leaves_hash = all_leaves_.digest();
    for (PlannedRecord& planned : plan_.records) {
      if (planned.input.size() == 0) planned.hash = hash128({});  // in no segment, so that nothing has hashed it
      FATCTX_TRY(planned.input.check_unchanged());
    }
    return Done{};
  }

 private:
  Status copy_segment(PlannedSegment& segment) {
    Hasher segment_leaves;
    PlannedRecord& planned = plan_.records[segment.records.front()];
    if (segment.kind == SegmentKind::kPacked || planned.codec != Codec::kNone) {
      FATCTX_TRY(gather(segment, segment_leaves));
    } else {
      Hasher record_hash;
      auto range = planned.own.begin();
      std::uint64_t taken = 0;  // of the range
      for (std::uint64_t at = 0; at < segment.size;) {
        buffer_.resize(static_cast<std::size_t>(std::min<std::uint64_t>(kCopyUnit, segment.size - at)));
        for (auto rest = std::span(buffer_); !rest.empty();) {
          const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(rest.size(), range->size - taken));
          FATCTX_TRY(planned.input.read_at(range->offset + taken, rest.first(size)));
          rest = rest.subspan(size);
          taken += size;
          if (taken < range->size) continue;
          ++range;
          taken = 0;
        }
        if (!planned.shares()) record_hash.update(buffer_);
        FATCTX_TRY(put(segment, at, segment_leaves));
        at += buffer_.size();
      }
      planned.hash = record_hash.digest();  // of one that shares: nothing yet
      FATCTX_TRY(planned.input.check_unchanged());
      planned.input.close();
    }
    segment.leaves_hash = segment_leaves.digest();
    return Done{};
  }

  // Small records and compressed ones are gathered in units as well; between them lie zeros up to their alignment.
  Status gather(const PlannedSegment& segment, Hasher& segment_leaves) {
    std::uint64_t written = 0;
    buffer_.clear();
    for (const std::size_t index : segment.records) {
      PlannedRecord& planned = plan_.records[index];
      buffer_.resize(static_cast<std::size_t>(planned.slices[0].range.offset - written));
      std::uint64_t stored = 0;
      const auto append = [&](ByteView bytes) -> Status {
        stored += bytes.size();
        if (stored > planned.stored_size) return changed(planned);
        while (!bytes.empty()) {
          const ByteView piece = bytes.first(std::min(bytes.size(), kCopyUnit - buffer_.size()));
          buffer_.insert(buffer_.end(), piece.begin(), piece.end());
          bytes = bytes.subspan(piece.size());
          if (buffer_.size() < kCopyUnit) continue;
          FATCTX_TRY(put(segment, written, segment_leaves));
          written += buffer_.size();
          buffer_.clear();
        }
        return Done{};
      };
      if (planned.recipe) {  // the record's bytes have no hash before they are rebuilt
        FATCTX_TRY(append(planned.recipe->program));
        continue;
      }
      FATCTX_ASSIGN(planned.hash, planned.codec == Codec::kNone ? read_input(planned.input, append)
                                                                : compress_input(planned.input, append));
      if (stored != planned.stored_size) return changed(planned);
      planned.input.close();
    }
    return buffer_.empty() ? Status(Done{}) : put(segment, written, segment_leaves);
  }

  // Other bytes compress to another size; only the size was planned.
  static Error changed(const PlannedRecord& planned) {
    return Error{ErrorCode::kChanged, fmt::format("{}: changed while it was being packed; pack again when it is still",
                                                  planned.input.name())};
  }

  // Writes buffer_ at `at` of the segment and hashes its leaves.
  Status put(const PlannedSegment& segment, std::uint64_t at, Hasher& segment_leaves) {
    FATCTX_TRY(file_.write_at(segment.offset + at, buffer_));
    ByteView rest = buffer_;
    while (!rest.empty()) {
      const ByteView leaf = rest.first(std::min<std::size_t>(rest.size(), kLeafSize));
      const Hash128 hash = hash128(leaf);
      segment_leaves.update(hash.bytes);
      leaves_.insert(leaves_.end(), hash.bytes.begin(), hash.bytes.end());
      rest = rest.subspan(leaf.size());
    }
    if (leaves_.size() >= kLeafSize) FATCTX_TRY(flush_leaves());
    done_ += buffer_.size();
    if (progress_) progress_(done_, total_);
    return Done{};
  }

  Status flush_leaves() {
    FATCTX_TRY(file_.write_at(leaves_at_, leaves_));
    all_leaves_.update(leaves_);
    leaves_at_ += leaves_.size();
    leaves_.clear();
    return Done{};
  }

  Plan& plan_;
  mapping::OsFile& file_;
  const Progress& progress_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
  std::vector<std::byte> buffer_;
  std::vector<std::byte> leaves_;  // not yet written
  Hasher all_leaves_;
  std::uint64_t leaves_at_ = 0;
};

}  // namespace

namespace container {

Status copy_payload(Plan& plan, mapping::OsFile& file,
                    const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  return Copier(plan, file, progress).run();
}

}  // namespace container

struct Packer::Impl {
  PackOptions options;
  std::vector<PackRecord> records;
  std::map<std::string, RecordType> names;
  std::map<std::string, std::string> keys;  // canonical text of the full key -> record name
  std::vector<std::string> warnings;

  Status check_text(const std::string& text, std::string_view what) const {
    if (text.empty()) return Done{};
    auto status = check_name(text, kMaxNameSize, false, what);
    return status.ok() ? Status(Done{}) : Status(as_argument(std::move(status).error()));
  }

  Status check_key(const PackRecord& record) const {
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

  // What needs no look at the file; whether they are inside it is seen when it is opened.
  static Status check_ranges(const PackRecord& record) {
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

  std::string key_text(const PackRecord& record) const {
    const PackKey& key = record.key;
    return fmt::format("{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}\x1f{}", static_cast<int>(record.type),
                       key.group, key.unit, key.backend, key.qnn_soc, key.part, key.arch,
                       canonical_features(key.features), key.vtcm_mb, to_text(key.sdk), key.variant);
  }

  void drop_paths(std::vector<DescribedOption>& list, std::string_view of) {
    for (DescribedOption& option : list) {
      const bool absolute = option.value.starts_with('/') ||
                            (option.value.size() > 2 && option.value[1] == ':' && option.value[2] == '\\');
      if ((path_valued(option.key) || absolute) && option.value != kGivenAtRunTime) {
        warnings.push_back(
            fmt::format("{}: the value of {} is a path of this machine and is not stored", of, option.key));
        option.value = kGivenAtRunTime;
      }
    }
  }

  Status add(PackRecord record) {
    auto named = check_name(record.name, kMaxNameSize, false, "record name");
    if (!named.ok()) return as_argument(std::move(named).error());
    if (record.type == RecordType::kDescription || record.type == RecordType::kTensorTable) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("record \"{}\": {} records are written by the packer; give {} instead", record.name,
                               record_type_name(record.type),
                               record.type == RecordType::kDescription ? "descriptions of records"
                                                                       : "the tensors of a weight blob")};
    }
    if (names.contains(record.name) || record.name == "description") {
      return Error{ErrorCode::kExists, fmt::format("a record named \"{}\" is there already", record.name)};
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
    const auto [existing, inserted] = keys.emplace(key_text(record), record.name);
    if (!inserted) {
      return Error{
          ErrorCode::kExists,
          fmt::format("record \"{}\" has the same selection key as \"{}\": {}; give one of them a variant", record.name,
                      existing->second, target_text(key_of(record, canonical_features(record.key.features))))};
    }
    std::sort(record.weights.begin(), record.weights.end());
    record.weights.erase(std::unique(record.weights.begin(), record.weights.end()), record.weights.end());
    drop_paths(record.description.options, fmt::format("record \"{}\"", record.name));
    names.emplace(record.name, record.type);
    records.push_back(std::move(record));
    return Done{};
  }

  // The tensors can be what takes the most memory.
  static PackRecord without_tensors(const PackRecord& record) {
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

  // Tensor tables become records of their own, now that the size of their blob can be asked; `blob_sizes` are what was
  // answered, by name of the blob, `parts` where its tensors are.
  Result<std::vector<PackRecord>> with_tensor_tables(std::map<std::string, std::uint64_t>& blob_sizes,
                                                     PartsByName& parts) const {
    std::vector<PackRecord> all;
    for (const PackRecord& record : records) {
      if (!record.tensors.empty()) {
        PackRecord table;
        table.type = RecordType::kTensorTable;
        table.name = record.name + ".tensors";
        table.key.group = record.key.group;
        table.key.variant = table.name;
        table.weights = {record.name};
        auto input = Input::open(record.source);
        if (!input.ok()) return in_context(std::move(input).error(), fmt::format("record \"{}\"", record.name));
        blob_sizes.emplace(record.name, input.value().size());
        auto bytes = build_tensor_table(record.tensors, input.value().size());
        if (!bytes.ok())
          return in_context(std::move(bytes).error(), fmt::format("tensors of record \"{}\"", record.name));
        table.source.bytes = std::move(bytes).value();
        if (names.contains(table.name) || table.name.size() > kMaxNameSize) {
          return Error{ErrorCode::kExists, fmt::format("the name \"{}\" is needed for the tensor table", table.name)};
        }
        all.push_back(std::move(table));
        for (const PackTensor& tensor : record.tensors) {
          parts[record.name].push_back(
              {{tensor.offset_in_blob, tensor.size_bytes}, std::max<std::uint64_t>(1, dtype_bits(tensor.dtype) / 8)});
        }
      }
      all.push_back(without_tensors(record));
    }
    return all;
  }

  Status check_references() const {
    for (const PackRecord& record : records) {
      for (const std::string& weights : record.weights) {
        const auto found = names.find(weights);
        if (found != names.end() && found->second == RecordType::kWeightBlob) continue;
        return Error{ErrorCode::kBadReference,
                     found == names.end() ? fmt::format("record \"{}\" refers to weights \"{}\", which are not there",
                                                        record.name, weights)
                                          : fmt::format("record \"{}\" refers to \"{}\" as weights, but that is a {}",
                                                        record.name, weights, record_type_name(found->second)),
                     {.rule = "F27"}};
      }
    }
    return Done{};
  }
};

Packer::Packer(PackOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  impl_->drop_paths(impl_->options.options, "container");
}
Packer::~Packer() = default;
Packer::Packer(Packer&&) noexcept = default;
Packer& Packer::operator=(Packer&&) noexcept = default;

Status Packer::add(PackRecord record) { return impl_->add(std::move(record)); }

Result<PackReport> Packer::publish(const std::string& path) {
  const PackOptions& options = impl_->options;
  if (options.max_pieces == 0 || options.max_pieces > kMaxSlices) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("max_pieces is {}; allowed: 1 to {}", options.max_pieces, kMaxSlices)};
  }
  if ((options.extent_log2 != kExtentLog2 && options.extent_log2 != kLargeExtentLog2) ||
      (options.granule_log2 != 12 && options.granule_log2 != 14 && options.granule_log2 != 16)) {
    return Error{
        ErrorCode::kInvalidArgument, "extent_log2 must be 16 or 21, granule_log2 12, 14 or 16", {.rule = "F4"}};
  }
  FATCTX_TRY(impl_->check_references());
  // Before the inputs are read: an existing target is the commonest refusal.
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> pending,
                mapping::PendingFile::create(path, options.overwrite));
  std::map<std::string, std::uint64_t> blob_sizes;
  PartsByName parts;
  FATCTX_ASSIGN(std::vector<PackRecord> records, impl_->with_tensor_tables(blob_sizes, parts));
  FATCTX_ASSIGN(Plan plan, make_plan(std::move(records), std::move(parts), options));
  for (const PlannedRecord& planned : plan.records) {  // make_plan has asked for the sizes again
    const auto described = blob_sizes.find(planned.record.name);
    if (described == blob_sizes.end() || described->second == planned.input.size()) continue;
    return Error{ErrorCode::kChanged, fmt::format("{}: changed while it was being packed; pack again when it is still",
                                                  planned.input.name())};
  }
  mapping::OsFile& file = pending->file();
  FATCTX_TRY(file.allocate(plan.committed_end));
  FATCTX_TRY(copy_payload(plan, file, options.progress));
  FATCTX_TRY(check_rebuilt(plan, file));
  FATCTX_ASSIGN(std::vector<std::byte> toc, build_toc(plan, options));
  const DiskUuid uuid = derive_uuid(toc, options);
  put_uuid(toc, uuid);
  for (const std::uint64_t offset : plan.toc_offset) FATCTX_TRY(file.write_at(offset, toc));
  FATCTX_TRY(file.write_at(0, build_header(plan, toc, uuid, options)));
  FATCTX_TRY(pending->publish(options.seal));

  PackReport report;
  report.path = path;
  report.uuid = uuid_text(uuid);
  report.file_size = plan.committed_end;
  report.record_count = static_cast<std::uint32_t>(plan.records.size());
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    const PlannedRecord& planned = plan.records[i];
    PackedRecordReport record;
    record.name = planned.record.name;
    record.id = planned.id;
    record.size_bytes = planned.input.size();
    const std::optional<PlannedRecipe>& recipe = plan.records[planned.stored_as].recipe;
    record.stored_bytes = planned.stored_as == i ? planned.own_bytes : 0;
    if (recipe && planned.stored_as == i) record.stored_bytes += recipe->program.size();
    record.shared_bytes = (recipe ? record.size_bytes : planned.stored_size) - record.stored_bytes;
    record.shifted_bytes = planned.stored_as == i ? planned.shifted_bytes : 0;
    record.reordered_bytes = planned.stored_as == i ? planned.reordered_bytes : 0;
    record.sharing_order = plan.records[planned.stored_as].sharing_order;
    if (recipe) {
      record.recipe_steps = recipe->steps;
      record.recipe_bytes = recipe->program.size();
      record.mappable_bytes = recipe->mappable_bytes;
    } else {
      record.pieces = static_cast<std::uint32_t>(plan.records[planned.stored_as].slices.size());
    }
    if (planned.stored_as != i) ++report.shared_records;
    report.input_bytes += record.size_bytes;
    report.stored_bytes += record.stored_bytes;
    report.shared_bytes += record.shared_bytes;
    report.records.push_back(std::move(record));
  }
  report.sealed = options.seal;
  report.warnings = impl_->warnings;
  report.warnings.insert(report.warnings.end(), plan.warnings.begin(), plan.warnings.end());
  return report;
}

}  // namespace fatctx
