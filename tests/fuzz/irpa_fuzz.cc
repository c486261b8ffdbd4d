// Arbitrary bytes as an IREE parameter archive: it is refused, or every entry is within the file and has a unique name.
#include <set>

#include "container/import/irpa.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "mapping/buffer_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  fuzz::Input input(data, size);
  const mapping::BufferFile file(input.rest(), nullptr);

  const auto entries = container::read_irpa_index(file, size);

  if (!entries.ok()) {
    fuzz::require_good(entries.error());
    return 0;
  }
  std::set<std::string> names;
  for (const container::IrpaEntry& entry : entries.value()) {
    fuzz::require(entry.splat || within(entry.range, size), "an entry lies in the file", entry.name);
    fuzz::require(names.insert(entry.name).second, "names are unique", entry.name);
  }
  return 0;
}
