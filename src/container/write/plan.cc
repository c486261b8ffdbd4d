// The order of everything here is canonical. It follows from keys and bytes, never from the order of calls, from names
// of input files or from a clock. Equal input gives equal files.
#include "container/write/plan.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "container/format/hash.h"
#include "container/format/metadata_codec.h"
#include "container/read/tensor_table.h"
#include "container/sharing/parallel.h"
#include "container/write/settle_sharing.h"
#include "container/write/share_plan.h"
#include "container/write/toc_build.h"
#include "fatctx/base/checked.h"
#include "fatctx/version.h"

namespace fatctx::container {
namespace {

Result<Hash128> hash_of(const Input& input) {
  auto hash = read_input(input, [](ByteView) -> Status { return Done{}; });
  input.close();
  return hash;
}

std::uint64_t bytes_of(const std::vector<PlannedRecord>& records,
                       const std::function<bool(const PlannedRecord&)>& which) {
  std::uint64_t bytes = 0;
  for (const PlannedRecord& planned : records) bytes += which(planned) ? planned.input.size() : 0;
  return bytes;
}

// The size of a frame is not known before it is made, and everything behind it in the file depends on it. So it is made
// once to be measured and once more to be written (docs/decisions/0007).
Status choose_codecs(Plan& plan, WorkProgress& progress) {
  progress.begin(bytes_of(plan.records, [](const PlannedRecord& planned) {
    return planned.record.codec != Codec::kNone && planned.input.size() <= kMaxColdRecordSize;
  }));
  for (PlannedRecord& planned : plan.records) planned.input.report_to(progress);
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

// Decides which records store their bytes and which find them in an earlier one. Reads only inputs of equal size.
Status find_equal_records(std::vector<PlannedRecord>& records, unsigned threads, WorkProgress& progress) {
  std::map<std::uint64_t, std::vector<std::size_t>> by_size;
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].stored_as = i;
    if (records[i].input.size() != 0 && !records[i].alone) by_size[records[i].input.size()].push_back(i);
  }
  progress.begin(bytes_of(records, [&](const PlannedRecord& planned) {
    const auto found = by_size.find(planned.input.size());
    return found != by_size.end() && found->second.size() > 1;
  }));
  for (const auto& entry : by_size) {
    const std::vector<std::size_t>& group = entry.second;  // by name: clang 14 cannot capture a structured binding
    if (group.size() < 2) continue;
    std::vector<Hash128> hashes(group.size());
    FATCTX_TRY(sharing::for_each_index(
        threads, group.size(),
        [&](std::size_t at) -> Status {
          FATCTX_ASSIGN(hashes[at], hash_of(records[group[at]].input));
          return Done{};
        },
        [&] { (void)progress.go_on(); }));
    std::map<Hash128, std::vector<std::size_t>> seen;  // storing records by hash
    for (std::size_t at = 0; at < group.size(); ++at) {
      const std::size_t i = group[at];
      const Hash128& hash = hashes[at];
      std::vector<std::size_t>& candidates = seen[hash];
      for (const std::size_t candidate : candidates) {
        if (small_record(records[candidate]) != small_record(records[i])) continue;  // different alignment
        if (records[candidate].codec != records[i].codec) continue;                  // different stored bytes
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

// Places `size` bytes of a record among the small ones and returns where they begin.
std::uint64_t place_among_small(PlannedSegment& small, std::size_t index, std::uint64_t size) {
  // Cannot wrap: each of at most 2^16 records is in memory or has at most kLeafSize bytes.
  const std::uint64_t start = *checked_align_up(small.size, kSmallRecordLog2);
  small.size = start + size;
  small.records.push_back(index);
  return start;
}

// Places the program among the small records and inserts its slice in front of the sources.
void place_recipe(Plan& plan, std::size_t index, PlannedSegment& small) {
  PlannedRecord& planned = plan.records[index];
  const PlannedRecipe& recipe = *planned.recipe;
  const std::uint64_t size = recipe.program.size();
  planned.slices = {{index, {place_among_small(small, index, size), size}}};
  planned.stored_size = size;
  for (const std::size_t source : recipe.present_sources) {
    planned.slices.push_back({source, {0, plan.present[source].size}, true});
    planned.stored_size += plan.present[source].size;
  }
  for (const std::size_t source : recipe.sources) {
    planned.slices.push_back({source, {0, plan.records[source].own_bytes}});
    planned.stored_size += plan.records[source].own_bytes;
  }
}

void add_leaf_segments(Plan& plan, std::uint64_t hashes) {
  PlannedSegment segment;
  segment.kind = SegmentKind::kLeaves;
  segment.size = hashes * sizeof(DiskHash);
  plan.segments.push_back(segment);
  if (!plan.sha256) return;
  segment.hash_algorithm = kHashSha256;
  segment.size = hashes * sizeof(DiskSha256);
  plan.segments.push_back(std::move(segment));
}

Status place_in_segments(Plan& plan) {
  PlannedSegment small;
  small.kind = SegmentKind::kPacked;
  std::vector<PlannedSegment> large;
  std::vector<std::size_t> segment_of(plan.records.size());
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    PlannedRecord& planned = plan.records[i];
    if (planned.stored_as != i || planned.present_row || planned.input.size() == 0) continue;
    if (planned.recipe) {
      place_recipe(plan, i, small);
    } else if (small_record(planned)) {
      planned.slices = {{i, {place_among_small(small, i, planned.stored_size), planned.stored_size}}};
      planned.own_bytes = planned.stored_size;
      continue;
    }
    if (planned.slices.empty()) {  // stored as it is
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
      if (slice.in_file) continue;
      const bool program = planned.recipe && &slice == &planned.slices.front();
      slice.segment = plan.present.size() + (program ? 0 : segment_of[slice.segment]);
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
    leaves += leaf_units(segment.leaf_count());
  }
  if (leaves != 0) add_leaf_segments(plan, leaves);
  static_assert(kMaxRecords + 3 <= kMaxSegments, "one for each record, one for small ones, two of leaves");
  return Done{};
}

// Places the segments one after the other. Returns the end of the last one.
std::uint64_t place_segments(Plan& plan, std::uint64_t end) {
  for (PlannedSegment& segment : plan.segments) {
    // Cannot wrap: each size is at most 2^40 and there are at most 2^17 of them.
    segment.offset = *checked_align_up(end, plan.extent_log2);
    end = segment.offset + segment.size;
  }
  return end;
}

// Chooses the form of the header, and with it how segments are aligned. Small files get the small form, because the
// alignment of the large one would be most of them. A granule must fit into an alignment.
std::uint8_t choose_extent(const Plan& plan, const PackOptions& options) {
  if (options.extent_log2 != 0) return options.extent_log2;
  if (options.granule_log2 > kSmallExtentLog2) return kExtentLog2;
  constexpr std::uint64_t kMostSmall = std::uint64_t{1} << 20;
  std::uint64_t payload = 0;
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.kind == SegmentKind::kLeaves) continue;
    payload += *checked_align_up(segment.size, kSmallExtentLog2);
    if (payload > kMostSmall) return kExtentLog2;
  }
  return kSmallExtentLog2;
}

Status place_in_file(Plan& plan) {
  const HeaderForm& form = header_form(plan.extent_log2);
  plan.toc_offset[0] = form.size;
  const std::uint64_t end = place_segments(plan, form.size + plan.toc_size.all);
  plan.toc_offset[1] = *checked_align_up(end, form.unit_log2);
  plan.committed_end = plan.toc_offset[1] + plan.toc_size.all;
  if (plan.committed_end <= kMaxFileSize) return Done{};
  return Error{ErrorCode::kLimitExceeded, fmt::format("the file would exceed {} bytes", kMaxFileSize)};
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
         !description.options.empty() || !description.notes.empty();
}

}  // namespace

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

namespace {

// Sorts the records by key, adds a description, gives ids from `first_id` on, and opens each input once. `description`
// holds the entries that the file keeps.
Result<Plan> take_records(std::vector<PackRecord> records, PartsByName parts, ContainerDescription description,
                          std::uint32_t first_id, const std::atomic<bool>* cancel) {
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
  description.writer = "fatctx " FATCTX_VERSION;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!says_something(records[i].description)) continue;
    description.records.push_back(records[i].description);
    description.records.back().record_id = first_id + static_cast<std::uint32_t>(i < description_index ? i : i + 1);
  }
  FATCTX_ASSIGN(std::vector<std::byte> description_bytes, encode_description(description));
  records.insert(records.begin() + static_cast<std::ptrdiff_t>(description_index),
                 description_record(std::move(description_bytes)));
  if (records.size() > kMaxRecords) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("{} records; at most {} are allowed", records.size(), kMaxRecords)};
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Hash128 table_hash =
        records[i].type == RecordType::kTensorTable ? table_hash_of(records[i].source.bytes) : Hash128{};
    auto input = Input::take(records[i].source, cancel);
    if (!input.ok()) return in_context(std::move(input).error(), fmt::format("record \"{}\"", records[i].name));
    PlannedRecord planned;
    planned.record = std::move(records[i]);
    planned.input = std::move(input).value();
    planned.table_hash = table_hash;
    planned.id = first_id + static_cast<std::uint32_t>(i);
    if (const auto found = parts.find(planned.record.name); found != parts.end())
      planned.parts = std::move(found->second);
    FATCTX_TRY(take_ranges(planned));
    if (planned.input.size() == 0 && planned.record.type != RecordType::kOpaque) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("record \"{}\": {} is empty", planned.record.name, planned.input.name())};
    }
    plan.records.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace

