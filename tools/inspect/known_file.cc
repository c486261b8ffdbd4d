#include "tools/inspect/known_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/import_dlc.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_irpa.h"
#include "fatctx/import_safetensors.h"
#include "tools/cli/print.h"
#include "tools/inspect/dlc_text.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/ep_context.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

namespace {

struct KnownForm {
  std::string_view format;
  std::string_view noun;
  std::string_view remark;
};
constexpr KnownForm kForms[] = {
    {"dlc", "DLC", ""},
    {"iree-vmfb", "IREE module",
     "for one target, which the file does not name; fatctx pack --binary FILE@BACKEND:ARCH puts it into a container"},
    {"ovep-bin", "OpenVINO binary",
     "opaque; fatctx pack --ep-context MODEL puts it into a container with the model beside it"},
    {"irpa", "IREE parameter archive", "fatctx pack --weights FILE makes it a weight blob"},
    {"gguf", "GGUF file", "fatctx pack --weights FILE makes it a weight blob"},
    {"safetensors", "safetensors file", "fatctx pack --weights FILE makes it a weight blob"},
    {"onnx", "ONNX model",
     "fatctx pack keeps it as a source model, or takes the binary of its EPContext nodes with --ep-context FILE"},
};

// Returns the form by the first bytes, or by the name if they do not tell.
std::string form_of(const std::string& path) {
  std::string format = format_of(path);
  if (!format.empty()) return format;
  if (tensor_source_of_file(path) == TensorSource::kSafetensors) return "safetensors";
  return path.ends_with(".onnx") ? "onnx" : std::string();
}

Result<std::vector<PackTensor>> tensors_of(const std::string& path, std::string_view format) {
  if (format == "irpa") {
    FATCTX_ASSIGN(IrpaTensors found, tensors_from_irpa(path));
    return std::move(found.tensors);
  }
  FATCTX_ASSIGN(ImportedTensors found, format == "gguf" ? tensors_from_gguf(path) : tensors_from_safetensors(path));
  return std::move(found.tensors);
}

std::string tensors_text(const std::vector<PackTensor>& tensors) {
  using Align = Table::Align;
  Table table({{"name"}, {"dtype"}, {"shape"}, {"offset", Align::kRight}, {"bytes", Align::kRight}});
  for (const PackTensor& tensor : tensors) {
    table.add_row({tensor.name, std::string(dtype_name(tensor.dtype)),
                   fmt::format("[{}]", fmt::join(tensor.shape, ", ")), offset_text(tensor.offset_in_blob),
                   grouped(tensor.size_bytes)});
  }
  return "\n" + table.text();
}

Json tensors_json(const std::vector<PackTensor>& tensors) {
  Json list = Json::array();
  for (const PackTensor& tensor : tensors) {
    list.push_back({{"name", tensor.name},
                    {"dtype", dtype_name(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"offset", tensor.offset_in_blob},
                    {"size_bytes", tensor.size_bytes}});
  }
  return list;
}

// Returns the operators, and the graphs whose binary is a file beside the model.
std::string onnx_text(const OnnxModel& model) {
  Block block;
  block.add("graph", model.graph.name);
  block.add("operators", fmt::format("{}", fmt::join(model.operators, ", ")));
  for (const OnnxEpContext& node : model.ep_contexts) {
    block.add("EPContext", fmt::format("{}{}", node.partition_name.empty() ? node.name : node.partition_name,
                                       node.cache.empty() ? "" : ", compiled in " + node.cache));
  }
  return block.text();
}

void add_onnx(Json& facts, const OnnxModel& model) {
  Json contexts = Json::array();
  for (const OnnxEpContext& node : model.ep_contexts) {
    contexts.push_back({{"partition_name", node.partition_name}, {"binary", node.cache}, {"source", node.source}});
  }
  facts.add("graph", model.graph.name);
  facts.add("operators", std::vector<std::string>(model.operators.begin(), model.operators.end()));
  facts.add("ep_contexts", std::move(contexts));
}

}  // namespace

Result<std::optional<std::string>> known_file_text(const std::string& path, bool json) {
  std::optional<std::string> none;
  const std::string format = form_of(path);
  std::error_code unreadable;
  const std::uint64_t size = std::filesystem::file_size(path, unreadable);
  if (format.empty() || unreadable) return none;
  if (format == "dlc") {
    FATCTX_ASSIGN(const DlcInfo info, list_dlc(path));
    return std::optional(json ? to_json(path, info) + '\n' : dlc_text(path, info));
  }
  const auto* const form = std::find_if(std::begin(kForms), std::end(kForms),
                                        [&format](const KnownForm& row) { return row.format == format; });
  Json facts = {{"schema", "fatctx.file/1"}, {"file", path}, {"format", format}, {"size_bytes", size}};
  std::string text =
      escaped(fmt::format("{}: {}, {}; no container: {}", path, form->noun, size_text(size), form->remark)) + "\n";
  if (format == "onnx") {
    FATCTX_ASSIGN(const OnnxModel model, read_onnx(path));
    add_onnx(facts, model);
    text += onnx_text(model);
  } else if (format == "irpa" || format == "gguf" || format == "safetensors") {
    FATCTX_ASSIGN(const std::vector<PackTensor> tensors, tensors_of(path, format));
    facts.add("tensors", tensors_json(tensors));
    text += tensors_text(tensors);
  }
  return std::optional(json ? json_text(facts) : std::move(text));
}

Result<std::optional<std::string>> known_file_graphs(const std::string& path) {
  if (form_of(path) != "dlc") return std::optional<std::string>();
  FATCTX_ASSIGN(const DlcInfo info, list_dlc(path));
  return std::optional(dlc_graphs_text(info));
}

std::string known_forms() {
  std::string forms;
  for (const KnownForm& form : kForms) forms += fmt::format("{}{}", forms.empty() ? "" : ", ", form.noun);
  return forms;
}

}  // namespace fatctx::tools
