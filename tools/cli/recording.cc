#include "tools/cli/recording.h"

#include <memory>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/profile.h"
#include "fatctx/trace.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/system/new_file.h"

namespace fatctx::tools {

namespace {

// Stops the trace also if the work ends by an exception: the sink borrows.
struct StopTrace {
  StopTrace() = default;
  ~StopTrace() { set_trace({}); }
  StopTrace(const StopTrace&) = delete;
  StopTrace& operator=(const StopTrace&) = delete;
};

std::string milliseconds(std::uint64_t nanoseconds) {
  return fmt::format("{:.3f}", static_cast<double>(nanoseconds) / 1e6);
}

std::string profile_table(const Profile& profile) {
  using Align = Table::Align;
  if (profile.level == ProfileLevel::kDetailed) {
    Table table({{"event"}, {"ms", Align::kRight}, {"bytes", Align::kRight}, {"record"}, {""}});
    for (const ProfileEvent& event : profile.events) {
      table.add_row({std::string(profile_event_name(event.kind)), milliseconds(event.duration_ns), grouped(event.bytes),
                     event.record, event.ok ? "" : "failed"});
    }
    return table.text("  ");
  }
  Table table({{"event"},
               {"count", Align::kRight},
               {"failed", Align::kRight},
               {"ms", Align::kRight},
               {"longest", Align::kRight},
               {"bytes", Align::kRight}});
  for (const ProfileTotal& total : profile.totals) {
    table.add_row({std::string(profile_event_name(total.kind)), grouped(total.count), grouped(total.failed),
                   milliseconds(total.total_ns), milliseconds(total.longest_ns), grouped(total.bytes)});
  }
  return table.text("  ");
}

// Writes the profile as CSV to `file`, or as a table to standard error if there is no file.
Status report(const Profile& profile, std::optional<NewFile> file) {
  if (file) {
    file->write(profile.csv());
    return file->close();
  }
  std::string table = profile_table(profile);
  table.pop_back();  // print_note adds the line feed
  print_note("profile:\n" + table);
  return Done{};
}

}  // namespace

std::shared_ptr<RecordingOptions> add_recording(CLI::App& command) {
  auto options = std::make_shared<RecordingOptions>();
  auto* profile = command.add_option("--profile", options->profile, "Time the steps: off, basic or detailed");
  profile->type_name("LEVEL")->check(CLI::IsMember({"off", "basic", "detailed"}));
  command.add_option("--profile-file", options->profile_file, "Write the times as CSV, not to stderr")
      ->type_name("FILE")
      ->needs(profile);
  command.add_option("--trace", options->trace_file, "Log open, select and view calls as JSON lines")
      ->type_name("FILE");
  return options;
}

Result<ExitCode> recorded(const RecordingOptions& options, const std::string& container,
                          const std::function<Result<ExitCode>()>& work) {
  const ProfileLevel level = profile_level_from_name(options.profile).value_or(ProfileLevel::kOff);
  for (const std::string& file : {options.profile_file, options.trace_file}) {
    if (!file.empty()) FATCTX_TRY(check_is_no_input(file, {{"container", container}}));
  }
  std::optional<NewFile> profile_file;
  std::optional<NewFile> trace_file;
  if (!options.profile_file.empty() && level != ProfileLevel::kOff) {
    FATCTX_ASSIGN(profile_file, NewFile::create(options.profile_file));
  }
  if (!options.trace_file.empty()) {
    FATCTX_ASSIGN(trace_file, NewFile::create(options.trace_file));
  }

  std::mutex one_line_at_a_time;
  const StopTrace at_the_end;
  if (trace_file) {
    set_trace([&](std::string_view line) {
      const std::lock_guard lock(one_line_at_a_time);
      trace_file->write(line);
      trace_file->write("\n");
    });
  }
  if (level != ProfileLevel::kOff) start_profile({.level = level});
  Result<ExitCode> result = work();
  Status written = Done{};
  if (level != ProfileLevel::kOff) written = report(stop_profile(), std::move(profile_file));
  if (trace_file) {
    set_trace({});
    auto closed = trace_file->close();
    if (written.ok()) written = std::move(closed);
  }
  if (!result.ok() || written.ok()) return result;
  return std::move(written).error();
}

}  // namespace fatctx::tools
