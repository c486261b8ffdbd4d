// Packs context binaries for three targets and the weights they share: cpp_pack model.fatctx
#include <cstdio>
#include <string>
#include <vector>

#include "fatctx/packer.h"

namespace {

// Makes bytes that replace a compiler's output; a real packer names files instead, in `source.path`.
std::vector<std::byte> made_up(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>((seed = seed * 1664525U + 1013904223U) >> 24U);
  return bytes;
}

fatctx::PackRecord weights() {
  fatctx::PackRecord record;
  record.type = fatctx::RecordType::kWeightBlob;
  record.name = "net.weights";
  record.key.group = "net";
  record.source.bytes = made_up(100'000, 1);
  record.tensors = {{"layer.weight", fatctx::DType::kF32, {100, 250}, 0, 100'000}};
  return record;
}

// Returns the code for one target. An empty `arch` marks the fallback that runs anywhere.
fatctx::PackRecord code_for(const std::string& arch, unsigned seed) {
  fatctx::PackRecord record;
  record.type = fatctx::RecordType::kContextBinary;
  record.name = "net." + (arch.empty() ? "generic" : arch);
  record.key.group = "net";
  record.key.unit = "main";
  record.key.backend = "cpu";
  record.key.arch = arch;
  record.key.generic = arch.empty();
  record.source.bytes = made_up(5'000, seed);
  record.weights = {"net.weights"};
  return record;
}

fatctx::Result<fatctx::PackReport> pack(const std::string& path) {
  fatctx::PackOptions options;
  options.overwrite = true;
  options.model_name = "net";
  fatctx::Packer packer(options);
  FATCTX_TRY(packer.add(weights()));
  FATCTX_TRY(packer.add(code_for("x86-64-v3", 2)));
  FATCTX_TRY(packer.add(code_for("aarch64", 3)));
  FATCTX_TRY(packer.add(code_for("", 4)));
  return packer.publish(path);
}

}  // namespace

int main(int argc, char** argv) {
  const auto report = pack(argc > 1 ? argv[1] : "model.fatctx");
  if (!report.ok()) return std::fprintf(stderr, "%s\n", fatctx::to_text(report.error()).c_str()), 1;
  std::printf("%u records, %llu bytes\n", report.value().record_count,
              static_cast<unsigned long long>(report.value().file_size));
}
