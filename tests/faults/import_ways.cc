// Operations that read files of other formats, and those that turn them into a container.
#include <filesystem>
#include <random>
#include <stdexcept>
#include <utility>

#include "container/format/hash.h"
#include "fatctx/import_dlc.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_safetensors.h"
#include "fatctx/packer.h"
#include "fatctx/stored_dlc.h"
#include "faults/process_folder.h"
#include "faults/ways.h"
#include "support/chip_corpus.h"
#include "support/dlc_file.h"
#include "support/gguf_file.h"
#include "support/safetensors_file.h"

namespace fatctx::faults {
namespace {

// A set of files that the constructor writes, before anything fails.
class Files {
 public:
  static const Files& get() {
    static const Files files;
    return files;
  }

  const ProcessFolder folder;
  const std::string dlc = folder.file("two.dlc");
  const std::string packed_dlc = folder.file("two.fatctx");
  const std::string safetensors = folder.file("w.safetensors");
  const std::string gguf = folder.file("w.gguf");
  const std::string first = folder.file("first.bin");
  const std::string second = folder.file("second.bin");

 private:
  Files() {
    support::write_file(dlc, support::two_socs().write());
    pack_dlc();
    // Names and metadata are too long for the internal buffer of a string.
    const std::string header = R"({"__metadata__": {"a key that is long": "a value that is long"},
      "model.layers.0.attention.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
      "model.layers.0.attention.scale": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [24, 28]}})";
    support::write_file(safetensors, support::safetensors_file(header, 28));
    support::GgufWriter writer;
    writer.pair("general.architecture", 8);
    writer.text("a text that is long enough to need memory");
    writer.tensor("blk.0.attention_norm.weight", {8}, support::GgufWriter::kF32, 0, 32);
    writer.tensor("blk.0.feed_forward_up.weight", {256}, support::GgufWriter::kQ4K, 32, 144);
    support::write_file(gguf, writer.write());
    // The second file has one page of its own, then all pages of the first except its first one.
    constexpr std::size_t kPage = 4096;
    std::mt19937_64 random(5);
    const support::Bytes pages = support::random_bytes(random, 6 * kPage);
    support::write_file(first, ByteView(pages).first(5 * kPage));
    support::Bytes other = support::random_bytes(random, kPage);
    other.insert(other.end(), pages.begin() + kPage, pages.end());
    support::write_file(second, other);
  }

  void pack_dlc() const {
    Packer packer{PackOptions{}};
    std::vector<PackRecord> records = records_from_dlc(dlc, {.group = "a model with a long name"}).value();
    for (PackRecord& record : records) {
      if (!packer.add(std::move(record)).ok()) throw std::runtime_error("a record of a DLC cannot be packed");
    }
    if (!packer.publish(packed_dlc).ok()) throw std::runtime_error("a DLC cannot be packed");
  }
};

std::string text_of(const ImportedTensors& imported) {
  std::string text;
  for (const PackTensor& tensor : imported.tensors)
    text += tensor.name + ":" + std::to_string(tensor.offset_in_blob) + " ";
  for (const DescribedOption& option : imported.options) text += option.key + "=" + option.value + " ";
  return text;
}

Result<std::string> packed(std::vector<PackRecord> records, Sharing sharing, const std::string& out) {
  PackOptions options;
  options.overwrite = true;
  options.sharing = sharing;
  Packer packer(options);
  for (PackRecord& record : records) FATCTX_TRY(packer.add(std::move(record)));
  FATCTX_ASSIGN(const PackReport report, packer.publish(out));
  (void)report;
  return digest_of_file(out);
}

}  // namespace

