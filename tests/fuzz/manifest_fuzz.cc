// Arbitrary text as a manifest: it is refused with the file's name, or its records, written as a manifest, are read
// again as the same records.
#include "fuzz/input.h"
#include "fuzz/promise.h"
#include "tools/pack/manifest.h"
#include "tools/pack/manifest_read.h"

namespace {

using namespace fatctx;

// Returns a manifest with the content of `manifest`. Tensors that would come from another file are left out.
std::string written(const tools::Manifest& manifest) {
  std::vector<PackRecord> records;
  std::vector<std::string> files;
  for (const tools::ManifestRecord& record : manifest.records) {
    records.push_back(record.record);
    files.push_back(record.record.source.path);
    if (record.tensors && record.tensors->shapes_from.empty()) records.back().tensors = record.tensors->ranges;
  }
  return tools::manifest_text(manifest, records, files);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);

  const auto manifest = tools::parse_manifest(fuzz::text_of(input.rest()), "m.json", "");

  if (!manifest.ok()) {
    fuzz::require_good(manifest.error());
    fuzz::require(manifest.error().message.starts_with("m.json"), "an error names the file", manifest.error().message);
    return 0;
  }
  const std::string text = written(manifest.value());
  const auto again = tools::parse_manifest(text, "again.json", "");
  fuzz::require(again.ok(), "what was written can be read", again.ok() ? "" : again.error().message);
  fuzz::require(written(again.value()) == text, "writing and reading keeps everything", text);
  return 0;
}
