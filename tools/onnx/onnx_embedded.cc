#include "tools/onnx/onnx_embedded.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/base/checked.h"
#include "tools/onnx/onnx_weights.h"

namespace fatctx::tools {

namespace {

constexpr std::uint64_t kPage = 4096;

// A tensor of a page or more begins on a page. Equal tensors of two models are then equal pages, which are
// stored once and mapped in both. A smaller one shares pages with its neighbours, aligned for vector
// instructions.
unsigned alignment_log2(std::uint64_t size) { return size >= kPage ? 12 : 6; }

// Returns the error for a model without weights that can be taken. Tells whether others exist.
Error no_weights(const OnnxModel& model, const std::string& model_path, std::uint64_t min_size) {
  const auto smaller = read_embedded(model_path, 1);
  std::uint64_t largest = 0;
  if (smaller.ok()) {
    for (const OnnxEmbedded& one : smaller.value()) largest = std::max<std::uint64_t>(largest, one.bytes.size());
  }
  std::string text =
      fmt::format("{}: no initializer or Constant node has {} bytes or more inside of the model", model_path, min_size);
  if (largest != 0) {
    text += fmt::format("; the largest has {} bytes, and embedded=BYTES takes smaller ones", largest);
  } else if (!model.external_files.empty()) {
    text += "; its weights are external data, which --weights takes without \"embedded\"";
  } else {
    text += "; it has no others that could be taken";
  }
  return {ErrorCode::kInvalidArgument, std::move(text)};
}

}  // namespace

std::string embedded_location(const std::string& model_path) {
  return std::filesystem::path(model_path).filename().string() + ".data";
}

Result<EmbeddedWeights> embedded_weights(const OnnxModel& model, const std::string& model_path,
                                         std::uint64_t min_size) {
  const std::string location = embedded_location(model_path);
  if (std::ranges::find(model.external_files, location) != model.external_files.end()) {
    return Error{ErrorCode::kExists,
                 fmt::format("{}: the model has external data in \"{}\" already, which is what its embedded weights "
                             "would be called; rename the model",
                             model_path, location)};
  }
  FATCTX_ASSIGN(const std::vector<OnnxEmbedded> embedded, read_embedded(model_path, min_size));
  if (embedded.empty()) {
    return no_weights(model, model_path, min_size);
  }
  EmbeddedWeights weights;
  weights.options.push_back({.key = std::string(kOnnxLocation), .value = location, .owner = "onnx"});
  weights.options.push_back({.key = std::string(kOnnxEmbedded), .value = fmt::format("{}", min_size), .owner = "onnx"});
  for (const OnnxEmbedded& one : embedded) {
    const OnnxInitializer& initializer = one.initializer;
    // Models are below 2 GiB, and so are their initializers together; each adds less than a page.
    const std::uint64_t offset = *checked_align_up(weights.bytes.size(), alignment_log2(one.bytes.size()));
    weights.bytes.resize(static_cast<std::size_t>(offset));
    weights.bytes.insert(weights.bytes.end(), one.bytes.begin(), one.bytes.end());
    PackTensor tensor;
    tensor.name = initializer.name;
    tensor.offset_in_blob = offset;
    tensor.size_bytes = one.bytes.size();
    if (initializer.dtype && initializer.shape.size() <= kMaxTensorRank) {
      tensor.dtype = *initializer.dtype;
      tensor.shape = initializer.shape;
    } else {
      weights.options.push_back({.key = fmt::format("tensor.{}.type", initializer.name),
                                 .value = fmt::format("{} [{}]", initializer.type, fmt::join(initializer.shape, ", ")),
                                 .owner = "onnx"});
      tensor.shape = {tensor.size_bytes};
    }
    weights.tensors.push_back(std::move(tensor));
  }
  return weights;
}

Result<std::map<std::string, OnnxExternal>> find_embedded(const Container& container, const RecordInfo& blob,
                                                          const std::string& model_path, const std::string& location,
                                                          const std::string& min_size) {
  std::uint64_t smallest = 1;
  std::from_chars(min_size.data(), min_size.data() + min_size.size(), smallest);
  FATCTX_ASSIGN(const std::vector<OnnxEmbedded> embedded, read_embedded(model_path, smallest));
  FATCTX_ASSIGN(const TensorTable table, container.tensors(blob.id));
  std::map<std::string, OnnxExternal> found;
  for (const OnnxEmbedded& one : embedded) {
    const auto view = table.view(one.initializer.name);
    if (!view.ok()) continue;
    if (!std::ranges::equal(view.value().bytes(), one.bytes)) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("initializer \"{}\" has other bytes in record \"{}\" than inside of {}; the record must "
                               "be packed from this model",
                               one.initializer.name, blob.name, model_path)};
    }
    found.emplace(one.initializer.name, OnnxExternal{.location = location,
                                                     .offset = view.value().offset_in_blob(),
                                                     .size = view.value().bytes().size()});
  }
  if (!found.empty()) return found;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{}: record \"{}\" has none of the initializers inside of this model; the record must be "
                           "packed from it",
                           model_path, blob.name)};
}

}  // namespace fatctx::tools
