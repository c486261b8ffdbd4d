#include "tools/pack/manifest_read.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/facts/json_file.h"
#include "tools/facts/provider_options.h"
#include "tools/pack/manifest_ranges.h"

namespace fatctx::tools {
namespace {

constexpr std::uint64_t kMaxU32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kMaxI64 = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxPieces = 65536;
constexpr std::uint64_t kMaxU64 = std::numeric_limits<std::uint64_t>::max();
const std::vector<std::string> kRecordTypes = {"context_binary", "weight_blob", "source_model", "wrapper_model",
                                               "opaque"};
const std::vector<std::string> kCodecs = {"none", "lz4"};
const std::vector<std::string> kSharings = {"pages", "bytes", "off"};

std::string resolved(const std::string& folder, const std::string& path) {
  return folder.empty() ? path : (std::filesystem::path(folder) / path).string();
}

Result<Version> version_at(const JsonPlace& cursor) {
  FATCTX_ASSIGN(const std::string text, cursor.text());
  auto version = parse_version(text);
  if (!version.ok()) return cursor.error(version.error().message);
  return version;
}

// Reads the text of an option: a string unchanged, a number or truth value as it is written.
Status value_at(const JsonPlace& cursor, DescribedOption& option) {
  auto value = scalar_text(cursor.value());
  if (!value) return cursor.wrong("a string, a number, true or false");
  option.value = *std::move(value);
  if (const auto wrong = wrong_provider_option(option)) return cursor.error(*wrong);
  return Done{};
}

// Reads "options": [{"key": "...", "value": "...", "owner": "..."}], in this order.
Result<std::vector<DescribedOption>> option_list_at(const JsonPlace& cursor) {
  std::vector<DescribedOption> options;
  FATCTX_ASSIGN(const auto list, cursor.elements());
  for (const JsonPlace& element : list) {
    FATCTX_TRY(element.only_keys({"key", "value", "owner"}));
    DescribedOption option;
    FATCTX_ASSIGN(const JsonPlace key, element.required("key"));
    FATCTX_ASSIGN(option.key, key.text());
    FATCTX_ASSIGN(const JsonPlace value, element.required("value"));
    if (element.has("owner")) FATCTX_TRY(store(element.at("owner").text(), option.owner));
    FATCTX_TRY(value_at(value, option));
    const bool twice = std::any_of(options.begin(), options.end(), [&](const DescribedOption& earlier) {
      return earlier.key == option.key && earlier.owner == option.owner;
    });
    if (twice) return key.error(fmt::format("found \"{}\", which this owner has already in the list", option.key));
    options.push_back(std::move(option));
  }
  return options;
}

// Reads "options": {"key": "value"} or {"key": {"value": "...", "owner": "..."}}, in order of the keys; or a
// list.
Result<std::vector<DescribedOption>> options_at(const JsonPlace& cursor) {
  std::vector<DescribedOption> options;
  if (cursor.is_array()) {
    FATCTX_ASSIGN(options, option_list_at(cursor));
  } else {
    if (!cursor.is_object()) return cursor.wrong("an object, or an array of options");
    FATCTX_ASSIGN(const auto members, cursor.members());
    for (const auto& [key, member] : members) {
      DescribedOption option;
      option.key = key;
      JsonPlace value = member;
      if (member.is_object()) {
        FATCTX_TRY(member.only_keys({"value", "owner"}));
        FATCTX_ASSIGN(value, member.required("value"));
        if (member.has("owner")) FATCTX_TRY(store(member.at("owner").text(), option.owner));
      }
      FATCTX_TRY(value_at(value, option));
      options.push_back(std::move(option));
    }
  }
  if (const auto checked = check_provider_options(options); !checked.ok()) return cursor.error(checked.error().message);
  return options;
}

Result<PackKey> target_at(const JsonPlace& cursor) {
  FATCTX_TRY(cursor.only_keys(
      {"backend", "arch", "features", "part", "qnn_soc", "vtcm_mb", "sdk", "api", "blob", "variant", "generic"}));
  PackKey key;
  FATCTX_ASSIGN(const JsonPlace backend, cursor.required("backend"));
  FATCTX_ASSIGN(key.backend, backend.text());
  if (cursor.has("arch")) FATCTX_TRY(store(cursor.at("arch").text(), key.arch));
  if (cursor.has("features")) FATCTX_TRY(store(cursor.at("features").texts(), key.features));
  if (cursor.has("part")) FATCTX_TRY(store(cursor.at("part").text(), key.part));
  if (cursor.has("variant")) FATCTX_TRY(store(cursor.at("variant").text(), key.variant));
  if (cursor.has("qnn_soc")) {
    FATCTX_ASSIGN(const std::uint64_t number, cursor.at("qnn_soc").number(kMaxU32));
    key.qnn_soc = static_cast<std::uint32_t>(number);
  }
  if (cursor.has("vtcm_mb")) {
    FATCTX_ASSIGN(const std::uint64_t number, cursor.at("vtcm_mb").number(kMaxU32));
    key.vtcm_mb = static_cast<std::uint32_t>(number);
  }
  if (cursor.has("sdk")) FATCTX_TRY(store(version_at(cursor.at("sdk")), key.sdk));
  if (cursor.has("api")) FATCTX_TRY(store(version_at(cursor.at("api")), key.api));
  if (cursor.has("blob")) FATCTX_TRY(store(version_at(cursor.at("blob")), key.blob));
  if (cursor.has("generic")) FATCTX_TRY(store(cursor.at("generic").boolean(), key.generic));
  return key;
}

Result<PackTensor> range_at(const JsonPlace& cursor) {
  FATCTX_TRY(cursor.only_keys({"name", "dtype", "shape", "offset", "alias"}));
  PackTensor tensor;
  FATCTX_ASSIGN(const JsonPlace name, cursor.required("name"));
  FATCTX_ASSIGN(tensor.name, name.text());
  FATCTX_ASSIGN(const JsonPlace dtype, cursor.required("dtype"));
  FATCTX_ASSIGN(tensor.dtype, dtype_at(dtype));
  FATCTX_ASSIGN(const JsonPlace shape, cursor.required("shape"));
  FATCTX_ASSIGN(const auto dims, shape.elements());
  for (const JsonPlace& dim : dims) {
    FATCTX_ASSIGN(const std::uint64_t number, dim.number(kMaxU64));
    tensor.shape.push_back(number);
  }
  const auto size = tensor_size_bytes(tensor.dtype, tensor.shape);
  if (!size) return shape.error("the size of this tensor does not fit 64 bits");
  tensor.size_bytes = *size;
  FATCTX_ASSIGN(const JsonPlace offset, cursor.required("offset"));
  FATCTX_ASSIGN(tensor.offset_in_blob, offset.number(kMaxU64));
  if (cursor.has("alias")) FATCTX_TRY(store(cursor.at("alias").boolean(), tensor.alias));
  return tensor;
}

// Reads "format"; the default follows from the name of the blob's file.
Result<TensorSource> source_at(const JsonPlace& cursor, const std::string& file) {
  if (!cursor.has("format")) {
    if (const auto source = tensor_source_of_file(file)) return *source;
    return cursor.error(
        "lacks the key \"format\", which may be left out for files that end in .irpa, .safetensors "
        "or .gguf");
  }
  const JsonPlace format = cursor.at("format");
  FATCTX_ASSIGN(const std::string word, format.text());
  if (const auto source = tensor_source_from_name(word)) return *source;
  return format.wrong_word(word, tensor_source_names());
}

// Reads the tensors of a blob. `file` is the blob's, as in the manifest.
Result<ManifestTensors> tensors_at(const JsonPlace& cursor, const std::string& folder, const std::string& file) {
  FATCTX_TRY(cursor.only_keys({"format", "shapes_from", "model", "ranges"}));
  ManifestTensors tensors;
  FATCTX_ASSIGN(tensors.source, source_at(cursor, file));
  struct Key {
    const char* name;
    TensorSource only;
  };
  for (const Key& key : {Key{"shapes_from", TensorSource::kIrpa}, Key{"model", TensorSource::kOnnx},
                         Key{"ranges", TensorSource::kRanges}}) {
    if (!cursor.has(key.name) || tensors.source == key.only) continue;
    return cursor.at(key.name).error(fmt::format("only format \"{}\" has this key", tensor_source_name(key.only)));
  }
  if (cursor.has("shapes_from")) {
    FATCTX_ASSIGN(const std::string model, cursor.at("shapes_from").text());
    tensors.shapes_from = resolved(folder, model);
  }
  if (tensors.source == TensorSource::kOnnx) {
    FATCTX_ASSIGN(const JsonPlace model, cursor.required("model"));
    std::vector<std::string> paths;
    if (model.is_array()) {
      FATCTX_ASSIGN(paths, model.texts());
      if (paths.empty()) return model.error("is empty; name at least one model");
    } else {
      FATCTX_ASSIGN(std::string path, model.text());
      paths.push_back(std::move(path));
    }
    for (const std::string& path : paths) tensors.models.push_back(resolved(folder, path));
  }
  if (tensors.source == TensorSource::kRanges) {
    FATCTX_ASSIGN(const JsonPlace ranges, cursor.required("ranges"));
    FATCTX_ASSIGN(const auto list, ranges.elements());
    for (const JsonPlace& element : list) {
      FATCTX_ASSIGN(PackTensor tensor, range_at(element));
      tensors.ranges.push_back(std::move(tensor));
    }
  }
  return tensors;
}

Result<std::vector<DescribedTensor>> graph_tensors_at(const JsonPlace& cursor) {
  std::vector<DescribedTensor> tensors;
  FATCTX_ASSIGN(const auto list, cursor.elements());
  for (const JsonPlace& element : list) {
    FATCTX_TRY(element.only_keys({"name", "dtype", "shape"}));
    DescribedTensor tensor;
    FATCTX_ASSIGN(const JsonPlace name, element.required("name"));
    FATCTX_ASSIGN(tensor.name, name.text());
    FATCTX_ASSIGN(const JsonPlace dtype, element.required("dtype"));
    FATCTX_ASSIGN(tensor.dtype, dtype.text());
    FATCTX_ASSIGN(const JsonPlace shape, element.required("shape"));
    FATCTX_ASSIGN(const auto dims, shape.elements());
    for (const JsonPlace& dim : dims) {
      const auto size = dim.value().whole();
      if (!size || *size < -1) return dim.wrong("a whole number, or -1 if it is not fixed");
      tensor.shape.push_back(*size);
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Reads "graphs": a list of graphs, or {"from": "model.onnx"}.
Status graphs_at(const JsonPlace& cursor, const std::string& folder, ManifestRecord& record) {
  if (cursor.is_object()) {
    FATCTX_TRY(cursor.only_keys({"from"}));
    FATCTX_ASSIGN(const JsonPlace from, cursor.required("from"));
    FATCTX_ASSIGN(const std::string model, from.text());
    record.graphs_from = resolved(folder, model);
    return Done{};
  }
  if (!cursor.is_array()) return cursor.wrong("an array of graphs, or {\"from\": \"model.onnx\"}");
  FATCTX_ASSIGN(const auto list, cursor.elements());
  for (const JsonPlace& element : list) {
    FATCTX_TRY(element.only_keys({"name", "inputs", "outputs", "spill_fill_bytes"}));
    DescribedGraph graph;
    FATCTX_ASSIGN(const JsonPlace name, element.required("name"));
    FATCTX_ASSIGN(graph.name, name.text());
    if (element.has("inputs")) FATCTX_TRY(store(graph_tensors_at(element.at("inputs")), graph.inputs));
    if (element.has("outputs")) FATCTX_TRY(store(graph_tensors_at(element.at("outputs")), graph.outputs));
    if (element.has("spill_fill_bytes")) {
      FATCTX_TRY(store(element.at("spill_fill_bytes").number(kMaxI64), graph.spill_fill_bytes));
    }
    record.record.description.graphs.push_back(std::move(graph));
  }
  return Done{};
}

// Returns true if a record of this type may be compressed, because it is never memory-mapped.
bool cold(RecordType type) { return type == RecordType::kSourceModel || type == RecordType::kOpaque; }

Result<Codec> codec_at(const JsonPlace& cursor, RecordType type) {
  FATCTX_ASSIGN(const std::string word, cursor.text());
  const auto codec = codec_from_name(word);
  if (!codec) return cursor.wrong_word(word, kCodecs);
  if (*codec != Codec::kNone && !cold(type)) {
    return cursor.error(fmt::format("found \"{}\"; allowed for a {}: \"none\", because it is mapped as it is", word,
                                    record_type_name(type)));
  }
  return *codec;
}

// Reads "sharing", "max_pieces" and "granule" (in KiB) of the whole file.
Status sharing_at(const JsonPlace& root, SharingWish& wish) {
  if (root.has("sharing")) {
    FATCTX_ASSIGN(const std::string word, root.at("sharing").text());
    wish.sharing = sharing_from_name(word);
    if (!wish.sharing) return root.at("sharing").wrong_word(word, kSharings);
  }
  if (root.has("max_pieces")) {
    FATCTX_ASSIGN(const std::uint64_t number, root.at("max_pieces").number(kMaxPieces));
    if (number == 0) return root.at("max_pieces").wrong(fmt::format("a whole number from 1 to {}", kMaxPieces));
    if (wish.sharing.value_or(Sharing::kPages) != Sharing::kPages) {
      return root.at("max_pieces")
          .error("it is about sharing by pages, and \"sharing\" is something else; leave one of them out");
    }
    wish.max_pieces = static_cast<std::uint32_t>(number);
  }
  if (root.has("granule")) {
    FATCTX_ASSIGN(const std::uint64_t kib, root.at("granule").number(kMaxU32));
    if (kib != 4 && kib != 16 && kib != 64) return root.at("granule").wrong("4, 16 or 64, in KiB");
    wish.granule_log2 = kib == 4 ? std::uint8_t{12} : kib == 16 ? std::uint8_t{14} : std::uint8_t{16};
  }
  return Done{};
}

// Reads "ranges": a list, or the name of a file that holds one.
Status ranges_of(const JsonPlace& cursor, const std::string& folder, ManifestRecord& record) {
  const JsonPlace ranges = cursor.at("ranges");
  if (cursor.has("tensors")) return ranges.error("tensors say where the parts of a record are; give one of both");
  if (ranges.value().text() != nullptr) {
    FATCTX_ASSIGN(const std::string path, ranges.text());
    record.ranges_from = resolved(folder, path);
    return Done{};
  }
  if (!ranges.is_array()) return ranges.wrong("an array of ranges, or the name of a file that holds one");
  return store(ranges_at(ranges), record.record.ranges);
}

Result<ManifestRecord> record_at(const JsonPlace& cursor, const std::string& folder, const std::string& group) {
  FATCTX_TRY(cursor.only_keys({"type", "name", "file", "target", "unit", "group", "weights", "tensors", "graphs",
                               "options", "format", "producer", "codec", "ranges", "quant"}));
  ManifestRecord result;
  PackRecord& record = result.record;
  FATCTX_ASSIGN(const JsonPlace type, cursor.required("type"));
  FATCTX_ASSIGN(const std::string type_word, type.text());
  if (std::find(kRecordTypes.begin(), kRecordTypes.end(), type_word) == kRecordTypes.end()) {
    return type.wrong_word(type_word, kRecordTypes);
  }
  record.type = record_type_from_name(type_word).value_or(RecordType::kOpaque);
  FATCTX_ASSIGN(const JsonPlace name, cursor.required("name"));
  FATCTX_ASSIGN(record.name, name.text());
  FATCTX_ASSIGN(const JsonPlace file, cursor.required("file"));
  FATCTX_ASSIGN(const std::string path, file.text());
  record.source.path = resolved(folder, path);
  if (cursor.has("target")) {
    FATCTX_ASSIGN(record.key, target_at(cursor.at("target")));
  } else if (record.type == RecordType::kContextBinary) {
    return cursor.error("a context binary needs the key \"target\", with at least \"backend\"");
  }
  record.key.group = group;
  if (cursor.has("unit")) FATCTX_TRY(store(cursor.at("unit").text(), record.key.unit));
  if (cursor.has("group")) FATCTX_TRY(store(cursor.at("group").text(), record.key.group));
  if (cursor.has("weights")) {
    if (record.type != RecordType::kContextBinary) {
      return cursor.at("weights").error("only a context binary refers to weights");
    }
    FATCTX_ASSIGN(record.weights, cursor.at("weights").texts());
  }
  if (cursor.has("tensors")) {
    if (record.type != RecordType::kWeightBlob) return cursor.at("tensors").error("only a weight blob has tensors");
    FATCTX_ASSIGN(result.tensors, tensors_at(cursor.at("tensors"), folder, path));
  }
  if (cursor.has("ranges")) FATCTX_TRY(ranges_of(cursor, folder, result));
  record.codec = default_codec(record.type);
  if (cursor.has("codec")) FATCTX_TRY(store(codec_at(cursor.at("codec"), record.type), record.codec));
  if (cursor.has("graphs")) FATCTX_TRY(graphs_at(cursor.at("graphs"), folder, result));
  if (cursor.has("options")) FATCTX_TRY(store(options_at(cursor.at("options")), record.description.options));
  if (cursor.has("format")) FATCTX_TRY(store(cursor.at("format").text(), record.description.format));
  if (cursor.has("producer")) FATCTX_TRY(store(cursor.at("producer").text(), record.description.producer));
  if (cursor.has("quant")) FATCTX_TRY(store(quant_at(cursor.at("quant"), folder), result.quant));
  return result;
}

// Finds duplicate names and missing weights. It does so here, where the position in the file is known.
Status check_names(const std::vector<JsonPlace>& cursors, const std::vector<ManifestRecord>& records,
                   const std::set<std::string>& known_weights) {
  std::map<std::string, std::size_t> by_name;
  std::vector<std::string> weight_names(known_weights.begin(), known_weights.end());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const PackRecord& record = records[i].record;
    const auto [first, inserted] = by_name.emplace(record.name, i);
    if (!inserted) {
      return cursors[i].at("name").error(fmt::format("found \"{}\", the name of {}; each record needs its own",
                                                     record.name, cursors[first->second].pointer()));
    }
    if (record.type == RecordType::kWeightBlob) weight_names.push_back(record.name);
  }
  const std::set<std::string_view> is_weights(weight_names.begin(), weight_names.end());
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (!cursors[i].has("weights")) continue;
    FATCTX_ASSIGN(const auto list, cursors[i].at("weights").elements());
    for (const JsonPlace& element : list) {
      FATCTX_ASSIGN(const std::string name, element.text());
      if (is_weights.contains(name)) continue;
      if (weight_names.empty())
        return element.error(fmt::format("found \"{}\", but the manifest has no weight_blob", name));
      return element.wrong_word(name, weight_names);
    }
  }
  return Done{};
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text, const std::string& file, const std::string& folder,
                                const std::set<std::string>& known_weights) {
  FATCTX_ASSIGN(const Json document, parse_json(text, file));
  const JsonPlace root(file, document);
  FATCTX_TRY(
      root.only_keys({"schema", "name", "group", "options", "sharing", "max_pieces", "granule", "records", "quant"}));
  FATCTX_ASSIGN(const JsonPlace schema, root.required("schema"));
  FATCTX_ASSIGN(const std::string schema_word, schema.text());
  if (schema_word != kManifestSchema) return schema.wrong_word(schema_word, {std::string(kManifestSchema)});

  Manifest manifest;
  FATCTX_ASSIGN(const JsonPlace name, root.required("name"));
  FATCTX_ASSIGN(manifest.name, name.text());
  std::string group = manifest.name;
  if (root.has("group")) FATCTX_TRY(store(root.at("group").text(), group));
  if (root.has("options")) FATCTX_TRY(store(options_at(root.at("options")), manifest.options));
  if (root.has("quant")) FATCTX_TRY(store(quant_at(root.at("quant"), folder), manifest.quant));
  FATCTX_TRY(sharing_at(root, manifest.sharing));
  FATCTX_ASSIGN(const JsonPlace records, root.required("records"));
  FATCTX_ASSIGN(const auto list, records.elements());
  if (list.empty()) return records.error("found no record; at least one is needed");
  for (const JsonPlace& element : list) {
    FATCTX_ASSIGN(ManifestRecord record, record_at(element, folder, group));
    record.where = fmt::format("{}: {}", file, element.pointer());
    manifest.records.push_back(std::move(record));
  }
  FATCTX_TRY(check_names(list, manifest.records, known_weights));
  return manifest;
}

Result<Manifest> read_manifest(const std::string& path, const std::set<std::string>& known_weights) {
  FATCTX_ASSIGN(const std::string text, read_text_file(path));
  FATCTX_ASSIGN(Manifest manifest,
                parse_manifest(text, path, std::filesystem::path(path).parent_path().string(), known_weights));
  auto added = add_quant_facts(manifest.quant, manifest.options);
  if (!added.ok()) return in_context(std::move(added).error(), path + ": /quant");
  return manifest;
}

}  // namespace fatctx::tools
