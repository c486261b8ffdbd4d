#include "sweep/facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "container/format/metadata_codec.h"
#include "support/opened.h"

namespace fatctx::sweep {

std::string facts_of(const Container& container) {
  const OpenReport report = support::report_of(container);
  std::string text = fmt::format("{} {} {} {} {} {}\n", report.uuid, report.generation, report.sealed,
                                 report.committed_end, report.tail_bytes, to_hex(report.toc_hash.bytes));
  for (const RecordInfo& record : support::records_in(container)) {
    const SelectionKey& key = record.key;
    text += fmt::format("{} {} \"{}\" {} {} {} {} {} {} {} {} {}\n", record.id, record_type_name(record.type),
                        record.name, record.size_bytes, record.stored_bytes, record.slice_count, record.file_offset,
                        record.must_map, record.ignorable, codec_name(record.codec), to_hex(record.hash.bytes),
                        fmt::join(record.weights, ","));
    text += fmt::format("  \"{}\" \"{}\" \"{}\" {} \"{}\" \"{}\" \"{}\" {} {} \"{}\" {} {} {}\n", key.group, key.unit,
                        key.backend, key.qnn_soc, key.part, key.arch, key.features, key.vtcm_mb, to_text(key.sdk),
                        key.variant, to_text(key.api), to_text(key.blob), key.generic);
  }
  return text;
}

Result<std::string> description_of(const Container& container) {
  FATCTX_ASSIGN(const ContainerDescription description, container.describe());
  FATCTX_ASSIGN(const std::vector<std::byte> bytes, container::encode_description(description));
  return to_hex(bytes);
}

Result<std::string> tensors_of(const Container& container, std::uint32_t weights_id) {
  FATCTX_ASSIGN(const TensorTable tensors, container.tensors(weights_id));
  std::string text;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const TensorInfo tensor = tensors.at(i);
    text += fmt::format("\"{}\" {} [{}] {} {} {}\n", tensor.name, dtype_name(tensor.dtype),
                        fmt::join(tensor.shape, ","), tensor.offset_in_blob, tensor.size_bytes, tensor.alias);
  }
  return text;
}

bool typed(const Error& error) {
  switch (error.code) {
    case ErrorCode::kTruncated:
    case ErrorCode::kTrailingData:
    case ErrorCode::kBadMagic:
    case ErrorCode::kUnsupported:
    case ErrorCode::kMalformed:
    case ErrorCode::kChecksumMismatch:
    case ErrorCode::kLimitExceeded:
    case ErrorCode::kBadReference:
    case ErrorCode::kCodec:
      break;
    default:
      return false;
  }
  return !error.message.empty() && to_text(error).find('\n') == std::string::npos;
}

}  // namespace fatctx::sweep
