#include "tools/pack/manifest_flags.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fatctx/device.h"
#include "tools/cli/flag_words.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {
namespace {

Result<std::uint32_t> flag_number(std::string_view flag, const std::string& key, const std::string& text) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  std::uint64_t number = 0;
  const bool digits = !text.empty() && text.size() <= 10 && text.find_first_not_of("0123456789") == std::string::npos;
  if (digits) number = std::stoull(text);
  if (!digits || number > kMost) {
    return invalid_argument(
        fmt::format("{}: {} is \"{}\"; allowed: a whole number from 0 to {}", flag, key, text, kMost));
  }
  return static_cast<std::uint32_t>(number);
}

}  // namespace

Status complete_target_of(PackRecord& record, const TargetRules& rules, std::string_view where) {
  auto completed = complete_target(record.key, rules.table, rules.allow_unreachable);
  if (completed.ok()) {
    CompletedTarget target = std::move(completed).value();
    record.key = std::move(target.key);
    std::move(target.warnings.begin(), target.warnings.end(), std::back_inserter(record.warnings));
    return Done{};
  }
  Error error = in_context(std::move(completed).error(), where);
  if (!rules.allow_unreachable && complete_target(record.key, rules.table, true).ok()) {
    error.message += "; --allow-unreachable packs it";
  }
  return error;
}

Result<PackKey> parse_target(std::string_view text) {
  constexpr std::string_view kForm =
      "write BACKEND:ARCH[+FEATURE...], such as cpu:x86-64-v3, cpu:aarch64+dotprod or htp:v75";
  const std::size_t colon = text.find(':');
  PackKey key;
  key.backend = std::string(text.substr(0, colon));
  if (colon == std::string_view::npos || key.backend.empty() || colon + 1 == text.size()) {
    return invalid_argument(fmt::format("target \"{}\" is not complete; {}", text, kForm));
  }
  std::string_view rest = text.substr(colon + 1);
  std::size_t plus = std::min(rest.find('+'), rest.size());
  key.arch = std::string(rest.substr(0, plus));
  if (key.arch.empty()) return invalid_argument(fmt::format("target \"{}\" has no arch; {}", text, kForm));
  while (plus < rest.size()) {
    rest.remove_prefix(plus + 1);
    plus = std::min(rest.find('+'), rest.size());
    if (plus == 0) return invalid_argument(fmt::format("target \"{}\" has an empty feature; {}", text, kForm));
    key.features.emplace_back(rest.substr(0, plus));
  }
  if (key.arch == "generic") {
    key.arch.clear();
    key.generic = true;
  }
  return key;
}

Result<PackKey> parse_target(std::string_view text, const SocTable& table) {
  if (text.empty() || (text.find(':') != std::string_view::npos && !text.starts_with("kernel:"))) {
    return parse_target(text);
  }
  auto device = device_from_text(text, table);
  if (!device.ok()) {
    return invalid_argument(
        fmt::format("{}; or write BACKEND:ARCH[+FEATURE...], such as cpu:aarch64+dotprod", device.error().message));
  }
  const Device& known = device.value();
  PackKey key;
  key.backend = known.backend;
  key.qnn_soc = known.qnn_soc.value_or(0);
  key.part = known.part.value_or("");
  key.arch = known.arch.value_or("");
  key.features = known.features;
  return key;
}

namespace {

bool is_arch(const PackKey& key) { return key.arch.empty() || key.backend != "htp" || key.arch.starts_with('v'); }

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// Returns "model.unit.v75.soc57.vtcm8.sdk2.51.variant+feature": everything that was stated of the target, so that two
// targets of one model have two names. A SoC that was named has its part or number only.
std::string default_name(const std::string& model, const PackKey& stated, bool names_soc, const PackKey& key) {
  std::string name = model;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) name += "." + part;
  };
  add(key.unit);
  if (names_soc) {
    add(key.part.empty() ? fmt::format("soc{}", key.qnn_soc) : lower(key.part));
  } else {
    add(key.generic ? key.backend + "-generic" : stated.arch);
    add(stated.part);
    if (stated.qnn_soc != 0) add(fmt::format("soc{}", stated.qnn_soc));
  }
  if (stated.vtcm_mb != 0) add(fmt::format("vtcm{}", stated.vtcm_mb));
  if (stated.sdk.known()) add(fmt::format("sdk{}", to_text(stated.sdk)));
  add(key.variant);
  for (const std::string& feature : key.features) name += "+" + feature;
  return name;
}

// Reads the words after a target's arch.
Status key_words(std::string_view flag, std::map<std::string, std::string>& words, PackKey& key) {
  key.unit = words["unit"];
  key.variant = words["variant"];
  key.part = words["part"];
  if (words.contains("soc")) FATCTX_TRY(store(flag_number(flag, "soc", words["soc"]), key.qnn_soc));
  if (words.contains("vtcm_mb")) FATCTX_TRY(store(flag_number(flag, "vtcm_mb", words["vtcm_mb"]), key.vtcm_mb));
  if (words.contains("sdk")) {
    auto sdk = parse_version(words["sdk"]);
    if (!sdk.ok()) return in_context(std::move(sdk).error(), flag);
    key.sdk = sdk.value();
  }
  return Done{};
}

}  // namespace

