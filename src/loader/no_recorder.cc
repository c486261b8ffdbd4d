// A recorder that is never on: profiles and traces need the whole library (src/runtime/observe/observe.cc).
#include "runtime/facade/trace_lines.h"
#include "runtime/observe/observe.h"

namespace fatctx {
namespace observe {

std::atomic<std::uint32_t> active{0};

bool profiling_here() noexcept { return false; }
bool tracing_here() noexcept { return false; }
void Span::start() noexcept {}
void Span::finish() noexcept {}

}  // namespace observe

namespace trace {

void record_open(const Source& /*source*/, const OpenOptions& /*options*/, const Result<Container>& /*opened*/) {}
void record_select(const Container& /*container*/, std::span<const Candidate> /*candidates*/, const Device& /*device*/,
                   const SelectPolicy& /*policy*/, const Result<Selection>& /*selected*/) {}
void record_view(const Container& /*container*/, std::uint32_t /*record_id*/, const Result<RecordView>& /*acquired*/) {}

}  // namespace trace
}  // namespace fatctx
