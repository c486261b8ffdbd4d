#include "runtime/ort/attach/attach_blobs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ort/attach/element_types.h"

namespace fatctx::ort {

namespace {

constexpr std::string_view kLocation = "onnx.location";  // the option that `fatctx pack` stores for external data
constexpr std::string_view kOwner = "onnx";
constexpr std::string_view kTypePrefix = "tensor.";  // "tensor.NAME.type": a type that a tensor table cannot express
constexpr std::string_view kTypeSuffix = ".type";

Error in_file(const Container& container, ErrorCode code, std::string_view message) {
  return Error{code, fmt::format("{}: {}", container.path(), message)};
}

// Normalises a path: "./w.bin" and "w.bin" are one file, for ONNX Runtime too.
std::string normal(const std::string& location) {
  return std::filesystem::path(location).lexically_normal().generic_string();
}

std::string quoted_list(const std::vector<std::string>& names) {
  return names.empty() ? std::string("none") : fmt::format("\"{}\"", fmt::join(names, "\", \""));
}

std::string locations_of(const std::vector<ChosenBlob>& blobs) {
  std::vector<std::string> names;
  names.reserve(blobs.size());
  for (const ChosenBlob& blob : blobs) names.push_back(blob.location);
  return quoted_list(names);
}

void add_options(const ContainerDescription& description, ChosenBlob& blob) {
  const RecordDescription* described = description.find(blob.record.id);
  if (described == nullptr) return;
  for (const DescribedOption& option : described->options) {
    if (option.owner != kOwner) continue;
    if (option.key == kLocation && blob.location.empty()) blob.location = option.value;
    if (!option.key.starts_with(kTypePrefix) || !option.key.ends_with(kTypeSuffix)) continue;
    blob.untyped.push_back(
        option.key.substr(kTypePrefix.size(), option.key.size() - kTypePrefix.size() - kTypeSuffix.size()));
  }
}

// Returns all weight blobs that have a location.
Result<std::vector<ChosenBlob>> located_blobs(const Container& container, const ContainerDescription& description) {
  std::vector<ChosenBlob> blobs;
  std::vector<std::string> others;
  FATCTX_ASSIGN(const auto records, container.records());
  for (const RecordInfo& record : records) {
    if (record.type != RecordType::kWeightBlob) continue;
    ChosenBlob blob{.record = record, .location = {}, .table = {}, .untyped = {}};
    add_options(description, blob);
    if (blob.location.empty()) {
      others.emplace_back(record.name);
    } else {
      blobs.push_back(std::move(blob));
    }
  }
  if (!blobs.empty()) return blobs;
  return in_file(container, ErrorCode::kNotFound,
                 fmt::format("no weight blob has the option \"{}\", which says what a model calls it; pack with "
                             "--weights MODEL.onnx, or name record and location; weight blobs there are: {}",
                             kLocation, quoted_list(others)));
}

Result<std::vector<ChosenBlob>> named_blobs(const Container& container, const ContainerDescription& description,
                                            const std::vector<AttachFile>& files, AttachRoute route) {
  std::vector<ChosenBlob> blobs;
  for (const AttachFile& file : files) {
    FATCTX_ASSIGN(const RecordInfo record, container.find(file.record));
    if (record.type != RecordType::kWeightBlob) {
      return in_file(
          container, ErrorCode::kInvalidArgument,
          fmt::format("record \"{}\" is a {}, not a weight_blob", record.name, record_type_name(record.type)));
    }
    ChosenBlob blob{.record = record, .location = file.location, .table = {}, .untyped = {}};
    add_options(description, blob);
    if (blob.location.empty() && route == AttachRoute::kFileBuffers) {
      return in_file(container, ErrorCode::kInvalidArgument,
                     fmt::format("record \"{}\" has no option \"{}\"; say in `location` which external data file of "
                                 "the model it stands for",
                                 record.name, kLocation));
    }
    blobs.push_back(std::move(blob));
  }
  return blobs;
}

Status check_locations(const Container& container, const std::vector<ChosenBlob>& blobs) {
  std::map<std::string, std::string_view> records;
  for (const ChosenBlob& blob : blobs) {
    if (blob.location.empty()) continue;
    const auto [first, inserted] = records.emplace(normal(blob.location), blob.record.name);
    if (inserted) continue;
    return in_file(
        container, ErrorCode::kInvalidArgument,
        fmt::format("records \"{}\" and \"{}\" both stand for the file \"{}\"; name the one that is meant in "
                    "`files`",
                    first->second, blob.record.name, blob.location));
  }
  return Done{};
}

std::string place_text(std::string_view type, std::span<const std::uint64_t> shape, std::uint64_t offset) {
  return fmt::format("{} [{}] at byte {}", type, fmt::join(shape, ", "), offset);
}

// Checks that the blob contains the tensor as the model declares it.
Status compare_tensor(const ModelTensor& tensor, const ChosenBlob& blob) {
  const std::uint64_t to_the_end = blob.record.size_bytes - std::min(tensor.offset, blob.record.size_bytes);
  if (!within({tensor.offset, tensor.size_bytes.value_or(to_the_end)}, blob.record.size_bytes)) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("the model has tensor \"{}\", {} bytes, at byte {} of \"{}\", but record \"{}\" has {} bytes; "
                    "it must be packed from the external data of this model",
                    tensor.name, tensor.size_bytes.value_or(to_the_end), tensor.offset, tensor.location,
                    blob.record.name, blob.record.size_bytes)};
  }
  if (!blob.table) return Done{};
  const auto view = blob.table->view(tensor.name);
  const std::optional<DType> dtype = dtype_of(tensor.type);
  bool same = view.ok() && view.value().offset_in_blob() == tensor.offset &&
              tensor.size_bytes.value_or(view.value().bytes().size()) == view.value().bytes().size();
  if (same && dtype) {
    same = view.value().dtype() == *dtype && std::ranges::equal(view.value().shape(), tensor.shape);
  }
  if (same) return Done{};
  const std::string wanted = place_text(dtype ? dtype_name(*dtype) : "a tensor", tensor.shape, tensor.offset);
  const std::string found =
      view.ok() ? place_text(dtype_name(view.value().dtype()), view.value().shape(), view.value().offset_in_blob())
                : std::string("no such tensor");
  // Names are unique only within a graph. A body may use one that means another tensor elsewhere.
  const std::string_view remedy =
      tensor.inner ? "; if two bodies use one name, `fatctx export --attached` writes a model with names of their own"
                   : "";
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("the model has tensor \"{}\" as {} of \"{}\", but record \"{}\" has {}; it must be packed "
                           "from the external data of this model{}",
                           tensor.name, wanted, tensor.location, blob.record.name, found, remedy)};
}

}  // namespace

