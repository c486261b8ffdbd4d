#include "tools/compile/command_compile.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/base/nearest.h"
#include "fatctx/import_dlc.h"
#include "fatctx/select.h"
#include "tools/cli/subprocess.h"
#include "tools/compile/compiler_tool.h"
#include "tools/facts/json_file.h"
#include "tools/pack/ep_context.h"
#include "tools/pack/manifest.h"
#include "tools/pack/manifest_flags.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kOutputFile = "output.bin";
const std::vector<std::string> kPlaces = {"model", "output", "backend", "arch",   "features", "part",
                                          "soc",   "vtcm",   "target",  "config", "log_level"};

Result<std::vector<std::string>> split_command(std::string_view text) {
  std::vector<std::string> parts;
  bool inside = false;  // a part has begun
  char quote = '\0';
  for (const char c : text) {
    if (quote != '\0') {
      if (c == quote) {
        quote = '\0';
      } else {
        parts.back() += c;
      }
      continue;
    }
    if (c == ' ' || c == '\t' || c == '\n') {
      inside = false;
      continue;
    }
    if (!inside) parts.emplace_back();
    inside = true;
    if (c == '\'' || c == '"') {
      quote = c;
    } else {
      parts.back() += c;
    }
  }
  if (quote != '\0') return invalid_argument(fmt::format("--command: a {} is opened and not closed", quote));
  if (parts.empty()) return invalid_argument("--command: the command is empty");
  return parts;
}

// Copies `part` with every {place} replaced by what `value` gives for it; "{{" is one brace.
Result<std::string> with_places_filled(const std::string& part,
                                       const std::function<Result<std::string>(const std::string&)>& value) {
  std::string filled;
  for (std::size_t at = 0; at < part.size();) {
    if (part.compare(at, 2, "{{") == 0) {
      filled += '{';
      at += 2;
      continue;
    }
    if (part[at] != '{') {
      filled += part[at++];
      continue;
    }
    const std::size_t end = part.find('}', at);
    if (end == std::string::npos) {
      return invalid_argument(
          fmt::format("--command: \"{}\" opens a brace and does not close it; {{{{ is one brace", part));
    }
    FATCTX_ASSIGN(const std::string text, value(part.substr(at + 1, end - at - 1)));
    filled += text;
    at = end + 1;
  }
  return filled;
}

std::set<std::string> as_set(const std::vector<std::string>& files) { return {files.begin(), files.end()}; }

// Adds the file of that name, or all files of the folder of that name; nothing if neither exists.
void add_file(const std::string& name, std::set<std::string>& files) {
  std::error_code error;
  if (fs::is_regular_file(name, error)) files.insert(name);
}

// Adds the files of a folder too: a model may be a folder.
void add_files(const std::string& name, std::set<std::string>& files) {
  add_file(name, files);
  std::error_code error;
  if (name.empty() || !fs::is_directory(name, error)) return;
  for (auto entry = fs::recursive_directory_iterator(name, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error)) files.insert(entry->path().string());
  }
}

Error wrong_target(const CommandTarget& target, const std::string& what) {
  return Error{ErrorCode::kSerialiseFailed, fmt::format("asked for {}, and the compiler wrote {}", target.label, what)};
}

}  // namespace

CommandTarget command_target_of(const HtpTarget& target) {
  CommandTarget made;
  made.label = target_word(target);
  made.key = key_of(target);
  made.config_file = target.file;
  made.options = target.settings;
  return made;
}

Result<CommandTarget> command_target_of_word(std::string_view word, const SocTable& table) {
  CommandTarget target;
  const auto device = device_from_text(word, table);
  if (device.ok()) {
    target.key.backend = device.value().backend;
    target.key.part = device.value().part.value_or("");
    target.key.qnn_soc = device.value().qnn_soc.value_or(0);
    target.key.arch = device.value().arch.value_or("");
    target.key.features = device.value().features;
  } else if (word.find(':') != std::string_view::npos && !word.starts_with("kernel:")) {
    FATCTX_TRY(store(parse_target(word), target.key));
  } else {
    return Error{device.error().code,
                 fmt::format("--target {}: {}; or write BACKEND:ARCH", word, device.error().message)};
  }
  target.label = word;
  std::replace_if(
      target.label.begin(), target.label.end(), [](char c) { return c == ':' || c == '/'; }, '.');
  return target;
}

