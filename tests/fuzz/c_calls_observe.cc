// A process observes itself: metrics, profiles, traces and their replay, and cache folders.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

void Program::use_metrics(std::uint8_t which) {
  fatctx_report report = {kNotWritten};
  if (which % 6 < 2 && !affordable()) return;
  if (which % 6 == 0) {
    const fatctx_container from = {handle(kContainer)};
    return made(fatctx_metrics_of_container(from, out(report), &error_), kReport, report);
  }
  if (which % 6 == 1) return made(fatctx_metrics_of_runtime(out(report), &error_), kReport, report);
  read_report();
}

// Whatever it is a report of.
void Program::read_report() {
  const fatctx_report of = {handle(kReport)};
  const std::uint8_t format = input_.byte() % 4;
  texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_report_text(of, format, buffer, capacity, size, &error_);
  });
}

void Program::trace_line(void* user, const char* line, std::uint64_t size) {
  constexpr std::size_t kMostText = 16'384;  // replays are recorded too, so each would double it
  auto& program = *static_cast<Program*>(user);
  const std::lock_guard lock(program.trace_mutex_);
  require(std::memchr(line, '\n', size) == nullptr, "a line of a trace is one line");
  if (program.trace_.size() + size < kMostText) program.trace_.append(line, size).push_back('\n');
}

void Program::difference(void* user, const fatctx_replay_difference* found) {
  ++*static_cast<std::uint64_t*>(user);
  require(found->line != 0 && found->call.size != 0, "a difference says where it is");
}

void Program::profile_event(void* user, const fatctx_profile_event* event) {
  if (user != nullptr) (void)static_cast<const Callee*>(user)->answer;
  require(event->struct_size == sizeof *event, "an event has its size");
  require(event->kind <= FATCTX_EVENT_UNMAP, "an event is of a listed kind");
}

void Program::replay_trace() {
  if (!affordable()) return;
  std::string trace;
  {
    const std::lock_guard lock(trace_mutex_);
    trace = trace_;
  }
  const std::uint8_t change = input_.byte();
  if (change >= 128) trace.resize(trace.size() * (change - 128U) / 128);
  const std::uint8_t place = input_.byte();
  if (place != 0 && !trace.empty()) {
    trace[trace.size() * place / 256] = static_cast<char>(input_.byte());
  }
  Sized<fatctx_replay_report> report(input_.byte());
  fatctx_replay_report* const into = out(*report.get());
  std::uint64_t differences = 0;
  const char* const given = text(trace.c_str());
  if (!ok(fatctx_trace_replay(given, trace.size(), &difference, &differences, into, &error_)) || !report.whole())
    return;
  require(into->difference_count == differences, "every difference is told");
}

void Program::use_recorders(std::uint8_t which) {
  fatctx_report report = {kNotWritten};
  switch (which % 8) {
    case 0: {
      const std::uint8_t choice = input_.byte();
      Callee& user = callee(choice);
      fatctx_profile_options options = {};
      fatctx_profile_options_init(&options, sizeof options);
      options.level = choice % 4;
      options.max_events = choice >> 2;
      options.hook = null() ? nullptr : &profile_event;
      options.release = release_of(user);
      options.user = &user;
      Sized<fatctx_profile_options> given(input_.byte(), options);
      const fatctx_profile_options* const said = out(*given.get());
      const std::int32_t code = fatctx_profile_start(said, &error_);
      taken(user, given.whole() && said != nullptr ? code : FATCTX_ERROR_UNSUPPORTED);
      (void)checked(code);
      return;
    }
    case 1:
      return made(fatctx_profile_current(out(report), &error_), kReport, report);
    case 2:
      return made(fatctx_profile_stop(out(report), &error_), kReport, report);
    case 3: {
      // The release is null, so that the program itself can be the user of the lines.
      const bool given = !null();
      (void)checked(fatctx_trace_start(given ? &trace_line : nullptr, nullptr, this, &error_));
      return;
    }
    case 4:
      (void)checked(fatctx_trace_stop(&error_));
      return;
    case 5:
      return replay_trace();
    default:
      return read_report();
  }
}

void Program::use_view_caches(std::uint8_t which) {
  const std::uint8_t choice = input_.byte();
  const char* const folder = choice < 200 ? text(files().cache.c_str()) : path();
  if (which % 2 == 0) {
    return texted([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return fatctx_view_cache_json(folder, buffer, capacity, size, &error_);
    });
  }
  Sized<fatctx_view_cache_collection> collection(input_.byte());
  fatctx_view_cache_collection* const into = out(*collection.get());
  const std::uint64_t limit = std::uint64_t{choice} * 4096;
  if (!ok(fatctx_view_cache_collect(folder, limit, into, &error_)) || into == nullptr || !collection.whole()) return;
  require(into->left_bytes <= limit, "no more is left than the limit");
}

}  // namespace fatctx::fuzz
