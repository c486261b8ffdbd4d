#include "tools/facts/io_quant.h"

#include <cmath>
#include <utility>

#include <nlohmann/json.hpp>

#include "tools/facts/quant_facts.h"

namespace fatctx::tools {

namespace {

// The range of the element types that zero points have, up to 16 bits.
constexpr std::int64_t kLowestZeroPoint = -32768;
constexpr std::int64_t kHighestZeroPoint = 65535;

Result<TensorQuantisation> tensor_at(const JsonCursor& cursor) {
  FATCTX_TRY(cursor.only_keys({"scale", "zero_point", "outside"}));
  TensorQuantisation made;
  FATCTX_ASSIGN(const JsonCursor scale, cursor.required("scale"));
  if (!scale.value().is_number()) return scale.wrong("a number above 0");
  made.scale = scale.value().get<double>();
  if (!std::isfinite(made.scale) || made.scale <= 0) return scale.wrong("a number above 0");
  if (cursor.has("zero_point")) {
    const JsonCursor zero_point = cursor.at("zero_point");
    const nlohmann::json& value = zero_point.value();
    if (!value.is_number_integer() || value < kLowestZeroPoint || value > kHighestZeroPoint) {
      return zero_point.wrong("a whole number from -32768 to 65535");
    }
    made.zero_point = value.get<std::int64_t>();
  }
  if (cursor.has("outside")) FATCTX_TRY(store(cursor.at("outside").text(), made.outside));
  return made;
}

}  // namespace

Result<IoQuantisation> io_quant_at(const JsonCursor& cursor) {
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
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [graph, tensors] : io) {
    for (const auto& [name, tensor] : tensors) {
      nlohmann::json& entry = json[graph][name];
      entry["scale"] = tensor.scale;
      entry["zero_point"] = tensor.zero_point;
      if (!tensor.outside.empty()) entry["outside"] = tensor.outside;
    }
  }
  return json.dump();
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
  auto io = io_quant_at(JsonCursor(place, document.value()));
  if (!io.ok()) return malformed(std::move(io).error());
  return io;
}

}  // namespace fatctx::tools
