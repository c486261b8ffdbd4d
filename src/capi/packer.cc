// Packing through C: borrowed structs become owning ones.
#include <fmt/format.h>

#include "capi/objects.h"
#include "capi/report_json.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_irpa.h"
#include "fatctx/import_safetensors.h"
#include "fatctx/targets.h"

namespace fatctx::capi {
namespace {

// The caller's number as a field of `Narrow`, if it fits.
template <typename Narrow>
Result<Narrow> narrow_in(std::uint32_t number, std::uint32_t most, std::string_view name) {
  if (number <= most) return static_cast<Narrow>(number);
  return Error{ErrorCode::kInvalidArgument, fmt::format("{} is {}; the most is {}", name, number, most)};
}

Result<std::vector<DescribedOption>> options_in(const fatctx_option* options, std::uint64_t count) {
  FATCTX_ASSIGN(const auto given, array_in(options, count, "options"));
  std::vector<DescribedOption> result;
  for (const fatctx_option& option : given) {
    FATCTX_TRY(not_null(option.key, "the key of an option"));
    FATCTX_TRY(not_null(option.value, "the value of an option"));
    result.push_back({option.key, option.value, text_in(option.owner)});
  }
  return result;
}

Result<std::vector<DescribedTensor>> ports_in(const fatctx_graph_tensor* tensors, std::uint64_t count,
                                              std::string_view what) {
  FATCTX_ASSIGN(const auto given, array_in(tensors, count, what));
  std::vector<DescribedTensor> result;
  for (const fatctx_graph_tensor& tensor : given) {
    FATCTX_TRY(not_null(tensor.name, "the name of an input or output"));
    FATCTX_ASSIGN(const auto shape, array_in(tensor.shape, tensor.rank, "the shape of an input or output"));
    result.push_back({tensor.name, text_in(tensor.dtype), {shape.begin(), shape.end()}});
  }
  return result;
}

Result<std::vector<DescribedGraph>> graphs_in(const fatctx_graph* graphs, std::uint64_t count) {
  FATCTX_ASSIGN(const auto given, array_in(graphs, count, "graphs"));
  std::vector<DescribedGraph> result;
  for (const fatctx_graph& graph : given) {
    FATCTX_TRY(not_null(graph.name, "the name of a graph"));
    FATCTX_ASSIGN(auto inputs, ports_in(graph.inputs, graph.input_count, "inputs"));
    FATCTX_ASSIGN(auto outputs, ports_in(graph.outputs, graph.output_count, "outputs"));
    result.push_back({graph.name, std::move(inputs), std::move(outputs)});
  }
  return result;
}

// Reads the index of a file with weights.
Result<WeightFile> read_weights(const char* path, std::uint32_t format) {
  switch (format) {
    case FATCTX_WEIGHTS_SAFETENSORS: {
      FATCTX_ASSIGN(ImportedTensors imported, tensors_from_safetensors(path));
      return WeightFile{"safetensors", std::move(imported)};
    }
    case FATCTX_WEIGHTS_GGUF: {
      FATCTX_ASSIGN(ImportedTensors imported, tensors_from_gguf(path));
      return WeightFile{"gguf", std::move(imported)};
    }
    case FATCTX_WEIGHTS_IRPA: {
      FATCTX_ASSIGN(IrpaTensors archive, tensors_from_irpa(path));
      WeightFile file{"irpa", {}, archive.splat_count};
      file.imported.tensors = std::move(archive.tensors);
      file.imported.data.size = archive.file_size;
      file.imported.file_size = archive.file_size;
      return file;
    }
    default:
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("format is {}; allowed are FATCTX_WEIGHTS_SAFETENSORS (1), _GGUF (2) and _IRPA (3)", format)};
  }
}

// Reads the index of the file at source_path, if the caller requests it.
Result<ImportedTensors> tensors_of_file(const fatctx_pack_record& record) {
  const bool irpa = record.tensors_from_irpa != 0;
  const bool safetensors = record.tensors_from_safetensors != 0;
  const bool gguf = record.tensors_from_gguf != 0;
  if (!irpa && !safetensors && !gguf) return ImportedTensors{};
  if (irpa + safetensors + gguf > 1) {
    return Error{ErrorCode::kInvalidArgument,
                 "more than one of tensors_from_irpa, tensors_from_safetensors and tensors_from_gguf is set"};
  }
  if (record.source_is_part != 0) {
    return Error{
        ErrorCode::kInvalidArgument,
        "source_is_part is set, but the tensors that tensors_from_... reads have offsets in the whole file; take "
        "all of the file, or give the tensors of the part"};
  }
  FATCTX_TRY(not_null(record.source_path, irpa          ? "source_path, which tensors_from_irpa needs,"
                                          : safetensors ? "source_path, which tensors_from_safetensors needs,"
                                                        : "source_path, which tensors_from_gguf needs,"));
  const std::uint32_t format = irpa          ? FATCTX_WEIGHTS_IRPA
                               : safetensors ? FATCTX_WEIGHTS_SAFETENSORS
                                             : FATCTX_WEIGHTS_GGUF;
  FATCTX_ASSIGN(WeightFile file, read_weights(record.source_path, format));
  return std::move(file.imported);
}

Result<std::vector<PackTensor>> tensors_in(const fatctx_pack_record& record, std::vector<PackTensor> result) {
  FATCTX_ASSIGN(const auto given, array_in(record.tensors, record.tensor_count, "tensors"));
  for (const fatctx_pack_tensor& tensor : given) {
    FATCTX_TRY(not_null(tensor.name, "the name of a tensor"));
    FATCTX_ASSIGN(const auto dtype, narrow_in<std::uint16_t>(tensor.dtype, UINT16_MAX, "dtype"));
    FATCTX_ASSIGN(const auto shape, array_in(tensor.shape, tensor.rank, "the shape of a tensor"));
    result.push_back({.name = tensor.name,
                      .dtype = static_cast<DType>(dtype),
                      .shape = {shape.begin(), shape.end()},
                      .offset_in_blob = tensor.offset_in_blob,
                      .size_bytes = tensor.size_bytes,
                      .alias = tensor.alias != 0});
  }
  return result;
}

// The part of the source file that the record is, if it is not all of it.
Result<std::optional<ByteRange>> part_in(const fatctx_pack_record& record) {
  if (record.source_is_part != 0) return std::optional(ByteRange{record.source_offset, record.source_size});
  if (record.source_offset == 0 && record.source_size == 0) return std::optional<ByteRange>();
  return Error{ErrorCode::kInvalidArgument,
               "source_offset or source_size is set, but source_is_part is not: set it to take a part of the file"};
}

// Completes the target of a context binary, as every way to state one does.
Status complete_target_of(PackRecord& record, fatctx_soc_table table, bool allow_unreachable) {
  SocTable known = SocTable::built_in();
  if (table.id != 0) {
    FATCTX_ASSIGN(const auto own, find(table));
    known = *own;
  }
  if (record.type != RecordType::kContextBinary) return Done{};
  auto completed = complete_target(record.key, known, allow_unreachable);
  if (!completed.ok()) return in_context(std::move(completed).error(), fmt::format("record \"{}\"", record.name));
  record.key = std::move(completed.value().key);
  record.warnings = std::move(completed.value().warnings);
  return Done{};
}

Result<PackOptions> pack_options_in(const fatctx_pack_options* options) {
  fatctx_pack_options given = {};
  fatctx_pack_options_init(&given, sizeof given);
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  PackOptions result;
  result.seal = given.seal != 0;
  result.overwrite = given.overwrite != 0;
  FATCTX_ASSIGN(const auto sharing, narrow_in<std::uint8_t>(given.sharing, FATCTX_SHARING_BYTES, "sharing"));
  result.sharing = static_cast<Sharing>(sharing);
  FATCTX_ASSIGN(result.extent_log2, narrow_in<std::uint8_t>(given.extent_log2, UINT8_MAX, "extent_log2"));
  FATCTX_ASSIGN(result.granule_log2, narrow_in<std::uint8_t>(given.granule_log2, UINT8_MAX, "granule_log2"));
  result.max_pieces = given.max_pieces;
  result.threads = given.threads;
  result.one_per_soc = given.one_per_soc != 0;
  result.strict_sharing = given.strict_sharing != 0;
  result.sha256 = given.sha256 != 0;
  result.model_name = text_in(given.model_name);
  FATCTX_ASSIGN(result.options, options_in(given.options, given.option_count));
  result.progress = progress_in(given.progress, given.progress_user);
  return result;
}

fatctx_pack_report report_out(const PackReport& report) noexcept {
  fatctx_pack_report out = {};
  out.sealed = flag(report.sealed);
  out.file_size = report.file_size;
  out.input_bytes = report.input_bytes;
  out.stored_bytes = report.stored_bytes;
  out.shared_bytes = report.shared_bytes;
  out.record_count = report.record_count;
  out.shared_records = report.shared_records;
  out.warning_count = static_cast<std::uint32_t>(report.warnings.size());
  report.uuid.copy(out.uuid, sizeof out.uuid - 1);
  return out;
}

}  // namespace

