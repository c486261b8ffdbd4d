/* Opens a container from C, prints which record fits this machine and why, and reads its bytes and one tensor:
 *   load model.fatctx net.weights layer.weight                                                                      */
#include <stdio.h>
#include <stdlib.h>

#include "fatctx/fatctx.h"

static int failed(const fatctx_error* error) {
  char line[2048];
  if (fatctx_error_text(error, line, sizeof line, NULL) == FATCTX_OK) fprintf(stderr, "%s\n", line);
  return EXIT_FAILURE;
}

/* Prints the explanation: asks for its size first, then for the text. */
static int print_explanation(fatctx_model model, fatctx_error* error) {
  size_t size = 0;
  char* text = NULL;
  int32_t code = fatctx_model_explain(model, FATCTX_FORMAT_TEXT, NULL, 0, &size, error);
  if (code != FATCTX_OK) return failed(error);
  text = malloc(size + 1);
  if (text == NULL) return EXIT_FAILURE;
  code = fatctx_model_explain(model, FATCTX_FORMAT_TEXT, text, size + 1, NULL, error);
  if (code == FATCTX_OK) fputs(text, stdout);
  free(text);
  return code == FATCTX_OK ? EXIT_SUCCESS : failed(error);
}

/* Acquires a tensor of the weight blob. The view stays valid after the table is closed. */
static int32_t view_tensor(fatctx_container container, const char* weights, const char* name, fatctx_view* view,
                           fatctx_error* error) {
  fatctx_record_info record = {.struct_size = sizeof record};
  fatctx_tensor_table table;
  int32_t code = fatctx_container_find(container, weights, &record, error);
  if (code != FATCTX_OK) return code;
  code = fatctx_container_tensors(container, record.id, &table, error);
  if (code != FATCTX_OK) return code;
  code = fatctx_tensor_table_view(table, name, view, error);
  (void)fatctx_tensor_table_close(table, NULL);
  return code;
}

int main(int argc, char** argv) {
  fatctx_error error;
  fatctx_container container;
  fatctx_model model;
  fatctx_session session;
  fatctx_view binary;
  fatctx_view tensor;
  fatctx_tensor_info info = {.struct_size = sizeof info};

  if (argc != 4) return fprintf(stderr, "usage: load FILE WEIGHTS TENSOR\n"), EXIT_FAILURE;
  fatctx_error_init(&error, sizeof error);

  /* Every file is mapped once per process, however often it is opened. Null options are the defaults. */
  if (fatctx_container_open(argv[1], NULL, &container, &error) != FATCTX_OK) return failed(&error);
  if (fatctx_model_choose(container, NULL, &model, &error) != FATCTX_OK) return failed(&error);
  if (print_explanation(model, &error) != EXIT_SUCCESS) return EXIT_FAILURE;

  if (fatctx_model_begin_session(model, &session, &error) != FATCTX_OK) return failed(&error);
  if (fatctx_session_binary(session, NULL, &binary, &error) != FATCTX_OK) return failed(&error);
  if (view_tensor(container, argv[2], argv[3], &tensor, &error) != FATCTX_OK) return failed(&error);

  /* Views keep their mapping alive: the other handles may be closed first, in any order. */
  (void)fatctx_container_close(container, NULL);
  (void)fatctx_model_close(model, NULL);
  (void)fatctx_session_close(session, NULL);

  if (fatctx_view_tensor(tensor, &info, &error) != FATCTX_OK) return failed(&error);
  printf("binary: %llu bytes at %p\n", (unsigned long long)binary.size, binary.data);
  printf("tensor: %.*s, %s, %llu bytes at %p\n", (int)info.name.size, info.name.data, fatctx_dtype_name(info.dtype),
         (unsigned long long)tensor.size, tensor.data);
  (void)fatctx_view_close(binary, NULL);
  (void)fatctx_view_close(tensor, NULL);
  return EXIT_SUCCESS;
}
