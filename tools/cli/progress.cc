#include "tools/cli/progress.h"

#include <cmath>
#include <cstdio>

#include <fmt/format.h>

#include "tools/cli/print.h"

namespace fatctx::tools {

namespace {
using Clock = std::chrono::steady_clock;
constexpr auto kThenEvery = std::chrono::milliseconds(100);
constexpr std::string_view kWipe = "\r\x1b[K";
}  // namespace

ProgressLine::ProgressLine(std::string label) : ProgressLine(std::move(label), stderr_is_terminal()) {}

ProgressLine::ProgressLine(std::string label, bool draw, std::chrono::milliseconds first_after)
    : label_(std::move(label)), draw_(draw), begun_(Clock::now()), next_(begun_ + first_after) {}

ProgressLine::~ProgressLine() {
  if (shown_) std::fwrite(kWipe.data(), 1, kWipe.size(), stderr);
}

Progress ProgressLine::callback() {
  return [this](std::uint64_t done, std::uint64_t total) { bytes(done, total); };
}

bool ProgressLine::due() {
  if (!draw_) return false;
  const auto now = Clock::now();
  if (now < next_) return false;
  next_ = now + kThenEvery;
  return true;
}

std::string ProgressLine::pace_text(std::uint64_t done, std::uint64_t total, std::chrono::milliseconds spent) {
  if (done == 0 || spent < std::chrono::milliseconds(200)) return "";
  const double seconds = static_cast<double>(spent.count()) / 1000;
  const double rate = static_cast<double>(done) / seconds;
  std::string text = fmt::format(", {}/s", short_size_text(static_cast<std::uint64_t>(rate)));
  if (done >= total) return text;
  const auto left = static_cast<std::uint64_t>(std::llround(static_cast<double>(total - done) / rate));
  if (left < 60) return text + fmt::format(", {} s left", left);
  return text + fmt::format(", {}:{:02} min left", left / 60, left % 60);
}

void ProgressLine::bytes(std::uint64_t done, std::uint64_t total) {
  if (done < last_done_) {  // another pass over the bytes
    ++pass_;
    begun_ = Clock::now();
    first_done_ = done;
  }
  last_done_ = done;
  if (!due()) return;
  const double percent = total == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
  const auto spent = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_);
  draw(fmt::format("{}{}  {:3.0f} %  {} of {}{}", label_, pass_ == 1 ? "" : fmt::format(", pass {}", pass_), percent,
                   short_size_text(done), short_size_text(total),
                   pace_text(done - first_done_, total - first_done_, spent)));
}

void ProgressLine::step(std::uint64_t done, std::uint64_t total, std::string_view what) {
  if (!due()) return;
  draw(fmt::format("{}  {} of {}  {}", label_, done, total, what));
}

void ProgressLine::draw(const std::string& text) {
  const std::string line = fmt::format("{}{}", kWipe, escaped(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace fatctx::tools
