// Turns tensors of a weight file into tensors of a tensor table, for all importers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/import_tensors.h"
#include "mapping/os_file.h"

namespace fatctx::container {

inline constexpr std::uint64_t kMaxImportedTensors = std::uint64_t{1} << 20;

struct ImportedTensor {
  std::string name;
  std::optional<DType> dtype;        // nothing: tensor tables do not have it
  std::string_view type;             // its name in descriptions: "q4_k"; static storage
  std::vector<std::uint64_t> shape;  // outermost first
  ByteRange range;                   // in the file
};

struct ImportedIndex {
  std::vector<ImportedTensor> tensors;  // in the order of their bytes
  ByteRange data;                       // in the file
  std::vector<DescribedOption> metadata = {};
};

// Returns a text of the metadata as ImportedTensors has it: cut at a whole character of UTF-8 if it is too long.
inline constexpr std::size_t kMaxShownMetadata = 256;
[[nodiscard]] std::string shown_metadata(std::string text, std::uint64_t full_size);

// Errors: malformed, naming the first name that appears twice. The message calls the file `file_kind`.
[[nodiscard]] Status check_unique_names(const std::vector<ImportedTensor>& tensors, std::string_view file_kind);

struct OpenedWeights {
  std::unique_ptr<mapping::OsFile> file;
  std::uint64_t size = 0;
};
// Opens a file of weights. Errors: not_found, io, not_regular_file; each names the path.
[[nodiscard]] Result<OpenedWeights> open_weights(const std::string& path);

using ReadIndex = Result<ImportedIndex> (*)(const mapping::OsFile& file, std::uint64_t file_size);
// Imports the file at `path` with the reader of its format; `format` owns the words for the types. Requires: a tensor
// with a dtype has the size that tensor_size_bytes() returns. Errors: those of open_weights() and of the reader, naming
// the path.
[[nodiscard]] Result<ImportedTensors> import_tensors(const std::string& path, ReadIndex read, std::string_view format);

// Returns a weight blob with these tensors from the whole file at `path`. `format` describes it.
[[nodiscard]] PackRecord weight_record(const std::string& path, const std::string& name, std::string_view format,
                                       ImportedTensors imported);

}  // namespace fatctx::container
