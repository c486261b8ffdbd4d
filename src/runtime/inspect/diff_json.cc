#include "base/json.h"
#include "fatctx/diff.h"

namespace fatctx {
namespace {

Json container_json(const DiffedContainer& container) {
  return {{"file", container.path},
          {"uuid", container.uuid},
          {"writer", container.writer},
          {"generation", container.generation},
          {"sealed", container.sealed},
          {"file_size", container.file_size},
          {"record_count", container.record_count},
          {"record_bytes", container.record_bytes},
          {"record_bytes_in_both", container.record_bytes_in_both},
          {"stored_bytes", container.stored_bytes},
          {"stored_bytes_in_both", container.stored_bytes_in_both}};
}

Json record_json(const DiffedRecord& record) {
  if (record.id == 0) return {};
  return {{"id", record.id},
          {"name", record.name},
          {"target", record.target},
          {"size_bytes", record.size_bytes},
          {"xxh3_128", to_hex(record.hash.bytes)},
          {"weights", record.weights}};
}

// Returns null for a tensor or fact that does not exist.
Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json tensor_json(const DiffedTensor& tensor) {
  return {{"change", change_name(tensor.change)},       {"name", tensor.name},
          {"type_before", or_null(tensor.type_before)}, {"type_after", or_null(tensor.type_after)},
          {"size_before", tensor.size_before},          {"size_after", tensor.size_after}};
}

Json difference_json(const RecordDifference& difference) {
  Json tensors = Json::array();
  for (const DiffedTensor& tensor : difference.tensors) tensors.push_back(tensor_json(tensor));
  return {{"change", change_name(difference.change)},
          {"type", record_type_name(difference.type)},
          {"before", record_json(difference.before)},
          {"after", record_json(difference.after)},
          {"tensors", std::move(tensors)},
          {"same_tensors", difference.same_tensors}};
}

}  // namespace

std::string to_json(const DiffReport& report) {
  Json records = Json::array();
  for (const RecordDifference& difference : report.records) records.push_back(difference_json(difference));
  Json description = Json::array();
  for (const DescriptionDifference& difference : report.description) {
    description.push_back(
        {{"what", difference.what}, {"before", or_null(difference.before)}, {"after", or_null(difference.after)}});
  }
  const Json json = {{"schema", "fatctx.diff/1"},
                     {"same", report.same()},
                     {"before", container_json(report.before)},
                     {"after", container_json(report.after)},
                     {"same_records", report.same_records},
                     {"records", std::move(records)},
                     {"description", std::move(description)},
                     {"read_bytes", report.read_bytes}};
  return write_json(json);
}

}  // namespace fatctx
