// Edits of a good container whose checksums are all corrected afterwards, as a hostile author would do. The code behind
// the hashes thus meets every kind of invalid input.
//
// Input: 1 byte for the file; then edits until the bytes are used up. fuzz/edited_container.h defines the edits.
#include <array>

#include "fuzz/edited_container.h"
#include "fuzz/rehash_file.h"
#include "fuzz/whole_container.h"

namespace {

using namespace fatctx;
using support::Bytes;

const std::array<Bytes, 4>& good_files() {
  static const std::array<Bytes, 4> files = {fuzz::rich_file(), support::sealed_sample(), fuzz::recipe_file(),
                                             fuzz::rich_file(container::kSmallExtentLog2)};
  return files;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const Bytes& good = good_files()[input.byte() % good_files().size()];
  Bytes file = good;
  fuzz::Edits edits(file, good);
  const bool edited = !input.empty();
  while (!input.empty()) edits.apply(input);
  fuzz::FileRehash(file, fuzz::form_of(good)).run();
  if (!edited) {
    fuzz::require(file == good, "making the checksums of a good file right changes nothing");
  }
  edits.apply_last();
  // Exactly this size, so that the address sanitizer detects an access behind the end.
  file.shrink_to_fit();
  fuzz::use_container(file);
  return 0;
}
