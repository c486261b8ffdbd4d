// Brings the chosen records into memory before they are needed, and releases them afterwards: cpp_memory model.fatctx
#include <cstdio>

#include "fatctx/metrics.h"
#include "fatctx/model.h"

namespace {

fatctx::Status run(const char* path) {
  FATCTX_ASSIGN(const fatctx::Model model, fatctx::Model::open(path));
  FATCTX_ASSIGN(const fatctx::Session session, model.begin_session());

  // Prefetches on its own thread, within a budget, while the application sets up other things.
  FATCTX_ASSIGN(fatctx::PrefetchHandle prefetch, session.prefetch_in_background({.max_bytes = 1ULL << 30}));
  FATCTX_ASSIGN(const fatctx::PrefetchReport report, prefetch.wait());
  std::printf("prefetch: %llu of %llu bytes\n", static_cast<unsigned long long>(report.done_bytes),
              static_cast<unsigned long long>(report.asked_bytes));

  // A second session costs no memory; the metrics report the bytes that sharing saves.
  FATCTX_ASSIGN(const fatctx::Session second, model.begin_session());
  const fatctx::ContainerMetrics metrics = fatctx::container_metrics(*model.container());
  std::printf("%u sessions, %llu bytes saved\n", metrics.sessions,
              static_cast<unsigned long long>(metrics.saved_bytes));

  // Locks the weights in memory, as far as the system allows, so that they are never paged out.
  for (const fatctx::SessionRecord& weights : session.weights()) {
    const auto locked = model.container()->lock(weights.view.record_id());
    std::printf("locked: %s\n", locked.ok() ? "yes" : fatctx::to_text(locked.error()).c_str());
  }

  // The device has its copy now. This drops the pages; the views stay valid, and reading them loads the pages again.
  FATCTX_ASSIGN(const fatctx::ReleaseReport released, session.release());
  std::printf("released: %llu bytes\n", static_cast<unsigned long long>(released.released_bytes));
  return fatctx::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const auto status = run(argc > 1 ? argv[1] : "model.fatctx");
  if (!status.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(status.error()).c_str()), 1;
}
