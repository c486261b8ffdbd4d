// Figures of the bench of ONNX Runtime, and their forms: text, JSON, a picture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace fatctx::tools {

struct Times {  // seconds
  double min = 0;
  double median = 0;
};
[[nodiscard]] Times times_of(std::vector<double> seconds);

// A way to create sessions of the model, with its figures.
struct WayFigures {
  std::string way;  // "normal load", "compile", ...
  Times first;
  Times further;  // for each session after the first; 0 if there is none
  std::uint32_t sessions = 1;
  bool dropped = false;              // the container, from the page cache before each first session
  std::int64_t anonymous_first = 0;  // bytes, with one session
  std::int64_t anonymous_all = 0;    // bytes, with all sessions
  std::int64_t pss_first = 0;
  std::int64_t pss_all = 0;
  std::int64_t peak_rss = 0;  // of the process, with all sessions
};

struct RunFigures {
  std::string memory;  // the option of our provider
  Times ordinary;
  Times ours;
};

// A comparison of one more session of ours, with the least memory, and the ordinary session inside it, alone.
struct InnerFigures {
  Times inner;
  Times ours;
};

struct OrtBench {
  std::string model;
  std::uint64_t model_bytes = 0;  // with its external data
  std::uint64_t container_bytes = 0;
  std::uint32_t repetitions = 0;
  std::uint32_t sessions = 0;
  std::uint32_t runs = 0;
  std::string machine;
  std::string runtime;
  std::string storage;  // the file system of the container: "ext4"
  std::vector<WayFigures> ways;
  InnerFigures inner;
  std::vector<RunFigures> run;
};

[[nodiscard]] std::string bench_text(const OrtBench& bench);
[[nodiscard]] Json bench_json(const OrtBench& bench);  // schema fatctx.bench_onnxruntime/1
// Draws bars of the load times, and of the memory of all sessions.
[[nodiscard]] std::string bench_svg(const OrtBench& bench);

}  // namespace fatctx::tools