std::vector<Way> import_ways() {
  (void)Files::get();
  return {
      {"list a DLC",
       [](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const bool is, is_dlc(Files::get().dlc));
         FATCTX_ASSIGN(const DlcInfo info, list_dlc(Files::get().dlc));
         std::string text = is ? "is one: " : "is none: ";
         for (const DlcEntry& entry : info.entries) text += entry.name + " ";
         for (const DlcSoc& soc : info.socs) text += soc.arch + " " + std::to_string(soc.shared.size()) + " ";
         return text;
       },
       5},
      {"pack a DLC",
       [](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(std::vector<PackRecord> records,
                       records_from_dlc(Files::get().dlc, {.group = "a model with a long name", .unit = "main"}));
         return packed(std::move(records), Sharing::kOff, path + ".packed");
       },
       15},
      {"load a DLC",
       [](const std::string&) {
         LoadOptions options;
         options.model.device = Device{.backend = "htp", .qnn_soc = 57, .arch = "v75", .features = {}, .vtcm_mb = 8};
         return loaded(Files::get().dlc, options);
       },
       10},
      {"thin a DLC",
       [](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const ThinDlc thin,
                       extract_thin_dlc(Files::get().dlc, {.qnn_socs = {57}, .entries = {}}, path + ".thin", true));
         FATCTX_ASSIGN(const std::string digest, digest_of_file(path + ".thin"));
         return digest + std::to_string(thin.pieces.size());
       },
       15},
      {"export a DLC",
       [](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(Files::get().packed_dlc));
         FATCTX_ASSIGN(const StoredDlc stored, export_dlc(container, {}, path + ".dlc", true));
         FATCTX_ASSIGN(const std::string digest, digest_of_file(path + ".dlc"));
         return digest + stored.layout + " " + std::to_string(stored.records.size());
       },
       15},
      {"thin a DLC of a container",
       [](const std::string& path) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(Files::get().packed_dlc));
         FATCTX_ASSIGN(const ThinDlc thin,
                       extract_stored_thin_dlc(container, {}, {.qnn_socs = {57}, .entries = {}}, path + ".thin", true));
         FATCTX_ASSIGN(const std::string digest, digest_of_file(path + ".thin"));
         return digest + std::to_string(thin.pieces.size());
       },
       15},
      {"view a thin DLC",
       [](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const Container container, Container::open(Files::get().packed_dlc));
         FATCTX_ASSIGN(const ThinDlcView view, thin_dlc_view(container, {.qnn_socs = {57}, .entries = {}}));
         FATCTX_ASSIGN(const PrefetchReport brought, view.prefetch());
         return std::to_string(brought.done_bytes) + ":" + to_hex(container::hash128(view.bytes()).bytes) + " " +
                std::to_string(view.mapped_pieces()) + std::to_string(view.new_bytes());
       },
       10},
      {"tensors of a safetensors file",
       [](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const ImportedTensors imported, tensors_from_safetensors(Files::get().safetensors));
         return text_of(imported);
       },
       3},
      {"tensors of a GGUF file",
       [](const std::string&) -> Result<std::string> {
         FATCTX_ASSIGN(const ImportedTensors imported, tensors_from_gguf(Files::get().gguf));
         return text_of(imported);
       },
       3},
      {"pack the weights of both",
       [](const std::string& path) -> Result<std::string> {
         std::vector<PackRecord> records(2);
         FATCTX_ASSIGN(records[0], weights_from_safetensors(Files::get().safetensors, "safe"));
         FATCTX_ASSIGN(records[1], weights_from_gguf(Files::get().gguf, "gguf"));
         return packed(std::move(records), Sharing::kOff, path + ".packed");
       },
       15},
      {"pack and share pages",
       [](const std::string& path) -> Result<std::string> {
         std::vector<PackRecord> records(2);
         records[0].name = "first";
         records[0].source.path = Files::get().first;
         records[1].name = "second";
         records[1].source.path = Files::get().second;
         for (PackRecord& record : records) record.type = RecordType::kOpaque;
         return packed(std::move(records), Sharing::kPages, path + ".packed");
       },
       15},
  };
}

}  // namespace fatctx::faults
