// Device descriptions: as JSON (schema "fatctx.device/1"), as one line for people, and parsed from text.
//
// A field that is not known is left out. Reading refuses everything that writing never produces, above all unknown
// keys: a typo such as "vtcm" would otherwise silently describe another device.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "base/immortal.h"
#include "base/json.h"
#include "fatctx/select.h"
#include "runtime/device/arch.h"
#include "runtime/device/device_text.h"
#include "runtime/device/soc_identity.h"

namespace fatctx {
namespace {

constexpr std::string_view kDeviceSchema = "fatctx.device/1";
constexpr std::size_t kMaxDescriptionBytes = 65536;
constexpr std::string_view kWordCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-";

bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kWordCharacters) == std::string_view::npos;
}

void sort_unique(std::vector<std::string>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

Error at_pointer(std::string_view pointer, std::string_view found, std::string_view allowed) {
  return {ErrorCode::kInvalidArgument, fmt::format("device description: {}: found {}; {}", pointer, found, allowed)};
}

// Returns the value as written in the text, shortened so that an error fits on one line.
std::string shown(const Json& value) {
  constexpr std::size_t kMaxShown = 60;
  std::string text = json_line(value);
  if (text.size() > kMaxShown) text = text.substr(0, kMaxShown) + "...";
  return text;
}

Result<std::string> read_text(const Json& value, const std::string& pointer) {
  if (value.text() != nullptr && !value.text()->empty()) return *value.text();
  return at_pointer(pointer, shown(value), "allowed is a text that is not empty; leave the key out if it is unknown");
}

Result<std::uint32_t> read_number(const Json& value, const std::string& pointer) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  const std::uint64_t* number = value.number();
  if (number != nullptr && *number >= 1 && *number <= kMax) return static_cast<std::uint32_t>(*number);
  return at_pointer(pointer, shown(value),
                    fmt::format("allowed is an integer from 1 to {}; leave the key out if it is unknown", kMax));
}

Result<Version> read_version(const Json& value, const std::string& pointer) {
  FATCTX_ASSIGN(const std::string text, read_text(value, pointer));
  auto version = parse_version(text);
  if (!version.ok()) return in_context(std::move(version).error(), fmt::format("device description: {}", pointer));
  if (version.value().known()) return version;
  return at_pointer(pointer, shown(value), "allowed is a version above 0; leave the key out if it is unknown");
}

Result<std::vector<std::string>> read_words(const Json& value, const std::string& pointer) {
  constexpr std::string_view kAllowed = "a list of words of lower-case letters, digits, \".\", \"_\" and \"-\"";
  if (value.items() == nullptr) return at_pointer(pointer, shown(value), fmt::format("allowed is {}", kAllowed));
  std::vector<std::string> words;
  for (const Json& item : *value.items()) {
    if (item.text() == nullptr || !is_word(*item.text())) {
      return at_pointer(fmt::format("{}/{}", pointer, words.size()), shown(item),
                        fmt::format("allowed is {}", kAllowed));
    }
    words.push_back(*item.text());
  }
  sort_unique(words);
  return words;
}

// A key of the description: how to write it and how to read it.
struct Field {
  const char* key;
  std::function<Json(const Device&)> write;  // null means unknown: left out
  std::function<Status(const Json&, const std::string& pointer, Device&)> read;
};

template <typename T, typename Reader>
Field optional_field(const char* key, std::optional<T> Device::*member, Reader reader) {
  return {key,
          [member](const Device& device) -> Json {
            if constexpr (std::is_same_v<T, Version>) {
              if (device.*member) return to_text(*(device.*member));
              return nullptr;
            } else {
              return device.*member;
            }
          },
          [member, reader](const Json& value, const std::string& pointer, Device& device) -> Status {
            FATCTX_ASSIGN(device.*member, reader(value, pointer));
            return Done{};
          }};
}

constinit Immortal<std::vector<Field>> fields_of_a_device;

std::vector<Field> make_fields() {
  return {
      {"backend", [](const Device& device) -> Json { return device.backend; },
       [](const Json& value, const std::string& pointer, Device& device) -> Status {
         FATCTX_ASSIGN(device.backend, read_text(value, pointer));
         return Done{};
       }},
      optional_field("part", &Device::part, read_text),
      optional_field("qnn_soc", &Device::qnn_soc, read_number),
      optional_field("arch", &Device::arch, read_text),
      {"features", [](const Device& device) -> Json { return device.features; },
       [](const Json& value, const std::string& pointer, Device& device) -> Status {
         FATCTX_ASSIGN(device.features, read_words(value, pointer));
         return Done{};
       }},
      optional_field("vtcm_mb", &Device::vtcm_mb, read_number),
      optional_field("sdk", &Device::sdk, read_version),
      optional_field("api", &Device::api, read_version),
      optional_field("blob", &Device::blob, read_version),
  };
}

