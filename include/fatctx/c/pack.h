// Packers: write a container.
#pragma once

#include "fatctx/c/device.h"
#include "fatctx/c/view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fatctx_packer {
  uint64_t id;
} fatctx_packer;

// Elements of arrays have no struct_size: these three structs never change.
typedef struct fatctx_option {
  const char* key;
  const char* value;
  const char* owner;  // execution provider or tool the option belongs to; null: none
} fatctx_option;
typedef struct fatctx_pack_tensor {
  const char* name;
  const uint64_t* shape;
  uint64_t rank;
  uint64_t offset_in_blob;
  uint64_t size_bytes;
  uint32_t dtype;
  uint32_t alias;  // shares bytes with another tensor on purpose
} fatctx_pack_tensor;
typedef struct fatctx_pack_range {  // a part of an otherwise opaque record
  const char* name;                 // for errors
  uint64_t offset;
  uint64_t size_bytes;  // at least 1
} fatctx_pack_range;
typedef struct fatctx_graph_tensor {  // an input or output of a graph
  const char* name;
  const char* dtype;     // fatctx_dtype_name()
  const int64_t* shape;  // -1 for a dynamic dimension
  uint64_t rank;
} fatctx_graph_tensor;
typedef struct fatctx_graph {
  const char* name;
  const fatctx_graph_tensor* inputs;
  uint64_t input_count;
  const fatctx_graph_tensor* outputs;
  uint64_t output_count;
} fatctx_graph;

enum { FATCTX_SHARING_OFF = 0, FATCTX_SHARING_PAGES = 1, FATCTX_SHARING_BYTES = 2 };

typedef struct fatctx_pack_options {
  uint32_t struct_size;
  uint32_t seal;           // 0
  uint32_t overwrite;      // replace an existing file (by rename); otherwise exists; 0
  uint32_t sharing;        // FATCTX_SHARING_...; FATCTX_SHARING_PAGES. With BYTES records become recipes
  uint32_t extent_log2;    // 12, 16 or 21; 0 chooses: 12 for a small file, else 16; 0
  uint32_t granule_log2;   // 12, 14 or 16; 12
  const char* model_name;  // null: none
  const fatctx_option* options;
  uint64_t option_count;
  fatctx_progress progress;
  void* progress_user;
  uint32_t max_pieces;  // with FATCTX_SHARING_PAGES: most slices of one record, 1 to 65536; 4096
  uint32_t threads;     // number that look for shared bytes; 0: the number of processors, at most 8. Changes no byte
  // 1: refuses a second context binary for a SoC, in the same group, unit and backend, with exists, even if they
  // differ; 0
  uint32_t one_per_soc;
  // 1: turns the warnings about records that cannot share as compiled, or share less (docs/sharing.md), into the error
  // unsupported; 0
  uint32_t strict_sharing;
  uint32_t sha256;  // 1: stores SHA-256 beside XXH3, of each record and each leaf; 0
} fatctx_pack_options;
FATCTX_API void fatctx_pack_options_init(fatctx_pack_options* options, size_t struct_size);

