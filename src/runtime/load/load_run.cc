#include "runtime/load/load_run.h"

#include <string>
#include <utility>
#include <vector>

#include "runtime/facade/model_impl.h"
#include "runtime/facade/open_model.h"
#include "runtime/open/step_watch.h"
#include "runtime/open/watched_call.h"

namespace fatctx {
namespace {

// Returns the largest number of bytes that a load may read of the chosen records: to verify or copy them, and to
// prefetch them.
std::uint64_t bytes_to_read(const Model& model, bool prefetch) {
  std::uint64_t total = 0;
  for (const ModelPart& part : model.impl().binaries) total += part.size_bytes;
  for (const ModelPart& part : model.impl().weights) total += part.size_bytes;
  return prefetch ? 2 * total : total;
}

Status prefetch_session(const Session& session) {
  std::uint64_t before = 0;
  PrefetchOptions how;
  how.cancel = StepWatch::stop();
  how.progress = [&](std::uint64_t done, std::uint64_t) {
    (void)StepWatch::step(done - before);  // a request to stop is noticed through `cancel`
    before = done;
  };
  FATCTX_ASSIGN(const PrefetchReport report, session.prefetch(how));
  if (report.cancelled) return Error{ErrorCode::kCancelled, "the load was stopped"};
  return Done{};
}

struct Loaded {
  Session session;
  std::vector<std::vector<std::string>> graphs;  // of each binary, if requested
};

struct Wanted {
  bool prefetch = false;
  bool graphs = false;
};

Result<Loaded> load_here(const Source& source, const ModelOptions& options, const Wanted& wanted,
                         std::atomic<std::uint64_t>& total_bytes) {
  FATCTX_ASSIGN(const Model model, open_model(source, options));
  total_bytes.store(bytes_to_read(model, wanted.prefetch), std::memory_order_relaxed);
  FATCTX_ASSIGN(Session session, model.begin_session());
  if (wanted.prefetch) FATCTX_TRY(prefetch_session(session));
  Loaded loaded{.session = std::move(session), .graphs = {}};
  if (!wanted.graphs) return loaded;
  FATCTX_ASSIGN(loaded.graphs, graphs_of_binaries(model.impl()));
  return loaded;
}

void tell(const Loaded& loaded, const LoadNotify& notify) {
  std::size_t at = 0;
  for (const SessionRecord& binary : loaded.session.binaries()) {
    LoadEvent event{.kind = LoadEventKind::kGraphInitialised,
                    .record = std::string(binary.name),
                    .unit = std::string(binary.unit),
                    .graph = {}};
    for (const std::string& graph : loaded.graphs[at++]) {
      event.graph = graph;
      notify(event);
    }
    event.kind = LoadEventKind::kContextInitialised;
    event.graph.clear();
    notify(event);
  }
}

Result<Loaded> load_watched(const HeldSource& source, const LoadOptions& options, StopSource* stop) {
  const WatchedCall call{.name = source.source().name(),
                         .signal = options.model.signal ? options.model.signal->state().get() : nullptr,
                         .stop = stop,
                         .progress = options.progress,
                         .may_outlive_the_call = source.may_outlive_the_call()};
  const ModelOptions own = for_thread(options.model);
  const Wanted wanted{.prefetch = options.prefetch, .graphs = static_cast<bool>(options.notify)};
  auto loaded = watched<Loaded>(call, [source, own, wanted](std::atomic<std::uint64_t>& total_bytes) {
    return load_here(source.source(), own, wanted, total_bytes);
  });
  if (options.progress && loaded.ok()) {
    const std::uint64_t total = bytes_to_read(loaded.value().session.model(), wanted.prefetch);
    options.progress(total, total);
  }
  return loaded;
}

}  // namespace

Result<Session> run_load(const HeldSource& source, const LoadOptions& options, StopSource* stop) {
  Result<Loaded> loaded = load_watched(source, options, stop);
  if (loaded.ok()) {
    if (options.notify) tell(loaded.value(), options.notify);
    return std::move(loaded).value().session;
  }
  if (options.notify) {
    options.notify(
        {.kind = LoadEventKind::kContextInitialised, .record = {}, .unit = {}, .graph = {}, .error = loaded.error()});
  }
  return std::move(loaded).error();
}

}  // namespace fatctx
