// Device descriptions as JSON, schema "fatctx.device/1".
//
// A field that is not known is left out. Reading refuses everything that writing never produces, above all unknown
// keys: a typo such as "vtcm" would otherwise silently describe another device.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "base/immortal.h"
#include "base/json.h"
#include "fatctx/select.h"
#include "runtime/device/device_json.h"
#include "runtime/device/device_text.h"

namespace fatctx {
namespace {

constexpr std::string_view kDeviceSchema = "fatctx.device/1";
constexpr std::size_t kMaxDescriptionBytes = 65536;

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
    if (item.text() == nullptr || !runtime::is_word(*item.text())) {
      return at_pointer(fmt::format("{}/{}", pointer, words.size()), shown(item),
                        fmt::format("allowed is {}", kAllowed));
    }
    words.push_back(*item.text());
  }
  runtime::sort_unique(words);
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

}  // namespace

namespace runtime {

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

}  // namespace fatctx
