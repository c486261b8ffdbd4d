#include "tools/compile/targets_file.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "fatctx/base/nearest.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

struct KnownArch {
  std::string_view arch;
  std::string_view triple;
  std::string_view cpu;
};
constexpr KnownArch kArchs[] = {
    {"x86-64", "x86_64-unknown-linux-gnu", "x86-64"},         {"x86-64-v1", "x86_64-unknown-linux-gnu", "x86-64"},
    {"x86-64-v2", "x86_64-unknown-linux-gnu", "x86-64-v2"},   {"x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3"},
    {"x86-64-v4", "x86_64-unknown-linux-gnu", "x86-64-v4"},   {"aarch64", "aarch64-unknown-linux-gnu", "generic"},
    {"riscv64", "riscv64-unknown-linux-gnu", "generic-rv64"},
};

// A word of docs/selection.md and LLVM's names for it. If there are several, all are required.
struct KnownFeature {
  std::string_view isa;  // prefix of the triple
  std::string_view word;
  std::string_view llvm;
};
constexpr KnownFeature kFeatures[] = {
    {"x86_64", "amx", "+amx-tile,+amx-int8,+amx-bf16"},
    {"x86_64", "amx-fp16", "+amx-tile,+amx-fp16"},
    {"x86_64", "avx-vnni", "+avxvnni"},
    {"x86_64", "avx512-bf16", "+avx512bf16"},
    {"x86_64", "avx512-fp16", "+avx512fp16"},
    {"x86_64", "avx512-vnni", "+avx512vnni"},
    {"aarch64", "bf16", "+bf16"},
    {"aarch64", "dotprod", "+dotprod"},
    {"aarch64", "fp16", "+fullfp16"},
    {"aarch64", "i8mm", "+i8mm"},
    {"aarch64", "sme", "+sme"},
    {"aarch64", "sve", "+sve"},
    {"aarch64", "sve2", "+sve2"},
};

const KnownArch* known_arch(std::string_view arch) {
  const auto* found =
      std::find_if(std::begin(kArchs), std::end(kArchs), [&](const auto& row) { return row.arch == arch; });
  return found == std::end(kArchs) ? nullptr : found;
}

std::vector<std::string> arch_words() {
  std::vector<std::string> words;
  for (const KnownArch& row : kArchs) words.emplace_back(row.arch);
  return words;
}

bool has_feature_table(std::string_view triple) {
  return std::any_of(std::begin(kFeatures), std::end(kFeatures),
                     [&](const auto& row) { return triple.starts_with(row.isa); });
}

std::vector<std::string> feature_words(std::string_view triple) {
  std::vector<std::string> words;
  for (const KnownFeature& row : kFeatures) {
    if (triple.starts_with(row.isa)) words.emplace_back(row.word);
  }
  return words;
}

