/* Opens a container and prints the version of the library and the number of records: c_consumer model.fatctx */
#include <stdio.h>

#include "fatctx/fatctx.h"

int main(int argc, char** argv) {
  fatctx_container container;
  fatctx_error error;
  uint64_t count = 0;
  fatctx_error_init(&error, sizeof error);
  if (fatctx_container_open(argc > 1 ? argv[1] : "model.fatctx", NULL, &container, &error) != FATCTX_OK) {
    return fprintf(stderr, "%s\n", error.message), 1;
  }
  if (fatctx_container_record_count(container, &count, &error) != FATCTX_OK) return 1;
  printf("fatctx %s, %u records\n", fatctx_library_version(), (unsigned)count);
  return fatctx_container_close(container, NULL) == FATCTX_OK ? 0 : 1;
}
