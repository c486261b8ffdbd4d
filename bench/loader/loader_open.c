/* Opens a container, chooses for a device, begins a session and acquires a view, again and again; prints the
 * nanoseconds of each round. It is linked with the small loader and with the whole library; loader.py runs both in
 * turn. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fatctx/loader.h"

static fatctx_error error;

static void must(int32_t code) {
  if (code == FATCTX_OK) return;
  fprintf(stderr, "loader_open: %s\n", error.message);
  exit(1);
}

static uint64_t now_ns(void) {
  struct timespec now;
  (void)timespec_get(&now, TIME_UTC);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static unsigned char first_byte(const char* path, fatctx_device device) {
  fatctx_container container;
  fatctx_model_options options;
  fatctx_model model;
  fatctx_session session;
  fatctx_view view;
  unsigned char byte = 0;
  must(fatctx_container_open(path, NULL, &container, &error));
  fatctx_model_options_init(&options, sizeof options);
  options.device = device;
  must(fatctx_model_choose(container, &options, &model, &error));
  must(fatctx_model_begin_session(model, &session, &error));
  must(fatctx_session_binary(session, NULL, &view, &error));
  byte = *(const unsigned char*)view.data;
  must(fatctx_view_close(view, &error));
  must(fatctx_session_end(session, &error));
  must(fatctx_model_close(model, &error));
  must(fatctx_container_close(container, &error));
  return byte;
}

int main(int argc, char** argv) {
  fatctx_device device;
  long rounds = 0;
  unsigned sum = 0;
  if (argc != 4) return fprintf(stderr, "usage: loader_open FILE DEVICE ROUNDS\n"), 2;
  rounds = strtol(argv[3], NULL, 10);
  fatctx_error_init(&error, sizeof error);
  must(fatctx_device_parse(argv[2], &device, &error));
  while (rounds-- > 0) {
    const uint64_t before = now_ns();
    sum += first_byte(argv[1], device);
    printf("%" PRIu64 "\n", now_ns() - before);
  }
  return sum == 1 ? 3 : 0; /* the byte is used */
}
