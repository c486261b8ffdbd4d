// The order of everything here is canonical: it follows from keys and bytes, never from the order of calls, from
// names of input files or from a clock. Equal input gives equal files.
#include "container/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "container/hash.h"
#include "container/metadata_codec.h"
#include "container/share_plan.h"
#include "container/sharing/parallel.h"
#include "container/toc_build.h"
#include "fatctx/base/checked.h"
#include "fatctx/version.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kCompareUnit = std::size_t{1} << 20;
constexpr std::string_view kDescriptionName = "description";

Result<Hash128> hash_of(const Input& input) {
  auto hash = read_input(input, [](ByteView) -> Status { return Done{}; });
  input.close();
  return hash;
}

// A frame's size is not known before it is made, and everything behind it in the file depends on it. So it is made once
// to be measured and once more to be written (docs/decisions/0007).
Status choose_codecs(Plan& plan) {
  for (PlannedRecord& planned : plan.records) {
    planned.stored_size = planned.input.size();
    if (planned.record.codec == Codec::kNone || planned.input.size() == 0) continue;
    if (planned.input.size() > kMaxColdRecordSize) {
      plan.warnings.push_back(
          fmt::format("record \"{}\": {} bytes, above the {} that may be compressed; stored as it is",
                      planned.record.name, planned.input.size(), kMaxColdRecordSize));
      continue;
    }
    std::uint64_t size = 0;
    FATCTX_TRY(compress_input(planned.input, [&](ByteView bytes) -> Status {
      size += bytes.size();
      return Done{};
    }));
    planned.input.close();
    if (size >= planned.input.size()) continue;
    planned.codec = planned.record.codec;
    planned.stored_size = size;
  }
  return Done{};
}

// Which records store their bytes and which find them in an earlier one. Only inputs of equal size are read.
Status find_equal_records(std::vector<PlannedRecord>& records, unsigned threads) {
  std::map<std::uint64_t, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].stored_as = i;
    if (records[i].input.size() != 0) by_size[records[i].input.size()].push_back(i);
  }
  for (const auto& entry : by_size) {
    const std::vector<std::size_t>& group = entry.second;  // by name: clang 14 captures no structured binding
    if (group.size() < 2) continue;
    std::vector<Hash128> hashes(group.size());
    FATCTX_TRY(sharing::for_each_index(threads, group.size(), [&](std::size_t at) -> Status {
      FATCTX_ASSIGN(hashes[at], hash_of(records[group[at]].input));
      return Done{};
    }));
    std::map<Hash128, std::vector<std::size_t>> seen;  // storing records by hash
    for (std::size_t at = 0; at < group.size(); ++at) {
      const std::size_t i = group[at];
      const Hash128& hash = hashes[at];
      std::vector<std::size_t>& candidates = seen[hash];
      for (const std::size_t candidate : candidates) {
        if (small_record(records[candidate]) != small_record(records[i])) continue;  // other alignment
        if (records[candidate].codec != records[i].codec) continue;                  // other bytes
        FATCTX_ASSIGN(const bool equal, equal_bytes(records[candidate].input, records[i].input));
        if (equal) {
          records[i].stored_as = candidate;
          break;
        }
      }
      if (records[i].stored_as == i) candidates.push_back(i);
    }
  }
  return Done{};
}

// The program among the small records, in front of the sources.
Status place_recipe(Plan& plan, std::size_t index, PlannedSegment& small) {
  PlannedRecord& planned = plan.records[index];
  const PlannedRecipe& recipe = *planned.recipe;
  const auto start = checked_align_up(small.size, kSmallRecordLog2);
  if (!start) return Error{ErrorCode::kLimitExceeded, "the small records together are too large"};
  planned.slices = {{index, {*start, recipe.program.size()}}};
  planned.stored_size = recipe.program.size();
  small.size = *start + recipe.program.size();
  small.records.push_back(index);
  for (const std::size_t source : recipe.sources) {
    planned.slices.push_back({source, {0, plan.records[source].own_bytes}});
    planned.stored_size += plan.records[source].own_bytes;
  }
  return Done{};
}

