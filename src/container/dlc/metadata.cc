#include "container/dlc/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/json_reader.h"
#include "base/json_tree.h"
#include "container/dlc/archive.h"
#include "container/dlc/qnn_graph.h"
#include "container/dlc/said_facts.h"
#include "container/format/names.h"

namespace fatctx::container::dlc {
namespace {

// A tree that counts values while they are read, so that a text that needs too much memory is refused early.
class BoundedTree {
 public:
  bool null() { return value() && tree_.null(); }
  bool boolean(bool truth) { return value() && tree_.boolean(truth); }
  bool natural(std::uint64_t number) { return value() && tree_.natural(number); }
  bool negative(std::int64_t number) { return value() && tree_.negative(number); }
  bool other_number(std::string_view written) { return value() && tree_.other_number(written); }
  bool text(std::string words) { return value() && tree_.text(std::move(words)); }
  bool key(std::string words) {
    if (++keys_.back() > kMaxMetadataKeys) {
      return refuse(fmt::format("an object with more than {} keys, which is not read", kMaxMetadataKeys));
    }
    return tree_.key(std::move(words));
  }
  bool begin_object() { return open() && tree_.begin_object(); }
  bool end_object() {
    keys_.pop_back();
    return tree_.end_object();
  }
  bool begin_array() { return open() && tree_.begin_array(); }
  bool end_array() {
    keys_.pop_back();
    return tree_.end_array();
  }

  [[nodiscard]] const std::string& limit_exceeded() const noexcept { return limit_exceeded_; }  // empty if none
  [[nodiscard]] Json take() && { return std::move(tree_).take(); }

 private:
  bool value() {
    if (++values_ <= kMaxMetadataValues) return true;
    return refuse(fmt::format("more than {} values, which are not read", kMaxMetadataValues));
  }
  bool open() {
    keys_.push_back(0);
    return value();
  }
  bool refuse(std::string what) {
    limit_exceeded_ = std::move(what);
    return false;
  }

  JsonTree tree_;
  std::uint64_t values_ = 0;
  std::vector<std::uint64_t> keys_;  // number of keys so far in each open object and list
  std::string limit_exceeded_;
};

bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Status check_size(std::string_view text, std::uint64_t offset) {
  if (text.size() <= kMaxMetadataBytes) return Done{};
  return Error{ErrorCode::kLimitExceeded,
               fmt::format("dlc: {} bytes of metadata; at most {} are read", text.size(), kMaxMetadataBytes),
               {.file_offset = offset}};
}

Result<Json> parse_json(std::string_view text, std::uint64_t offset) {
  const auto fault = [&](ErrorCode code, std::string_view what, std::size_t at = 0) {
    return Error{code, fmt::format("dlc: the metadata {}", what), {.file_offset = offset + at}};
  };
  // Old writers end the text with zeros.
  while (text.ends_with('\0')) text.remove_suffix(1);
  BoundedTree tree;
  JsonReader reader(text, kMaxMetadataDepth, tree);
  switch (reader.read()) {
    case JsonOutcome::kWhole:
      return std::move(tree).take();
    case JsonOutcome::kNotJson:
      return fault(ErrorCode::kMalformed,
                   fmt::format("is not JSON; it becomes invalid at its byte {}", reader.position()),
                   reader.position() - 1);
    case JsonOutcome::kTooDeep:
      return fault(ErrorCode::kLimitExceeded, fmt::format("has lists and objects more than {} deep, which are not read",
                                                          std::uint64_t{kMaxMetadataDepth}));
    case JsonOutcome::kStopped:
      break;
  }
  if (!tree.limit_exceeded().empty()) return fault(ErrorCode::kLimitExceeded, "has " + tree.limit_exceeded());
  return fault(ErrorCode::kMalformed, "has an object with a key that appears twice");
}

// Folds a key, so that "dspArch", "dsp_arch" and "DSP Arch" are one field.
std::string folded(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c - 'A' + 'a');
    } else if (c != '_' && c != ' ' && c != '-') {
      out += c;
    }
  }
  return out;
}

const Json* member(const Json& object, std::string_view folded_key) {
  if (object.members() == nullptr) return nullptr;
  for (const auto& [key, value] : *object.members()) {
    if (folded(key) == folded_key) return &value;
  }
  return nullptr;
}

