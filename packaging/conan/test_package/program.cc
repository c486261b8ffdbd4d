// Opens a file that does not exist: the error comes from the library, so it was linked with all that it needs.
#include <cstdio>

#include "fatctx/container.h"
#include "fatctx/version.h"

int main() {
  const auto missing = fatctx::Container::open("no-such-file.fatctx");
  if (missing.ok() || missing.error().code != fatctx::ErrorCode::kNotFound) return 1;
  std::printf("C++: fatctx %s, %s\n", FATCTX_VERSION, missing.error().message.c_str());
}
