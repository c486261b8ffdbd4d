#include "runtime/ort/ep/context_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "fatctx/version.h"

namespace fatctx::ort {
namespace {

constexpr std::string_view kDomain = "com.microsoft";
constexpr const char* kGroupAttribute = "fatctx_group";

// Returns null if the node does not have the attribute.
Ort::ConstOpAttr attribute_of(const Ort::ConstNode& node, const char* name) {
  Ort::ConstOpAttr attribute{nullptr};
  const Ort::Status absent = node.GetAttributeByName(name, attribute);
  return absent.IsOK() ? attribute : Ort::ConstOpAttr{nullptr};
}

Error wrong_attribute(const Ort::ConstNode& node, const char* name, std::string_view what) {
  return {ErrorCode::kMalformed, fmt::format("EPContext node \"{}\": attribute {} {}", node.GetName(), name, what)};
}

Status read_text(const Ort::ConstNode& node, const char* name, std::string& text) {
  const Ort::ConstOpAttr attribute = attribute_of(node, name);
  if (attribute == nullptr) return Done{};
  if (attribute.GetType() != ORT_OP_ATTR_STRING) return wrong_attribute(node, name, "is not a string");
  // Uses the C function, because the value may be a whole container, which contains zero bytes.
  std::size_t size = 0;
  Ort::Status too_small(Ort::GetApi().ReadOpAttr(attribute, ORT_OP_ATTR_STRING, nullptr, 0, &size));
  text.resize(size);
  if (size != 0) Ort::ThrowOnError(Ort::GetApi().ReadOpAttr(attribute, ORT_OP_ATTR_STRING, text.data(), size, &size));
  return Done{};
}

Status read_switch(const Ort::ConstNode& node, const char* name, bool& value) {
  const Ort::ConstOpAttr attribute = attribute_of(node, name);
  if (attribute == nullptr) return Done{};
  std::int64_t number = 0;
  if (attribute.GetType() != ORT_OP_ATTR_INT || !attribute.GetValue(number).IsOK() || (number != 0 && number != 1)) {
    return wrong_attribute(node, name, "is neither 0 nor 1");
  }
  value = number == 1;
  return Done{};
}

bool equal_without_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](char x, char y) { return lower(x) == lower(y); });
}

Ort::OpAttr text_attribute(const char* name, std::string_view text) {
  return {name, text.data(), static_cast<int>(text.size()), ORT_OP_ATTR_STRING};
}

Ort::OpAttr switch_attribute(const char* name, bool value) {
  const std::int64_t number = value ? 1 : 0;
  return {name, &number, 1, ORT_OP_ATTR_INT};
}

}  // namespace

bool is_context_node(const Ort::ConstNode& node) {
  return node.GetOperatorType() == kContextOperator && node.GetDomain() == kDomain;
}

bool is_ours(const Ort::ConstNode& node) {
  if (!is_context_node(node)) return false;
  std::string source;
  return read_text(node, "source", source).ok() && equal_without_case(source, kNodeSource);
}

Result<ContextNode> read_context_node(const Ort::ConstNode& node) {
  ContextNode read;
  read.name = node.GetName();
  FATCTX_TRY(read_switch(node, "main_context", read.main_context));
  FATCTX_TRY(read_switch(node, "embed_mode", read.embedded));
  FATCTX_TRY(read_text(node, kCacheAttribute, read.cache));
  FATCTX_TRY(read_text(node, "partition_name", read.partition));
  FATCTX_TRY(read_text(node, kGroupAttribute, read.group));
  FATCTX_TRY(read_text(node, kDigestAttribute, read.digest));
  return read;
}

Result<Ort::Node> make_context_node(const Ort::ConstNode& fused, const ContextNode& node) {
  if (node.cache.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("the container has {} bytes, and a model can embed 2 GiB at most; leave out "
                             "ep.context_embed_mode=1",
                             node.cache.size())};
  }
  std::vector<Ort::OpAttr> attributes;
  attributes.push_back(switch_attribute("main_context", node.main_context));
  attributes.push_back(switch_attribute("embed_mode", node.embedded));
  if (node.main_context) attributes.push_back(text_attribute(kCacheAttribute, node.cache));
  attributes.push_back(text_attribute("partition_name", node.partition));
  attributes.push_back(text_attribute("source", kNodeSource));
  attributes.push_back(text_attribute("ep_sdk_version", FATCTX_VERSION));
  if (!node.group.empty()) attributes.push_back(text_attribute(kGroupAttribute, node.group));
  if (!node.digest.empty()) attributes.push_back(text_attribute(kDigestAttribute, node.digest));
  const auto names = [](const std::vector<Ort::ConstValueInfo>& values) {
    std::vector<std::string> found;
    found.reserve(values.size());
    for (const auto& value : values) found.push_back(value == nullptr ? std::string() : value.GetName());
    return found;
  };
  return Ort::Node(std::string(kContextOperator), std::string(kDomain), fused.GetName(), names(fused.GetInputs()),
                   names(fused.GetOutputs()), attributes);
}

}  // namespace fatctx::ort
