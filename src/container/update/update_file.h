// Reads an update file: its header, and its parts in order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "container/update/update_format.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"
#include "fatctx/update.h"
#include "mapping/os_file.h"

namespace fatctx::container {

[[nodiscard]] UpdateContainer container_of(const ContainerName& name);

// The hash of a part covers the hash before it: of the header, or of the last part. So parts have one order.
[[nodiscard]] Hash128 hash_of_part(const DiskHash& before, const UpdatePart& part, ByteView stored) noexcept;

struct StoredPart {
  UpdatePart part;
  ByteRange made;  // in NEW
  std::vector<std::byte> stored;

  [[nodiscard]] ByteView coded() const noexcept { return ByteView(stored).first(part.coded_size); }
  [[nodiscard]] ByteView raw() const noexcept { return ByteView(stored).subspan(part.coded_size); }
};

// An open update. Ownership: holds the file. Threads: one at a time.
class UpdateFile {
 public:
  // Reads and checks the header. Errors: bad_magic, unsupported, malformed, truncated, checksum_mismatch,
  // limit_exceeded, not_found, not_regular_file, io.
  [[nodiscard]] static Result<UpdateFile> open(const std::string& path);
  // The same of a file that is open already. `path` is for messages.
  [[nodiscard]] static Result<UpdateFile> open(std::unique_ptr<mapping::OsFile> file, const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const ContainerName& made() const noexcept { return made_; }
  [[nodiscard]] const std::vector<ContainerName>& olds() const noexcept { return olds_; }
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  // Returns true if it holds the leaf hashes of NEW, so that a part of NEW can be made.
  [[nodiscard]] bool for_partial() const noexcept { return for_partial_; }

  // Checks that NEW has at most `max_made_bytes`; 0: as most_made() says for `given` bytes of OLD and this file.
  // Errors: limit_exceeded.
  [[nodiscard]] Status check_size(std::uint64_t given, std::uint64_t max_made_bytes) const;
  // Compares every part with its hash. Afterwards the file is at its first part. Memory: 1 MiB.
  // Errors: malformed, truncated, trailing_data, checksum_mismatch, cancelled, io.
  [[nodiscard]] Status check(const std::atomic<bool>* cancel);
  // Goes back to the first part.
  void rewind() noexcept;
  // Reads the next part, and compares it with its hash. Returns false behind the last one. Errors: the same.
  [[nodiscard]] Result<bool> next(StoredPart& part);

 private:
  UpdateFile(std::unique_ptr<mapping::OsFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  [[nodiscard]] Status read_header();
  [[nodiscard]] Result<bool> read_part_head(StoredPart& part);
  [[nodiscard]] Error error(ErrorCode code, std::string what, std::uint64_t at) const;

  std::unique_ptr<mapping::OsFile> file_;
  std::string path_;
  std::uint64_t size_ = 0;
  ContainerName made_ = {};
  std::vector<ContainerName> olds_;
  bool for_partial_ = false;
  DiskHash header_hash_ = {};
  std::uint64_t header_size_ = 0;
  std::uint64_t at_ = 0;       // of the next part
  std::uint64_t made_to_ = 0;  // bytes of NEW that the parts before it make
  DiskHash hash_before_ = {};
};

}  // namespace fatctx::container
