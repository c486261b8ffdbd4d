#include "tools/onnx/onnx_weights.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "fatctx/base/bytes.h"
#include "fatctx/import_tensors.h"
#include "tools/onnx/model_folder.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

// Returns the path of the bytes, if that is inside the model's folder. A model must not make a user pack an
// unrelated file.
Result<std::string> path_inside(const std::string& model_path, const std::string& location) {
  const fs::path relative(location);
  if (!leads_down(relative) || location.find('\0') != std::string::npos) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: external data at \"{}\"; allowed: a file below the model's "
                                                    "folder, without \"..\"",
                                                    model_path, location)};
  }
  const fs::path path = parent_of(model_path) / relative;
  std::error_code problem;
  const fs::path real = fs::canonical(path, problem);
  if (problem) return Error{ErrorCode::kNotFound, fmt::format("{}: not there; {} needs it", path.string(), model_path)};
  const fs::path folder = fs::canonical(parent_of(model_path), problem);
  if (problem || path_below(folder, real).empty()) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("{}: external data at \"{}\" is a link out of the model's folder", model_path, location)};
  }
  if (!fs::is_regular_file(real, problem)) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path.string())};
  }
  return path.string();
}

Result<PackTensor> tensor_of(const OnnxInitializer& initializer, std::uint64_t file_size,
                             std::vector<DescribedOption>& options) {
  const OnnxExternal& external = *initializer.external;
  const auto known = size_bytes(initializer);
  const std::string shape = fmt::format("{} [{}]", initializer.type, fmt::join(initializer.shape, ", "));
  if (!known && !external.size) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("initializer \"{}\", {}, does not say how many bytes it has", initializer.name, shape)};
  }
  const std::uint64_t size = external.size.value_or(known.value_or(0));
  if (known && size != *known) {
    return Error{ErrorCode::kMalformed, fmt::format("initializer \"{}\" has {} bytes of external data, but {} takes {}",
                                                    initializer.name, size, shape, *known)};
  }
  if (!within({external.offset, size}, file_size)) {
    return Error{ErrorCode::kTruncated,
                 fmt::format("initializer \"{}\", {} bytes at {}, leaves the {} bytes of \"{}\"", initializer.name,
                             size, external.offset, file_size, external.location)};
  }
  PackTensor tensor;
  tensor.name = initializer.name;
  tensor.offset_in_blob = external.offset;
  tensor.size_bytes = size;
  if (initializer.dtype && initializer.shape.size() <= kMaxTensorRank) {
    tensor.dtype = *initializer.dtype;
    tensor.shape = initializer.shape;
  } else {
    options.push_back({.key = fmt::format("tensor.{}.type", initializer.name), .value = shape, .owner = "onnx"});
    tensor.shape = {size};
  }
  return tensor;
}

std::string shape_text(const PackTensor& tensor) { return fmt::format("[{}]", fmt::join(tensor.shape, ", ")); }

}  // namespace

Result<OnnxWeights> external_weights(const OnnxModel& model, const std::string& model_path,
                                     const std::string& location) {
  OnnxWeights weights;
  FATCTX_ASSIGN(weights.path, path_inside(model_path, location));
  std::error_code problem;
  const std::uint64_t file_size = fs::file_size(weights.path, problem);
  if (problem) return Error{ErrorCode::kIo, fmt::format("{}: {}", weights.path, problem.message())};
  weights.options.push_back({.key = std::string(kOnnxLocation), .value = location, .owner = "onnx"});
  std::set<std::string_view> names;
  for (const std::vector<OnnxInitializer>* list : {&model.initializers, &model.inner}) {
    for (const OnnxInitializer& initializer : *list) {
      if (!initializer.external || initializer.external->location != location) continue;
      // Names are unique only within a graph; a table has room for one of each.
      const bool inner = list == &model.inner;
      if (inner && (initializer.name.empty() || names.contains(initializer.name))) continue;
      auto tensor = tensor_of(initializer, file_size, weights.options);
      if (!tensor.ok()) return in_context(std::move(tensor).error(), model_path);
      names.insert(initializer.name);
      weights.tensors.push_back(std::move(tensor).value());
    }
  }
  mark_aliases(weights.tensors);
  return weights;
}

Status add_weights(OnnxWeights& weights, OnnxWeights more, const std::string& model_path) {
  if (weights.path.empty()) weights.path = more.path;
  std::map<std::string, const PackTensor*> known;
  for (const PackTensor& tensor : weights.tensors) known.emplace(tensor.name, &tensor);
  std::vector<PackTensor> added;
  for (PackTensor& tensor : more.tensors) {
    const auto found = known.find(tensor.name);
    if (found == known.end()) {
      added.push_back(std::move(tensor));
      continue;
    }
    const PackTensor& before = *found->second;
    const bool same = before.offset_in_blob == tensor.offset_in_blob && before.size_bytes == tensor.size_bytes &&
                      before.dtype == tensor.dtype && before.shape == tensor.shape;
    if (same) continue;
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: initializer \"{}\" is {} {} at byte {} of its file, but another model of the blob has "
                    "{} {} at byte {}; give each model a blob with a name of its own",
                    model_path, tensor.name, dtype_name(tensor.dtype), shape_text(tensor), tensor.offset_in_blob,
                    dtype_name(before.dtype), shape_text(before), before.offset_in_blob)};
  }
  std::move(added.begin(), added.end(), std::back_inserter(weights.tensors));
  for (DescribedOption& option : more.options) {
    const bool there = std::any_of(weights.options.begin(), weights.options.end(), [&](const DescribedOption& other) {
      return other.key == option.key && other.owner == option.owner;
    });
    if (!there) weights.options.push_back(std::move(option));
  }
  mark_aliases(weights.tensors);
  return Done{};
}

Result<std::string> location_of(const OnnxModel& model, const std::string& model_path, const std::string& path) {
  for (const std::string& location : model.external_files) {
    std::error_code not_there;
    if (fs::equivalent(parent_of(model_path) / location, path, not_there)) return location;
  }
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("{} is not external data of {}; that has {}", path, model_path,
                           model.external_files.empty() ? std::string("none")
                                                        : fmt::format("{}", fmt::join(model.external_files, ", ")))};
}

}  // namespace fatctx::tools
