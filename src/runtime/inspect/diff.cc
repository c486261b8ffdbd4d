// Compares two containers by their metadata: names, keys, hashes, tables. Reads payload only to find out which tensors
// of a changed blob differ.
#include "fatctx/diff.h"

#include <algorithm>
#include <atomic>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/named_values.h"
#include "container/format/hash.h"
#include "container/format/metadata_codec.h"
#include "container/read/leaves.h"
#include "container/read/open.h"
#include "container/read/record_ranges.h"
#include "container/read/tensor_table.h"
#include "mapping/read_only_file.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {
namespace {

constexpr NamedValue<Change> kChanges[] = {
    {Change::kAdded, "added"},           {Change::kRemoved, "removed"}, {Change::kChanged, "changed"},
    {Change::kRetargeted, "retargeted"}, {Change::kRenamed, "renamed"}, {Change::kRebound, "rebound"},
};

constexpr std::size_t kPiece = std::size_t{1} << 20;

// A file that counts the bytes read from it.
class CountedFile final : public mapping::ReadOnlyFile {
 public:
  CountedFile(const mapping::OsFile& file, std::uint64_t& bytes) : file_(file), bytes_(bytes) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    bytes_ += buffer.size();
    return file_.read_at(offset, buffer);
  }
  Result<mapping::FileIdentity> identity() const override { return file_.identity(); }
  int descriptor() const noexcept override { return file_.descriptor(); }
  std::uint64_t base() const noexcept override { return file_.base(); }

 private:
  const mapping::OsFile& file_;
  std::uint64_t& bytes_;
};

using Content = std::tuple<RecordType, Hash128, std::uint64_t>;
Content content_of(const RecordInfo& record) { return {record.type, record.hash, record.size_bytes}; }

// Returns the key by which records of two containers are compared.
SelectionKey comparable_key(const RecordInfo& record) {
  SelectionKey key = record.key;
  if (key.variant == record.name) key.variant = {};
  return key;
}
std::strong_ordering order_of_keys(const RecordInfo& a, const RecordInfo& b) {
  const SelectionKey x = comparable_key(a);
  const SelectionKey y = comparable_key(b);
  if (const auto order = a.type <=> b.type; order != 0) return order;
  if (const auto order = compare_keys(x, y); order != 0) return order;
  return std::tie(x.api, x.blob, x.generic) <=> std::tie(y.api, y.blob, y.generic);
}
bool same_key(const RecordInfo& a, const RecordInfo& b) { return order_of_keys(a, b) == 0; }

std::strong_ordering order_of_names(const RecordInfo& a, const RecordInfo& b) { return a.name <=> b.name; }

std::strong_ordering order_of_contents(const RecordInfo& a, const RecordInfo& b) {
  return content_of(a) <=> content_of(b);
}

// One container, with the data that the comparison needs.
class Side {
 public:
  Side(const Container& container, std::uint64_t& read_bytes)
      : mapped_(*mapped_of(container)),
        path_(container.path()),
        file_(mapped_.file(), read_bytes),
        budget_(mapped_.toc(), options_of(container).max_made_bytes),
        ranges_(file_, mapped_.toc(), budget_) {
    const container::Header& header = mapped_.header();
    facts_.path = path_;
    facts_.uuid = container::uuid_text(header.uuid);
    facts_.generation = header.generation;
    facts_.sealed = header.sealed;
    facts_.file_size = header.committed_end + header.tail_bytes;
  }

  Status read() {
    FATCTX_TRY(mapped_.recheck());
    for (const RecordInfo& record : toc().records) {
      if (record.type == RecordType::kDescription) {
        auto bytes = container::read_metadata_record(file_, toc(), record, budget_);
        if (!bytes.ok()) return named(std::move(bytes).error());
        auto decoded = container::decode_description(bytes.value().bytes);
        if (!decoded.ok()) return named(container::in_record(std::move(decoded).error(), record));
        description_ = std::move(decoded).value();
        continue;
      }
      records_.push_back(&record);
      contents_.insert(content_of(record));
      ++facts_.record_count;
      facts_.record_bytes += record.size_bytes;
    }
    facts_.writer = description_.writer;
    return read_leaves();
  }

  void compare_bytes_with(const Side& other) {
    for (const RecordInfo* record : records_) {
      if (other.contents_.count(content_of(*record)) != 0) facts_.record_bytes_in_both += record->size_bytes;
    }
    for (const auto& [hash, bytes] : leaves_) {
      if (std::binary_search(other.leaf_hashes_.begin(), other.leaf_hashes_.end(), hash)) {
        facts_.stored_bytes_in_both += bytes;
      }
    }
  }