Result<PackRecord> pack_record_in(const fatctx_pack_record* record) {
  FATCTX_TRY(not_null(record, "record"));
  fatctx_pack_record given = {};
  fatctx_pack_record_init(&given, sizeof given);
  FATCTX_TRY(read_sized(record, given));
  FATCTX_TRY(not_null(given.name, "the name of the record"));
  PackRecord result;
  FATCTX_ASSIGN(const auto type, narrow_in<std::uint16_t>(given.type, UINT16_MAX, "type"));
  result.type = static_cast<RecordType>(type);
  if (record_type_name(result.type) == "unknown") {
    return Error{ErrorCode::kInvalidArgument, fmt::format("type is {}; docs/format.md, section 5.2 lists them", type)};
  }
  result.name = given.name;
  if (given.codec > FATCTX_CODEC_LZ4) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("codec is {}; allowed are FATCTX_CODEC_NONE (0) and FATCTX_CODEC_LZ4 (1)", given.codec)};
  }
  result.codec = static_cast<Codec>(given.codec);
  result.own_extent = given.own_extent != 0;
  result.copy = given.copy != 0;
  if (given.loaded.id != 0) {
    if (given.source_path != nullptr || given.bytes != nullptr) {
      return Error{ErrorCode::kInvalidArgument, "loaded is set beside source_path or bytes; give one of them"};
    }
    FATCTX_ASSIGN(const auto object, find(given.loaded));
    const auto* const record_view = std::get_if<RecordView>(&object->view);
    result.source.loaded.emplace(object, record_view == nullptr ? 0 : record_view->record_id(), object->bytes());
  } else if (given.source_path != nullptr) {
    result.source.path = given.source_path;
    if (result.source.path.empty()) return Error{ErrorCode::kInvalidArgument, "source_path is empty"};
    FATCTX_ASSIGN(result.source.part, part_in(given));
  } else {
    FATCTX_ASSIGN(const auto no_part, part_in(given));
    if (no_part) return Error{ErrorCode::kInvalidArgument, "source_is_part is set without a source_path"};
    FATCTX_ASSIGN(const ByteView bytes, bytes_in(given.bytes, given.size, "bytes"));
    result.source.bytes.assign(bytes.begin(), bytes.end());
  }
  result.key = {.group = text_in(given.group),
                .unit = text_in(given.unit),
                .backend = text_in(given.backend),
                .qnn_soc = given.qnn_soc,
                .part = text_in(given.part),
                .arch = text_in(given.arch),
                .features = words_in(given.features),
                .vtcm_mb = given.vtcm_mb,
                .sdk = version_in(given.sdk),
                .variant = text_in(given.variant),
                .api = version_in(given.api),
                .blob = version_in(given.blob),
                .generic = given.generic != 0};
  FATCTX_TRY(complete_target_of(result, given.soc_table, given.allow_unreachable != 0));
  FATCTX_ASSIGN(const auto weights, array_in(given.weights, given.weight_count, "weights"));
  for (const char* name : weights) {
    FATCTX_TRY(not_null(name, "the name of a weight blob"));
    result.weights.emplace_back(name);
  }
  FATCTX_ASSIGN(ImportedTensors imported, tensors_of_file(given));
  FATCTX_ASSIGN(result.tensors, tensors_in(given, std::move(imported.tensors)));
  FATCTX_ASSIGN(const auto ranges, array_in(given.ranges, given.range_count, "ranges"));
  for (const fatctx_pack_range& range : ranges) {
    FATCTX_TRY(not_null(range.name, "the name of a range"));
    result.ranges.push_back({range.name, range.offset, range.size_bytes});
  }
  result.description.producer = text_in(given.producer);
  result.description.format = text_in(given.format);
  FATCTX_ASSIGN(result.description.graphs, graphs_in(given.graphs, given.graph_count));
  FATCTX_ASSIGN(result.description.options, options_in(given.options, given.option_count));
  result.description.options.insert(result.description.options.end(), imported.options.begin(), imported.options.end());
  return result;
}

}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

