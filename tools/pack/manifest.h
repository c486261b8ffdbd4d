// The data of a manifest: a container to pack, as its manifest or the flags of a command describe it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "tools/facts/quant_facts.h"

namespace fatctx::tools {

inline constexpr std::string_view kManifestSchema = "fatctx.manifest/1";

// The source of a weight blob's tensors: a list, the blob's own index, or a model that refers to the blob.
enum class TensorSource { kRanges, kIrpa, kSafetensors, kGguf, kOnnx };

// Returns "ranges", "irpa", "safetensors", "gguf" or "onnx".
[[nodiscard]] std::string_view tensor_source_name(TensorSource source) noexcept;
[[nodiscard]] std::optional<TensorSource> tensor_source_from_name(std::string_view name) noexcept;
[[nodiscard]] std::vector<std::string> tensor_source_names();  // in the order in which errors list them
// Returns the source by a file name: ".irpa", ".safetensors" and ".gguf" have an index.
[[nodiscard]] std::optional<TensorSource> tensor_source_of_file(std::string_view path);

struct ManifestTensors {
  TensorSource source = TensorSource::kRanges;
  std::string shapes_from;          // kIrpa: an ONNX model with the types and shapes; empty: none
  std::vector<std::string> models;  // kOnnx: models whose external data is this blob; at least one
  std::vector<PackTensor> ranges;   // kRanges
};

struct ManifestRecord {
  PackRecord record;  // source.path is set; tensors are not, they come from `tensors`
  std::optional<ManifestTensors> tensors;
  std::string ranges_from;  // a JSON file with the record's ranges; empty: they are in the record, or there are none
  std::string graphs_from;  // an ONNX model or the vendor's JSON, whose graphs describe the record; empty: none
  // For --weights MODEL.onnx: also takes initializers inside the model, of at least so many bytes.
  std::optional<std::uint64_t> embedded_size = {};
  QuantFacts quant = {};
  std::string where;  // its name in errors: "m.json: /records/0", "--weights w.irpa"
};

// A wish how records share bytes; empty members were not set.
struct SharingWish {
  std::optional<Sharing> sharing;
  std::optional<std::uint32_t> max_pieces;
  std::optional<std::uint8_t> granule_log2;
};

// Converts between the values and "pages", "bytes" or "off".
[[nodiscard]] std::optional<Sharing> sharing_from_name(std::string_view word) noexcept;
[[nodiscard]] std::string_view sharing_name(Sharing sharing) noexcept;

struct Manifest {
  std::string name;
  SharingWish sharing;
  std::vector<DescribedOption> options;  // read_manifest() appends those of `quant`
  QuantFacts quant = {};
  bool allow_dynamic = false;  // binaries for htp may have dimensions that are not fixed
  bool quant_told = false;     // what Hexagon does not take of the models was printed already
  std::vector<ManifestRecord> records;
  std::vector<std::string> notes;  // from importing; only if flags were used
};

// Returns the codec of a record that states none: a source model is large and rarely read.
[[nodiscard]] Codec default_codec(RecordType type);

// Returns a manifest with the name, the options and the sharing of `manifest` and all facts of `records`,
// tensors as ranges and graphs in full. The file of record i is `files[i]`. parse_manifest() reads it back.
// Requires: as many files as records.
[[nodiscard]] std::string manifest_text(const Manifest& manifest, const std::vector<PackRecord>& records,
                                        const std::vector<std::string>& files);

}  // namespace fatctx::tools