Result<Plan> make_plan(std::vector<PackRecord> records, PartsByName parts, const PackOptions& options,
                       WorkProgress& progress) {
  ContainerDescription description;
  description.name = options.model_name;
  description.options = options.options;
  FATCTX_ASSIGN(Plan plan,
                take_records(std::move(records), std::move(parts), std::move(description), 1, options.cancel));
  plan.sha256 = options.sha256;
  FATCTX_TRY(settle_sharing(plan, {}, options));
  FATCTX_TRY(choose_codecs(plan, progress));
  FATCTX_TRY(find_equal_records(plan.records, sharing::thread_count(options.threads), progress));
  FATCTX_TRY(find_shared_bytes(plan, options, progress));
  FATCTX_TRY(place_in_segments(plan));
  warn_of_sharing(plan);
  plan.extent_log2 = choose_extent(plan, options);
  FATCTX_ASSIGN(plan.toc_size, toc_size_of(plan, options));
  FATCTX_TRY(place_in_file(plan));
  return plan;
}

Result<Plan> make_append_plan(std::vector<PackRecord> records, PartsByName parts, AppendStart start,
                              const PackOptions& options, WorkProgress& progress) {
  FATCTX_ASSIGN(Plan plan, take_records(std::move(records), std::move(parts), std::move(start.description),
                                        start.first_id, options.cancel));
  plan.present = std::move(start.present);
  plan.present_weights = std::move(start.present_weights);
  FATCTX_TRY(settle_sharing(plan, std::move(start.present_candidates), options));
  FATCTX_TRY(choose_codecs(plan, progress));
  FATCTX_TRY(find_equal_records(plan.records, sharing::thread_count(options.threads), progress));
  progress.begin(bytes_of(plan.records, [](const PlannedRecord& planned) { return !planned.alone; }));
  FATCTX_TRY(start.find_in_file(plan));
  FATCTX_TRY(place_in_segments(plan));
  warn_of_sharing(plan);
  plan.extent_log2 = options.extent_log2;
  plan.committed_end = place_segments(plan, start.first_byte);
  return plan;
}

}  // namespace fatctx::container