// Translates our words to LLVM's; `unknown` gets the first unknown one, if there is any. If an ISA has no
// table, the words are already LLVM's.
std::string llvm_features(std::string_view triple, const std::vector<std::string>& features,
                          std::optional<std::size_t>& unknown) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < features.size(); ++i) {
    if (!has_feature_table(triple)) {
      parts.push_back("+" + features[i]);
      continue;
    }
    const auto* found = std::find_if(std::begin(kFeatures), std::end(kFeatures), [&](const auto& row) {
      return triple.starts_with(row.isa) && row.word == features[i];
    });
    if (found == std::end(kFeatures)) {
      unknown = i;
      return {};
    }
    parts.emplace_back(found->llvm);
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

void sort_features(PackKey& key) {
  std::sort(key.features.begin(), key.features.end());
  key.features.erase(std::unique(key.features.begin(), key.features.end()), key.features.end());
}

std::string flag_name(std::string_view flag) { return std::string(flag.substr(0, flag.find('='))); }

// Returns true if `flags` has one of the same name as `flag`.
bool has_flag(const std::vector<std::string>& flags, std::string_view flag) {
  return std::any_of(flags.begin(), flags.end(),
                     [&](const std::string& other) { return flag_name(other) == flag_name(flag); });
}

// Reads a list of flags. Refuses those that the driver itself must set: it reads the output back and knows
// the input.
Result<std::vector<std::string>> flags_at(const JsonPlace& cursor, std::initializer_list<std::string_view> reserved) {
  FATCTX_ASSIGN(const auto elements, cursor.elements());
  std::vector<std::string> flags;
  for (const JsonPlace& element : elements) {
    FATCTX_ASSIGN(std::string flag, element.text());
    if (!flag.starts_with("--")) {
      return element.wrong("a flag that starts with \"--\", its value behind \"=\": \"--iree-opt-level=O3\"");
    }
    if (std::find(reserved.begin(), reserved.end(), flag_name(flag)) != reserved.end()) {
      return element.error(fmt::format("found \"{}\", which fatctx compile sets itself", flag));
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

Result<CompileTarget> target_at(const JsonPlace& cursor, const std::vector<std::string>& common_options) {
  FATCTX_TRY(cursor.only_keys({"arch", "features", "options", "triple", "cpu", "variant", "generic"}));
  CompileTarget target;
  target.key.backend = "cpu";
  FATCTX_ASSIGN(const JsonPlace arch, cursor.required("arch"));
  FATCTX_ASSIGN(target.key.arch, arch.text());
  if (const KnownArch* known = known_arch(target.key.arch)) {
    target.triple = known->triple;
    target.cpu = known->cpu;
  } else if (!cursor.has("triple")) {
    const auto near = nearest(target.key.arch, arch_words());
    return arch.error(fmt::format("found \"{}\"; {}known: {}; any other needs the key \"triple\"", target.key.arch,
                                  near ? fmt::format("did you mean \"{}\"? ", *near) : std::string(),
                                  fmt::join(arch_words(), ", ")));
  }
  if (cursor.has("triple")) FATCTX_TRY(store(cursor.at("triple").text(), target.triple));
  if (cursor.has("cpu")) FATCTX_TRY(store(cursor.at("cpu").text(), target.cpu));
  if (cursor.has("variant")) FATCTX_TRY(store(cursor.at("variant").text(), target.key.variant));
  if (cursor.has("generic")) FATCTX_TRY(store(cursor.at("generic").boolean(), target.key.generic));
  if (cursor.has("features")) {
    FATCTX_TRY(store(cursor.at("features").texts(), target.key.features));
    const std::vector<std::string> as_written = target.key.features;
    sort_features(target.key);
    std::optional<std::size_t> unknown;
    target.cpu_features = llvm_features(target.triple, target.key.features, unknown);
    if (unknown) {
      const auto place = std::find(as_written.begin(), as_written.end(), target.key.features[*unknown]);
      FATCTX_ASSIGN(const auto elements, cursor.at("features").elements());
      return elements[static_cast<std::size_t>(place - as_written.begin())].wrong_word(*place,
                                                                                       feature_words(target.triple));
    }
  }
  std::vector<std::string> own_options;
  if (cursor.has("options")) FATCTX_TRY(store(flags_at(cursor.at("options"), {"--output", "--o"}), own_options));
  for (const std::string& option : common_options) {
    if (!has_flag(own_options, option)) target.options.push_back(option);
  }
  target.options.insert(target.options.end(), own_options.begin(), own_options.end());
  return target;
}

}  // namespace

Result<TargetsFile> parse_targets(std::string_view text, const std::string& file) {
  FATCTX_ASSIGN(const Json document, parse_json(text, file));
  const JsonPlace root(file, document);
  TargetsFile result;
  std::vector<std::string> common_options;
  JsonPlace list = root;
  if (!root.is_array()) {
    if (!root.is_object()) return root.wrong("an array of targets, or an object with the key \"targets\"");
    FATCTX_TRY(root.only_keys({"schema", "import_options", "options", "targets"}));
    if (root.has("schema")) {
      FATCTX_ASSIGN(const std::string schema, root.at("schema").text());
      if (schema != kTargetsSchema) return root.at("schema").wrong_word(schema, {std::string(kTargetsSchema)});
    }
    if (root.has("import_options")) {
      FATCTX_TRY(store(flags_at(root.at("import_options"),
                                {"--output-file", "--externalize-params", "--no-externalize-params", "--params-scope",
                                 "--save-params", "--no-save-params", "--save-params-to", "--data-dir"}),
                       result.import_options));
    }
    if (root.has("options")) FATCTX_TRY(store(flags_at(root.at("options"), {"--output", "--o"}), common_options));
    FATCTX_TRY(store(root.required("targets"), list));
  }
  FATCTX_ASSIGN(const auto elements, list.elements());
  if (elements.empty()) return list.error("found no target; at least one is needed");
  std::map<std::string, std::string> seen;  // label -> pointer
  for (const JsonPlace& element : elements) {
    FATCTX_ASSIGN(CompileTarget target, target_at(element, common_options));
    const auto [first, inserted] = seen.emplace(target_label(target), element.pointer());
    if (!inserted) {
      return element.error(
          fmt::format("the same target as {}: {}; give one of them a \"variant\"", first->second, first->first));
    }
    result.targets.push_back(std::move(target));
  }
  return result;
}

Result<TargetsFile> read_targets(const std::string& path) {
  FATCTX_ASSIGN(const std::string text, read_text_file(path));
  return parse_targets(text, path);
}

Result<CompileTarget> parse_target_word(std::string_view word) {
  CompileTarget target;
  target.key.backend = "cpu";
  std::string_view rest = word;
  if (rest.starts_with("cpu:")) rest.remove_prefix(4);
  const auto next = [&rest] {
    const std::size_t plus = std::min(rest.find('+'), rest.size());
    std::string part(rest.substr(0, plus));
    rest.remove_prefix(std::min(plus + 1, rest.size()));
    return part;
  };
  target.key.arch = next();
  const KnownArch* known = known_arch(target.key.arch);
  if (known == nullptr) {
    const auto near = nearest(target.key.arch, arch_words());
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("target \"{}\": unknown arch \"{}\"; {}known: {}; a targets file can describe others",
                             word, target.key.arch, near ? fmt::format("did you mean \"{}\"? ", *near) : std::string(),
                             fmt::join(arch_words(), ", "))};
  }
  target.triple = known->triple;
  target.cpu = known->cpu;
  while (!rest.empty()) target.key.features.push_back(next());
  sort_features(target.key);
  std::optional<std::size_t> unknown;
  target.cpu_features = llvm_features(target.triple, target.key.features, unknown);
  if (unknown) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("target \"{}\": unknown feature \"{}\"; known: {}", word, target.key.features[*unknown],
                             fmt::join(feature_words(target.triple), ", "))};
  }
  return target;
}

std::string target_label(const CompileTarget& target) {
  std::string label = target.key.arch;
  for (const std::string& feature : target.key.features) label += "+" + feature;
  if (!target.key.variant.empty()) label += "." + target.key.variant;
  return label;
}

std::vector<std::string> compiler_flags(const CompileTarget& target) {
  std::vector<std::string> defaults = {
      "--iree-hal-target-device=local",
      "--iree-hal-local-target-device-backends=llvm-cpu",
      "--iree-llvmcpu-target-triple=" + target.triple,
  };
  if (!target.cpu.empty()) defaults.push_back("--iree-llvmcpu-target-cpu=" + target.cpu);
  if (!target.cpu_features.empty()) defaults.push_back("--iree-llvmcpu-target-cpu-features=" + target.cpu_features);
  // With hoisting every session gets a private copy of transformed weights, which a container exists to
  // avoid.
  defaults.push_back("--iree-opt-const-expr-hoisting=false");

  std::vector<std::string> flags;
  for (const std::string& flag : defaults) {
    if (!has_flag(target.options, flag)) flags.push_back(flag);
  }
  flags.insert(flags.end(), target.options.begin(), target.options.end());
  return flags;
}

}  // namespace fatctx::tools
