// Profile and trace through C: recorders that call back.
#include "fatctx/profile.h"

#include <fmt/format.h>

#include "capi/callbacks.h"
#include "capi/objects.h"
#include "fatctx/trace.h"

namespace fatctx::capi {
namespace {

fatctx_profile_event event_out(const ProfileEvent& event) noexcept {
  fatctx_profile_event out = {};
  out.kind = static_cast<std::uint32_t>(event.kind);
  out.start_ns = event.start_ns;
  out.duration_ns = event.duration_ns;
  out.bytes = event.bytes;
  out.thread = event.thread;
  out.ok = flag(event.ok);
  out.record_id = event.record_id;
  out.path = text_out(event.path);
  out.record = text_out(event.record);
  return out;
}

}  // namespace
}  // namespace fatctx::capi

using namespace fatctx::capi;

extern "C" {

void fatctx_profile_options_init(fatctx_profile_options* options, size_t struct_size) {
  const fatctx::ProfileOptions defaults;
  fatctx_profile_options result = {};
  result.level = static_cast<std::uint32_t>(defaults.level);
  result.max_events = defaults.max_events;
  init_sized(result, options, struct_size);
}

int32_t fatctx_profile_start(const fatctx_profile_options* options, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    fatctx_profile_options given = {};
    fatctx_profile_options_init(&given, sizeof given);
    if (options != nullptr) FATCTX_TRY(read_sized(options, given));
    if (given.level > FATCTX_PROFILE_DETAILED) {
      return fatctx::Error{
          fatctx::ErrorCode::kInvalidArgument,
          fmt::format("level is {}; allowed are FATCTX_PROFILE_OFF (0), _BASIC (1) and _DETAILED (2)", given.level)};
    }
    fatctx::ProfileOptions passed;
    passed.level = static_cast<fatctx::ProfileLevel>(given.level);
    passed.max_events = static_cast<std::size_t>(given.max_events);
    const auto user = std::make_shared<CallersUser>(given.user, given.release);
    if (given.hook != nullptr) {
      passed.hook = [hook = given.hook, user](const fatctx::ProfileEvent& event) {
        fatctx_profile_event told = event_out(event);
        told.struct_size = sizeof told;
        quietly([&] { hook(user->get(), &told); });
      };
    }
    fatctx::start_profile(passed);
    user->arm();
    return fatctx::Done{};
  });
}

int32_t fatctx_profile_current(fatctx_report* report, fatctx_error* error) {
  return make_handle(report, "report", error,
                     [&]() -> fatctx::Result<fatctx::Profile> { return fatctx::current_profile(); });
}

int32_t fatctx_profile_stop(fatctx_report* report, fatctx_error* error) {
  return make_handle(report, "report", error,
                     [&]() -> fatctx::Result<fatctx::Profile> { return fatctx::stop_profile(); });
}

int32_t fatctx_trace_start(fatctx_trace_sink sink, fatctx_release release, void* user, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(sink, "sink"));
    const auto held = std::make_shared<CallersUser>(user, release);
    fatctx::set_trace(
        [sink, held](std::string_view line) { quietly([&] { sink(held->get(), line.data(), line.size()); }); });
    held->arm();
    return fatctx::Done{};
  });
}

int32_t fatctx_trace_stop(fatctx_error* error) {
  return guarded(error, []() -> fatctx::Status {
    fatctx::set_trace({});
    return fatctx::Done{};
  });
}

int32_t fatctx_trace_replay(const char* trace, uint64_t size, fatctx_difference difference, void* user,
                            fatctx_replay_report* report, fatctx_error* error) {
  return guarded(error, [&]() -> fatctx::Status {
    FATCTX_TRY(not_null(report, "report"));
    FATCTX_TRY(check_struct_size(report->struct_size));
    FATCTX_ASSIGN(const auto text, array_in(trace, size, "trace"));
    FATCTX_ASSIGN(const fatctx::ReplayReport replayed, fatctx::replay_trace({text.data(), text.size()}));
    for (const fatctx::ReplayDifference& found : replayed.differences) {
      if (difference == nullptr) break;
      fatctx_replay_difference told = {};
      told.struct_size = sizeof told;
      told.line = found.line;
      told.call = text_out(found.call);
      told.gave = text_out(found.gave);
      told.gives = text_out(found.gives);
      difference(user, &told);
    }
    fatctx_replay_report filled = {};
    filled.calls = replayed.calls;
    filled.skipped = replayed.skipped;
    filled.difference_count = replayed.differences.size();
    return write_sized(filled, report, "report");
  });
}

}  // extern "C"
