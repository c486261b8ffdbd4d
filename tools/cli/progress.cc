#include "tools/cli/progress.h"

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
    : label_(std::move(label)), draw_(draw), next_(Clock::now() + first_after) {}

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

void ProgressLine::bytes(std::uint64_t done, std::uint64_t total) {
  if (!due()) return;
  const double percent = total == 0 ? 100.0 : 100.0 * static_cast<double>(done) / static_cast<double>(total);
  draw(fmt::format("{}  {:3.0f} %  {} of {}", label_, percent, short_size_text(done), short_size_text(total)));
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
