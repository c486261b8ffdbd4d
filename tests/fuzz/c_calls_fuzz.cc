// A program of calls of the C interface over a table of handles: valid, closed, of another kind, invented, or zero. Its
// pointers may be null, its structs have any size, and its callbacks fail or close a handle that is in use. In every
// case: no crash, a code and a message for every error, no handle from a failed call, no byte written behind a struct
// or a buffer. At the end every handle closes exactly once, every callback has got back what it gave, and nothing is
// mapped. tests/style/c_calls_fuzz_test.py checks that every function is called.
//
// Input: calls. A call is 1 byte for the group, 1 byte for the null pointers, 1 byte for the call within the group,
// then its arguments in order. A handle is 1 byte (see handle()), and so is a number or the size of a struct.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

void Program::call() {
  const std::uint8_t group = input_.byte();
  nulls_ = input_.byte();
  null_bit_ = 0;
  if ((nulls_ & 0x80) == 0) nulls_ = 0;  // most calls have all of their pointers
  const std::uint8_t which = input_.byte();
  fatctx_error_init(&error_, sizeof error_);
  static constexpr void (Program::*kGroups[])(std::uint8_t) = {
      &Program::make_containers, &Program::use_containers,  &Program::use_models,   &Program::use_views,
      &Program::use_packers,     &Program::use_words,       &Program::close_one,    &Program::use_memory,
      &Program::use_prefetches,  &Program::use_seams,       &Program::use_ranges,   &Program::use_metrics,
      &Program::use_recorders,   &Program::use_view_caches, &Program::use_dlcs,     &Program::use_stored_dlcs,
      &Program::use_sharing,     &Program::use_appenders,   &Program::use_rewrites, &Program::use_loads};
  (this->*kGroups[group % std::size(kGroups)])(which);
}

}  // namespace fatctx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fatctx::fuzz::Program(fatctx::fuzz::Input(data, size)).run();
  return 0;
}
