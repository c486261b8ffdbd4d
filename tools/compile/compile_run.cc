#include "tools/compile/compile_run.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/print.h"
#include "tools/cli/progress.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kShownLogLines = 20;  // of a tool that failed

// Returns the first lines of a tool's output: errors come first, traces after them.
std::string first_lines(const std::string& log, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count && end < log.size(); ++i) end = std::min(log.find('\n', end), log.size() - 1) + 1;
  std::string lines = log.substr(0, end);
  while (!lines.empty() && lines.back() == '\n') lines.pop_back();
  if (end < log.size()) lines += "\n[...]";
  return lines;
}

class TargetRun {
 public:
  TargetRun(const CompileDriver& driver, const std::atomic<bool>& stop)
      : driver_(driver), stop_(stop), outcomes_(driver.target_count()) {
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      outcomes_[i].label = driver.label(i);
      outcomes_[i].unit = driver.unit(i);
      outcomes_[i].explains_its_log = driver.explains_its_log(i);
      title_width_ = std::max(title_width_, outcomes_[i].title().size());
    }
  }

  std::vector<TargetOutcome> run(unsigned jobs) {
    show_progress();
    std::vector<std::thread> workers;
    const std::size_t count = std::min<std::size_t>(jobs, outcomes_.size());
    for (std::size_t i = 1; i < count; ++i) workers.emplace_back([this] { work(); });
    work();
    for (std::thread& worker : workers) worker.join();
    line_.reset();
    return std::move(outcomes_);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < outcomes_.size(); i = next_++) {
      TargetOutcome& outcome = outcomes_[i];
      if (stop_.load(std::memory_order_relaxed)) {
        outcome.error = Error{ErrorCode::kCancelled, "not begun: interrupted"};
        continue;
      }
      compile(i, outcome);
      const std::lock_guard lock(mutex_);
      ++done_;
      line_.reset();  // wipes the line, so that the note starts on an empty one
      tell(outcome);
      show_progress();
    }
  }

  // Compiles for one target. Catches all exceptions, because none may leave a thread.
  void compile(std::size_t target, TargetOutcome& outcome) const {
    try {
      auto result = driver_.compile(target, outcome.log);
      if (result.ok()) {
        outcome.result = std::move(result).value();
      } else {
        outcome.error = std::move(result).error();
      }
    } catch (const std::bad_alloc&) {
      outcome.error = Error{ErrorCode::kOutOfMemory, "out of memory"};
    } catch (const std::exception& error) {
      outcome.error = Error{ErrorCode::kInternal, error.what()};
    }
  }

  void tell(const TargetOutcome& outcome) const {
    if (!outcome.result) {
      print_note(escaped(fmt::format("  {:<{}}  FAILED  {}", outcome.title(), title_width_, outcome.error->message)));
      return;
    }
    const CompiledTarget& result = *outcome.result;
    const std::string took = result.cached ? "cached" : fmt::format("{:.1f} s", result.seconds);
    print_note(escaped(fmt::format("  {:<{}}  {:>6}  {}{}{}", outcome.title(), title_width_, took,
                                   size_text(result.size_bytes), result.check.empty() ? "" : "  ", result.check)));
    for (const std::string& note : result.notes) {
      print_note(escaped(fmt::format("note: {}: {}", outcome.title(), note)));
    }
  }

  void show_progress() {
    if (done_ == outcomes_.size()) return;
    line_.emplace("compile", stderr_is_terminal(), std::chrono::milliseconds(0));
    line_->step(done_, outcomes_.size(), "targets done");
  }

  const CompileDriver& driver_;
  const std::atomic<bool>& stop_;
  std::vector<TargetOutcome> outcomes_;
  std::size_t title_width_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  // guards the two members below and the terminal
  std::size_t done_ = 0;
  std::optional<ProgressLine> line_;
};

}  // namespace

std::vector<TargetOutcome> compile_targets(const CompileDriver& driver, unsigned jobs, const std::atomic<bool>& stop) {
  return TargetRun(driver, stop).run(jobs);
}

std::size_t failed_count(const std::vector<TargetOutcome>& outcomes) {
  return static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(), [](const TargetOutcome& outcome) { return !outcome.result; }));
}

Json outcomes_json(const std::vector<TargetOutcome>& outcomes) {
  Json list = Json::array();
  for (const TargetOutcome& outcome : outcomes) {
    list.push_back({{"target", outcome.label},
                    {"unit", outcome.unit},
                    {"ok", outcome.result.has_value()},
                    {"cached", outcome.result && outcome.result->cached},
                    {"seconds", outcome.result ? outcome.result->seconds : 0.0},
                    {"size_bytes", outcome.result ? outcome.result->size_bytes : 0},
                    {"check", outcome.result ? outcome.result->check : std::string()},
                    {"error", outcome.error ? outcome.error->message : std::string()}});
  }
  return list;
}

void print_log(std::string_view title, const std::string& log) {
  const std::string lines = first_lines(log, kShownLogLines);
  if (!lines.empty()) print_note(fmt::format("{}:\n{}", escaped(title), escaped_lines(lines)));
}

}  // namespace fatctx::tools
