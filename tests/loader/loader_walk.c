/* Opens each container, and prints what the functions of fatctx/loader.h say of it: one line for each answer. The small
 * loader and the whole library must print the same. Arguments: --key FILE with the 32 bytes of a trusted key, if
 * wanted; a device ("SM8650", "x86-64-v3"); containers. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "fatctx/loader.h"

static fatctx_error error;

/* An error as it is printed for people; nothing of a success. */
static int answered(const char* call, int32_t code) {
  char line[1200];
  if (code == FATCTX_OK) return 1;
  if (fatctx_error_text(&error, line, sizeof line, NULL) != FATCTX_OK) strcpy(line, "no text");
  printf("  %s: %s: %s\n", call, fatctx_error_code_name(code), line);
  return 0;
}

static uint64_t sum_of(const void* data, uint64_t size) {
  const unsigned char* const bytes = (const unsigned char*)data;
  uint64_t sum = 14695981039346656037u; /* FNV-1a */
  uint64_t i = 0;
  for (i = 0; i < size; ++i) sum = (sum ^ bytes[i]) * 1099511628211u;
  return sum;
}

static void print_view(const char* what, fatctx_view view) {
  fatctx_view_info info = {0};
  info.struct_size = sizeof info;
  if (!answered("view_describe", fatctx_view_describe(view, &info, &error))) return;
  printf("  %s: %s, %" PRIu64 " bytes, sum %016" PRIx64 ", copied %" PRIu64 "\n", what,
         fatctx_access_path_name(info.access_path), view.size, sum_of(view.data, view.size), info.copied_bytes);
}

static void print_tensors(fatctx_container container, uint32_t id) {
  fatctx_tensor_table table;
  uint64_t size = 0, i = 0;
  if (!answered("tensors", fatctx_container_tensors(container, id, &table, &error))) return;
  if (answered("tensor_table_size", fatctx_tensor_table_size(table, &size, NULL, &error))) {
    printf("  tensors: %" PRIu64 "\n", size);
  }
  for (i = 0; i < size && i < 50; ++i) {
    char name[256];
    fatctx_tensor_info tensor = {0};
    fatctx_view view;
    tensor.struct_size = sizeof tensor;
    if (!answered("tensor_table_at", fatctx_tensor_table_at(table, i, &tensor, &error))) break;
    printf("  tensor %.*s: %s, rank %" PRIu64 "\n", (int)tensor.name.size, tensor.name.data,
           fatctx_dtype_name(tensor.dtype), tensor.rank);
    snprintf(name, sizeof name, "%.*s", (int)tensor.name.size, tensor.name.data);
    if (!answered("container_tensor", fatctx_container_tensor(container, id, name, &view, &error))) continue;
    print_view("  its bytes", view);
    (void)fatctx_view_close(view, NULL);
  }
  (void)fatctx_tensor_table_close(table, NULL);
}

static void print_records(fatctx_container container) {
  uint64_t count = 0, i = 0;
  if (!answered("record_count", fatctx_container_record_count(container, &count, &error))) return;
  printf("  records: %" PRIu64 "\n", count);
  for (i = 0; i < count; ++i) {
    char target[256];
    fatctx_record_info record = {0};
    fatctx_view view;
    record.struct_size = sizeof record;
    if (!answered("record_at", fatctx_container_record_at(container, i, &record, &error))) return;
    printf("  record %" PRIu32 " %.*s: %s, %" PRIu64 " bytes\n", record.id, (int)record.name.size, record.name.data,
           fatctx_record_type_name(record.type), record.size_bytes);
    if (answered("target", fatctx_container_record_target(container, record.id, target, sizeof target, NULL, &error))) {
      printf("  target: %s\n", target);
    }
    if (answered("acquire", fatctx_container_acquire(container, record.id, &view, &error))) {
      print_view("bytes", view);
      (void)fatctx_view_close(view, NULL);
    }
    if (record.type == FATCTX_RECORD_WEIGHT_BLOB) print_tensors(container, record.id);
  }
}

static void print_choice(fatctx_container container, fatctx_device device) {
  static char text[65536];
  fatctx_model_options options;
  fatctx_model model;
  fatctx_session session;
  fatctx_session_info info = {0};
  fatctx_model_options_init(&options, sizeof options);
  options.device = device;
  if (answered("explain",
               fatctx_container_explain(container, &options, FATCTX_FORMAT_TEXT, text, sizeof text, NULL, &error))) {
    printf("%s", text);
  }
  if (!answered("choose", fatctx_model_choose(container, &options, &model, &error))) return;
  if (answered("begin_session", fatctx_model_begin_session(model, &session, &error))) {
    info.struct_size = sizeof info;
    if (answered("session_describe", fatctx_session_describe(session, &info, &error))) {
      printf("  session: %" PRIu64 " binaries, %" PRIu64 " weights\n", info.binary_count, info.weights_count);
    }
    (void)answered("session_end", fatctx_session_end(session, &error));
  }
  (void)fatctx_model_close(model, NULL);
}

static int read_key(const char* name, uint8_t* key) {
  FILE* const file = fopen(name, "rb");
  size_t size = 0;
  if (file == NULL) return 0;
  size = fread(key, 1, 32, file);
  (void)fclose(file);
  return size == 32;
}

int main(int argc, char** argv) {
  fatctx_device device;
  fatctx_open_options options;
  uint8_t key[32];
  const uint8_t* trusted = NULL;
  int i = 0;
  if (argc > 3 && strcmp(argv[1], "--key") == 0) {
    if (!read_key(argv[2], key)) return fprintf(stderr, "no key in %s\n", argv[2]), 2;
    trusted = key;
    argv += 2;
    argc -= 2;
  }
  if (argc < 3) return fprintf(stderr, "usage: loader_walk [--key FILE] DEVICE FILE...\n"), 2;
  fatctx_error_init(&error, sizeof error);
  printf("fatctx %s, format %s\n", fatctx_library_version(), fatctx_format_version());
  if (!answered("device_parse", fatctx_device_parse(argv[1], &device, &error))) return 1;
  fatctx_open_options_init(&options, sizeof options);
  options.max_copied_bytes = (uint64_t)1 << 30;
  options.trusted_keys = trusted;
  options.trusted_key_count = trusted != NULL;
  for (i = 2; i < argc; ++i) {
    fatctx_container container;
    printf("%s\n", argv[i]);
    if (!answered("open", fatctx_container_open(argv[i], &options, &container, &error))) continue;
    print_records(container);
    print_choice(container, device);
    (void)answered("check", fatctx_container_check(container, &error));
    (void)answered("close", fatctx_container_close(container, &error));
  }
  return 0;
}
