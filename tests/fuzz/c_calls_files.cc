#include "fuzz/c_calls_files.h"

#include <fcntl.h>

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "fatctx/import_dlc.h"
#include "fatctx/mapping_guard.h"
#include "fatctx/packer.h"
#include "support/chip_corpus.h"
#include "support/dlc_file.h"
#include "support/gguf_file.h"
#include "support/safetensors_file.h"
#include "support/sample_container.h"

namespace fatctx::fuzz {

namespace {

using support::Bytes;

std::vector<PackRecord> model_records() {
  std::vector<PackRecord> records = support::cpu_records();
  records.erase(records.begin(), records.begin() + 2);
  for (PackRecord& record : records) {
    if (record.type == RecordType::kWeightBlob) record.source.bytes.resize(30'000);
  }
  PackRecord cold = support::plain_record(RecordType::kSourceModel, "source", Bytes(3'000, std::byte{'s'}));
  cold.codec = Codec::kLz4;
  records.push_back(std::move(cold));
  return records;
}

// Returns small records: three chips of one family with the same weights.
std::vector<PackRecord> chip_records() {
  const support::ChipCorpus corpus =
      support::make_chip_corpus(5, {.tensors = 3, .rows = 32, .row_size = 1024, .code_size = 5'000});
  std::vector<PackRecord> records;
  for (const std::size_t chip : {0U, 1U, 2U}) {
    static constexpr const char* kArchs[] = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
    PackRecord record = support::binary_record("chip" + std::to_string(chip), kArchs[chip], corpus.chips[chip]);
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace

Files::Files() {
  PackOptions sharing_bytes;
  sharing_bytes.sharing = Sharing::kBytes;
  support::write_file(dlc, support::two_socs().write());
  auto archive = records_from_dlc(dlc, {.group = "chat"});
  if (!archive.ok()) throw std::runtime_error(to_text(archive.error()));
  memory.push_back(support::packed_bytes(model_records()));
  memory.push_back(support::packed_bytes(chip_records(), std::move(sharing_bytes)));
  memory.push_back(support::packed_bytes(chip_records()));
  memory.push_back(support::packed_bytes(std::move(archive).value()));
  support::write_file(model, memory[0]);
  support::write_file(chips, memory[1]);
  support::write_file(pages, memory[2]);
  support::write_file(with_dlc, memory[3]);
  Bytes around(kAssetOffset, std::byte{'.'});
  around.insert(around.end(), memory[0].begin(), memory[0].end());
  around.resize(around.size() + 100, std::byte{'.'});
  support::write_file(asset, around);
  support::write_file(safetensors,
                      support::safetensors_file(R"({"a":{"dtype":"F8_E5M2","shape":[4],"data_offsets":[0,4]},)"
                                                R"("b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                                                12));
  support::GgufWriter blocks;
  blocks.tensor("q", {512}, support::GgufWriter::kQ4K, 0, 288);
  support::write_file(gguf, blocks.write());
  support::IrpaWriter parameters;
  parameters.data("first", 0, 64);
  parameters.splat("zeros", 64, 1);
  support::write_file(irpa, parameters.write(64));
  std::filesystem::create_directory(cache);
  std::filesystem::permissions(cache, std::filesystem::perms::owner_all);
  const char* const opened[] = {model.c_str(), asset.c_str(), cache.c_str(), "/dev/null"};
  for (std::size_t i = 0; i < std::size(opened); ++i) descriptors[i + 1] = ::open(opened[i], O_RDONLY | O_CLOEXEC);
  // The guard stays installed, so it is installed before the first program: a program must not depend on earlier ones.
  // Where it is not supported, the call that programs make reports it.
  (void)install_mapping_guard();
}

const Files& files() {
  static const Files made;
  return made;
}

}  // namespace fatctx::fuzz
