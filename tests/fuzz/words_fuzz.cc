// Arbitrary text in every form in which people describe chips and records: devices as JSON and as words, targets as
// JSON and as words, the flags of pack. Each is refused with a reason, or means the same after it was written again.
#include "fatctx/select.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "tools/compile/targets_file.h"
#include "tools/pack/manifest.h"
#include "tools/pack/manifest_flags.h"

namespace {

using namespace fatctx;

template <typename T>
bool accepted(const Result<T>& result) {
  if (!result.ok()) {
    fuzz::require_good(result.error());
    fuzz::require(result.error().code == ErrorCode::kInvalidArgument, "bad words are an invalid argument",
                  result.error().message);
  }
  return result.ok();
}

void say_again(const Result<Device>& device) {
  if (!accepted(device)) return;
  const std::string json = device_to_json(device.value());
  const auto again = device_from_json(json);
  fuzz::require(again.ok(), "a device that is written can be read", again.ok() ? json : again.error().message);
  fuzz::require(device_to_json(again.value()) == json, "writing and reading a device keeps everything", json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::string_view text = fuzz::text_of(input.rest());
  say_again(device_from_json(text));
  say_again(device_from_text(text));
  const auto word = tools::parse_target_word(text);
  if (accepted(word)) {
    (void)tools::compiler_flags(word.value());
    const auto again = tools::parse_target_word(tools::target_label(word.value()));
    fuzz::require(again.ok() && tools::target_label(again.value()) == tools::target_label(word.value()),
                  "the label of a target is a word for it", tools::target_label(word.value()));
  }
  if (const auto targets = tools::parse_targets(text, "t.json"); accepted(targets)) {
    fuzz::require(!targets.value().targets.empty(), "a list of targets is not empty");
    for (const tools::CompileTarget& target : targets.value().targets) (void)tools::compiler_flags(target);
  }
  (void)accepted(tools::parse_target(text));
  (void)accepted(tools::parse_binary_flag(text, "model", {}));
  (void)accepted(tools::parse_weights_flag(text, "model", 1));
  const auto version = parse_version(text);
  if (accepted(version) && version.value().known()) {
    const auto again = parse_version(to_text(version.value()));
    fuzz::require(again.ok() && again.value() == version.value(), "a version that is written can be read", text);
  }
  return 0;
}
