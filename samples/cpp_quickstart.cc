// Opens a model for this machine and looks at the bytes a session gets: cpp_quickstart model.fatctx
#include <cstdio>

#include "fatctx/model.h"

int main(int argc, char** argv) {
  const auto model = fatctx::Model::open(argc > 1 ? argv[1] : "model.fatctx");  // one mapping per file and process
  if (!model.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(model.error()).c_str()), 1;
  std::puts(model.value().explain().c_str());  // why this record and no other
  const auto session = model.value().begin_session();
  if (!session.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(session.error()).c_str()), 1;
  for (const fatctx::SessionRecord& weights : session.value().weights()) {  // views of the file, not copies
    std::printf("weights: %zu bytes at %p\n", weights.view.bytes().size(),
                static_cast<const void*>(weights.view.data()));
  }
}
