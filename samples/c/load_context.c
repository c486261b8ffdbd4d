/* Loads the context binary for this machine from any file, with a limit of ten seconds, and then two files in the
 * background:
 *   load_context model.fatctx                                                                                        */
#include <stdio.h>
#include <stdlib.h>

#include "fatctx/fatctx.h"

static int failed(const fatctx_error* error) {
  char line[2048];
  if (fatctx_error_text(error, line, sizeof line, NULL) == FATCTX_OK) fprintf(stderr, "%s\n", line);
  return EXIT_FAILURE;
}

/* Represents a call of a backend: it takes a pointer and a size, valid until the view is closed. */
static int32_t create_context(fatctx_session session, fatctx_error* error) {
  fatctx_view binary;
  int32_t code = fatctx_session_binary(session, NULL, &binary, error);
  if (code != FATCTX_OK) return code;
  printf("%llu bytes at %p\n", (unsigned long long)binary.size, binary.data);
  return fatctx_view_close(binary, error);
}

/* Prints events; called on the thread that loads. */
static void hear(void* user, const fatctx_load_event* event) {
  (void)user;
  if (event->kind == FATCTX_LOAD_GRAPH_INITIALISED) {
    printf("graph: %.*s\n", (int)event->graph.size, event->graph.data);
  } else if (event->error == NULL) {
    printf("context: %.*s\n", (int)event->record.size, event->record.data);
  }
}

/* Receives the result of an item; called on a thread of the list, for one item at a time. */
static void finish(void* user, uint64_t index, fatctx_session session, const fatctx_error* error) {
  (void)user;
  printf("item %llu: %s\n", (unsigned long long)index, error == NULL ? "loaded" : fatctx_error_code_name(error->code));
  if (error == NULL) (void)fatctx_session_close(session, NULL);
}

/* Loads one file. The call is the same for a container, a DLC or an IREE module. */
static int32_t load_one(const fatctx_source* source, fatctx_error* error) {
  fatctx_model_options model;
  fatctx_load_options options;
  fatctx_load_signal signal;
  fatctx_session session;
  fatctx_session_info info = {.struct_size = sizeof info};
  int32_t code = fatctx_load_signal_create(10000, &signal, error); /* another thread may cancel it before */
  if (code != FATCTX_OK) return code;
  fatctx_load_options_init(&options, sizeof options);
  fatctx_model_options_init(&model, sizeof model);
  model.signal = signal;
  options.model = &model;
  options.notify = hear;
  code = fatctx_load(source, &options, &session, error);
  (void)fatctx_load_signal_close(signal, NULL);
  if (code != FATCTX_OK) return code;
  code = fatctx_session_describe(session, &info, error);
  if (code == FATCTX_OK) printf("format: %s\n", fatctx_model_format_name(info.format));
  if (code == FATCTX_OK) code = create_context(session, error);
  (void)fatctx_session_close(session, NULL);
  return code;
}

/* Loads two files. A missing file does not stop the other. */
static int32_t load_both(const fatctx_source* first, const fatctx_source* second, fatctx_error* error) {
  const fatctx_load_item items[] = {{.source = first, .finished = finish}, {.source = second, .finished = finish}};
  fatctx_load_list list;
  int32_t code = fatctx_load_list_start(items, 2, 1, &list, error);
  if (code != FATCTX_OK) return code;
  code = fatctx_load_list_wait(list, error);
  (void)fatctx_load_list_close(list, NULL);
  return code;
}

int main(int argc, char** argv) {
  fatctx_error error;
  fatctx_source source;
  fatctx_source missing;

  if (argc != 2) return fprintf(stderr, "usage: load_context FILE\n"), EXIT_FAILURE;
  fatctx_error_init(&error, sizeof error);
  fatctx_source_init(&source, sizeof source);
  source.path = argv[1];
  missing = source;
  missing.path = "missing.fatctx";
  if (load_one(&source, &error) != FATCTX_OK) return failed(&error);
  if (load_both(&missing, &source, &error) != FATCTX_OK) return failed(&error);
  return EXIT_SUCCESS;
}