Status place_in_segments(Plan& plan) {
  PlannedSegment small;
  small.kind = SegmentKind::kPacked;
  std::vector<PlannedSegment> large;
  std::vector<std::size_t> segment_of(plan.records.size());
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    PlannedRecord& planned = plan.records[i];
    if (planned.stored_as != i || planned.input.size() == 0) continue;
    if (planned.recipe) {
      FATCTX_TRY(place_recipe(plan, i, small));
    } else if (small_record(planned)) {
      const auto start = checked_align_up(small.size, kSmallRecordLog2);
      if (!start) return Error{ErrorCode::kLimitExceeded, "the small records together are too large"};
      planned.slices = {{i, {*start, planned.stored_size}}};
      planned.own_bytes = planned.stored_size;
      small.size = *start + planned.stored_size;
      small.records.push_back(i);
      continue;
    }
    if (planned.slices.empty()) {  // it is stored as it is
      planned.slices = {{i, {0, planned.stored_size}}};
      planned.own = {{0, planned.input.size()}};
      planned.own_bytes = planned.stored_size;
    }
    if (planned.own_bytes == 0) continue;  // others store all of it
    PlannedSegment segment;
    segment.size = planned.own_bytes;
    segment.records.push_back(i);
    segment_of[i] = large.size() + 1;  // behind the packed segment, which always holds the description
    large.push_back(std::move(segment));
  }
  for (PlannedRecord& planned : plan.records) {
    for (PlannedSlice& slice : planned.slices) {
      const bool program = planned.recipe && &slice == &planned.slices.front();
      slice.segment = program ? 0 : segment_of[slice.segment];
    }
  }
  plan.segments.push_back(std::move(small));
  std::move(large.begin(), large.end(), std::back_inserter(plan.segments));
  std::uint64_t leaves = 0;
  for (PlannedSegment& segment : plan.segments) {
    if (((segment.size - 1) >> kLeafLog2) >= kMaxLeaves) {
      return Error{ErrorCode::kLimitExceeded,
                   fmt::format("a record of {} bytes; at most {} are allowed", segment.size, kMaxLeaves << kLeafLog2)};
    }
    segment.first_leaf = leaves;
    leaves += segment.leaf_count();
  }
  PlannedSegment leaf_segment;
  leaf_segment.kind = SegmentKind::kLeaves;
  leaf_segment.size = leaves * sizeof(DiskHash);
  plan.segments.push_back(std::move(leaf_segment));
  if (plan.segments.size() > kMaxSegments) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("{} segments; at most {} are allowed", plan.segments.size(), kMaxSegments)};
  }
  return Done{};
}

Status place_in_file(Plan& plan, const PackOptions& options) {
  plan.toc_offset[0] = kHeaderSize;
  std::uint64_t end = kHeaderSize + plan.toc_size;
  for (PlannedSegment& segment : plan.segments) {
    // Within bounds: each size is at most 2^40 and there are at most 2^13 of them.
    segment.offset = *checked_align_up(end, options.extent_log2);
    end = segment.offset + segment.size;
    if (end > kMaxFileSize) {
      return Error{ErrorCode::kLimitExceeded, fmt::format("the file would exceed {} bytes", kMaxFileSize)};
    }
  }
  plan.toc_offset[1] = *checked_align_up(end, kExtentLog2);
  plan.committed_end = plan.toc_offset[1] + plan.toc_size;
  return Done{};
}

Status take_ranges(PlannedRecord& planned) {
  for (const PackRange& range : planned.record.ranges) {
    const ByteRange part{range.offset, range.size_bytes};
    if (!within(part, planned.input.size())) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("record \"{}\": range \"{}\" has {} bytes at {}, which are not inside {} with its {} bytes",
                      planned.record.name, range.name, range.size_bytes, range.offset, planned.input.name(),
                      planned.input.size())};
    }
    planned.parts.push_back({part, 1});
  }
  planned.record.ranges = std::vector<PackRange>();  // clear() would keep the memory
  return Done{};
}

PackRecord description_record(std::vector<std::byte> bytes) {
  PackRecord record;
  record.type = RecordType::kDescription;
  record.name = kDescriptionName;
  record.key.variant = kDescriptionName;
  record.source.bytes = std::move(bytes);
  return record;
}

