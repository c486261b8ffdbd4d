// What is to be packed: read from a manifest (docs/manifest.md) or from the flags of `fatctx pack`, then turned into
// records for the Packer.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "tools/facts/quant_facts.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

inline constexpr std::string_view kManifestSchema = "fatctx.manifest/1";

// Where the tensors of a weight blob come from: a list, the blob's own index, or a model that refers to the blob.
enum class TensorSource { kRanges, kIrpa, kSafetensors, kGguf, kOnnx };

// "ranges", "irpa", "safetensors", "gguf", "onnx".
[[nodiscard]] std::string_view tensor_source_name(TensorSource source) noexcept;
// What a file name says: ".irpa", ".safetensors" and ".gguf" are forms with an index.
[[nodiscard]] std::optional<TensorSource> tensor_source_of_file(std::string_view path);

struct ManifestTensors {
  TensorSource source = TensorSource::kRanges;
  std::string shapes_from;          // kIrpa: an ONNX model that knows the types and shapes; empty: none
  std::vector<std::string> models;  // kOnnx: those whose external data the blob is; at least one
  std::vector<PackTensor> ranges;   // kRanges
};

struct ManifestRecord {
  PackRecord record;  // source.path is set; tensors are not, they come from `tensors`
  std::optional<ManifestTensors> tensors;
  std::string ranges_from;  // a JSON file with the record's ranges; empty: they are in the record, or there are none
  std::string graphs_from;  // an ONNX model or the vendor's JSON, whose graphs describe the record; empty: none
  // Of --weights MODEL.onnx: initializers inside of the model of at least so many bytes are wanted too.
  std::optional<std::uint64_t> embedded_size = {};
  QuantFacts quant = {};
  std::string where;  // what errors call it: "m.json: /records/0", "--weights w.irpa"
};

// How records share bytes, where it is said.
struct SharingWish {
  std::optional<Sharing> sharing;
  std::optional<std::uint32_t> max_pieces;
  std::optional<std::uint8_t> granule_log2;
};

// "pages", "bytes" or "off".
[[nodiscard]] std::optional<Sharing> sharing_from_name(std::string_view word) noexcept;
[[nodiscard]] std::string_view sharing_name(Sharing sharing) noexcept;

struct Manifest {
  std::string name;
  SharingWish sharing;
  std::vector<DescribedOption> options;  // read_manifest() puts those of `quant` behind them
  QuantFacts quant = {};
  bool allow_dynamic = false;  // binaries for htp may be described with dimensions that are not fixed
  bool quant_told = false;     // what quant_notes() has to say was said already
  std::vector<ManifestRecord> records;
  std::vector<std::string> notes;  // of what was imported; from flags only
};

// How a record is stored that does not say it: a source model is large and read once in a long while, if ever.
[[nodiscard]] Codec default_codec(RecordType type);

// Pure: reads no file. Relative paths in the result start with `folder`, unless that is empty. Records may refer to
// weight blobs of the manifest and to `known_weights`, which a container has that is added to.
// Errors: invalid_argument with file, JSON pointer, what was found and what is allowed.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view text, const std::string& file, const std::string& folder,
                                              const std::set<std::string>& known_weights = {});

// The same for a file; paths are relative to its folder. Errors: also not_found, not_regular_file, io.
[[nodiscard]] Result<Manifest> read_manifest(const std::string& path, const std::set<std::string>& known_weights = {});

// "cpu:x86-64-v3+amx", "cpu:generic", "htp:v75": backend, then arch with features. Errors: invalid_argument.
[[nodiscard]] Result<PackKey> parse_target(std::string_view text);

// A target as a filter: "htp", "cpu:x86-64-v3+amx", "htp:v75,soc=57", ",part=SM8650". Words as in parse_binary_flag,
// but for the name. Errors: invalid_argument, naming the option.
[[nodiscard]] Result<PackKey> parse_target_filter(std::string_view option, std::string_view text);

// FILE[,key=value...] of `option`. Errors: invalid_argument (no file; a word that is not allowed, with those that are).
struct FileFlag {
  std::string where;  // what errors call it
  std::string path;
  std::map<std::string, std::string> words;
};
[[nodiscard]] Result<FileFlag> parse_file_flag(std::string_view option, std::string_view text,
                                               const std::vector<std::string>& allowed);

// FILE@TARGET[,unit=...,group=...,name=...,variant=...,part=...,soc=...,vtcm_mb=...,sdk=...] of --binary.
// `model` names what is not named; `group` is the group of what does not say it, empty: `model`.
// Errors: invalid_argument.
[[nodiscard]] Result<ManifestRecord> parse_binary_flag(std::string_view text, const std::string& model,
                                                       const std::string& group = {});
// FILE[,name=...,group=...,embedded=...] of --weights. `index` counts the blobs from 0.
[[nodiscard]] Result<ManifestRecord> parse_weights_flag(std::string_view text, const std::string& model,
                                                        std::size_t index, const std::string& group = {});

// Something worth knowing that is not an error: "140 tensors of model.weights, 2 of them without a shape".
struct GatheredRecords {
  std::vector<PackRecord> records;
  std::vector<std::string> notes;
};
using OnnxModels = std::map<std::string, OnnxModel>;  // by path as the manifest has it

// Reads the tensors and graphs that the records ask for, each ONNX model once; those in `models` are there already. The
// notes also tell what tools/facts/htp_checks.h finds.
// Errors: invalid_argument (a dimension that is not fixed in a binary for htp, unless that is allowed); those of the
// importers, of read_onnx and external_weights, and invalid_argument; each says which record.
[[nodiscard]] Result<GatheredRecords> gather_records(const Manifest& manifest, OnnxModels models = {});

// A manifest with the name, the options and the sharing of `manifest` and all that `records` say, tensors as ranges and
// graphs in full; each record's file is the entry of `files` at its place. parse_manifest() reads it back. Requires: as
// many files as records.
[[nodiscard]] std::string manifest_text(const Manifest& manifest, const std::vector<PackRecord>& records,
                                        const std::vector<std::string>& files);

}  // namespace fatctx::tools
