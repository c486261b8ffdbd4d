#include "container/import_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "container/tensor_table_format.h"
#include "mapping/file_identity.h"

namespace fatctx::container {

Status check_unique_names(const std::vector<ImportedTensor>& tensors, std::string_view file_kind) {
  std::vector<const ImportedTensor*> order;
  order.reserve(tensors.size());
  for (const ImportedTensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return a->name != b->name ? a->name < b->name : a->range.offset < b->range.offset;
  });
  const auto twice =
      std::adjacent_find(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->name == b->name; });
  if (twice == order.end()) return Done{};
  return Error{ErrorCode::kMalformed,
               fmt::format("{}: tensor \"{}\" is there twice, at byte {} and at byte {}", file_kind, (*twice)->name,
                           (*twice)->range.offset, twice[1]->range.offset),
               {.file_offset = twice[1]->range.offset}};
}

ImportedTensors as_pack_tensors(ImportedIndex index, std::uint64_t file_size, std::string_view owner) {
  ImportedTensors result;
  result.data = index.data;
  result.file_size = file_size;
  result.tensors.reserve(index.tensors.size());
  for (ImportedTensor& tensor : index.tensors) {
    PackTensor packed;
    packed.offset_in_blob = tensor.range.offset;
    packed.size_bytes = tensor.range.size;
    if (tensor.dtype && tensor.shape.size() <= kMaxRank) {
      packed.dtype = *tensor.dtype;
      packed.shape = std::move(tensor.shape);
    } else {
      // The key ends in ".type", so that a tensor called "x_path" is not taken for an option with a path.
      result.options.push_back({fmt::format("tensor.{}.type", tensor.name),
                                fmt::format("{} [{}]", tensor.type, fmt::join(tensor.shape, ", ")),
                                std::string(owner)});
      packed.dtype = DType::kU8;
      packed.shape = {tensor.range.size};
    }
    packed.name = std::move(tensor.name);
    result.tensors.push_back(std::move(packed));
  }
  return result;
}

Result<OpenedWeights> open_weights(const std::string& path) {
  auto opened = mapping::open_for_reading(path);
  if (!opened.ok()) return in_context(std::move(opened).error(), path);
  FATCTX_ASSIGN(const mapping::FileIdentity identity, opened.value()->identity());
  if (!identity.regular) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  }
  return OpenedWeights{std::move(opened).value(), identity.size};
}

PackRecord weight_record(const std::string& path, const std::string& name, std::string_view format,
                         ImportedTensors imported) {
  PackRecord record;
  record.type = RecordType::kWeightBlob;
  record.name = name;
  record.source.path = path;
  record.tensors = std::move(imported.tensors);
  record.description.format = std::string(format);
  record.description.options = std::move(imported.options);
  return record;
}

}  // namespace fatctx::container