bool says_something(const RecordDescription& description) {
  return !description.producer.empty() || !description.format.empty() || !description.graphs.empty() ||
         !description.options.empty();
}

}  // namespace

Result<Input> Input::open(const PackSource& source) {
  Input input;
  if (source.path.empty()) {
    input.name_ = "bytes in memory";
    input.bytes_ = source.bytes;
    input.size_ = input.bytes_.size();
    return input;
  }
  input.name_ = source.path;
  input.in_memory_ = false;
  auto file = mapping::open_for_reading(source.path);
  if (!file.ok()) return in_context(std::move(file).error(), source.path);
  auto identity = file.value()->identity();
  if (!identity.ok()) return in_context(std::move(identity).error(), source.path);
  input.identity_ = identity.value();
  if (!input.identity_.regular)
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", source.path)};
  input.size_ = input.identity_.size;
  if (!source.part) return input;
  if (!within(*source.part, input.size_)) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: {} bytes at {} are not inside the file, which has {}", source.path, source.part->size,
                             source.part->offset, input.size_)};
  }
  input.offset_ = source.part->offset;
  input.size_ = source.part->size;
  return input;
}

Error Input::changed() const {
  return Error{ErrorCode::kChanged,
               fmt::format("{}: changed while it was being packed; pack again when it is still", name_)};
}

Result<std::shared_ptr<const mapping::OsFile>> Input::opened() const {
  const std::scoped_lock lock(handle_->mutex);
  if (handle_->file) return handle_->file;
  auto file = mapping::open_for_reading(name_);
  if (!file.ok()) return in_context(std::move(file).error(), name_);
  auto now = file.value()->identity();
  if (!now.ok()) return in_context(std::move(now).error(), name_);
  if (now.value() != identity_) return changed();
  handle_->file = std::move(file).value();
  return handle_->file;
}

void Input::close() const noexcept {
  const std::scoped_lock lock(handle_->mutex);
  handle_->file.reset();
}

Status Input::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  if (in_memory_) {
    FATCTX_ASSIGN(const ByteView piece, slice(bytes_, {offset, buffer.size()}));
    std::copy(piece.begin(), piece.end(), buffer.begin());
    return Done{};
  }
  FATCTX_ASSIGN(const std::shared_ptr<const mapping::OsFile> file, opened());
  auto status = file->read_at(offset_ + offset, buffer);  // inside the file: cannot wrap
  if (status.ok()) return status;
  if (status.error().code == ErrorCode::kTruncated) return changed();  // it was long enough when it was looked at
  return in_context(std::move(status).error(), name_);
}

Status Input::check_unchanged() const {
  if (in_memory_) return Done{};
  std::shared_ptr<const mapping::OsFile> file;
  {
    const std::scoped_lock lock(handle_->mutex);
    file = handle_->file;
  }
  auto now = file ? file->identity() : mapping::stat_path(name_);
  if (!now.ok()) return in_context(std::move(now).error(), name_);
  return now.value() == identity_ ? Status(Done{}) : Status(changed());
}

Result<bool> equal_bytes(const Input& a, const Input& b) {
  if (a.size() != b.size()) return false;
  const auto unit = static_cast<std::size_t>(std::min<std::uint64_t>(kCompareUnit, a.size()));
  std::vector<std::byte> left(unit);
  std::vector<std::byte> right(unit);
  bool equal = true;
  for (std::uint64_t at = 0; equal && at < a.size(); at += unit) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(unit, a.size() - at));
    FATCTX_TRY(a.read_at(at, std::span(left).first(size)));
    FATCTX_TRY(b.read_at(at, std::span(right).first(size)));
    equal = std::equal(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(size), right.begin());
  }
  a.close();
  b.close();
  return equal;
}

Result<Hash128> read_input(const Input& input, const StreamSink& sink) {
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(kCompareUnit, input.size())));
  Hasher hasher;
  for (std::uint64_t at = 0; at < input.size(); at += buffer.size()) {
    const auto piece =
        std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), input.size() - at)));
    FATCTX_TRY(input.read_at(at, piece));
    hasher.update(piece);
    FATCTX_TRY(sink(piece));
  }
  return hasher.digest();
}