Result<std::vector<ChosenBlob>> choose_blobs(const Container& container, const std::vector<AttachFile>& files,
                                             AttachRoute route) {
  FATCTX_ASSIGN(const ContainerDescription description, container.describe());
  auto blobs =
      files.empty() ? located_blobs(container, description) : named_blobs(container, description, files, route);
  if (!blobs.ok()) return blobs;
  FATCTX_TRY(check_locations(container, blobs.value()));
  for (ChosenBlob& blob : blobs.value()) {
    auto table = container.tensors(blob.record.id);
    if (table.ok()) {
      blob.table = std::move(table).value();
    } else if (table.error().code != ErrorCode::kNotFound) {
      return std::move(table).error();
    }
  }
  return blobs;
}

Status compare_with_model(const Container& container, const std::vector<ChosenBlob>& blobs,
                          const std::vector<ModelTensor>& tensors, AttachRoute route) {
  if (tensors.empty() && route == AttachRoute::kFileBuffers) {
    return in_file(container, ErrorCode::kInvalidArgument,
                   "the model has no external data, so sessions would take nothing from the container; `fatctx export "
                   "--attached` writes a model whose weights are there");
  }
  std::map<std::string, const ChosenBlob*> by_location;
  for (const ChosenBlob& blob : blobs) {
    if (!blob.location.empty()) by_location.emplace(normal(blob.location), &blob);
  }
  for (const ModelTensor& tensor : tensors) {
    const auto blob = by_location.find(normal(tensor.location));
    if (blob == by_location.end()) {
      return in_file(
          container, ErrorCode::kNotFound,
          fmt::format("the model has tensor \"{}\" in \"{}\", and no weight blob stands for that file; files "
                      "there are: {}",
                      tensor.name, tensor.location, locations_of(blobs)));
    }
    if (route == AttachRoute::kFileBuffers ? tensor.inner : !tensor.by_name) {
      return in_file(
          container, ErrorCode::kUnsupported,
          fmt::format(
              "tensor \"{}\" is in the body of a node, in a function or in an attribute, and ONNX Runtime reads "
              "it from the file \"{}\" whatever is attached; `fatctx export --attached` writes a model whose "
              "weights are initializers of its main graph",
              tensor.name, tensor.location));
    }
    if (const auto same = compare_tensor(tensor, *blob->second); !same.ok()) {
      return in_context(same.error(), container.path());
    }
  }
  return Done{};
}

std::uint64_t alignment_of(DType dtype) noexcept { return std::max<std::uint64_t>(dtype_bits(dtype) / 8, 1); }

}  // namespace fatctx::ort
