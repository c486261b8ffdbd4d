// Opens a container and prints its model and its records: consumer model.fatctx
#include <cstdio>

#include "fatctx/container.h"
#include "fatctx/version.h"

int main(int argc, char** argv) {
  const auto container = fatctx::Container::open(argc > 1 ? argv[1] : "model.fatctx");
  if (!container.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(container.error()).c_str()), 1;
  std::printf("fatctx %s, %zu records\n", FATCTX_VERSION, container.value().record_count());
}
