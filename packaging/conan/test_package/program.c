/* Prints the version of the C library. */
#include <stdio.h>

#include "fatctx/fatctx.h"

int main(void) { return printf("C: fatctx %s\n", fatctx_library_version()) > 0 ? 0 : 1; }