Result<CommandTemplate> CommandTemplate::parse(std::string_view text) {
  FATCTX_ASSIGN(std::vector<std::string> parts, split_command(text));
  bool has_output = false;
  for (const std::string& part : parts) {
    FATCTX_TRY(with_places_filled(part, [&](const std::string& place) -> Result<std::string> {
      has_output = has_output || place == "output";
      if (std::find(kPlaces.begin(), kPlaces.end(), place) != kPlaces.end()) return std::string();
      const auto near = nearest(place, kPlaces);
      return invalid_argument(fmt::format("--command: {{{}}} is not known; {}known: {{{}}}", place,
                                          near ? fmt::format("did you mean {{{}}}? ", *near) : std::string(),
                                          fmt::join(kPlaces, "}, {")));
    }));
  }
  if (!has_output) return invalid_argument("--command: {output} is missing, the file that the compiler is to write");
  return CommandTemplate(std::move(parts));
}

Result<std::vector<std::string>> CommandTemplate::fill(const CommandTarget& target, const Values& values) const {
  const PackKey& key = target.key;
  const auto number = [](std::uint32_t value) { return value == 0 ? std::string() : std::to_string(value); };
  const auto value_of = [&](const std::string& place) -> Result<std::string> {
    if (place == "features") return fmt::format("{}", fmt::join(key.features, ","));  // no features is a fact too
    std::string value;
    if (place == "model") value = values.model;
    if (place == "output") value = values.output;
    if (place == "log_level") value = values.log_level;
    if (place == "backend") value = key.backend;
    if (place == "arch") value = key.arch;
    if (place == "part") value = key.part;
    if (place == "soc") value = number(key.qnn_soc);
    if (place == "vtcm") value = number(key.vtcm_mb);
    if (place == "target") value = target.label;
    if (place == "config") value = target.config_file;
    if (!value.empty()) return value;
    return invalid_argument(fmt::format("--command has {{{}}}, and target {} says none", place, target.label));
  };
  std::vector<std::string> arguments;
  for (const std::string& part : parts_) {
    FATCTX_ASSIGN(std::string argument, with_places_filled(part, value_of));
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

Result<CommandCompile> CommandCompile::create(CommandRequest request, const CompileCache& cache, CompileInput input) {
  CommandCompile compile(std::move(request), cache, std::move(input));
  std::error_code error;
  compile.input_.path = fs::absolute(compile.input_.path, error).string();
  std::string program;
  for (CommandTarget& target : compile.request_.targets) {
    if (!target.config_file.empty()) target.config_file = fs::absolute(target.config_file, error).string();
    // Finds a place that a target cannot fill before the first target is compiled.
    FATCTX_ASSIGN(
        const std::vector<std::string> arguments,
        compile.request_.command.fill(target, {compile.input_.path, kOutputFile, compile.request_.log_level}));
    program = arguments.front();
  }
  const auto found = find_program(program);
  if (!found) {
    return Error{
        ErrorCode::kBackendLibraryMissing,
        fmt::format("--command: there is no program {}{}", program,
                    fs::path(program).has_parent_path() ? "" : " in PATH; give its whole path, or install it")};
  }
  compile.program_ = *found;
  std::set<std::string> model;
  add_files(compile.input_.path, model);
  if (compile.input_.onnx != nullptr) model.merge(as_set(compile.input_.files()));
  std::set<std::string> files = {compile.program_};
  // Scripts and configurations are inputs too: every argument that names a file, also after "--in=", affects
  // the output. A folder among them is more often an installation than an input, and may hold gigabytes.
  for (const CommandTarget& target : compile.request_.targets) {
    add_file(target.config_file, files);
    FATCTX_ASSIGN(const std::vector<std::string> arguments, compile.arguments_for(target, kOutputFile));
    for (const std::string& argument : arguments) {
      if (argument == kOutputFile) continue;
      add_file(argument, files);
      add_file(argument.substr(argument.find('=') + 1), files);
    }
  }
  for (const std::string& file : model) files.erase(file);
  FATCTX_TRY(store(hash_files({model.begin(), model.end()}), compile.model_));
  FATCTX_TRY(store(hash_files({files.begin(), files.end()}), compile.files_));
  return compile;
}

std::string CommandCompile::name() const { return fs::path(program_).filename().string(); }

Status CommandCompile::begin(std::string& log) {
  log.clear();
  return Done{};
}

Result<std::vector<std::string>> CommandCompile::arguments_for(const CommandTarget& target,
                                                               const std::string& output) const {
  FATCTX_ASSIGN(std::vector<std::string> arguments,
                request_.command.fill(target, {input_.path, output, request_.log_level}));
  arguments.front() = program_;
  return arguments;
}

Result<StepInputs> CommandCompile::inputs_for(const CommandTarget& target) const {
  StepInputs inputs{.words = {"command"}, .files = model_};
  for (const HashedFile& file : files_) inputs.words.insert(inputs.words.end(), {file.path, file.hash});
  for (const HashedFile& file : model_) inputs.words.push_back(file.path);
  FATCTX_ASSIGN(const std::vector<std::string> arguments, arguments_for(target, kOutputFile));
  inputs.words.insert(inputs.words.end(), arguments.begin(), arguments.end());
  return inputs;
}

// Returns what keeps the names of entries apart that come from DLCs of several targets and units.
std::string CommandCompile::dlc_prefix(const CommandTarget& target) const {
  return (input_.unit.empty() ? "" : input_.unit + ".") + target.label + ".";
}

Error CommandCompile::wrong_form(const std::string& form) const {
  return Error{ErrorCode::kSerialiseFailed,
               fmt::format("{} wrote a file that begins like {}, and --format says {}", name(), form, request_.format)};
}

// Describes the output. A DLC names its SoCs; other payloads are opaque, and only their first bytes are
// examined.
Result<std::vector<ManifestRecord>> CommandCompile::read_back(const CommandTarget& target,
                                                              const std::string& file) const {
  const std::string form = format_of(file);
  if (form == "dlc") {
    FATCTX_ASSIGN(const DlcInfo info, list_dlc(file));
    for (const DlcSoc& soc : info.socs) {
      const PackKey& key = target.key;
      if (key.qnn_soc != 0 && soc.qnn_soc != key.qnn_soc) {
        return wrong_target(target, fmt::format("a context binary for SoC {}", soc.qnn_soc));
      }
      if (!key.arch.empty() && !soc.arch.empty() && soc.arch != key.arch) {
        return wrong_target(target, fmt::format("a context binary for {}", soc.arch));
      }
      if (key.vtcm_mb != 0 && soc.vtcm_mb != 0 && soc.vtcm_mb != key.vtcm_mb) {
        return wrong_target(target, fmt::format("a context binary with {} MB of VTCM", soc.vtcm_mb));
      }
    }
    if (info.socs.empty()) return wrong_target(target, "a DLC without a context binary");
    if (!request_.format.empty() && request_.format != form) return wrong_form(form);
    FATCTX_ASSIGN(
        ImportedRecords imported,
        manifest_records_from_dlc(file, {.group = input_.group, .unit = input_.unit, .prefix = dlc_prefix(target)}));
    return std::move(imported.records);
  }
  if (!request_.format.empty() && !form.empty() && form != request_.format) return wrong_form(form);
  ManifestRecord binary;
  binary.where = "target " + target.label;
  binary.record.type = RecordType::kContextBinary;
  binary.record.name = input_.name + "." + target.label;
  binary.record.key = target.key;
  binary.record.key.group = input_.group;
  binary.record.key.unit = input_.unit;
  binary.record.source.path = file;
  binary.record.description.format = request_.format.empty() ? form : request_.format;
  binary.record.description.producer = name();
  binary.record.description.options = target.options;
  if (input_.onnx != nullptr) binary.graphs_from = input_.path;
  return std::vector<ManifestRecord>{std::move(binary)};
}

Result<CompiledTarget> CommandCompile::compile(std::size_t index, std::string& log) const {
  const CommandTarget& target = request_.targets[index];
  FATCTX_ASSIGN(const StepInputs inputs, inputs_for(target));
  CompiledTarget compiled;
  auto folder = cache_->find(inputs);
  compiled.cached = folder.has_value();
  if (!folder) {
    FATCTX_ASSIGN(WorkFolder work, cache_->begin());
    const std::string output = work.file(kOutputFile);
    FATCTX_ASSIGN(std::vector<std::string> arguments, arguments_for(target, output));
    FATCTX_TRY(store(run_tool(name(), std::move(arguments), "", log), compiled.seconds));
    FATCTX_TRY(check_output(output, name()));
    FATCTX_TRY(read_back(target, output));  // bad output is not cached
    FATCTX_TRY(store(cache_->publish(inputs, std::move(work), {kOutputFile}), folder));
  }
  const std::string file = (fs::path(*folder) / kOutputFile).string();
  std::error_code error;
  compiled.size_bytes = fs::file_size(file, error);
  FATCTX_TRY(store(read_back(target, file), compiled.records));
  return compiled;
}

Result<std::vector<ManifestRecord>> CommandCompile::shared_records() const { return std::vector<ManifestRecord>{}; }

}  // namespace fatctx::tools