const std::vector<Field>& fields() {
  return fields_of_a_device.get([] { return std::make_unique<std::vector<Field>>(make_fields()); });
}

const Field* find_field(std::string_view key) {
  const auto& table = fields();
  const auto field = std::find_if(table.begin(), table.end(), [&](const Field& f) { return f.key == key; });
  return field == table.end() ? nullptr : &*field;
}

std::string allowed_keys() {
  std::string text = "allowed are schema";
  for (const Field& field : fields()) text += fmt::format(", {}", field.key);
  return text;
}

// Refuses duplicate keys: such a description would describe two devices.
Result<Json> read_document(std::string_view text) {
  if (text.size() > kMaxDescriptionBytes) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("device description: {} bytes; allowed are {}", text.size(), kMaxDescriptionBytes)};
  }
  constexpr int kMaxDepth = 8;
  JsonFault fault;
  if (auto document = read_json(text, kMaxDepth, fault)) return *std::move(document);
  switch (fault.kind) {
    case JsonFault::Kind::kKeyTwice:
      return at_pointer(fault.pointer, "the key a second time", "give every key once");
    case JsonFault::Kind::kTooDeep:
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("device description: values are nested more than {} deep", kMaxDepth)};
    case JsonFault::Kind::kNotJson:
      break;
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("device description: not JSON from byte {} on; see docs/selection.md for an example",
                           fault.position)};
}

Status check_schema(const Json& document) {
  if (document.members() == nullptr) return at_pointer("/", shown(document), "allowed is an object");
  const Json* schema = document.find("schema");
  if (schema == nullptr) return at_pointer("/schema", "nothing", fmt::format("allowed is \"{}\"", kDeviceSchema));
  if (*schema != Json(kDeviceSchema))
    return at_pointer("/schema", shown(*schema), fmt::format("allowed is \"{}\"", kDeviceSchema));
  if (document.find("backend") == nullptr)
    return at_pointer("/backend", "nothing", "name one, such as \"cpu\" or \"htp\"");
  return Done{};
}

void add_device_fields(Json& object, const Device& device) {
  for (const Field& field : fields()) {
    Json value = field.write(device);
    if (!value.is_null()) object.add(field.key, std::move(value));
  }
}

Error not_a_device(std::string_view text, std::string_view why) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("device \"{}\": {}; understood are x86-64, x86-64-v1 to x86-64-v4 and aarch64, with feature "
                      "words behind \"+\" (aarch64+dotprod+i8mm), Hexagon archs (v75), each also with its backend in "
                      "front (cpu:aarch64, htp:v75), SoCs: parts (SM8750), QNN numbers (69), kernel numbers "
                      "(kernel:639) and names as sold (Snapdragon 8 Elite), and devices of other backends, with or "
                      "without an arch (ort-cpu, openvino:NPU)",
                      text, why)};
}

bool is_known_cpu_arch(std::string_view arch) {
  constexpr std::uint32_t kHighestLevel = 4;
  const auto cpu = runtime::parse_cpu_arch(arch);
  return arch == "aarch64" || (cpu.isa == "x86-64" && cpu.level >= 1 && cpu.level <= kHighestLevel);
}

// Archs of other backends have capitals, too: "NPU".
bool is_free_arch(std::string_view text) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

// Parses the feature words behind an arch: "+dotprod+i8mm".
Result<std::vector<std::string>> features_in(std::string_view text, std::string_view rest) {
  std::vector<std::string> features;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find('+'));
    if (!is_word(word)) return not_a_device(text, fmt::format("\"{}\" is not a feature word", word));
    features.emplace_back(word);
    rest.remove_prefix(word.size());
  }
  sort_unique(features);
  return features;
}

