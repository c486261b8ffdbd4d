// Describes a container to pack: read from a manifest (docs/manifest.md) or from the flags of `fatctx pack`,
// then turned into records for the Packer.
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

// The source of a weight blob's tensors: a list, the blob's own index, or a model that refers to the blob.
enum class TensorSource { kRanges, kIrpa, kSafetensors, kGguf, kOnnx };

// Returns "ranges", "irpa", "safetensors", "gguf" or "onnx".
[[nodiscard]] std::string_view tensor_source_name(TensorSource source) noexcept;
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
  bool quant_told = false;     // the notes of quant_notes() were printed already
  std::vector<ManifestRecord> records;
  std::vector<std::string> notes;  // from importing; only if flags were used
};

// Returns the codec of a record that states none: a source model is large and rarely read.
[[nodiscard]] Codec default_codec(RecordType type);

// Parses a manifest. Pure: reads no file. Relative paths in the result start with `folder`, unless that is
// empty. Records may refer to weight blobs of the manifest and to `known_weights`, those of a container that
// is appended to.
// Errors: invalid_argument with file, JSON pointer, the found and the allowed values.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view text, const std::string& file, const std::string& folder,
                                              const std::set<std::string>& known_weights = {});

// Does the same for a file; paths are relative to its folder. Errors: also not_found, not_regular_file, io.
[[nodiscard]] Result<Manifest> read_manifest(const std::string& path, const std::set<std::string>& known_weights = {});

// Parses "cpu:x86-64-v3+amx", "cpu:generic", "htp:v75": backend, then arch with features.
// Errors: invalid_argument.
[[nodiscard]] Result<PackKey> parse_target(std::string_view text);

// Parses a target as a filter: "htp", "cpu:x86-64-v3+amx", "htp:v75,soc=57", ",part=SM8650". The words are
// those of parse_binary_flag, without the name. Errors: invalid_argument, naming the option.
[[nodiscard]] Result<PackKey> parse_target_filter(std::string_view option, std::string_view text);

// A value FILE[,key=value...] of `option`.
// Errors: invalid_argument (no file; a word that is not allowed, with those that are).
struct FileFlag {
  std::string where;  // its name in errors
  std::string path;
  std::map<std::string, std::string> words;
};
[[nodiscard]] Result<FileFlag> parse_file_flag(std::string_view option, std::string_view text,
                                               const std::vector<std::string>& allowed);

// Parses FILE@TARGET[,unit=...,group=...,name=...,variant=...,part=...,soc=...,vtcm_mb=...,sdk=...] of
// --binary. `model` is the prefix of default names; `group` is the default group, and if it is empty, `model`
// is.
// Errors: invalid_argument.
[[nodiscard]] Result<ManifestRecord> parse_binary_flag(std::string_view text, const std::string& model,
                                                       const std::string& group = {});
// Parses FILE[,name=...,group=...,embedded=...] of --weights. `index` counts the blobs from 0.
[[nodiscard]] Result<ManifestRecord> parse_weights_flag(std::string_view text, const std::string& model,
                                                        std::size_t index, const std::string& group = {});

// A result of gather_records(). Notes are remarks that are not errors: "140 tensors of model.weights, 2 of
// them without a shape".
struct GatheredRecords {
  std::vector<PackRecord> records;
  std::vector<std::string> notes;
};
using OnnxModels = std::map<std::string, OnnxModel>;  // by path as in the manifest

// Reads the tensors and graphs that the records ask for. Each ONNX model is read once; those in `models` are
// not read again. The notes include those of tools/facts/htp_checks.h.
// Errors: invalid_argument (a dimension that is not fixed in a binary for htp, unless that is allowed); those of the
// importers, of read_onnx and external_weights, and invalid_argument; each names its record.
[[nodiscard]] Result<GatheredRecords> gather_records(const Manifest& manifest, OnnxModels models = {});

// Returns a manifest with the name, the options and the sharing of `manifest` and all facts of `records`,
// tensors as ranges and graphs in full. The file of record i is `files[i]`. parse_manifest() reads it back.
// Requires: as many files as records.
[[nodiscard]] std::string manifest_text(const Manifest& manifest, const std::vector<PackRecord>& records,
                                        const std::vector<std::string>& files);

}  // namespace fatctx::tools
