// A program of calls of the C interface over a table of handles: good ones, closed ones, of another kind, made up,
// none; with pointers and without, with structs of any size, with callbacks that fail and that close what is in use.
// Whatever it is: no crash, a code and a message for every error, no handle from a call that failed, no byte written
// behind a struct or a buffer, and in the end every handle closes exactly once, every callback has got back what it
// gave, and nothing is mapped. tests/style/c_calls_fuzz_test.py sees to it that every function is called.
//
// Input: calls. A call is 1 byte which one, 1 byte which pointers are null, then its arguments as it takes them:
// a handle is 1 byte (see handle()), a number or a size of a struct is 1 byte. Of the first byte, the low three bits
// are a group and the others a number in it; in group 7 they are a subject, and a byte more is the number.
#include "fuzz/c_calls_program.h"

namespace fatctx::fuzz {

void Program::call() {
  const std::uint8_t which = input_.byte();
  nulls_ = input_.byte();
  null_bit_ = 0;
  if ((nulls_ & 0x80) == 0) nulls_ = 0;  // most calls have all of their pointers
  fatctx_error_init(&error_, sizeof error_);
  switch (which % 8) {
    case 0:
      return make_containers(which / 8);
    case 1:
      return use_containers(which / 8);
    case 2:
      return use_models(which / 8);
    case 3:
      return use_views(which / 8);
    case 4:
      return use_packers(which / 8);
    case 5:
      return use_words(which / 8);
    case 6:
      return close(static_cast<Kind>(which / 8 % kKinds));
    default:
      return call_newer(which / 8);
  }
}

void Program::call_newer(std::uint8_t subject) {
  const std::uint8_t which = input_.byte();
  switch (subject % 10) {
    case 0:
      return use_memory(which);
    case 1:
      return use_prefetches(which);
    case 2:
      return use_seams(which);
    case 3:
      return use_ranges(which);
    case 4:
      return use_metrics(which);
    case 5:
      return use_recorders(which);
    case 6:
      return use_view_caches(which);
    case 7:
      return use_dlcs(which);
    case 8:
      return use_stored_dlcs(which);
    default:
      return use_sharing(which);
  }
}

}  // namespace fatctx::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fatctx::fuzz::Program(fatctx::fuzz::Input(data, size)).run();
  return 0;
}
