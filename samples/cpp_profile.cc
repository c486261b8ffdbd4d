// Measures a load, traces its calls and replays them: cpp_profile model.fatctx
#include <cstdio>
#include <string>

#include "fatctx/model.h"
#include "fatctx/profile.h"
#include "fatctx/trace.h"

namespace {

fatctx::Status load(const char* path) {
  FATCTX_ASSIGN(const fatctx::Model model, fatctx::Model::open(path));
  FATCTX_ASSIGN(const fatctx::Session session, model.begin_session());
  return fatctx::Done{};
}

fatctx::Status run(const char* path) {
  std::string trace;  // one thread: no lock needed
  fatctx::set_trace([&](std::string_view line) { trace.append(line).append("\n"); });
  fatctx::start_profile({.level = fatctx::ProfileLevel::kDetailed, .hook = [](const fatctx::ProfileEvent& event) {
                           std::printf("heard of: %s\n", std::string(profile_event_name(event.kind)).c_str());
                         }});
  FATCTX_TRY(load(path));
  fatctx::set_trace({});
  std::fputs(fatctx::stop_profile().csv().c_str(), stdout);

  FATCTX_ASSIGN(const fatctx::ReplayReport replay, fatctx::replay_trace(trace));
  std::printf("replayed: %zu calls, %zu differences\n", replay.calls, replay.differences.size());
  return fatctx::Done{};
}

}  // namespace

int main(int argc, char** argv) {
  const auto status = run(argc > 1 ? argv[1] : "model.fatctx");
  if (!status.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(status.error()).c_str()), 1;
}