// A record to pack. fatctx_packer_add() copies everything except the file at `source_path`, which publish reads. Null
// texts mean "not stated".
typedef struct fatctx_pack_record {
  uint32_t struct_size;
  uint32_t type;            // FATCTX_RECORD_...; FATCTX_RECORD_OPAQUE
  const char* name;         // unique in the container; required
  const char* source_path;  // the file that holds its bytes; null: `bytes`
  const void* bytes;
  uint64_t size;
  const char* group;
  const char* unit;
  // The target. For a context binary of backend "htp", `arch` may also be a SoC as fatctx_device_parse() takes it
  // ("SM8650", "57", "Snapdragon 8 Gen 3"). `soc_table` fills in the empty ones of part, qnn_soc, arch and vtcm_mb. A
  // fact that contradicts the table is an error.
  const char* backend;
  const char* part;
  const char* arch;
  const char* features;  // comma separated
  const char* variant;
  uint32_t qnn_soc;
  uint32_t vtcm_mb;
  uint32_t generic;
  uint32_t tensors_from_irpa;  // take the tensors out of the index of the IREE parameter archive at `source_path`
  fatctx_version sdk;
  fatctx_version api;
  fatctx_version blob;
  uint32_t codec;              // FATCTX_CODEC_...; LZ4 is for source models and opaque records, which nobody maps; NONE
  const char* const* weights;  // names of the weight blobs it refers to
  uint64_t weight_count;
  const fatctx_pack_tensor* tensors;  // weight blobs only
  uint64_t tensor_count;
  const char* producer;  // tool and version that made it
  const char* format;    // "iree-vmfb", "irpa", ...
  const fatctx_graph* graphs;
  uint64_t graph_count;
  const fatctx_option* options;
  uint64_t option_count;
  // As tensors_from_irpa, for a safetensors or GGUF file; at most one of the three. Tensors without a matching
  // FATCTX_DTYPE_... are bytes, and options "tensor.NAME.type" name their types.
  uint32_t tensors_from_safetensors;
  uint32_t tensors_from_gguf;
  // By default an opaque record of up to 64 KiB shares an extent with others; with this it has its own extent, so that
  // its pages can be mapped.
  uint32_t own_extent;
  uint32_t source_is_part;  // see source_offset; 0: all of the file
  // The ranges of its parts, if it has no tensors: ascending by offset, inside the record, without overlap. Equal parts
  // are stored once, at any offset; the ranges are not kept in the file.
  const fatctx_pack_range* ranges;
  uint64_t range_count;
  // The part of the file at `source_path` that is the record, if `source_is_part` is set: `source_size` bytes from
  // `source_offset`. Excludes all of tensors_from_..., whose offsets count from the first byte of the file.
  uint64_t source_offset;
  uint64_t source_size;
  // A loaded view, instead of `bytes` and `source_path`. It belongs to a file already, so `copy` is also required. The
  // view may be closed when the call has returned. {0}: none
  fatctx_view loaded;
  uint32_t copy;
  // 1: takes a target that no device gets. One that contradicts the table is kept as it is stated, with a warning in
  // the report; 0
  uint32_t allow_unreachable;
  fatctx_soc_table soc_table;  // completes the target; {0}: the built-in one
} fatctx_pack_record;
FATCTX_API void fatctx_pack_record_init(fatctx_pack_record* record, size_t struct_size);

typedef struct fatctx_pack_report {
  uint32_t struct_size;
  uint32_t sealed;
  uint64_t file_size;
  uint64_t input_bytes;   // sum of all record sizes
  uint64_t stored_bytes;  // payload bytes in the file
  uint32_t record_count;
  uint32_t shared_records;  // records whose bytes another record already stored
  uint32_t warning_count;
  char uuid[44];          // hexadecimal with dashes, ended by NUL
  uint64_t shared_bytes;  // bytes of records that needed no storage of their own, equal records included
} fatctx_pack_report;

// Formats of files with weights.
enum { FATCTX_WEIGHTS_SAFETENSORS = 1, FATCTX_WEIGHTS_GGUF = 2, FATCTX_WEIGHTS_IRPA = 3 };
// Writes the tensors of a file with weights, schema "fatctx.tensors/1", from its index and never their bytes. For
// inspection: `tensors_from_...` of a fatctx_pack_record takes them into a record. `format`: FATCTX_WEIGHTS_...
// Errors: not_found, io, not_regular_file, truncated, bad_magic, unsupported, malformed, trailing_data, limit_exceeded;
//         each names tensor and byte.
FATCTX_API int32_t fatctx_tensors_json(const char* path, uint32_t format, char* buffer, size_t capacity, size_t* size,
                                       fatctx_error* error);

// Makes a packer, which works for one call at a time: a second one meanwhile (another thread, a callback) answers
// operation_not_permitted.
FATCTX_API int32_t fatctx_packer_create(const fatctx_pack_options* options, fatctx_packer* packer, fatctx_error* error);
// Adds a record.
// Errors: invalid_argument (names, keys, tensors, a record without bytes; a target that contradicts the table of SoCs,
//         or that no device gets), exists (the name, the full key, or with one_per_soc the SoC, already exists),
//         operation_not_permitted (it was loaded, and `copy` is not set), stale_handle (of a table or a view),
//         limit_exceeded; those of reading the archive.
FATCTX_API int32_t fatctx_packer_add(fatctx_packer packer, const fatctx_pack_record* record, fatctx_error* error);
// Writes a temporary beside `path`, syncs it, renames it to `path`. `report` may be null. On any error before the
// rename the temporary is removed and `path` is unchanged.
// Errors: exists, not_found, changed, bad_reference, no_space, io, limit_exceeded, unsupported, cancelled,
//         commit_unknown.
FATCTX_API int32_t fatctx_packer_publish(fatctx_packer packer, const char* path, fatctx_pack_report* report,
                                         fatctx_error* error);
// Writes the report of the last publish, schema "fatctx.packed/1": a row for each record, and the warnings.
// Errors: not_found (nothing was published).
FATCTX_API int32_t fatctx_packer_report_json(fatctx_packer packer, char* buffer, size_t capacity, size_t* size,
                                             fatctx_error* error);
FATCTX_API int32_t fatctx_packer_close(fatctx_packer packer, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
