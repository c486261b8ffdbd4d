#include "tools/facts/quant_facts.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "fatctx/record.h"
#include "tools/cli/flag_words.h"
#include "tools/facts/htp_config.h"
#include "tools/facts/io_quant.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kSha256Digits = 64;

void add(std::vector<DescribedOption>& options, std::string_view key, std::string value) {
  options.push_back({std::string(key), std::move(value), std::string(kQuantOwner)});
}

Result<std::string> dtype_word(const JsonPlace& cursor) {
  FATCTX_ASSIGN(const DType dtype, dtype_at(cursor));
  return std::string(dtype_name(dtype));
}

// Reads one type, or those of a model of mixed precision: "uint16" or ["uint16", "uint8"], kept as
// "uint16,uint8".
Result<std::string> types_at(const JsonPlace& cursor) {
  if (!cursor.is_array()) return dtype_word(cursor);
  FATCTX_ASSIGN(const auto list, cursor.elements());
  if (list.empty()) return cursor.error("is empty; name at least one type, or leave the key out");
  std::string types;
  for (const JsonPlace& element : list) {
    FATCTX_ASSIGN(const std::string word, dtype_word(element));
    types += (types.empty() ? "" : ",") + word;
  }
  return types;
}

Result<std::string> arch_at(const JsonPlace& cursor) {
  FATCTX_ASSIGN(std::string arch, cursor.text());
  if (arch_number(arch) == 0) return cursor.wrong("a Hexagon architecture, such as \"v75\"");
  return arch;
}

Result<std::string> digest_at(const JsonPlace& cursor) {
  FATCTX_ASSIGN(std::string digest, cursor.text());
  const bool hex = digest.size() == kSha256Digits && digest.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!hex) return cursor.wrong("a SHA-256 as 64 hexadecimal digits in lower case");
  return digest;
}

// Returns the value with the members of every object in the order of their keys and with numbers in their shortest
// form, so that equal facts are equal texts.
Json canonical(const Json& value) {
  if (const Json::Array* items = value.items()) {
    Json list = Json::array();
    for (const Json& item : *items) list.push_back(canonical(item));
    return list;
  }
  if (const Json::Object* members = value.members()) {
    std::map<std::string_view, const Json*> sorted;
    for (const auto& [key, member] : *members) sorted.emplace(key, &member);
    Json object = Json::object();
    for (const auto& [key, member] : sorted) object.add(std::string(key), canonical(*member));
    return object;
  }
  if (value.number() != nullptr || value.whole()) return value;
  const auto real = value.real();
  return real ? Json(*real) : value;
}

}  // namespace

Result<QuantFacts> quant_at(const JsonPlace& cursor, const std::string& folder) {
  FATCTX_TRY(
      cursor.only_keys({"activation_type", "weight_type", "common_arch", "calibration_sha256", "overrides", kIoQuant}));
  QuantFacts facts;
  for (const char* key : {"activation_type", "weight_type"}) {
    if (!cursor.has(key)) continue;
    FATCTX_ASSIGN(std::string types, types_at(cursor.at(key)));
    add(facts.options, key, std::move(types));
  }
  if (cursor.has("common_arch")) {
    FATCTX_ASSIGN(std::string arch, arch_at(cursor.at("common_arch")));
    add(facts.options, "common_arch", std::move(arch));
  }
  if (cursor.has("calibration_sha256")) {
    FATCTX_ASSIGN(std::string digest, digest_at(cursor.at("calibration_sha256")));
    add(facts.options, "calibration_sha256", std::move(digest));
  }
  if (cursor.has(kIoQuant)) {
    FATCTX_ASSIGN(const IoQuantisation io, io_quant_at(cursor.at(kIoQuant)));
    add(facts.options, kIoQuant, io_quant_text(io));
  }
  if (cursor.has("overrides")) {
    const JsonPlace overrides = cursor.at("overrides");
    if (overrides.is_object() || overrides.is_array()) {
      add(facts.options, "overrides", write_json(canonical(overrides.value()), {.indent = -1, .ascii = false}));
    } else if (overrides.value().text() != nullptr && !overrides.value().text()->empty()) {
      const std::string& path = *overrides.value().text();
      facts.overrides_from = folder.empty() ? path : (std::filesystem::path(folder) / path).string();
    } else {
      return overrides.wrong("the name of a JSON file, an object or an array");
    }
  }
  if (facts.options.empty() && facts.overrides_from.empty()) {
    return cursor.error("says nothing; give at least one fact, or leave the key out");
  }
  return facts;
}

Result<QuantFacts> parse_quant_flag(std::string_view text) {
  const std::string flag = fmt::format("--quant {}", text);
  Json said = Json::object();
  FATCTX_ASSIGN(const auto words, flag_words(flag, text, {}));
  for (const auto& [key, value] : words) {
    if (!key.ends_with("_type") || value.find('+') == std::string::npos) {
      said.add(key, value);
      continue;
    }
    Json types = Json::array();
    for (std::size_t at = 0; at <= value.size();) {
      const std::size_t plus = std::min(value.find('+', at), value.size());
      types.push_back(value.substr(at, plus - at));
      at = plus + 1;
    }
    said.add(key, std::move(types));
  }
  return quant_at(JsonPlace(flag, said), {});
}

Status add_quant_facts(const QuantFacts& facts, std::vector<DescribedOption>& options) {
  for (const DescribedOption& fact : facts.options) {
    if (quant_fact(options, fact.key) != nullptr) {
      return invalid_argument(
          fmt::format("the quantisation fact \"{}\" is said twice; leave one of them out", fact.key));
    }
    options.push_back(fact);
  }
  if (facts.overrides_from.empty()) return Done{};
  FATCTX_ASSIGN(std::string text, read_text_file(facts.overrides_from));
  JsonFault fault;
  const auto overrides = read_json(text, kMaxJsonDepth, fault);
  if (!overrides || (overrides->members() == nullptr && overrides->items() == nullptr)) {
    return invalid_argument(fmt::format("{}: overrides of tensor types are a JSON object or array, without comments",
                                        facts.overrides_from));
  }
  add(options, "overrides", std::move(text));
  return Done{};
}

void add_quant_facts_of(const OnnxModel& model, std::vector<DescribedOption>& options) {
  const auto add_types = [&options](std::string_view key, const std::set<std::string>& types) {
    if (types.empty() || quant_fact(options, key) != nullptr) return;
    add(options, key, fmt::format("{}", fmt::join(types, ",")));
  };
  add_types("activation_type", model.activation_types);
  add_types("weight_type", model.weight_types);
}

const std::string* quant_fact(const std::vector<DescribedOption>& options, std::string_view key) {
  const auto found = std::find_if(options.begin(), options.end(), [key](const DescribedOption& option) {
    return option.owner == kQuantOwner && option.key == key;
  });
  return found == options.end() ? nullptr : &found->value;
}

}  // namespace fatctx::tools
