/* Prints every report of the C interface, each followed by a form feed:
 *   c_reports model.fatctx dlc.fatctx weights.safetensors FOLDER */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fatctx/fatctx.h"

static fatctx_error error;
static char text[1 << 20];

static void must(int32_t code) {
  if (code == FATCTX_OK) return;
  (void)fatctx_error_text(&error, text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(EXIT_FAILURE);
}

/* Prints a text that a call has written into `text`. */
static void print(int32_t code) {
  must(code);
  printf("%s\f", text);
}

static void print_report(int32_t code, fatctx_report report) {
  must(code);
  print(fatctx_report_text(report, FATCTX_FORMAT_JSON, text, sizeof text, NULL, &error));
  must(fatctx_report_close(report, &error));
}

static void add(fatctx_pack_record* record, const char* name, const char* bytes) {
  fatctx_pack_record_init(record, sizeof *record);
  record->type = FATCTX_RECORD_OPAQUE;
  record->name = name;
  record->bytes = bytes;
  record->size = strlen(bytes);
}

static void pack_and_append(const char* path, const char* rewritten) {
  fatctx_packer packer;
  fatctx_appender appender;
  fatctx_pack_record record;
  fatctx_report report = {0};
  must(fatctx_packer_create(NULL, &packer, &error));
  add(&record, "first", "some bytes");
  must(fatctx_packer_add(packer, &record, &error));
  must(fatctx_packer_publish(packer, path, NULL, &error));
  print(fatctx_packer_report_json(packer, text, sizeof text, NULL, &error));
  must(fatctx_packer_close(packer, &error));

  must(fatctx_appender_open(path, NULL, &appender, &error));
  add(&record, "second", "other bytes");
  must(fatctx_appender_add(appender, &record, &error));
  must(fatctx_appender_commit(appender, NULL, &error));
  print(fatctx_appender_report_json(appender, text, sizeof text, NULL, &error));
  must(fatctx_appender_close(appender, &error));

  print_report(fatctx_rewrite_container(path, rewritten, NULL, &report, &error), report);
}

int main(int argc, char** argv) {
  char packed[4096];
  char rewritten[4096];
  fatctx_profile_options profile;
  fatctx_container container;
  fatctx_container dlc;
  fatctx_model model;
  fatctx_session session;
  fatctx_device device;
  fatctx_report report = {0};

  if (argc != 5) return EXIT_FAILURE;
  fatctx_error_init(&error, sizeof error);
  fatctx_profile_options_init(&profile, sizeof profile);
  profile.level = FATCTX_PROFILE_DETAILED;
  must(fatctx_profile_start(&profile, &error));

  must(fatctx_container_open(argv[1], NULL, &container, &error));
  must(fatctx_model_choose(container, NULL, &model, &error));
  print(fatctx_model_explain(model, FATCTX_FORMAT_JSON, text, sizeof text, NULL, &error));
  must(fatctx_model_begin_session(model, &session, &error));
  print(fatctx_session_json(session, text, sizeof text, NULL, &error));
  print_report(fatctx_metrics_of_container(container, &report, &error), report);
  print_report(fatctx_metrics_of_runtime(&report, &error), report);
  print_report(fatctx_container_sharing(container, NULL, NULL, &report, &error), report);
  print_report(fatctx_profile_stop(&report, &error), report);

  must(fatctx_container_open(argv[2], NULL, &dlc, &error));
  print(fatctx_container_dlcs_json(dlc, text, sizeof text, NULL, &error));
  print(fatctx_container_dlc_json(dlc, NULL, text, sizeof text, NULL, &error));
  print(fatctx_tensors_json(argv[3], FATCTX_WEIGHTS_SAFETENSORS, text, sizeof text, NULL, &error));

  must(fatctx_device_parse("SM8650", &device, &error));
  print(fatctx_device_json(device, text, sizeof text, NULL, &error));
  must(fatctx_device_close(device, &error));

  snprintf(packed, sizeof packed, "%s/packed.fatctx", argv[4]);
  snprintf(rewritten, sizeof rewritten, "%s/rewritten.fatctx", argv[4]);
  pack_and_append(packed, rewritten);

  must(fatctx_session_close(session, &error));
  must(fatctx_model_close(model, &error));
  must(fatctx_container_close(dlc, &error));
  must(fatctx_container_close(container, &error));
  return EXIT_SUCCESS;
}