Result<Hash128> compress_input(const Input& input, const StreamSink& sink) {
  FrameWriter frame(input.size());
  FATCTX_ASSIGN(const Hash128 hash, read_input(input, [&](ByteView bytes) { return frame.write(bytes, sink); }));
  FATCTX_TRY(frame.finish(sink));
  return hash;
}

SelectionKey key_of(const PackRecord& record, std::string_view features) {
  SelectionKey key;
  key.type = record.type;
  key.group = record.key.group;
  key.unit = record.key.unit;
  key.backend = record.key.backend;
  key.qnn_soc = record.key.qnn_soc;
  key.part = record.key.part;
  key.arch = record.key.arch;
  key.features = features;
  key.vtcm_mb = record.key.vtcm_mb;
  key.sdk = record.key.sdk;
  key.variant = record.key.variant;
  key.api = record.key.api;
  key.blob = record.key.blob;
  key.generic = record.key.generic;
  return key;
}

std::string canonical_features(const std::vector<std::string>& features) {
  std::vector<std::string> sorted = features;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  return fmt::format("{}", fmt::join(sorted, ","));
}

bool small_record(const PlannedRecord& planned) noexcept {
  switch (planned.record.type) {
    case RecordType::kDescription:
    case RecordType::kTensorTable:
      return true;
    case RecordType::kOpaque:
      return planned.stored_size <= kLeafSize && !planned.record.own_extent;
    default:
      return false;
  }
}

Result<Plan> make_plan(std::vector<PackRecord> records, PartsByName parts, const PackOptions& options) {
  Plan plan;
  std::sort(records.begin(), records.end(), [](const PackRecord& a, const PackRecord& b) {
    const std::string fa = canonical_features(a.key.features);
    const std::string fb = canonical_features(b.key.features);
    return compare_keys(key_of(a, fa), key_of(b, fb)) < 0;
  });
  // The description's key sorts among the others by its type; its id must be known before it is written.
  const auto place = std::find_if(records.begin(), records.end(),
                                  [](const PackRecord& record) { return record.type > RecordType::kDescription; });
  const auto description_index = static_cast<std::size_t>(place - records.begin());
  ContainerDescription description;
  description.name = options.model_name;
  description.writer = "fatctx " FATCTX_VERSION;
  description.options = options.options;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!says_something(records[i].description)) continue;
    description.records.push_back(records[i].description);
    description.records.back().record_id = static_cast<std::uint32_t>(i < description_index ? i + 1 : i + 2);
  }
  FATCTX_ASSIGN(std::vector<std::byte> description_bytes, encode_description(description));
  records.insert(records.begin() + static_cast<std::ptrdiff_t>(description_index),
                 description_record(std::move(description_bytes)));
  if (records.size() > kMaxRecords) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("{} records; at most {} are allowed", records.size(), kMaxRecords)};
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    auto input = Input::open(records[i].source);
    if (!input.ok()) return in_context(std::move(input).error(), fmt::format("record \"{}\"", records[i].name));
    PlannedRecord planned;
    planned.record = std::move(records[i]);
    planned.record.source.bytes = std::vector<std::byte>();  // the input holds them now; clear() would keep the memory
    planned.input = std::move(input).value();
    planned.id = static_cast<std::uint32_t>(i + 1);
    if (const auto found = parts.find(planned.record.name); found != parts.end())
      planned.parts = std::move(found->second);
    FATCTX_TRY(take_ranges(planned));
    if (planned.input.size() == 0 && planned.record.type != RecordType::kOpaque) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("record \"{}\": {} is empty", planned.record.name, planned.input.name())};
    }
    plan.records.push_back(std::move(planned));
  }
  FATCTX_TRY(choose_codecs(plan));
  FATCTX_TRY(find_equal_records(plan.records, sharing::thread_count(options.threads)));
  FATCTX_TRY(find_shared_bytes(plan, options));
  FATCTX_TRY(place_in_segments(plan));
  FATCTX_ASSIGN(plan.toc_size, toc_size_of(plan, options));
  FATCTX_TRY(place_in_file(plan, options));
  return plan;
}

}  // namespace fatctx::container
