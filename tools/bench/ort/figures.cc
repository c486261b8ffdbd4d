#include "tools/bench/ort/figures.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/print.h"

namespace fatctx::tools {
namespace {

std::string time_text(double seconds) {
  if (seconds <= 0) return "";
  return seconds < 1 ? fmt::format("{:.1f} ms", seconds * 1000) : fmt::format("{:.2f} s", seconds);
}

std::string bytes_text(std::int64_t bytes) {
  return short_size_text(bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
}

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

struct Bar {
  std::string label;
  std::string value;
  double size = 0;
};

constexpr int kWidth = 760;
constexpr int kLabels = 190;
constexpr int kBars = 420;
constexpr int kRow = 26;

// Draws one block of bars. Returns the top of the next block.
int draw(std::string& svg, int top, const std::string& title, const std::vector<Bar>& bars) {
  double largest = 0;
  for (const Bar& bar : bars) largest = std::max(largest, bar.size);
  svg += fmt::format("<text x=\"10\" y=\"{}\" font-weight=\"bold\">{}</text>\n", top + 16, xml(title));
  int y = top + 28;
  for (const Bar& bar : bars) {
    const double width = largest <= 0 ? 0 : bar.size / largest * kBars;
    svg += fmt::format("<text x=\"10\" y=\"{}\">{}</text>\n", y + 15, xml(bar.label));
    svg +=
        fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"18\" fill=\"#3b6ea5\"/>\n", kLabels, y, width);
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>\n", kLabels + width + 6, y + 15, xml(bar.value));
    y += kRow;
  }
  return y + 10;
}

// Says which rows read the container from storage.
std::string cache_text(const std::vector<WayFigures>& ways) {
  std::vector<std::string_view> dropped;
  for (const WayFigures& way : ways) {
    if (way.dropped) dropped.emplace_back(way.way);
  }
  if (dropped.empty()) return "warm in every row";
  return fmt::format("the container is dropped from it before each load of the row {}; warm in the others",
                     fmt::join(dropped, ", "));
}

Json times_json(const Times& times) { return {{"min", times.min}, {"median", times.median}}; }

}  // namespace

Times times_of(std::vector<double> seconds) {
  if (seconds.empty()) return {};
  std::sort(seconds.begin(), seconds.end());
  return {.min = seconds.front(), .median = seconds[seconds.size() / 2]};
}

std::string bench_text(const OrtBench& bench) {
  Block block;
  block.add("model", fmt::format("{}, {}; its container {}", bench.model, size_text(bench.model_bytes),
                                 size_text(bench.container_bytes)));
  block.add("runtime", bench.runtime);
  block.add("machine", bench.machine);
  block.add("storage", bench.storage);
  block.add("page cache", cache_text(bench.ways));
  block.add("figures", fmt::format("{} process{} for each row, one after the other; memory with {}", bench.repetitions,
                                   bench.repetitions == 1 ? "" : "es", count_text(bench.sessions, "session")));
  using Align = Table::Align;
  Table table({{"way"},
               {"min", Align::kRight},
               {"median", Align::kRight},
               {"further, min", Align::kRight},
               {"further, median", Align::kRight},
               {"anonymous, 1", Align::kRight},
               {"all", Align::kRight},
               {"PSS, 1", Align::kRight},
               {"all", Align::kRight},
               {"peak RSS", Align::kRight}});
  for (const WayFigures& way : bench.ways) {
    const bool sessions = way.way != "compile";
    table.add_row({way.way, time_text(way.first.min), time_text(way.first.median), time_text(way.further.min),
                   time_text(way.further.median), sessions ? bytes_text(way.anonymous_first) : "",
                   sessions ? bytes_text(way.anonymous_all) : "", sessions ? bytes_text(way.pss_first) : "",
                   sessions ? bytes_text(way.pss_all) : "", sessions ? bytes_text(way.peak_rss) : ""});
  }
  const InnerFigures& inner = bench.inner;
  std::string text =
      block.text() + "\n" + table.text() +
      fmt::format("\nfurther session, {}, of the ordinary session inside it, {}: {:.2f} times (medians)\n",
                  time_text(inner.ours.median), time_text(inner.inner.median), inner.ours.median / inner.inner.median);
  if (bench.run.empty()) return text;
  Table runs({{"run"}, {"ordinary", Align::kRight}, {"ours", Align::kRight}, {"ratio of medians", Align::kRight}});
  for (const RunFigures& run : bench.run) {
    runs.add_row({run.memory, time_text(run.ordinary.median), time_text(run.ours.median),
                  fmt::format("{:.3f}", run.ours.median / run.ordinary.median)});
  }
  return text + "\n" + runs.text();
}

Json bench_json(const OrtBench& bench) {
  Json ways = Json::array();
  for (const WayFigures& way : bench.ways) {
    ways.push_back({{"way", way.way},
                    {"dropped_from_page_cache", way.dropped},
                    {"first_seconds", times_json(way.first)},
                    {"further_seconds", times_json(way.further)},
                    {"anonymous_bytes", {{"first", way.anonymous_first}, {"all", way.anonymous_all}}},
                    {"pss_bytes", {{"first", way.pss_first}, {"all", way.pss_all}}},
                    {"peak_rss_bytes", way.peak_rss}});
  }
  Json runs = Json::array();
  for (const RunFigures& run : bench.run) {
    runs.push_back({{"memory", run.memory},
                    {"ordinary_seconds", times_json(run.ordinary)},
                    {"ours_seconds", times_json(run.ours)}});
  }
  return {
      {"schema", "fatctx.bench_onnxruntime/1"},
      {"model", bench.model},
      {"model_bytes", bench.model_bytes},
      {"container_bytes", bench.container_bytes},
      {"runtime", bench.runtime},
      {"machine", bench.machine},
      {"storage", bench.storage},
      {"repetitions", bench.repetitions},
      {"sessions", bench.sessions},
      {"runs", bench.runs},
      {"ways", std::move(ways)},
      {"further", {{"inner_seconds", times_json(bench.inner.inner)}, {"ours_seconds", times_json(bench.inner.ours)}}},
      {"run", std::move(runs)}};
}

std::string bench_svg(const OrtBench& bench) {
  std::string body;
  std::vector<Bar> times;
  std::vector<Bar> memory;
  for (const WayFigures& way : bench.ways) {
    times.push_back({way.way, time_text(way.first.median), way.first.median});
    if (way.way != "compile") {
      memory.push_back(
          {way.way, bytes_text(way.anonymous_all), static_cast<double>(std::max<std::int64_t>(0, way.anonymous_all))});
    }
  }
  int y = draw(body, 10, fmt::format("{}: time until the first session, median", bench.model), times);
  y = draw(body, y, fmt::format("anonymous memory of {} sessions", bench.sessions), memory);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n{2}</svg>\n",
      kWidth, y, body);
}

}  // namespace fatctx::tools