struct Place {
  const std::string* key;
  const Json* value;
};

// Calls `visit` with every value in `root` and its key (for elements of a list, the key of the list), outer ones first.
// The stack holds values that are not visited yet, at most those of the text.
template <typename Visit>
void walk(const Json& root, const Visit& visit) {
  const std::string none;
  std::vector<Place> stack = {{&none, &root}};
  while (!stack.empty()) {
    const Place place = stack.back();
    stack.pop_back();
    visit(*place.key, *place.value);
    const std::size_t from = stack.size();
    if (const Json::Object* members = place.value->members()) {
      for (const auto& [key, value] : *members) stack.push_back({&key, &value});
    } else if (const Json::Array* items = place.value->items()) {
      for (const Json& value : *items) stack.push_back({place.key, &value});
    }
    std::reverse(stack.begin() + static_cast<std::ptrdiff_t>(from), stack.end());
  }
}

// Returns 57 for 57, "57" and "v57"; nothing for any other form.
std::optional<std::uint32_t> number_of(const Json& value) {
  constexpr std::uint64_t kMax = 0xffffffff;
  if (const std::uint64_t* number = value.number()) {
    return *number <= kMax ? std::optional(static_cast<std::uint32_t>(*number)) : std::nullopt;
  }
  if (value.text() == nullptr) return std::nullopt;
  std::string_view text = *value.text();
  if (text.starts_with('v') || text.starts_with('V')) text.remove_prefix(1);
  if (text.empty() || text.size() > 9) return std::nullopt;
  std::uint32_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

// Returns the version at the start of a text. "v2.48.0.260101120000_12" yields 2.48.0, because the last number is too
// large to be a part of a version.
Version leading_version(std::string_view text) {
  if (text.starts_with('v') || text.starts_with('V')) text.remove_prefix(1);
  text = text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
  std::size_t parts = static_cast<std::size_t>(std::count(text.begin(), text.end(), '.')) + 1;
  for (; !text.empty(); text = text.substr(0, text.rfind('.') == std::string_view::npos ? 0 : text.rfind('.'))) {
    const auto version = parts-- <= 4 ? parse_version(text) : Result<Version>(Version{});
    if (version.ok() && version.value().known()) return version.value();
  }
  return {};
}

// Accepts "2.37.0", or {"major": 2, "minor": 37, "patch": 0}.
Version version_of(const Json& value) {
  if (value.text() != nullptr) return leading_version(*value.text());
  if (value.members() == nullptr) return {};
  Version version;
  for (const auto& [key, part] : *value.members()) {
    const auto number = number_of(part);
    if (!number) continue;
    const std::string name = folded(key);
    if (name == "major" && *number <= 0xffff) version.major = static_cast<std::uint16_t>(*number);
    if (name == "minor" && *number <= 0xffff) version.minor = static_cast<std::uint16_t>(*number);
    if (name == "patch") version.patch = *number;
  }
  return version;
}

constexpr std::size_t kMaxTextFact = 255;
constexpr std::size_t kMaxGraphs = 1024;
constexpr std::uint64_t kMaxSpillFillBytes = std::uint64_t{1} << 62;  // a larger number is not the size of a buffer

std::string text_fact(const Json& value) {
  const std::string* text = value.text();
  return text != nullptr && check_name(*text, kMaxTextFact, true, "text").ok() ? *text : std::string();
}

// Returns the graph of that name, which is added if there is none; null for no name and for too many graphs.
DescribedGraph* graph_of(CacheFacts& facts, std::string name) {
  if (name.empty()) return nullptr;
  const auto found = std::find_if(facts.graphs.begin(), facts.graphs.end(),
                                  [&](const DescribedGraph& graph) { return graph.name == name; });
  if (found != facts.graphs.end()) return &*found;
  if (facts.graphs.size() >= kMaxGraphs) return nullptr;
  facts.graphs.push_back({.name = std::move(name), .inputs = {}, .outputs = {}});
  return &facts.graphs.back();
}

// Returns the name of an element of "graphs". It is looked up at any depth, as the other facts of old writers are.
std::string name_of_graph(const Json& graph) {
  std::string name;
  walk(graph, [&](const std::string& key, const Json& value) {
    if (folded(key) == "graphname" && name.empty()) name = text_fact(value);
  });
  const Json* plain = graph.find("name");
  if (name.empty() && plain != nullptr) name = text_fact(*plain);
  return name;
}

// Takes the size of the element's own graph, at any depth.
void take_graph(CacheFacts& facts, const Json& graph) {
  DescribedGraph* made = graph_of(facts, name_of_graph(graph));
  if (made == nullptr) return;
  walk(graph, [&](const std::string& key, const Json& value) {
    if (folded(key) != "spillfillbuffersize" || value.number() == nullptr) return;
    if (*value.number() <= kMaxSpillFillBytes) {
      made->spill_fill_bytes = std::max(made->spill_fill_bytes, *value.number());
    }
  });
}

std::uint64_t described_bytes(const std::vector<DescribedTensor>& tensors) {
  std::uint64_t bytes = 0;
  for (const DescribedTensor& tensor : tensors) {
    bytes += 16 + tensor.name.size() + tensor.dtype.size() + 6 * tensor.shape.size() + 20 * tensor.scales.size();
  }
  return bytes;
}

std::uint64_t described_bytes(const std::vector<DescribedOption>& options) {
  std::uint64_t bytes = 0;
  for (const DescribedOption& option : options) {
    bytes += 8 + option.key.size() + option.value.size() + option.owner.size();
  }
  return bytes;
}

Result<DescribedGraph> described_graph(const JsonPlace& said) {
  DescribedGraph graph;
  for (const auto& [key, tensors] :
       {std::pair("graphInputs", &graph.inputs), std::pair("graphOutputs", &graph.outputs)}) {
    if (!said.has(key)) continue;
    FATCTX_ASSIGN(auto read, read_qnn_tensors(said.at(key)));
    for (QnnTensor& tensor : read) tensors->push_back(std::move(tensor.described));
  }
  graph.options = qnn_graph_facts(said);
  return graph;
}

// Takes over inputs, outputs and facts of the graphs of a row. Those that are not understood, and those beyond the
// budget, are counted: the archive stays usable without them.
class Describer {
 public:
  explicit Describer(Metadata& metadata) : metadata_(metadata) {}

  void describe(const Json& row, CacheFacts& facts) {
    const std::string no_file;
    const Json* graphs = member(row, "graphs");
    if (graphs == nullptr) graphs = member(inner_place(JsonPlace(no_file, row)).value(), "graphs");
    if (graphs == nullptr || graphs->items() == nullptr) return;
    for (const Json& element : *graphs->items()) {
      const auto found = std::find_if(facts.graphs.begin(), facts.graphs.end(),
                                      [name = name_of_graph(element)](const auto& one) { return one.name == name; });
      if (found == facts.graphs.end() || !found->inputs.empty() || !found->outputs.empty()) continue;
      auto described = described_graph(inner_place(JsonPlace(no_file, element)));
      const auto leave = [&](const std::string& why) {
        if (metadata_.undescribed_graphs++ != 0) return;
        metadata_.first_undescribed = fmt::format("\"{}\" of \"{}\": {}", found->name, facts.entry, why);
      };
      if (!described.ok()) {
        leave(described.error().message);
        continue;
      }
      DescribedGraph& graph = described.value();
      const std::uint64_t bytes =
          described_bytes(graph.inputs) + described_bytes(graph.outputs) + described_bytes(graph.options);
      if (bytes > kMaxDescribedBytes - used_) {
        leave(fmt::format("they take more than {} bytes", kMaxDescribedBytes));
        continue;
      }
      used_ += bytes;
      found->inputs = std::move(graph.inputs);
      found->outputs = std::move(graph.outputs);
      found->options = std::move(graph.options);
    }
  }

 private:
  Metadata& metadata_;
  std::uint64_t used_ = 0;
};

// Takes further facts of a row, under the names that it has for them.
void take_row_facts(const Json& row, CacheFacts& facts) {
  if (row.members() == nullptr) return;
  constexpr std::string_view kKeys[] = {"backendid",       "backendapiversion", "socversion",
                                        "contextblobsize", "timestamp",         "hwinfoblobversion"};
  for (const auto& [key, value] : *row.members()) {
    const std::string field = folded(key);
    if (std::find(std::begin(kKeys), std::end(kKeys), field) == std::end(kKeys)) continue;
    if (facts.facts.size() == std::size(kKeys)) return;  // further keys would repeat these in another spelling
    std::string text = value.number() != nullptr ? std::to_string(*value.number()) : text_fact(value);
    if (!text.empty() && check_name(key, kMaxTextFact, true, "key").ok()) {
      facts.facts.push_back({key, std::move(text), std::string(kQnnOwner)});
    }
  }
}

void take_fact(CacheFacts& facts, const std::string& key, const Json& value) {
  const std::string name = folded(key);
  const auto number = number_of(value);
  if (name == "socmodel" && number && facts.qnn_soc == 0) facts.qnn_soc = *number;
  if (name == "dsparch" && number && facts.arch == 0) facts.arch = *number;
  if ((name == "vtcmsize" || name == "vtcmsizeinmb" || name == "vtcmmb") && number) {
    constexpr std::uint32_t kMiB = 1U << 20;
    facts.vtcm_mb = std::max(facts.vtcm_mb, *number >= kMiB ? *number / kMiB : *number);
  }
  if (name == "buildid" && facts.build_id.empty()) {
    facts.build_id = text_fact(value);
    facts.sdk = leading_version(facts.build_id);
  }
  if (name == "coreapiversion" && !facts.api.known()) facts.api = version_of(value);
  if (name == "contextblobversion" && !facts.blob.known()) facts.blob = version_of(value);
  if (name == "graphname") (void)graph_of(facts, text_fact(value));
  if (name == "graphs" && value.members() != nullptr) take_graph(facts, value);
}

// Returns the strings that are members of the object itself, not of nested values.
std::vector<const std::string*> own_strings(const Json& value) {
  std::vector<const std::string*> strings;
  if (value.members() == nullptr) return strings;
  for (const Json::Member& member : *value.members()) {
    if (const std::string* text = member.value.text()) strings.push_back(text);
  }
  return strings;
}

void read_row(const Json& row, const Names& entries, Describer& describer, Metadata& metadata) {
  CacheFacts facts;
  const Json* name = member(row, "cachename");
  if (name == nullptr) name = member(row, "name");
  if (name != nullptr && name->text() != nullptr && entries.contains(*name->text())) {
    facts.entry = *name->text();
  } else {
    for (const std::string* text : own_strings(row)) {
      if (facts.entry.empty() && entries.contains(*text)) facts.entry = *text;
    }
  }
  if (facts.entry.empty()) {
    metadata.missing.push_back(name == nullptr ? std::string() : text_fact(*name));
    return;
  }
  walk(row, [&](const std::string& key, const Json& value) { take_fact(facts, key, value); });
  take_row_facts(row, facts);
  describer.describe(row, facts);
  metadata.caches.push_back(std::move(facts));
}

// Takes everything that is said of the archive as a whole: all but the rows and the relations.
void take_facts_of_text(const Json& json, Metadata& metadata) {
  SaidFacts said;
  if (json.members() == nullptr) return;
  for (const auto& [key, value] : *json.members()) {
    const std::string name = folded(key);
    if (name == "cachelist" || name == "relations") continue;
    if (name != "header" || value.members() == nullptr) {
      said.add_member(key, value);
      continue;
    }
    for (const auto& [inner, fact] : *value.members()) {
      if (folded(inner) == "timestamp" && metadata.written_at.empty()) metadata.written_at = text_fact(fact);
      if (folded(inner) != "timestamp" || metadata.written_at.empty()) {
        said.add_member(fmt::format("{}.{}", key, inner), fact);
      }
    }
  }
  metadata.left_out_facts = said.left_out();
  metadata.facts = said.take();
}

std::vector<std::string> mentioned(const Json& relation, const Names& entries) {
  Names found;
  walk(relation, [&](const std::string& key, const Json& value) {
    if (entries.contains(key)) found.insert(key);
    if (value.text() != nullptr && entries.contains(*value.text())) found.insert(*value.text());
  });
  return {found.begin(), found.end()};
}

bool names_dropped(const Json& value, const Names& dropped) {
  if (value.text() != nullptr) return dropped.contains(*value.text());
  const auto strings = own_strings(value);
  return std::any_of(strings.begin(), strings.end(), [&](const auto* text) { return dropped.contains(*text); });
}

// Recurses at most kMaxMetadataDepth deep.
Json cut(const Json& value, const Names& dropped) {
  if (const Json::Array* items = value.items()) {
    Json kept = Json::array();
    for (const Json& item : *items) {
      if (!names_dropped(item, dropped)) kept.push_back(cut(item, dropped));
    }
    return kept;
  }
  if (const Json::Object* members = value.members()) {
    Json kept = Json::object();
    for (const auto& [key, inner] : *members) {
      if (!dropped.contains(key)) kept.add(key, cut(inner, dropped));
    }
    return kept;
  }
  return value;
}

// Drops a line if a word of it is a dropped name.
std::string cut_lines(std::string_view text, const Names& dropped) {
  constexpr std::string_view kBetweenWords = " \t\r\n=,;:\"";
  std::string out;
  while (!text.empty()) {
    const std::size_t size = text.find('\n') == std::string_view::npos ? text.size() : text.find('\n') + 1;
    const std::string_view line = text.substr(0, size);
    bool keep = true;
    for (std::size_t at = 0; keep && at < line.size();) {
      const std::size_t from = line.find_first_not_of(kBetweenWords, at);
      if (from == std::string_view::npos) break;
      at = std::min(line.find_first_of(kBetweenWords, from), line.size());
      keep = !dropped.contains(line.substr(from, at - from));
    }
    if (keep) out += line;
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace

Result<Metadata> parse_metadata(std::string_view text, std::uint64_t offset, const Names& entries) {
  FATCTX_TRY(check_size(text, offset));
  Metadata metadata;
  if (!looks_like_json(text)) {
    SaidFacts said;
    said.add_lines(text);
    metadata.left_out_facts = said.left_out();
    metadata.facts = said.take();
    return metadata;
  }
  metadata.json = true;
  FATCTX_ASSIGN(const Json json, parse_json(text, offset));
  take_facts_of_text(json, metadata);
  const Json* rows = member(json, "cachelist");
  if (rows != nullptr && rows->items() == nullptr) {
    return Error{ErrorCode::kMalformed, "dlc: \"cacheList\" of the metadata is not a list", {.file_offset = offset}};
  }
  if (rows != nullptr && rows->items()->size() > kMaxEntries) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("dlc: the metadata lists {} context binaries; at most {} are allowed",
                             rows->items()->size(), kMaxEntries),
                 {.file_offset = offset}};
  }
  if (rows != nullptr) {
    Describer describer(metadata);
    for (const Json& row : *rows->items()) read_row(row, entries, describer, metadata);
  }
  Names seen;
  for (const CacheFacts& facts : metadata.caches) {
    if (seen.insert(facts.entry).second) continue;
    return Error{ErrorCode::kMalformed,
                 fmt::format("dlc: the metadata has two rows for entry \"{}\"", facts.entry),
                 {.file_offset = offset}};
  }
  const Json* relations = member(json, "relations");
  if (relations == nullptr) return metadata;
  if (const Json::Array* items = relations->items()) {
    for (const Json& relation : *items) metadata.relations.push_back(mentioned(relation, entries));
  } else if (const Json::Object* members = relations->members()) {
    for (const auto& [key, value] : *members) {
      auto group = mentioned(value, entries);
      if (entries.contains(key)) group.push_back(key);
      metadata.relations.push_back(std::move(group));
    }
  }
  std::erase_if(metadata.relations, [](const auto& group) { return group.size() < 2; });
  std::uint64_t mentions = 0;
  for (const auto& group : metadata.relations) mentions += group.size();
  if (mentions > kMaxMentions) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("dlc: the relations of the metadata mention {} entries; at most {} are followed", mentions,
                             kMaxMentions),
                 {.file_offset = offset}};
  }
  return metadata;
}

Result<std::string> cut_metadata(std::string_view text, std::uint64_t offset, const Names& dropped) {
  FATCTX_TRY(check_size(text, offset));
  if (!looks_like_json(text)) return cut_lines(text, dropped);
  FATCTX_ASSIGN(const Json json, parse_json(text, offset));
  return write_json(cut(json, dropped), {.indent = -1, .ascii = false});
}

}  // namespace fatctx::container::dlc
