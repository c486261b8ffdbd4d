// Devices: the facts about a machine, and the table of SoCs that names its chip.
#pragma once

#include "fatctx/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

// The table of SoCs: part names, numbers and the known facts about each chip.
typedef struct fatctx_soc_table {
  uint64_t id;
} fatctx_soc_table;

// Reads a table in the form of docs/selection.md, section 10: `path` adds to the built-in one or replaces it. Null: the
// built-in one. Errors: invalid_argument with file, line and column; not_found, io, not_regular_file, limit_exceeded.
FATCTX_API int32_t fatctx_soc_table_read(const char* path, fatctx_soc_table* table, fatctx_error* error);
// Writes rows with `search` in a name, the arch or a number, schema "fatctx.socs/1"; null or empty: all.
// fatctx_device_parse() resolves one name by any of its spellings.
FATCTX_API int32_t fatctx_soc_table_json(fatctx_soc_table table, const char* search, char* buffer, size_t capacity,
                                         size_t* size, fatctx_error* error);
FATCTX_API int32_t fatctx_soc_table_close(fatctx_soc_table table, fatctx_error* error);

// A machine, as it was detected or described.
typedef struct fatctx_device {
  uint64_t id;
} fatctx_device;

typedef struct fatctx_detect_options {
  uint32_t struct_size;
  uint32_t environment;      // ask FATCTX_SOC, FATCTX_ARCH, FATCTX_VTCM_MB and FATCTX_SOC_TABLE for missing options; 0
  const char* soc;           // replaces the machine's: "SM8750", "69", "kernel:639", "v79"; null
  const char* arch;          // the same if only the arch is known: "v79"; null
  const char* root;          // a folder with the files of another machine; null
  fatctx_soc_table table;    // {0}: the built-in one
  uint32_t vtcm_mb;          // replaces the detected one; 0: none
  uint32_t backend_soc;      // a backend's answer for the device it runs on: its QNN number; 0: no answer
  const char* backend_arch;  // its arch; null: no answer
  uint32_t backend_vtcm_mb;  // its VTCM; 0: no answer
  uint32_t reserved;
} fatctx_detect_options;
// Asks this machine, with options; null for the defaults. An unknown machine is a device whose facts are empty, and not
// an error. Detection is advice; the load is the proof. Errors: invalid_config; those of fatctx_soc_table_read() for
// the table that the environment names.
FATCTX_API int32_t fatctx_device_detect(const fatctx_detect_options* options, fatctx_device* device,
                                        fatctx_error* error);
// Gets the NPU of a detected device, which elsewhere is its processor: a new handle. Errors: not_found.
FATCTX_API int32_t fatctx_device_npu(fatctx_device device, fatctx_device* npu, fatctx_error* error);
// Writes how it was found, with every place that was looked at, schema "fatctx.detection/1".
FATCTX_API int32_t fatctx_device_detection_json(fatctx_device device, char* buffer, size_t capacity, size_t* size,
                                                fatctx_error* error);
// Reads a device given by hand: "x86-64-v3", "aarch64+dotprod+i8mm", "v75", a SoC of the built-in table ("SM8750",
// "69", "kernel:639"), or JSON of schema "fatctx.device/1" (a text whose first character is `{`).
// Errors: invalid_argument, naming the accepted forms.
FATCTX_API int32_t fatctx_device_parse(const char* text, fatctx_device* device, fatctx_error* error);
// Writes the facts of a device, schema "fatctx.device/1".
FATCTX_API int32_t fatctx_device_json(fatctx_device device, char* buffer, size_t capacity, size_t* size,
                                      fatctx_error* error);
FATCTX_API int32_t fatctx_device_close(fatctx_device device, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