Result<PackKey> parse_target_filter(std::string_view option, std::string_view text, const SocTable& table) {
  const std::string flag = fmt::format("{} {}", option, text);
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::string_view target = text.substr(0, comma);
  PackKey key;
  if (auto device = device_from_text(target, table); device.ok() && device.value().qnn_soc) {
    key.backend = device.value().backend;
    key.qnn_soc = *device.value().qnn_soc;
  } else if (device.ok() && device.value().part) {
    key.backend = device.value().backend;
    key.part = *device.value().part;
  } else if (device.ok() && target.find(':') == std::string_view::npos) {
    FATCTX_ASSIGN(key, parse_target(target, table));
  } else if (!target.empty() && target.find(':') == std::string_view::npos) {
    key.backend = std::string(target);
  } else if (!target.empty()) {
    auto parsed = parse_target(target);
    if (!parsed.ok()) return in_context(std::move(parsed).error(), flag);
    key = std::move(parsed).value();
  }
  FATCTX_ASSIGN(auto words, flag_words(flag, text.substr(std::min(comma + 1, text.size())),
                                       {"unit", "group", "variant", "part", "soc", "vtcm_mb", "sdk"}));
  if (target.empty() && words.empty()) {
    return invalid_argument(
        fmt::format("{}: no target; write BACKEND, BACKEND:ARCH[+FEATURE...] or ,soc=NUMBER", flag));
  }
  key.group = words["group"];
  FATCTX_TRY(key_words(flag, words, key));
  return key;
}

Result<ManifestRecord> parse_binary_flag(std::string_view text, const std::string& model, const TargetRules& rules,
                                         const std::string& group) {
  const std::string flag = fmt::format("--binary {}", text);
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || at == 0) {
    return invalid_argument(
        fmt::format("{}: no target; write FILE@BACKEND:ARCH, such as model.vmfb@cpu:x86-64-v3", flag));
  }
  const std::string_view behind = text.substr(at + 1);
  const std::size_t comma = std::min(behind.find(','), behind.size());
  auto key = parse_target(behind.substr(0, comma), rules.table);
  if (!key.ok()) return in_context(std::move(key).error(), flag);
  const bool named = behind.find(':') > comma && !key.value().part.empty();
  const bool names_soc = named || key.value().qnn_soc != 0 || !is_arch(key.value());
  FATCTX_ASSIGN(auto words, flag_words(flag, behind.substr(std::min(comma + 1, behind.size())),
                                       {"unit", "group", "name", "variant", "part", "soc", "vtcm_mb", "sdk"}));
  ManifestRecord result;
  result.where = flag;
  PackRecord& record = result.record;
  record.type = RecordType::kContextBinary;
  record.source.path = std::string(text.substr(0, at));
  record.key = std::move(key).value();
  record.key.group = words.contains("group") ? words["group"] : group.empty() ? model : group;
  const PackKey device = record.key;
  FATCTX_TRY(key_words(flag, words, record.key));
  if (record.key.part.empty()) record.key.part = device.part;
  if (record.key.qnn_soc == 0) record.key.qnn_soc = device.qnn_soc;
  const PackKey stated = record.key;
  FATCTX_TRY(complete_target_of(record, rules, flag));
  record.name = words["name"];
  if (record.name.empty()) record.name = default_name(model, stated, names_soc, record.key);
  return result;
}

Result<FileFlag> parse_file_flag(std::string_view option, std::string_view text,
                                 const std::vector<std::string>& allowed) {
  FileFlag flag;
  flag.where = fmt::format("{} {}", option, text);
  const std::size_t comma = std::min(text.find(','), text.size());
  if (comma == 0) return invalid_argument(fmt::format("{}: no file; write FILE or FILE,name=NAME", flag.where));
  flag.path = std::string(text.substr(0, comma));
  FATCTX_ASSIGN(flag.words, flag_words(flag.where, text.substr(std::min(comma + 1, text.size())), allowed));
  return flag;
}

Result<ManifestRecord> parse_weights_flag(std::string_view text, const std::string& model, std::size_t index,
                                          const std::string& group) {
  FATCTX_ASSIGN(FileFlag flag, parse_file_flag("--weights", text, {"name", "group", "embedded"}));
  ManifestRecord result;
  result.where = flag.where;
  PackRecord& record = result.record;
  record.type = RecordType::kWeightBlob;
  record.source.path = flag.path;
  record.key.group = flag.words.contains("group") ? flag.words["group"] : group.empty() ? model : group;
  record.name = flag.words["name"];
  if (record.name.empty())
    record.name = index == 0 ? model + ".weights" : fmt::format("{}.weights{}", model, index + 1);
  if (flag.words.contains("embedded")) {
    FATCTX_ASSIGN(result.embedded_size, flag_number("--weights", "embedded", flag.words["embedded"]));
    if (!flag.path.ends_with(".onnx")) {
      return invalid_argument(fmt::format("--weights {}: embedded is for ONNX models, whose files end in .onnx", text));
    }
  }
  return result;
}

}  // namespace fatctx::tools
