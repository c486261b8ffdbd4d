/* Compiled as strict C99 with warnings as errors; includes only one header of fatctx. */
#include "capi/c99_user.h"

#include <stdio.h>
#include <string.h>

#include "fatctx/fatctx.h"

static char failure[2048];

static const char* failed(const char* step, const fatctx_error* error) {
  char line[1500] = "";
  (void)fatctx_error_text(error, line, sizeof line, NULL);
  (void)snprintf(failure, sizeof failure, "%s: %s", step, line);
  return failure;
}

static int32_t count_progress(void* user, uint64_t done_bytes, uint64_t total_bytes) {
  unsigned* calls = user;
  ++*calls;
  return done_bytes <= total_bytes ? 0 : 1;
}

static const char* pack(const char* path, fatctx_error* error) {
  const uint64_t shape[2] = {2, 4};
  const fatctx_pack_tensor tensor = {"w", shape, 2, 0, 8, FATCTX_DTYPE_I8, 0};
  const char* const weights[1] = {"weights"};
  unsigned progress_calls = 0;
  fatctx_pack_options options;
  fatctx_pack_record record;
  fatctx_pack_report report = {.struct_size = sizeof report};
  char told[4096];
  size_t told_size = 0;
  uint64_t tensor_bytes = 0;
  fatctx_packer packer;

  if (fatctx_tensor_size_bytes(FATCTX_DTYPE_I8, shape, 2, &tensor_bytes, error) != FATCTX_OK || tensor_bytes != 8) {
    return failed("tensor_size_bytes", error);
  }

  fatctx_pack_options_init(&options, sizeof options);
  options.model_name = "c99";
  options.progress = count_progress;
  options.progress_user = &progress_calls;
  if (fatctx_packer_create(&options, &packer, error) != FATCTX_OK) return failed("create", error);

  fatctx_pack_record_init(&record, sizeof record);
  record.type = FATCTX_RECORD_WEIGHT_BLOB;
  record.name = "weights";
  record.bytes = "12345678";
  record.size = 8;
  record.tensors = &tensor;
  record.tensor_count = 1;
  if (fatctx_packer_add(packer, &record, error) != FATCTX_OK) return failed("add weights", error);

  fatctx_pack_record_init(&record, sizeof record);
  record.type = FATCTX_RECORD_CONTEXT_BINARY;
  record.name = "binary";
  record.bytes = "code";
  record.size = 4;
  record.backend = "cpu";
  record.generic = 1;
  record.weights = weights;
  record.weight_count = 1;
  if (fatctx_packer_add(packer, &record, error) != FATCTX_OK) return failed("add binary", error);

  if (fatctx_packer_publish(packer, path, &report, error) != FATCTX_OK) return failed("publish", error);
  if (report.record_count != 4 || strlen(report.uuid) != 36 || progress_calls == 0) return "the report is wrong";
  if (fatctx_packer_report_json(packer, told, sizeof told, &told_size, error) != FATCTX_OK) {
    return failed("packer_report_json", error);
  }
  if (told_size >= sizeof told || strstr(told, "\"fatctx.packed/1\"") == NULL || strstr(told, "\"binary\"") == NULL) {
    return "the report of the pack is wrong";
  }
  if (fatctx_packer_close(packer, error) != FATCTX_OK) return failed("close", error);
  return NULL;
}

static int32_t no_mapping(void* user, int descriptor, uint64_t offset, uint64_t size, const void** mapped,
                          fatctx_error* error) {
  (void)user, (void)descriptor, (void)offset, (void)size, (void)mapped, (void)error;
  return FATCTX_ERROR_UNSUPPORTED;
}

static void no_unmap(void* user, const void* mapped, uint64_t size) { (void)user, (void)mapped, (void)size; }

