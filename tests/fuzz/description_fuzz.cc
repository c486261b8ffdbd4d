// Arbitrary bytes as a description: it is refused, or it has the same content after it was written again.
#include "container/format/disk_format.h"
#include "container/format/metadata_codec.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fatctx;
  fuzz::Input input(data, size);

  const auto description = container::decode_description(input.rest());

  if (!description.ok()) {
    fuzz::require_good(description.error());
    return 0;
  }
  const auto written = container::encode_description(description.value());
  if (!written.ok()) {  // the input is a shorter encoding than the writer's
    fuzz::require_good(written.error());
    fuzz::require(size > container::kMaxDescriptionSize / 2, "what was read can be written", written.error().message);
    return 0;
  }
  const auto again = container::decode_description(written.value());
  fuzz::require(again.ok(), "what was written can be read");
  const auto rewritten = container::encode_description(again.value());
  fuzz::require(rewritten.ok() && rewritten.value() == written.value(), "writing and reading keeps everything");
  return 0;
}
