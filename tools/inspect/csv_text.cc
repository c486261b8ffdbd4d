#include "tools/inspect/csv_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/select.h"
#include "tools/cli/print.h"
#include "tools/cli/whole_container.h"
#include "tools/inspect/info_filter.h"

namespace fatctx::tools {

namespace {

std::string name_or_id(const Container& container, std::uint32_t id) {
  const auto found = container.record(id);
  return found.ok() && !found.value().name.empty() ? std::string(found.value().name) : fmt::format("#{}", id);
}

std::string number_words(std::optional<std::uint64_t> number) {
  return number ? fmt::format("{}", *number) : std::string();
}

std::string described_shape(const std::vector<std::int64_t>& shape) {
  return shape_words({.dtype = {}, .sizes = shape});
}

void add_graph_tensors(CsvText& csv, const std::string& record, const DescribedGraph& graph, std::string_view role,
                       const std::vector<DescribedTensor>& tensors) {
  for (const DescribedTensor& tensor : tensors) {
    std::vector<std::string> scales;
    std::vector<std::string> offsets;
    for (const DescribedScale& scale : tensor.scales) {
      scales.push_back(fmt::format("{}", scale.scale));
      offsets.push_back(fmt::format("{}", scale.offset));
    }
    csv.add_row({record, graph.name, std::string(role), tensor.name, tensor.dtype, described_shape(tensor.shape),
                 fmt::format("{}", fmt::join(scales, " ")), fmt::format("{}", fmt::join(offsets, " ")),
                 tensor.scales.size() > 1 ? fmt::format("{}", tensor.axis) : std::string()});
  }
}

std::string node_tensor_words(const std::vector<OnnxNodeTensor>& tensors) {
  std::vector<std::string> words;
  words.reserve(tensors.size());
  for (const OnnxNodeTensor& tensor : tensors) {
    words.push_back(fmt::format("{} {} {}", tensor.name, tensor.shape.dtype.empty() ? "?" : tensor.shape.dtype,
                                shape_words(tensor.shape)));
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace

void CsvText::add_row(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i != 0) text_ += ',';
    const std::string cell = escaped(cells[i]);
    if (cell.find_first_of("\",") == std::string::npos) {
      text_ += cell;
      continue;
    }
    text_ += '"';
    for (const char c : cell) {
      if (c == '"') text_ += '"';
      text_ += c;
    }
    text_ += '"';
  }
  text_ += '\n';
}

std::string records_csv(const Container& container, const ContainerDescription& description, const ViewFilter& filter) {
  CsvText csv({"id", "type", "name", "target", "size_bytes", "stored_bytes", "codec", "file_offset", "xxh3_128",
               "weights", "format", "producer"});
  for (const RecordInfo& record : chosen_records(container, filter)) {
    std::vector<std::string> weights;
    for (const std::uint32_t id : record.weights) weights.push_back(name_or_id(container, id));
    const RecordDescription* const said = description.find(record.id);
    csv.add_row({fmt::format("{}", record.id), std::string(record_type_name(record.type)), std::string(record.name),
                 record.type == RecordType::kContextBinary ? target_text(record.key) : std::string(),
                 fmt::format("{}", record.size_bytes), fmt::format("{}", record.stored_bytes),
                 std::string(codec_name(record.codec)), fmt::format("{}", record.file_offset),
                 to_hex(record.hash.bytes), fmt::format("{}", fmt::join(weights, " ")),
                 said == nullptr ? std::string() : said->format, said == nullptr ? std::string() : said->producer});
  }
  return csv.text();
}

std::string graphs_csv(const std::vector<std::pair<std::string, DescribedGraph>>& graphs) {
  CsvText csv({"record", "graph", "role", "tensor", "dtype", "shape", "scale", "offset", "axis"});
  for (const auto& [record, graph] : graphs) {
    add_graph_tensors(csv, record, graph, "input", graph.inputs);
    add_graph_tensors(csv, record, graph, "output", graph.outputs);
  }
  return csv.text();
}

std::string tensors_csv(const TensorTable& tensors, const ViewFilter& filter) {
  CsvText csv({"name", "dtype", "shape", "offset", "size_bytes", "alias"});
  for (const std::size_t i : chosen_tensors(tensors, filter)) {
    const TensorInfo tensor = tensors.at(i);
    csv.add_row({std::string(tensor.name), std::string(dtype_name(tensor.dtype)),
                 fmt::format("[{}]", fmt::join(tensor.shape, ", ")), fmt::format("{}", tensor.offset_in_blob),
                 fmt::format("{}", tensor.size_bytes), tensor.alias ? "true" : "false"});
  }
  return csv.text();
}

std::string ops_csv(const std::vector<ModelView>& models, const ViewFilter& filter) {
  CsvText csv({"model", "graph", "index", "name", "op", "inputs", "outputs", "parameters", "macs"});
  for (const ModelView& model : models) {
    for (const OnnxGraphLook& graph : model.look.graphs) {
      if (!fits_pattern(filter.graph, graph.name)) continue;
      for (const OnnxNode& node : graph.nodes) {
        if (!fits_pattern(filter.op, node.op)) continue;
        std::vector<std::string> parameters;
        for (const auto& [key, value] : node.parameters) parameters.push_back(fmt::format("{} {}", key, value));
        csv.add_row({model.name, graph.name, fmt::format("{}", node.index), node.name, node.op,
                     node_tensor_words(node.inputs), node_tensor_words(node.outputs),
                     fmt::format("{}", fmt::join(parameters, "; ")), number_words(node.macs)});
      }
    }
  }
  return csv.text();
}

std::string sharing_csv(const Container& container, const SharingReport& report) {
  CsvText csv({"record", "size_bytes", "own_bytes", "shared_bytes", "repeated_bytes", "pieces", "composed_bytes",
               "layout_group", "sharer_count"});
  for (const RecordSharing& row : report.records) {
    csv.add_row(
        {name_or_id(container, row.record_id), fmt::format("{}", row.size_bytes), fmt::format("{}", row.own_bytes),
         fmt::format("{}", row.shared_bytes), fmt::format("{}", row.repeated_bytes), fmt::format("{}", row.pieces),
         fmt::format("{}", row.composed_bytes), row.layout_group ? fmt::format("{}", *row.layout_group) : std::string(),
         fmt::format("{}", row.sharer_count)});
  }
  return csv.text();
}

std::vector<std::pair<std::string, DescribedGraph>> graphs_by_record(const Container& container,
                                                                     const ContainerDescription& description,
                                                                     const ViewFilter& filter) {
  std::vector<std::pair<std::string, DescribedGraph>> graphs;
  for (const RecordDescription& record : description.records) {
    const auto info = container.record(record.record_id);
    if (!info.ok() || !is_chosen(info.value(), filter)) continue;
    for (const DescribedGraph& graph : record.graphs) {
      if (fits_pattern(filter.graph, graph.name)) graphs.emplace_back(name_or_id(container, record.record_id), graph);
    }
  }
  return graphs;
}

}  // namespace fatctx::tools
