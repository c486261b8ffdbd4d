#include "tools/facts/io_quant.h"

#include <utility>

#include "tools/facts/quant_facts.h"

namespace fatctx::tools {

namespace {

// The range of the element types that zero points have, up to 16 bits.
constexpr std::int64_t kLowestZeroPoint = -32768;
constexpr std::int64_t kHighestZeroPoint = 65535;

Result<TensorQuantisation> tensor_at(const JsonPlace& cursor) {
  FATCTX_TRY(cursor.only_keys({"scale", "zero_point", "outside"}));
  TensorQuantisation made;
  FATCTX_ASSIGN(const JsonPlace scale, cursor.required("scale"));
  const auto number = scale.value().real();
  if (!number || *number <= 0) return scale.wrong("a number above 0");
  made.scale = *number;
  if (cursor.has("zero_point")) {
    const JsonPlace zero_point = cursor.at("zero_point");
    const auto value = zero_point.value().whole();
    if (!value || *value < kLowestZeroPoint || *value > kHighestZeroPoint) {
      return zero_point.wrong("a whole number from -32768 to 65535");
    }
    made.zero_point = *value;
  }
  if (cursor.has("outside")) FATCTX_TRY(store(cursor.at("outside").text(), made.outside));
  return made;
}

}  // namespace

Result<IoQuantisation> io_quant_at(const JsonPlace& cursor) {
  IoQuantisation io;
  FATCTX_ASSIGN(const auto graphs, cursor.members());
  for (const auto& [graph, tensors] : graphs) {
    FATCTX_ASSIGN(const auto members, tensors.members());
    if (members.empty()) return tensors.error("says nothing; give the scale of at least one tensor");
    for (const auto& [name, tensor] : members) {
      FATCTX_ASSIGN(TensorQuantisation made, tensor_at(tensor));
      io[graph].emplace(name, std::move(made));
    }
  }
  if (io.empty()) return cursor.error("says nothing; give the scale of at least one tensor, or leave the key out");
  return io;
}

std::string io_quant_text(const IoQuantisation& io) {
  Json graphs = Json::object();
  for (const auto& [graph, tensors] : io) {
    Json entries = Json::object();
    for (const auto& [name, tensor] : tensors) {
      Json entry = Json::object();
      if (!tensor.outside.empty()) entry.add("outside", tensor.outside);
      entry.add("scale", tensor.scale);
      entry.add("zero_point", tensor.zero_point);
      entries.add(name, std::move(entry));
    }
    graphs.add(graph, std::move(entries));
  }
  return write_json(graphs, {.indent = -1, .ascii = false});
}

Result<IoQuantisation> io_quant_of(const std::vector<DescribedOption>& options) {
  const std::string* const text = quant_fact(options, kIoQuant);
  if (text == nullptr) return IoQuantisation{};
  const auto malformed = [](Error error) {
    error.code = ErrorCode::kMalformed;
    return error;
  };
  const std::string place = "the quantisation fact \"io\"";
  auto document = parse_json(*text, place);
  if (!document.ok()) return malformed(std::move(document).error());
  auto io = io_quant_at(JsonPlace(place, document.value()));
  if (!io.ok()) return malformed(std::move(io).error());
  return io;
}

}  // namespace fatctx::tools
