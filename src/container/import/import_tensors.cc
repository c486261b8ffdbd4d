#include "container/import/import_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "container/read/tensor_table_format.h"
#include "fatctx/base/checked.h"
#include "mapping/file_identity.h"

namespace fatctx::container {
namespace {

ImportedTensors as_pack_tensors(ImportedIndex index, std::uint64_t file_size, std::string_view owner) {
  ImportedTensors result;
  result.data = index.data;
  result.file_size = file_size;
  result.metadata = std::move(index.metadata);
  result.tensors.reserve(index.tensors.size());
  for (ImportedTensor& tensor : index.tensors) {
    PackTensor packed;
    packed.offset_in_blob = tensor.range.offset;
    packed.size_bytes = tensor.range.size;
    if (tensor.dtype && tensor.shape.size() <= kMaxRank) {
      packed.dtype = *tensor.dtype;
      packed.shape = std::move(tensor.shape);
    } else {
      // The key ends in ".type", so that a tensor called "x_path" is not mistaken for an option with a path.
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

}  // namespace

std::string shown_metadata(std::string text, std::uint64_t full_size) {
  if (full_size <= kMaxShownMetadata) return text;
  text.resize(whole_characters(text, kMaxShownMetadata));
  return fmt::format("{}... {} bytes in all", text, full_size);
}

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
               fmt::format("{}: tensor \"{}\" appears twice, at byte {} and at byte {}", file_kind, (*twice)->name,
                           (*twice)->range.offset, twice[1]->range.offset),
               {.file_offset = twice[1]->range.offset}};
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

Result<ImportedTensors> import_tensors(const std::string& path, ReadIndex read, std::string_view format) {
  FATCTX_ASSIGN(const OpenedWeights opened, open_weights(path));
  auto index = read(*opened.file, opened.size);
  if (!index.ok()) return in_context(std::move(index).error(), path);
  return as_pack_tensors(std::move(index).value(), opened.size, format);
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

namespace fatctx {

// Finds runs of overlapping ranges, sorted by offset: in a run of two or more, every range overlaps another one.
void mark_aliases(std::vector<PackTensor>& tensors) {
  std::vector<PackTensor*> order;
  for (PackTensor& tensor : tensors) {
    if (tensor.size_bytes != 0) order.push_back(&tensor);
  }
  std::sort(order.begin(), order.end(),
            [](const auto* a, const auto* b) { return a->offset_in_blob < b->offset_in_blob; });
  std::uint64_t run_end = 0;
  PackTensor* previous = nullptr;
  for (PackTensor* tensor : order) {
    if (previous != nullptr && tensor->offset_in_blob < run_end) {
      previous->alias = true;
      tensor->alias = true;
    }
    const auto end = checked_add(tensor->offset_in_blob, tensor->size_bytes);
    run_end = std::max(run_end, end.value_or(UINT64_MAX));
    previous = tensor;
  }
}

}  // namespace fatctx
