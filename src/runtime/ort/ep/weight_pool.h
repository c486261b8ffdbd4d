// The weights of the graphs that are stored in one container. Equal weights are stored once, even if several graphs
// have them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fatctx/packer.h"
#include "mapping/os_file.h"
#include "runtime/ort/graph/graph_tensors.h"

namespace fatctx::ort {

struct PlaceInBlob {
  std::string blob;  // name of the record
  std::uint64_t offset = 0;
};

// A set of known and new weights. A pool can be passed from one graph of a container to the next, so that nothing is
// hashed twice.
// It reads all files, also the container, through descriptors and never through a map. If another process truncates a
// file meanwhile, the result is an error and not a signal. Not thread-safe.
class WeightPool {
 public:
  // Starts the next graph. `blob` is the name of the weight blob that receives new weights.
  void begin(std::string blob);

  // Adds a weight blob of the container with its tensors, and hashes them. Errors: those of its source.
  [[nodiscard]] Status know(const PackRecord& blob);
  // Notes that the new blob is stored in the container now; `source` reads it.
  void packed(const std::shared_ptr<const ByteSource>& source);
  // Returns where the bytes of the tensor are or will be stored in the container. The bytes are read from the file at
  // `path`.
  // Errors: truncated, io.
  [[nodiscard]] Result<PlaceInBlob> place(const ExternalTensor& tensor, const std::string& path);

  [[nodiscard]] const std::string& blob() const noexcept { return blob_; }
  // Returns the size of the new blob; 0: there are no new weights.
  [[nodiscard]] std::uint64_t new_bytes() const noexcept { return size_; }
  // Returns the new blob. Requires: the files exist until it is packed.
  [[nodiscard]] PackRecord record() const;

 private:
  using File = std::shared_ptr<const mapping::OsFile>;
  struct Piece {
    File file;
    std::shared_ptr<const ByteSource> stored = {};  // used instead of a file: a blob of the container
    std::uint64_t offset = 0;
    std::uint64_t size_bytes = 0;
    PlaceInBlob place = {};
  };
  class Source;

  [[nodiscard]] Result<File> file(const std::string& path);
  [[nodiscard]] static Status read(const Piece& piece, std::uint64_t at, std::span<std::byte> out);
  [[nodiscard]] static Result<Hash128> hash(const Piece& piece);
  [[nodiscard]] static Result<bool> equal(const Piece& a, const Piece& b);
  [[nodiscard]] Result<const Piece*> find(const Piece& piece, const Hash128& hash) const;

  std::string blob_;
  std::uint64_t size_ = 0;
  std::map<std::string, File> files_;
  std::multimap<Hash128, Piece> pieces_;  // known and new
  std::vector<Piece> fresh_;              // of the new blob, by offset
  std::vector<PackTensor> tensors_;       // of the new blob
};

}  // namespace fatctx::ort
