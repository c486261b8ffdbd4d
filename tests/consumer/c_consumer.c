/* Prints the version of the library and of the format: c_consumer */
#include <stdio.h>

#include "fatctx/fatctx.h"

int main(void) {
  printf("fatctx %s, format %s\n", fatctx_library_version(), fatctx_format_version());
  return 0;
}
