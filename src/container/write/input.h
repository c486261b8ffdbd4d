// Reads the bytes of records that are packed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "container/format/codec.h"
#include "container/sharing/record_bytes.h"
#include "container/sharing/work_progress.h"
#include "fatctx/packer.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Returns whether to continue. Errors: cancelled, if `cancel` is not null and is set.
[[nodiscard]] Status go_on(const std::atomic<bool>* cancel);

// A source of a record's bytes: a file, a part of one, bytes in memory, or a ByteSource. A file is open only between
// the first read and close(), because there may be more records than a process may have descriptors. It is read, never
// memory-mapped (docs/decisions/0011).
//
// Threads: const members from any number of threads.
class Input final : public sharing::RecordBytes {
 public:
  // Opens a source that is not in memory. Examines the file once; later calls refer to the file in that state. `cancel`
  // may be null.
  [[nodiscard]] static Result<Input> open(const PackSource& source, const std::atomic<bool>* cancel);
  // Opens any source, and takes the bytes out of one in memory, so that they are never there twice.
  [[nodiscard]] static Result<Input> take(PackSource& source, const std::atomic<bool>* cancel);
  // Returns the size of the bytes, without a copy of them. Errors: those of open().
  [[nodiscard]] static Result<std::uint64_t> size_of(const PackSource& source);
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Counts the bytes of later reads there. Lifetime: borrows it.
  void report_to(WorkProgress& progress) noexcept { progress_ = &progress; }
  // Fills `buffer` from `offset`. Errors: cancelled, changed, those of opening and reading.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  // Errors: changed, if the file is no longer the one that was opened.
  [[nodiscard]] Status check_unchanged() const;
  void close() const noexcept override;
  // Returns the hash that the bytes must have, if the source knows it.
  [[nodiscard]] std::optional<Hash128> known_hash() const { return source_ ? source_->hash() : std::nullopt; }

 private:
  [[nodiscard]] Error changed() const;
  [[nodiscard]] Error not_made(const Error& by_source) const;

  std::string name_;
  std::uint64_t offset_ = 0;  // of the part, in its file
  std::uint64_t size_ = 0;
  bool in_memory_ = true;
  mapping::FileIdentity identity_;
  struct Handle {
    std::mutex mutex;
    std::shared_ptr<const mapping::OsFile> file;  // null: closed; a reader keeps a file that another one closes
  };
  [[nodiscard]] Result<std::shared_ptr<const mapping::OsFile>> opened() const;
  std::shared_ptr<Handle> handle_ = std::make_shared<Handle>();
  std::vector<std::byte> bytes_;
  std::shared_ptr<const ByteSource> source_;
  const std::atomic<bool>* cancel_ = nullptr;
  WorkProgress* progress_ = nullptr;
};

// Compares two inputs byte by byte, because a hash proves nothing. Errors: those of reading.
[[nodiscard]] Result<bool> equal_bytes(const Input& a, const Input& b);

// Hands on the whole input in pieces and returns its hash. Errors: those of reading and of `sink`.
[[nodiscard]] Result<Hash128> read_input(const Input& input, const StreamSink& sink);
// Hands on the input as one lz4 frame; the hash is that of the input itself. A second call gives the same frame.
[[nodiscard]] Result<Hash128> compress_input(const Input& input, const StreamSink& sink);

}  // namespace fatctx::container