  [[nodiscard]] DiffedRecord about(const RecordInfo& record) const {
    DiffedRecord told;
    told.id = record.id;
    told.name = record.name;
    told.target = target_text(record.key);
    told.size_bytes = record.size_bytes;
    told.hash = record.hash;
    told.weights = weights_of(record);
    return told;
  }
  [[nodiscard]] std::vector<std::string> weights_of(const RecordInfo& record) const {
    std::vector<std::string> names;
    for (const std::uint32_t id : record.weights) names.emplace_back(toc().find(id)->name);
    std::sort(names.begin(), names.end());
    return names;
  }
  // Returns the tensor table of a blob; nothing if it has none.
  [[nodiscard]] Result<std::optional<container::ParsedTensorTable>> table_of(const RecordInfo& blob) const {
    for (const container::Reference& reference : toc().references) {
      if (reference.kind != container::ReferenceKind::kTensorTable || reference.to_record != blob.id) continue;
      const RecordInfo& table = *toc().find(reference.from_record);
      auto bytes = container::read_metadata_record(file_, toc(), table, budget_);
      if (!bytes.ok()) return named(std::move(bytes).error());
      auto parsed = container::parse_tensor_table(bytes.value().bytes, blob.size_bytes, toc().newer_fields);
      if (!parsed.ok()) return named(container::in_record(std::move(parsed).error(), table));
      return std::optional(std::move(parsed).value());
    }
    return std::optional<container::ParsedTensorTable>();
  }
  Status bytes_of(const RecordInfo& record, std::uint64_t offset, std::span<std::byte> out) {
    auto status = ranges_.read(record, offset, out);
    return status.ok() ? status : Status(named(container::in_record(std::move(status).error(), record)));
  }
  [[nodiscard]] const RecordDescription* described(std::uint32_t id) const { return description_.find(id); }

  [[nodiscard]] const std::vector<const RecordInfo*>& records() const noexcept { return records_; }
  [[nodiscard]] const ContainerDescription& description() const noexcept { return description_; }
  [[nodiscard]] const DiffedContainer& facts() const noexcept { return facts_; }

 private:
  [[nodiscard]] const container::Toc& toc() const noexcept { return mapped_.toc(); }
  [[nodiscard]] Error named(Error error) const { return in_context(std::move(error), path_); }

  Status read_leaves() {
    for (const container::Segment& segment : toc().segments) {
      if (!segment.holds_payload()) continue;
      auto hashes = container::read_leaves(file_, toc(), segment, container::LeafHash::kXxh3);
      if (!hashes.ok()) return named(std::move(hashes).error());
      facts_.stored_bytes += segment.size;
      for (std::size_t i = 0; i < hashes.value().xxh3.size(); ++i) {
        const std::uint64_t size =
            std::min(container::kLeafSize, segment.size - (std::uint64_t{i} << container::kLeafLog2));
        leaves_.emplace_back(hashes.value().xxh3[i], size);
        leaf_hashes_.push_back(hashes.value().xxh3[i]);
      }
    }
    std::sort(leaf_hashes_.begin(), leaf_hashes_.end());
    return Done{};
  }

  const MappedContainer& mapped_;
  const std::string path_;
  CountedFile file_;
  const container::WorkBudget budget_;
  container::RecordRanges ranges_;
  DiffedContainer facts_;
  ContainerDescription description_;
  std::vector<const RecordInfo*> records_;  // without the description
  std::set<Content> contents_;
  std::vector<std::pair<Hash128, std::uint64_t>> leaves_;  // with their sizes
  std::vector<Hash128> leaf_hashes_;                       // sorted
};

std::string type_text(const TensorInfo& tensor) {
  return fmt::format("{}[{}]", dtype_name(tensor.dtype), fmt::join(tensor.shape, ","));
}

std::string tensors_text(const std::vector<DescribedTensor>& tensors) {
  std::string text;
  for (const DescribedTensor& tensor : tensors) {
    text +=
        fmt::format("{}{} {}[{}]", text.empty() ? "" : ", ", tensor.name, tensor.dtype, fmt::join(tensor.shape, ","));
    if (tensor.scales.size() > 1) text += fmt::format(" along {}", tensor.axis);
    for (const DescribedScale& scale : tensor.scales) text += fmt::format(" {}*(x{:+})", scale.scale, scale.offset);
  }
  return text;
}

// A map of options and graphs by name, as texts that can be compared and shown.
using Facts = std::map<std::string, std::string>;

void add_options(Facts& facts, const std::string& prefix, const std::vector<DescribedOption>& options) {
  for (const DescribedOption& option : options) {
    const std::string owner = option.owner.empty() ? "" : option.owner + "/";
    facts[fmt::format("{}option {}{}", prefix, owner, option.key)] = option.value;
  }
}