/* Reports are JSON: sharing of the records, and their differences from themselves. */
static const char* measure(fatctx_container container, fatctx_error* error) {
  char json[8192];
  size_t size = 0;
  fatctx_report report;
  uint32_t way = FATCTX_UNKNOWN;
  uint32_t same = 0;

  if (fatctx_container_sharing(container, NULL, NULL, &report, error) != FATCTX_OK) return failed("sharing", error);
  if (fatctx_report_text(report, FATCTX_FORMAT_JSON, json, sizeof json, &size, error) != FATCTX_OK) {
    return failed("report_text", error);
  }
  if (size >= sizeof json || strstr(json, "\"fatctx.sharing/1\"") == NULL) return "the sharing is wrong";
  if (fatctx_report_close(report, error) != FATCTX_OK) return failed("close report", error);
  if (fatctx_container_diff(container, container, NULL, NULL, &same, &report, error) != FATCTX_OK || same != 1) {
    return failed("diff", error);
  }
  if (fatctx_report_close(report, error) != FATCTX_OK) return failed("close diff", error);
  if (fatctx_container_access_path(container, 1, &way, error) != FATCTX_OK) return failed("access path", error);
  return strcmp(fatctx_access_path_name(way), "copied") == 0 ? NULL : "the way to a view is wrong: nothing is mapped";
}

static void count_event(void* user, const fatctx_profile_event* event) { *(uint64_t*)user += event->ok; }

/* Uses the functions around a view: its mapping provider, its pages, its ranges, and the cost of all of these. */
static const char* observe(const char* path, fatctx_error* error) {
  fatctx_mapping_callbacks callbacks = {.struct_size = sizeof callbacks, .name = "none"};
  fatctx_open_options options;
  fatctx_profile_options profile_options;
  fatctx_container container;
  fatctx_view view;
  fatctx_range_access access;
  fatctx_range range = {.struct_size = sizeof range};
  fatctx_prefetch_report prefetched = {.struct_size = sizeof prefetched};
  fatctx_report report;
  char json[8192];
  const char* wrong;
  uint64_t events = 0;

  fatctx_profile_options_init(&profile_options, sizeof profile_options);
  profile_options.hook = count_event;
  profile_options.user = &events;
  if (fatctx_profile_start(&profile_options, error) != FATCTX_OK) return failed("profile_start", error);
  callbacks.map = no_mapping;
  callbacks.unmap = no_unmap;
  fatctx_open_options_init(&options, sizeof options);
  if (fatctx_mapping_provider_create(&callbacks, &options.mapping_provider, error) != FATCTX_OK) {
    return failed("provider", error);
  }
  if (fatctx_container_open(path, &options, &container, error) != FATCTX_OK) return failed("open", error);
  if (fatctx_mapping_provider_close(options.mapping_provider, error) != FATCTX_OK) return failed("close", error);
  if (fatctx_container_acquire_name(container, "weights", &view, error) != FATCTX_OK) return failed("acquire", error);
  wrong = measure(container, error);
  if (wrong != NULL) return wrong;
  if (fatctx_container_prefetch(container, 1, NULL, &prefetched, error) != FATCTX_OK) return failed("prefetch", error);
  if (fatctx_range_access_create(view, NULL, &access, error) != FATCTX_OK) return failed("range access", error);
  if (fatctx_view_close(view, error) != FATCTX_OK) return failed("close view", error);
  if (fatctx_range_access_provide(access, 2, 3, &range, error) != FATCTX_OK) return failed("provide", error);
  if (range.size != 3 || memcmp(range.data, "345", 3) != 0) return "the range is wrong";
  if (fatctx_range_access_close(access, error) != FATCTX_OK) return failed("close access", error);
  if (fatctx_metrics_of_container(container, &report, error) != FATCTX_OK) return failed("metrics", error);
  if (fatctx_report_text(report, FATCTX_FORMAT_JSON, json, sizeof json, NULL, error) != FATCTX_OK) {
    return failed("numbers", error);
  }
  if (strstr(json, "\"mapped_bytes\": 0") == NULL) return "the numbers are wrong: nothing was mapped";
  if (fatctx_report_close(report, error) != FATCTX_OK) return failed("close metrics", error);
  if (fatctx_container_close(container, error) != FATCTX_OK) return failed("close container", error);
  if (fatctx_profile_stop(&report, error) != FATCTX_OK) return failed("profile_stop", error);
  if (fatctx_report_text(report, FATCTX_FORMAT_CSV, json, sizeof json, NULL, error) != FATCTX_OK) {
    return failed("profile as CSV", error);
  }
  if (strncmp(json, "event,count,failed", 18) != 0) return "the title line of the profile is wrong";
  if (fatctx_report_close(report, error) != FATCTX_OK) return failed("close profile", error);
  return events >= 3 ? NULL : "the hook was not called";
}