void fatctx_pack_options_init(fatctx_pack_options* options, size_t struct_size) {
  const fatctx::PackOptions defaults;
  fatctx_pack_options result = {};
  result.sharing = static_cast<std::uint32_t>(defaults.sharing);
  result.extent_log2 = defaults.extent_log2;
  result.granule_log2 = defaults.granule_log2;
  result.max_pieces = defaults.max_pieces;
  init_sized(result, options, struct_size);
}

void fatctx_pack_record_init(fatctx_pack_record* record, size_t struct_size) {
  fatctx_pack_record result = {};
  result.type = FATCTX_RECORD_OPAQUE;
  init_sized(result, record, struct_size);
}

int32_t fatctx_packer_create(const fatctx_pack_options* options, fatctx_packer* packer, fatctx_error* error) {
  return make_handle(packer, "packer", error, [&] { return pack_options_in(options); });
}

int32_t fatctx_packer_add(fatctx_packer packer, const fatctx_pack_record* record, fatctx_error* error) {
  return with_packer(packer, error, [&](PackerObject& object) -> fatctx::Status {
    FATCTX_ASSIGN(fatctx::PackRecord owned, pack_record_in(record));
    return object.packer.add(std::move(owned));
  });
}

int32_t fatctx_packer_publish(fatctx_packer packer, const char* path, fatctx_pack_report* report, fatctx_error* error) {
  return with_packer(packer, error, [&](PackerObject& object) -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    if (report != nullptr) FATCTX_TRY(check_struct_size(report->struct_size));  // before the file is written
    object.report = {};
    FATCTX_ASSIGN(object.report, object.packer.publish(path));
    if (report != nullptr) FATCTX_TRY(write_sized(report_out(object.report), report, "report"));
    return fatctx::Done{};
  });
}

int32_t fatctx_packer_report_json(fatctx_packer packer, char* buffer, size_t capacity, size_t* size,
                                  fatctx_error* error) {
  return with_packer(packer, error, [&](const PackerObject& object) -> fatctx::Status {
    if (object.report.path.empty()) return fatctx::Error{fatctx::ErrorCode::kNotFound, "nothing was published"};
    return put_text(packed_json(object.report), buffer, capacity, size);
  });
}

int32_t fatctx_tensors_json(const char* path, uint32_t format, char* buffer, size_t capacity, size_t* size,
                            fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(path, "path"));
    FATCTX_ASSIGN(const WeightFile file, read_weights(path, format));
    return put_text(tensors_json(path, file), buffer, capacity, size);
  });
}

int32_t fatctx_packer_close(fatctx_packer packer, fatctx_error* error) { return close_handle(packer, error); }

}  // extern "C"
