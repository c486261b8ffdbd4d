#include "tools/pack/manifest.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace fatctx::tools {
namespace {

struct NamedSource {
  TensorSource source;
  std::string_view name;
  std::string_view ending;  // of file names of this form; empty: none
};
constexpr NamedSource kSources[] = {
    {TensorSource::kIrpa, "irpa", ".irpa"}, {TensorSource::kSafetensors, "safetensors", ".safetensors"},
    {TensorSource::kGguf, "gguf", ".gguf"}, {TensorSource::kOnnx, "onnx", ""},
    {TensorSource::kRanges, "ranges", ""},
};

}  // namespace

std::string_view tensor_source_name(TensorSource source) noexcept {
  const auto* row = std::find_if(std::begin(kSources), std::end(kSources),
                                 [source](const NamedSource& known) { return known.source == source; });
  return row->name;
}

std::optional<TensorSource> tensor_source_from_name(std::string_view name) noexcept {
  for (const NamedSource& row : kSources) {
    if (row.name == name) return row.source;
  }
  return std::nullopt;
}

std::vector<std::string> tensor_source_names() {
  std::vector<std::string> names;
  for (const NamedSource& row : kSources) names.emplace_back(row.name);
  return names;
}

std::optional<TensorSource> tensor_source_of_file(std::string_view path) {
  for (const NamedSource& row : kSources) {
    if (!row.ending.empty() && path.ends_with(row.ending)) return row.source;
  }
  return std::nullopt;
}

std::optional<Sharing> sharing_from_name(std::string_view word) noexcept {
  if (word == "pages") return Sharing::kPages;
  if (word == "bytes") return Sharing::kBytes;
  if (word == "off") return Sharing::kOff;
  return std::nullopt;
}

std::string_view sharing_name(Sharing sharing) noexcept {
  return sharing == Sharing::kPages ? "pages" : sharing == Sharing::kBytes ? "bytes" : "off";
}

Codec default_codec(RecordType type) { return type == RecordType::kSourceModel ? Codec::kLz4 : Codec::kNone; }

}  // namespace fatctx::tools