// Parses "openvino:NPU", "openvino" or "ort-cpu". `rest` is the text behind the colon, or nothing.
Result<Device> device_of_other_backend(std::string_view text, std::string_view backend,
                                       std::optional<std::string_view> rest) {
  Device device = runtime::onnxruntime_device();
  if (backend != runtime::kOrtBackend) device = Device{.backend = std::string(backend)};
  if (!rest) return device;
  const std::string_view arch = rest->substr(0, rest->find('+'));
  if (!is_free_arch(arch)) return not_a_device(text, fmt::format("\"{}\" is not an arch", arch));
  if (backend == runtime::kOrtBackend && arch != runtime::kOrtArch) {
    return not_a_device(text, fmt::format("backend {} has only the arch {}", backend, runtime::kOrtArch));
  }
  device.arch = std::string(arch);
  FATCTX_ASSIGN(device.features, features_in(text, rest->substr(arch.size())));
  return device;
}

}  // namespace

namespace runtime {

std::string device_text(const Device& device) {
  const std::string features = fmt::format("{}", fmt::join(device.features, ","));
  const SelectionKey as_key = {.backend = device.backend,
                               .qnn_soc = device.qnn_soc.value_or(0),
                               .part = device.part ? std::string_view(*device.part) : std::string_view(),
                               .arch = device.arch ? std::string_view(*device.arch) : std::string_view(),
                               .features = features,
                               .vtcm_mb = device.vtcm_mb.value_or(0),
                               .sdk = device.sdk.value_or(Version{})};
  std::string text = target_text(as_key);
  if (!device.arch && !device.part && !device.qnn_soc) text += ", otherwise unknown";
  return text;
}

Json device_fields(const Device& device) {
  Json object = Json::object();
  add_device_fields(object, device);
  return object;
}

Json device_document(const Device& device) {
  Json document = {{"schema", kDeviceSchema}};
  add_device_fields(document, device);
  return document;
}

}  // namespace runtime

std::string device_to_json(const Device& device) { return write_json(runtime::device_document(device)); }

Result<Device> device_from_json(std::string_view json) {
  FATCTX_ASSIGN(const Json document, read_document(json));
  FATCTX_TRY(check_schema(document));
  Device device;
  for (const auto& [key, value] : *document.members()) {
    if (key == "schema") continue;
    const Field* const field = find_field(key);
    if (field == nullptr) return at_pointer(json_pointer_to(key), "an unknown key", allowed_keys());
    FATCTX_TRY(field->read(value, json_pointer_to(key), device));
  }
  return device;
}

Result<Device> device_from_text(std::string_view text) { return device_from_text(text, SocTable::built_in()); }

Result<Device> device_from_text(std::string_view text, const SocTable& table) {
  if (runtime::has_free_archs(text)) return device_of_other_backend(text, text, std::nullopt);
  std::string_view rest = text;
  std::string_view backend;
  const auto colon = rest.find(':');
  if (colon != std::string_view::npos && !rest.starts_with("kernel:")) {
    backend = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
    if (runtime::has_free_archs(backend)) return device_of_other_backend(text, backend, rest);
    if (backend != runtime::kCpuBackend && backend != runtime::kHtpBackend) {
      return not_a_device(text, fmt::format("backend \"{}\" is not known here", backend));
    }
  }
  const std::string_view arch = rest.substr(0, rest.find('+'));
  rest.remove_prefix(arch.size());

  Device device;
  if (runtime::hexagon_number(arch)) {
    if (backend == runtime::kCpuBackend) return not_a_device(text, "a Hexagon arch does not belong to backend cpu");
    if (!rest.empty()) return not_a_device(text, "a Hexagon arch has no feature words");
    device.backend = runtime::kHtpBackend;
  } else if (is_known_cpu_arch(arch)) {
    if (backend == runtime::kHtpBackend) return not_a_device(text, "a CPU arch does not belong to backend htp");
    device.backend = runtime::kCpuBackend;
  } else {
    auto soc = runtime::identity_from_text(table, arch);
    if (!soc.ok()) return not_a_device(text, fmt::format("\"{}\": {}", arch, soc.error().message));
    device = runtime::device_of(soc.value());
    if (!backend.empty() && backend != device.backend) {
      return not_a_device(text, fmt::format("{} belongs to backend {}", arch, device.backend));
    }
    if (!rest.empty()) return not_a_device(text, "a SoC has no feature words");
    return device;
  }
  device.arch = arch == "x86-64" ? "x86-64-v1" : std::string(arch);
  FATCTX_ASSIGN(device.features, features_in(text, rest));
  return device;
}

}  // namespace fatctx
