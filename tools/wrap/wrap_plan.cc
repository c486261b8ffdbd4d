#include "tools/wrap/wrap_plan.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.h"
#include "tools/cli/flag_words.h"
#include "tools/facts/io_quant.h"
#include "tools/onnx/ep_context_facts.h"

namespace fatctx::tools {

namespace {

constexpr std::string_view kQnn = "QNNExecutionProvider";
constexpr std::string_view kOpenVino = "OpenVINOExecutionProvider";
std::optional<std::int64_t> whole_number_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Parses the sizes between the brackets: "1,3,-1".
std::optional<std::vector<std::int64_t>> shape_of(std::string_view text) {
  std::vector<std::int64_t> shape;
  if (text.empty()) return shape;
  for (std::size_t from = 0;;) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    const auto size = whole_number_of(text.substr(from, to - from));
    if (!size || *size < -1) return std::nullopt;
    shape.push_back(*size);
    if (to == text.size()) return shape;
    from = to + 1;
  }
}

Result<TensorQuantisation> quantisation_of(const std::string& flag, std::string_view words_text) {
  FATCTX_ASSIGN(auto words, flag_words(flag, words_text, {"scale", "zero_point"}));
  TensorQuantisation made;
  const auto scale = real_number(words["scale"]);
  if (!scale || !std::isfinite(*scale) || *scale <= 0) {
    return invalid_argument(fmt::format("{}: scale=\"{}\" is not a number above 0", flag, words["scale"]));
  }
  made.scale = *scale;
  if (words["zero_point"].empty()) return made;
  const auto zero_point = whole_number_of(words["zero_point"]);
  if (!zero_point) {
    return invalid_argument(fmt::format("{}: zero_point=\"{}\" is not a whole number", flag, words["zero_point"]));
  }
  made.zero_point = *zero_point;
  return made;
}

bool quantisable(DType dtype) {
  return dtype == DType::kU8 || dtype == DType::kI8 || dtype == DType::kU16 || dtype == DType::kI16;
}

// Returns true if the zero point fits: it has the type of the numbers that it shifts.
bool fits(const TensorQuantisation& quantisation, DType dtype) {
  const bool is_signed = dtype == DType::kI8 || dtype == DType::kI16;
  const std::int64_t range = std::int64_t{1} << dtype_bits(dtype);
  const std::int64_t lowest = is_signed ? -range / 2 : 0;
  return quantisation.zero_point >= lowest && quantisation.zero_point < lowest + range;
}

Status check_quantisation(const WrappedTensor& tensor) {
  if (!tensor.quantisation) return Done{};
  if (!quantisable(tensor.dtype)) {
    return invalid_argument(fmt::format("tensor \"{}\" is {}; a scale is for 8 and 16 bit integers", tensor.name,
                                        dtype_name(tensor.dtype)));
  }
  if (fits(*tensor.quantisation, tensor.dtype)) return Done{};
  return invalid_argument(fmt::format("tensor \"{}\": the zero point {} is not a valid {}", tensor.name,
                                      tensor.quantisation->zero_point, dtype_name(tensor.dtype)));
}

std::string names_of(const std::vector<WrappedGraph>& graphs) {
  std::vector<std::string_view> names;
  names.reserve(graphs.size());
  for (const WrappedGraph& graph : graphs) names.push_back(graph.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// A planner of one wrapped model. The steps are in the order of plan_wrap().
class Planner {
 public:
  Planner(std::string_view record, const RecordDescription* said, const WrapWish& wish) : record_(record), wish_(wish) {
    if (said != nullptr) said_ = *said;
  }

  Result<std::vector<WrappedGraph>> graphs() {
    FATCTX_ASSIGN(io_, io_quant_of(said_.options));
    if (!wish_.inputs.empty() || !wish_.outputs.empty()) return of_flags();
    if (wish_.json) return of_json();
    return of_description();
  }

  std::vector<std::string> notes;

 private:
  Error missing(std::string_view what) const {
    return invalid_argument(
        fmt::format("record \"{}\": {}; say it with --qnn-json FILE, or with --graph-input and "
                    "--graph-output",
                    record_, what));
  }

  // Returns the requested graphs.
  Result<std::vector<WrappedGraph>> asked(std::vector<WrappedGraph> graphs, std::string_view whose) const {
    if (wish_.graph.empty()) return graphs;
    const auto found =
        std::find_if(graphs.begin(), graphs.end(), [&](const auto& graph) { return graph.name == wish_.graph; });
    if (found == graphs.end()) {
      return invalid_argument(fmt::format("{} no graph \"{}\"; its graphs: {}", whose, wish_.graph, names_of(graphs)));
    }
    return std::vector<WrappedGraph>{std::move(*found)};
  }

  // Names a single graph whose source gives no name.
  std::string name_of_one() {
    if (!wish_.graph.empty()) return wish_.graph;
    if (said_.graphs.size() == 1) return said_.graphs[0].name;
    notes.push_back(
        fmt::format("nothing says what the graph is called; \"{}\" stands for it, which works if the binary holds no "
                    "other one (--graph NAME)",
                    record_));
    return std::string(record_);
  }

  // Checks that the record has the described graph; otherwise the JSON belongs to another binary.
  Status check_known(const WrappedGraph& graph) const {
    const auto same = [&](const DescribedGraph& known) { return known.name == graph.name; };
    if (said_.graphs.empty() || std::any_of(said_.graphs.begin(), said_.graphs.end(), same)) return Done{};
    std::vector<std::string_view> names;
    for (const DescribedGraph& known : said_.graphs) names.push_back(known.name);
    return invalid_argument(
        fmt::format("record \"{}\" has no graph \"{}\"; its graphs: {}", record_, graph.name, fmt::join(names, ", ")));
  }

  Result<std::vector<WrappedGraph>> of_flags() {
    if (wish_.outputs.empty())
      return invalid_argument("--graph-input without --graph-output: a graph has at least one output");
    if (said_.graphs.size() > 1 && wish_.graph.empty()) {
      return invalid_argument(
          fmt::format("record \"{}\" has {} graphs; --graph NAME says which of them --graph-input and "
                      "--graph-output describe",
                      record_, said_.graphs.size()));
    }
    WrappedGraph graph;
    graph.name = name_of_one();
    for (const auto& [flag, texts, tensors] : {std::tuple("--graph-input", &wish_.inputs, &graph.inputs),
                                               std::tuple("--graph-output", &wish_.outputs, &graph.outputs)}) {
      for (const std::string& text : *texts) {
        FATCTX_ASSIGN(WrappedTensor tensor, parse_graph_tensor(flag, text));
        tensors->push_back(std::move(tensor));
      }
    }
    FATCTX_TRY(check_known(graph));
    return std::vector<WrappedGraph>{std::move(graph)};
  }

  Result<std::vector<WrappedGraph>> of_json() {
    std::vector<WrappedGraph> graphs = wish_.json->graphs;
    const bool unnamed = graphs.size() == 1 && graphs[0].name.empty();
    if (unnamed) graphs[0].name = name_of_one();
    for (const WrappedGraph& graph : graphs) FATCTX_TRY(check_known(graph));
    if (!wish_.quantised_io) notes.insert(notes.end(), wish_.json->notes.begin(), wish_.json->notes.end());
    return asked(std::move(graphs), "the JSON has");
  }

  Result<std::vector<WrappedGraph>> of_description() {
    if (said_.graphs.empty()) return missing("nothing says which graphs it holds, and what they take and give");
    std::vector<WrappedGraph> named;
    for (const DescribedGraph& graph : said_.graphs) named.push_back({.name = graph.name, .inputs = {}, .outputs = {}});
    FATCTX_ASSIGN(std::vector<WrappedGraph> graphs, asked(std::move(named), fmt::format("record \"{}\" has", record_)));
    for (WrappedGraph& graph : graphs) {
      const auto known = std::find_if(said_.graphs.begin(), said_.graphs.end(),
                                      [&](const DescribedGraph& one) { return one.name == graph.name; });
      if (known->outputs.empty()) {
        return missing(fmt::format("nothing says what its graph \"{}\" takes and gives", graph.name));
      }
      FATCTX_ASSIGN(graph.inputs, of_described(graph.name, known->inputs));
      FATCTX_ASSIGN(graph.outputs, of_described(graph.name, known->outputs));
    }
    return graphs;
  }

  Result<std::vector<WrappedTensor>> of_described(const std::string& graph,
                                                  const std::vector<DescribedTensor>& described) {
    std::vector<WrappedTensor> tensors;
    for (const DescribedTensor& tensor : described) {
      const auto dtype = dtype_from_name(tensor.dtype);
      if (!dtype) {
        return Error{ErrorCode::kUnsupported,
                     fmt::format("record \"{}\", graph \"{}\": tensor \"{}\" is \"{}\", which an EPContext node cannot "
                                 "take or give",
                                 record_, graph, tensor.name, tensor.dtype)};
      }
      WrappedTensor made{.name = tensor.name, .dtype = *dtype, .shape = tensor.shape, .quantisation = {}};
      const auto of_graph = io_.find(graph);
      if (of_graph != io_.end()) {
        const auto found = of_graph->second.find(tensor.name);
        if (found != of_graph->second.end()) made.quantisation = found->second;
      }
      if (!made.quantisation) made.quantisation = described_quantisation(tensor);
      if (!made.quantisation && !wish_.quantised_io && quantisable(*dtype)) {
        notes.push_back(fmt::format("graph \"{}\": nothing says a scale of \"{}\", {}; it stays as it is", graph,
                                    tensor.name, dtype_name(*dtype)));
      }
      tensors.push_back(std::move(made));
    }
    return tensors;
  }

  std::string_view record_;
  RecordDescription said_;
  const WrapWish& wish_;
  IoQuantisation io_;
};

Result<std::string> source_of(std::string_view record, const SelectionKey& key, const RecordDescription* said,
                              const WrapWish& wish) {
  if (!wish.source.empty()) return wish.source;
  if (said != nullptr) {
    std::string noted = ep_context_fact(said->options, kSourceFact);
    if (!noted.empty()) return noted;
  }
  if (key.backend == "htp") return std::string(kQnn);
  if (key.backend == "openvino") return std::string(kOpenVino);
  return invalid_argument(
      fmt::format("record \"{}\" is for the backend \"{}\", and nothing says which execution provider of ONNX Runtime "
                  "takes it; say it with --source NAME",
                  record, key.backend));
}

std::string fact_of(const std::vector<DescribedOption>& facts, std::string_view key) {
  const auto found = std::find_if(facts.begin(), facts.end(), [key](const DescribedOption& fact) {
    return fact.owner == "qnn" && fact.key == key;
  });
  return found == facts.end() ? std::string() : found->value;
}

// Adds facts of a DLC in the words of the provider's own writer: the whole build id, and the text that applications
// ask about before they load the model. That text gives 0 for the architecture and for VTCM, as the writer does when it
// compiles by the number of the SoC.
void add_vendor_facts(const SelectionKey& key, const RecordDescription& said, WrapperModel& model) {
  if (!key.sdk.known()) return;
  const std::string sdk = fmt::format("{}.{}.{}", key.sdk.major, key.sdk.minor, key.sdk.patch);
  if (model.sdk_version.empty() && said.producer.starts_with("v" + sdk)) model.sdk_version = said.producer;
  const std::string backend = fact_of(said.options, "backendId");
  const std::string api = fact_of(said.options, "backendApiVersion");
  if (backend.empty() || api.empty() || key.qnn_soc == 0) return;
  model.metadata.emplace(fmt::format("{}{}", kCompatibilityPrefix, kQnn),
                         fmt::format("v2:{}:{}:{}:0:{}:0:0", backend, sdk, api, key.qnn_soc));
}

}  // namespace

std::string binary_suffix(std::string_view source) {
  return is_qnn(source) ? "_qnn.bin" : fmt::format("_{}.bin", source);
}

Result<WrappedTensor> parse_graph_tensor(std::string_view flag, std::string_view text) {
  const std::string whole = fmt::format("{} {}", flag, text);
  const Error wrong = invalid_argument(fmt::format(
      "{}: not NAME:TYPE[SIZE,...], such as x:float32[1,3,224,224] or y:uint8[1,10],scale=0.5,zero_point=128", whole));
  const std::size_t close = text.rfind(']');
  if (close == std::string_view::npos) return wrong;
  const std::size_t open = text.rfind('[', close);
  if (open == std::string_view::npos) return wrong;
  const std::size_t colon = text.rfind(':', open);
  if (colon == std::string_view::npos || colon == 0) return wrong;
  const std::string_view word = text.substr(colon + 1, open - colon - 1);
  const auto dtype = dtype_from_name(word);
  if (!dtype)
    return invalid_argument(
        fmt::format("{}: \"{}\" is not an element type, such as float32, uint8 or int64", whole, word));
  auto shape = shape_of(text.substr(open + 1, close - open - 1));
  if (!shape)
    return invalid_argument(fmt::format("{}: sizes are whole numbers, or -1 for one that is not fixed", whole));
  WrappedTensor tensor{
      .name = std::string(text.substr(0, colon)), .dtype = *dtype, .shape = std::move(*shape), .quantisation = {}};
  const std::string_view rest = text.substr(close + 1);
  if (rest.empty()) return tensor;
  if (rest.front() != ',') return wrong;
  FATCTX_ASSIGN(tensor.quantisation, quantisation_of(whole, rest.substr(1)));
  return tensor;
}

Result<WrapPlan> plan_wrap(std::string_view record, const SelectionKey& key, const RecordDescription* said,
                           const WrapWish& wish) {
  WrapPlan plan;
  WrapperModel& model = plan.model;
  FATCTX_ASSIGN(model.source, source_of(record, key, said, wish));
  Planner planner(record, said, wish);
  FATCTX_ASSIGN(model.graphs, planner.graphs());
  plan.notes = std::move(planner.notes);
  for (WrappedGraph& graph : model.graphs) {
    for (auto* const tensors : {&graph.inputs, &graph.outputs}) {
      for (WrappedTensor& tensor : *tensors) {
        if (wish.quantised_io) tensor.quantisation.reset();
        const auto status = check_quantisation(tensor);
        if (!status.ok()) return in_context(status.error(), fmt::format("graph \"{}\"", graph.name));
      }
    }
  }
  model.max_size = wish.max_size;
  if (model.max_size == 0) {
    model.max_size = wish.group_max_size;
    for (const WrappedGraph& graph : wish.json ? wish.json->graphs : model.graphs) {
      model.max_size = std::max(model.max_size, static_cast<std::int64_t>(graph.spill_fill_bytes));
    }
  }
  if (wish.json) model.sdk_version = wish.json->build_id;
  if (said != nullptr) {
    if (model.sdk_version.empty()) model.sdk_version = ep_context_fact(said->options, kSdkVersionFact);
    for (const DescribedOption& option : said->options) {
      if (option.key.starts_with(kCompatibilityPrefix)) model.metadata[option.key] = option.value;
    }
  }
  if (said != nullptr && is_qnn(model.source)) add_vendor_facts(key, *said, model);
  if (model.sdk_version.empty() && key.sdk.known()) model.sdk_version = to_text(key.sdk);
  return plan;
}

}  // namespace fatctx::tools