Facts facts_of(const ContainerDescription& description) {
  Facts facts;
  if (!description.name.empty()) facts["name"] = description.name;
  add_options(facts, "", description.options);
  return facts;
}

Facts facts_of(const RecordDescription* described, std::string_view record) {
  Facts facts;
  if (described == nullptr) return facts;
  const std::string prefix = fmt::format("record \"{}\": ", record);
  if (!described->producer.empty()) facts[prefix + "producer"] = described->producer;
  if (!described->format.empty()) facts[prefix + "format"] = described->format;
  for (const DescribedGraph& graph : described->graphs) {
    facts[fmt::format("{}graph {}", prefix, graph.name)] =
        fmt::format("({}) -> ({})", tensors_text(graph.inputs), tensors_text(graph.outputs));
    add_options(facts, fmt::format("{}graph {}: ", prefix, graph.name), graph.options);
    if (graph.spill_fill_bytes != 0) {
      facts[fmt::format("{}graph {}: spill-fill", prefix, graph.name)] = fmt::format("{}", graph.spill_fill_bytes);
    }
  }
  add_options(facts, prefix, described->options);
  for (const EvidenceNote& note : described->notes) {
    const std::string what = fmt::format("{}note of {}: {} on {}", prefix, note.date, note.metric, note.device);
    std::string& value = facts[what];
    value += (value.empty() ? "" : ", ") + note.value + (note.tool.empty() ? "" : " by " + note.tool);
  }
  return facts;
}

void compare_facts(const Facts& before, const Facts& after, std::vector<DescriptionDifference>& differences) {
  for (const auto& [what, value] : before) {
    const auto found = after.find(what);
    if (found == after.end()) {
      differences.push_back({what, value, {}});
    } else if (found->second != value) {
      differences.push_back({what, value, found->second});
    }
  }
  for (const auto& [what, value] : after) {
    if (before.count(what) == 0) differences.push_back({what, {}, value});
  }
}

class Comparison {
 public:
  Comparison(const Container& before, const Container& after, const Progress& progress)
      : before_(before, report_.read_bytes), after_(after, report_.read_bytes), progress_(progress) {}

  Result<DiffReport> run() {
    FATCTX_TRY(before_.read());
    FATCTX_TRY(after_.read());
    before_.compare_bytes_with(after_);
    after_.compare_bytes_with(before_);
    pair_records();
    FATCTX_TRY(compare_pairs());
    compare_facts(facts_of(before_.description()), facts_of(after_.description()), report_.description);
    for (const Pair& pair : pairs_) {  // an added or removed record implies its description
      compare_facts(facts_of(before_.described(pair.before->id), pair.after->name),
                    facts_of(after_.described(pair.after->id), pair.after->name), report_.description);
    }
    report_.before = before_.facts();
    report_.after = after_.facts();
    return std::move(report_);
  }

 private:
  struct Pair {
    const RecordInfo* before = nullptr;
    const RecordInfo* after = nullptr;
  };

  // Pairs the closest relations first, so that an unchanged record is not taken for a renamed one.
  void pair_records() {
    std::vector<const RecordInfo*> old = before_.records();
    std::vector<const RecordInfo*> fresh = after_.records();
    // Pairs records that are equal in all of `orders`, the first with the first; records of fewer bytes than
    // `least_size` stay.
    const auto pair_equal = [&](std::uint64_t least_size, auto... orders) {
      const auto before = [orders...](const RecordInfo* a, const RecordInfo* b) {
        std::strong_ordering order = std::strong_ordering::equal;
        (void)(((order = orders(*a, *b)) != 0) || ...);
        return order < 0;
      };
      std::map<const RecordInfo*, std::vector<const RecordInfo**>, decltype(before)> waiting(before);
      for (auto b = fresh.rbegin(); b != fresh.rend(); ++b) waiting[*b].push_back(&*b);
      for (const RecordInfo*& a : old) {
        const auto found = waiting.find(a);
        if (a->size_bytes < least_size || found == waiting.end() || found->second.empty()) continue;
        pairs_.push_back({std::exchange(a, nullptr), std::exchange(*found->second.back(), nullptr)});
        found->second.pop_back();
      }
      std::erase(old, nullptr);
      std::erase(fresh, nullptr);
    };
    pair_equal(0, order_of_names, order_of_keys);
    pair_equal(0, order_of_contents, order_of_names);
    pair_equal(0, order_of_contents, order_of_keys);
    pair_equal(1, order_of_contents);  // empty records are equal even if unrelated
    std::sort(pairs_.begin(), pairs_.end(), [](const Pair& a, const Pair& b) { return a.after->id < b.after->id; });
    for (const RecordInfo* gone : old) {
      report_.records.push_back({.change = Change::kRemoved, .type = gone->type, .before = before_.about(*gone)});
    }
    added_ = std::move(fresh);
  }

