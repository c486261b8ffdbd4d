#include "tools/inspect/info_text.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/info.h"
#include "fatctx/layout.h"
#include "tools/cli/print.h"
#include "tools/cli/trust_flags.h"
#include "tools/cli/whole_container.h"
#include "tools/facts/provider_options.h"
#include "tools/facts/quant_facts.h"

namespace fatctx::tools {

namespace {

using Align = Table::Align;

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

// The sharing of a whole container: made once, and asked about each record.
class SharedBytes {
 public:
  explicit SharedBytes(std::span<const RecordInfo> records) : same_bytes(records) {
    for (const RecordInfo& record : records) {
      for (const std::uint32_t weights : record.weights) ++users_[weights];
    }
  }

  // How many records refer to these weights.
  [[nodiscard]] std::size_t users_of(const RecordInfo& weights) const {
    const auto found = users_.find(weights.id);
    return found == users_.end() ? 0 : found->second;
  }

  const SameBytes same_bytes;

 private:
  std::unordered_map<std::uint32_t, std::size_t> users_;
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
  if (!twins.empty()) parts.push_back("same bytes as " + names_of(container, twins));
  if (record.recipe) {
    const std::size_t sources = record.slice_count - 1;
    parts.push_back(sources == 0 ? "recipe" : "recipe over " + count_text(sources, "segment"));
  } else if (record.slice_count > 1) {
    const auto path = container.access_path_of(record.id);
    parts.push_back(count_text(record.slice_count, "slice") +
                    (path.ok() ? fmt::format(", {}", access_path_name(path.value())) : ""));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

// Returns the same after the codec and the stored size.
std::string storage_text(const RecordInfo& record, const Container& container, const SharedBytes& shared) {
  std::string sharing = sharing_text(record, container, shared);
  if (record.codec == Codec::kNone) return sharing;
  return fmt::format("{}, {} stored{}{}", codec_name(record.codec), short_size_text(record.stored_bytes),
                     sharing.empty() ? "" : "; ", sharing);
}

// Returns the bytes that the file would grow by if equal records were not stored once.
std::uint64_t saved_bytes(std::span<const RecordInfo> records, const SameBytes& same_bytes) {
  std::uint64_t saved = 0;
  for (const RecordInfo& record : records) {
    if (same_bytes.repeats(record)) saved += record.stored_bytes;
  }
  return saved;
}

void add_sharing(Block& block, std::span<const RecordInfo> records) {
  const SharedBytes shared(records);
  for (const RecordInfo& record : records) {
    if (record.type != RecordType::kWeightBlob) continue;
    const std::size_t users = shared.users_of(record);
    if (users < 2) continue;
    block.add("shared", fmt::format("{}: {} stored once, used by {}", record.name, size_text(record.stored_bytes),
                                    count_text(users, "record")));
  }
  const std::uint64_t saved = saved_bytes(records, shared.same_bytes);
  if (saved != 0) block.add("shared", fmt::format("equal records stored once: {} saved", size_text(saved)));
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

std::string io_text(std::string_view role, const std::vector<DescribedTensor>& tensors) {
  std::string out;
  for (const DescribedTensor& tensor : tensors) {
    out += escaped(fmt::format("    {}  {}  {} {}{}", role, tensor.name, tensor.dtype,
                               shape_text(std::span<const std::int64_t>(tensor.shape)), scales_text(tensor))) +
           "\n";
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

std::string header_text(const Container& container, const ContainerDescription& description) {
  const OpenReport& report = open_report(container);
  Block block;
  block.add("file", report.path);
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
  add_sharing(block, all_records(container));
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
  return block.text();
}

std::string degraded_text(const OpenReport& report) {
  if (report.degraded.empty()) return "";
  return escaped(fmt::format("degraded: {} damaged; a good copy was used; pack the model again or restore the file",
                             fmt::join(report.degraded, ", "))) +
         "\n";
}

std::string record_table_text(const Container& container) {
  Table table({{"id", Align::kRight},
               {"type"},
               {"name"},
               {"target"},
               {"size", Align::kRight},
               {"bytes", Align::kRight},
               {"offset", Align::kRight},
               {"weights and sharing"}});
  const SharedBytes shared(all_records(container));
  for (const RecordInfo& record : all_records(container)) {
    const bool targeted = record.type == RecordType::kContextBinary;
    table.add_row({fmt::format("{}", record.id), std::string(record_type_name(record.type)), std::string(record.name),
                   targeted ? target_text(record.key) : "", short_size_text(record.size_bytes),
                   grouped(record.size_bytes), record.size_bytes == 0 ? "" : offset_text(record.file_offset),
                   storage_text(record, container, shared)});
  }
  return table.text();
}

namespace {

std::string number_or_dash(std::uint32_t number) { return number == 0 ? "-" : fmt::format("{}", number); }
std::string text_or_dash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

std::string binaries_text(const Container& container) {
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
  const SharedBytes shared(all_records(container));
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
  return any ? table.text("  ") : "  none\n";
}

// Returns a table of the records of one type: name, size and how they are stored and shared.
std::string plain_records_text(const Container& container, RecordType type) {
  Table table({{"name"}, {"size", Align::kRight}, {"sharing"}});
  const SharedBytes shared(all_records(container));
  bool any = false;
  for (const RecordInfo& record : all_records(container)) {
    if (record.type != type) continue;
    table.add_row(
        {std::string(record.name), short_size_text(record.size_bytes), storage_text(record, container, shared)});
    any = true;
  }
  return any ? table.text("  ") : "  none\n";
}

// Returns a line for a container without weight blobs whose binaries store bytes of each other; else empty.
std::string shared_without_blob(const Container& container) {
  const SharedBytes shared(all_records(container));
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

std::string parts_text(const Container& container) {
  const std::string inside = shared_without_blob(container);
  return "source models\n" + plain_records_text(container, RecordType::kSourceModel) + "\ncontext binaries\n" +
         binaries_text(container) + "\nshared weights\n" +
         (inside.empty() ? plain_records_text(container, RecordType::kWeightBlob) : inside);
}

std::string extents_text(const Container& container) {
  Table table({{"offset"}, {"bytes", Align::kRight}, {"holds"}, {"generation", Align::kRight}, {"records"}});
  const std::vector<FileExtent> extents = file_extents(container).value();  // open_whole() opened it
  for (const FileExtent& extent : extents) {
    table.add_row({offset_text(extent.range.offset), grouped(extent.range.size), std::string(extent.kind),
                   extent.segment ? fmt::format("{}", extent.generation) : "", names_of(container, extent.records)});
  }
  return table.text();
}

std::string record_details_text(const Container& container, const ContainerDescription& description) {
  const SharedBytes shared(all_records(container));
  std::string out;
  for (const RecordInfo& record : all_records(container)) {
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
    out += block.text();
  }
  return out;
}

std::string graph_text(const DescribedGraph& graph) {
  std::string out = "  " + escaped(graph.name) + "\n" + io_text("in ", graph.inputs) + io_text("out", graph.outputs);
  if (graph.spill_fill_bytes != 0) out += fmt::format("    spill-fill  {}\n", size_text(graph.spill_fill_bytes));
  std::string facts;
  for (const DescribedOption& fact : graph.options) {
    facts += fmt::format("{}{} {}", facts.empty() ? "" : ", ", fact.key, fact.value);
  }
  return facts.empty() ? out : out + "    facts  " + escaped(facts) + "\n";
}

std::string graphs_text(const Container& container, const ContainerDescription& description) {
  std::string out;
  for (const RecordDescription& record : description.records) {
    if (record.graphs.empty()) continue;
    out += escaped(name_of(container, record.record_id)) + "\n";
    for (const DescribedGraph& graph : record.graphs) out += graph_text(graph);
  }
  return out.empty() ? "no record describes its graphs\n" : out;
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

std::string tensors_text(const TensorTable& tensors) {
  Table table({{"name"},
               {"dtype"},
               {"shape"},
               {"offset", Align::kRight},
               {"size", Align::kRight},
               {"bytes", Align::kRight},
               {""}});
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo tensor = tensors.at(i);
    table.add_row({std::string(tensor.name), std::string(dtype_name(tensor.dtype)), shape_text(tensor.shape),
                   offset_text(tensor.offset_in_blob), short_size_text(tensor.size_bytes), grouped(tensor.size_bytes),
                   tensor.alias ? "alias" : ""});
  }
  return table.text();
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
