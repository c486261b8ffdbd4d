// The recorder behind fatctx/profile.h and fatctx/trace.h, as the runtime uses it.
//
// One atomic word tells whether recording is on. While it is off, a call costs only the test of this word.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/profile.h"
#include "fatctx/record.h"

namespace fatctx {

struct RecordInfo;

namespace observe {

inline constexpr std::uint32_t kProfiling = 1;
inline constexpr std::uint32_t kTracing = 2;

// Relaxed: a call that runs while recording is switched on may or may not be recorded.
extern std::atomic<std::uint32_t> active;

// Returns false also inside a hook or sink of the caller: their calls are not recorded.
[[nodiscard]] bool profiling_here() noexcept;
[[nodiscard]] bool tracing_here() noexcept;

[[nodiscard]] inline bool profiling() noexcept {
  return (active.load(std::memory_order_relaxed) & kProfiling) != 0 && profiling_here();
}
[[nodiscard]] inline bool tracing() noexcept {
  return (active.load(std::memory_order_relaxed) & kTracing) != 0 && tracing_here();
}

// An event of a profile that lasts as long as this object. An event counts as failed unless succeeded() was called, so
// that every early return of an error counts as a failure.
//
// The caller's hook receives events when the outermost span of the thread ends. Inside a span a file may be half
// opened, and a hook that opened the same file would wait for itself.
//
// Lifetime: borrows `path` and the record until its end. Spans of one thread end in the reverse order of their
// construction.
class Span {
 public:
  Span(ProfileEventKind kind, std::string_view path) noexcept : kind_(kind), on_(profiling()), path_(path) {
    if (on_) start();
  }
  ~Span() {
    if (on_) finish();
  }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  // Returns false if nobody receives the event; its details then need not be looked up.
  [[nodiscard]] bool on() const noexcept { return on_; }
  void about(const RecordInfo& record) noexcept { record_ = &record; }
  void succeeded(std::uint64_t bytes) noexcept {
    ok_ = true;
    bytes_ = bytes;
  }

 private:
  void start() noexcept;
  void finish() noexcept;

  ProfileEventKind kind_;
  bool on_;
  bool ok_ = false;
  std::uint64_t start_ns_ = 0;
  std::uint64_t bytes_ = 0;
  std::string_view path_;
  const RecordInfo* record_ = nullptr;
  std::vector<ProfileEvent> unheard_;  // events that ended within the outermost span; used only by that span
};

// Runs `work`, which returns a Result, as one event. `bytes_of` returns the bytes of its value. If `record` is null,
// the event is not about a record.
template <typename Work, typename BytesOf>
[[nodiscard]] auto observed(ProfileEventKind kind, std::string_view path, const RecordInfo* record, const Work& work,
                            const BytesOf& bytes_of) {
  Span span(kind, path);
  if (record != nullptr) span.about(*record);
  auto result = work();
  if (result.ok()) span.succeeded(bytes_of(result.value()));
  return result;
}

// Passes a line to the sink, if there is one.
void trace_line(std::string_view line) noexcept;

}  // namespace observe
}  // namespace fatctx