  [[nodiscard]] std::optional<Change> change_of(const Pair& pair) const {
    if (content_of(*pair.before) != content_of(*pair.after)) return Change::kChanged;
    if (!same_key(*pair.before, *pair.after)) return Change::kRetargeted;
    if (pair.before->name != pair.after->name) return Change::kRenamed;
    if (before_.weights_of(*pair.before) != after_.weights_of(*pair.after)) return Change::kRebound;
    return std::nullopt;
  }

  Status compare_pairs() {
    const std::size_t removed = report_.records.size();
    for (const Pair& pair : pairs_) {
      const std::optional<Change> change = change_of(pair);
      if (!change) {
        ++report_.same_records;
        continue;
      }
      RecordDifference difference;
      difference.change = *change;
      difference.type = pair.after->type;
      difference.before = before_.about(*pair.before);
      difference.after = after_.about(*pair.after);
      if (*change == Change::kChanged && difference.type == RecordType::kWeightBlob) {
        FATCTX_TRY(compare_tensors(pair, difference));
      }
      report_.records.push_back(std::move(difference));
    }
    for (const RecordInfo* added : added_) {
      report_.records.push_back({.change = Change::kAdded, .type = added->type, .after = after_.about(*added)});
    }
    std::sort(report_.records.begin() + static_cast<std::ptrdiff_t>(removed), report_.records.end(),
              [](const RecordDifference& a, const RecordDifference& b) { return a.after.id < b.after.id; });
    return Done{};
  }

  Status compare_tensors(const Pair& pair, RecordDifference& difference) {
    FATCTX_ASSIGN(const auto before, before_.table_of(*pair.before));
    FATCTX_ASSIGN(const auto after, after_.table_of(*pair.after));
    if (!before || !after) return Done{};
    for (std::size_t i = 0; i < before->size(); ++i) total_bytes_ += before->at(i).size_bytes;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i < before->size() || j < after->size()) {  // both are sorted by name
      const bool only_before = j == after->size() || (i < before->size() && before->at(i).name < after->at(j).name);
      const bool only_after = !only_before && (i == before->size() || after->at(j).name < before->at(i).name);
      DiffedTensor tensor;
      if (!only_after) {
        const TensorInfo old = before->at(i);
        tensor.name = old.name;
        tensor.type_before = type_text(old);
        tensor.size_before = old.size_bytes;
      }
      if (!only_before) {
        const TensorInfo fresh = after->at(j);
        tensor.name = fresh.name;
        tensor.type_after = type_text(fresh);
        tensor.size_after = fresh.size_bytes;
      }
      tensor.change = only_before ? Change::kRemoved : only_after ? Change::kAdded : Change::kChanged;
      bool same = false;
      if (!only_before && !only_after && tensor.type_before == tensor.type_after) {
        FATCTX_ASSIGN(same, same_bytes(pair, before->at(i), after->at(j)));
      }
      if (same) {
        ++difference.same_tensors;
      } else {
        difference.tensors.push_back(std::move(tensor));
      }
      if (!only_after) ++i;
      if (!only_before) ++j;
    }
    return Done{};
  }

  Result<bool> same_bytes(const Pair& pair, const TensorInfo& old, const TensorInfo& fresh) {
    std::vector<std::byte> a(static_cast<std::size_t>(std::min<std::uint64_t>(old.size_bytes, kPiece)));
    std::vector<std::byte> b(a.size());
    for (std::uint64_t at = 0; at < old.size_bytes; at += a.size()) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(a.size(), old.size_bytes - at));
      const auto in_a = std::span(a).first(size);
      const auto in_b = std::span(b).first(size);
      FATCTX_TRY(before_.bytes_of(*pair.before, old.offset_in_blob + at, in_a));
      FATCTX_TRY(after_.bytes_of(*pair.after, fresh.offset_in_blob + at, in_b));
      done_bytes_ += size;
      if (progress_) progress_(std::min(done_bytes_, total_bytes_), total_bytes_);
      if (!std::equal(in_a.begin(), in_a.end(), in_b.begin())) return false;
    }
    return true;
  }

  DiffReport report_;
  Side before_;
  Side after_;
  const Progress& progress_;
  std::vector<Pair> pairs_;
  std::vector<const RecordInfo*> added_;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace

std::string_view change_name(Change change) noexcept { return name_in(kChanges, change); }

Result<DiffReport> diff(const Container& before, const Container& after, const Progress& progress) {
  FATCTX_TRY(mapped_of(before)->need_all());
  FATCTX_TRY(mapped_of(after)->need_all());
  return Comparison(before, after, progress).run();
}

}  // namespace fatctx
