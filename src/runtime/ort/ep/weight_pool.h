// The weights of graphs that go into one container: each once, whichever graph has brought it.
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
#include "runtime/ort/ep/graph_tensors.h"

namespace fatctx::ort {

struct PlaceInBlob {
  std::string blob;  // name of the record
  std::uint64_t offset = 0;
};

// A pool may go from one graph of a container to the next, which hashes nothing twice. Reads files by descriptors,
// never through a map, the container too: whoever cuts it off meanwhile gives an error and no signal. Not thread-safe.
class WeightPool {
 public:
  // For the next graph; `blob` is the name of the weight blob that takes what is new.
  void begin(std::string blob);

  // What the container has already: a weight blob with its tensors. Hashes them. Errors: those of its source.
  [[nodiscard]] Status know(const PackRecord& blob);
  // The new blob is in the container now, and this is how it is read.
  void packed(const std::shared_ptr<const ByteSource>& source);
  // Where the bytes of the tensor, which lie in the file at `path`, are in the container, or will be.
  // Errors: truncated, io.
  [[nodiscard]] Result<PlaceInBlob> place(const ExternalTensor& tensor, const std::string& path);

  [[nodiscard]] const std::string& blob() const noexcept { return blob_; }
  // Bytes of the new blob; 0: nothing is new.
  [[nodiscard]] std::uint64_t new_bytes() const noexcept { return size_; }
  // The new blob. Requires: the files are there until it is packed.
  [[nodiscard]] PackRecord record() const;

 private:
  using File = std::shared_ptr<const mapping::OsFile>;
  struct Piece {
    File file;
    std::shared_ptr<const ByteSource> stored = {};  // in place of a file: a blob of the container
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