/* Calls the functions about DLCs on a container that has none. */
static const char* no_dlc(const char* path, fatctx_error* error) {
  const uint32_t soc = 57;
  uint32_t found = 7;
  char json[1024];
  fatctx_dlc_choice choice = {.struct_size = sizeof choice};
  fatctx_thin_dlc report = {.struct_size = sizeof report};
  fatctx_container container;
  fatctx_view view;

  if (fatctx_is_dlc(path, &found, error) != FATCTX_OK || found != 0) return failed("is_dlc", error);
  if (fatctx_container_open(path, NULL, &container, error) != FATCTX_OK) return failed("open", error);
  if (fatctx_container_dlcs_json(container, json, sizeof json, NULL, error) != FATCTX_OK) return failed("dlcs", error);
  if (strstr(json, "\"dlcs\": []") == NULL) return "a container without DLCs lists one";
  choice.qnn_socs = &soc;
  choice.soc_count = 1;
  if (fatctx_container_thin_dlc_view(container, NULL, &choice, &view, &report, error) != FATCTX_ERROR_NOT_FOUND) {
    return "a thin DLC out of nothing";
  }
  if (strstr(error->message, "dlc.layout") == NULL) return "the error does not say what is missing";
  if (fatctx_container_close(container, error) != FATCTX_OK) return failed("close container", error);
  return NULL;
}

const char* c99_walk(const char* path) {
  fatctx_error error;
  fatctx_view binary;
  fatctx_model model;
  fatctx_session session;
  fatctx_view tensor;
  fatctx_tensor_info info = {.struct_size = sizeof info};
  const char* wrong;

  if (fatctx_abi_version() != FATCTX_ABI_VERSION) return "the library has another ABI";
  fatctx_error_init(&error, sizeof error);
  wrong = pack(path, &error);
  if (wrong != NULL) return wrong;

  wrong = no_dlc(path, &error);
  if (wrong != NULL) return wrong;

  if (fatctx_view_open(path, NULL, NULL, &binary, &error) != FATCTX_OK) return failed("view_open", &error);
  if (binary.size != 4 || memcmp(binary.data, "code", 4) != 0) return "the binary is wrong";
  if (fatctx_view_close(binary, &error) != FATCTX_OK) return failed("close binary", &error);

  if (fatctx_model_open(path, NULL, &model, &error) != FATCTX_OK) return failed("model_open", &error);
  if (fatctx_model_begin_session(model, &session, &error) != FATCTX_OK) return failed("begin", &error);
  if (fatctx_model_close(model, &error) != FATCTX_OK) return failed("close model", &error);
  if (fatctx_session_tensor(session, "w", &tensor, &error) != FATCTX_OK) return failed("tensor", &error);
  if (fatctx_session_close(session, &error) != FATCTX_OK) return failed("close session", &error);
  if (fatctx_view_tensor(tensor, &info, &error) != FATCTX_OK) return failed("describe tensor", &error);
  if (info.rank != 2 || info.shape[1] != 4 || info.strides_bytes[0] != 4) return "the tensor is wrong";
  if (memcmp(tensor.data, "12345678", 8) != 0) return "the bytes of the tensor are wrong";
  if (fatctx_view_close(tensor, &error) != FATCTX_OK) return failed("close tensor", &error);
  if (fatctx_view_close(tensor, &error) != FATCTX_ERROR_STALE_HANDLE) return "closing twice is no error";
  return observe(path, &error);
}
