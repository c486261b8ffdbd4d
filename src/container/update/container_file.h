// A container of which an update is made, or from which one is applied: its file, its table, and the bytes that an
// update speaks of.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "container/read/open.h"
#include "container/read/trust.h"
#include "container/sharing/record_bytes.h"
#include "container/sharing/work_progress.h"
#include "container/update/update_format.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// "generation 3 of 1234…": for messages.
[[nodiscard]] std::string text_of(const ContainerName& name);
[[nodiscard]] ContainerName name_of(const Header& header) noexcept;

// Returns whether a file begins with the magic of updates or of block indexes; a file that is shorter, with the
// beginning of it.
[[nodiscard]] bool has_magic(ByteView file, const std::array<std::byte, 8>& magic) noexcept;

// An open container. Threads: const members from any number.
struct ContainerFile {
  std::string path;
  std::unique_ptr<mapping::OsFile> file;
  OpenedToc opened;
  mapping::FileIdentity identity;  // size and times at the open, for check_unchanged()

  // Reads the newest generation. Errors: those of opening a file and of read_growing, with the path.
  [[nodiscard]] static Result<ContainerFile> open(const std::string& path);
  [[nodiscard]] ContainerName name() const noexcept { return name_of(opened.header); }
  // Checks that nobody has written to the file since. `again`: the work to do again, for the message. Errors: changed.
  [[nodiscard]] Status check_unchanged(std::string_view again) const;
};

// A leaf range in the file: hashes of all leaves of one segment, of one algorithm, without the hashes of leaf pages.
struct StoredLeafHashes {
  std::uint32_t segment = 0;
  bool sha256 = false;
  ByteRange in_file;
};

// Returns the leaf hashes that a file stores outside of its table, ascending by their place. They follow from the
// payload, so an update does not contain them. The hashes of leaf pages are left to the update.
[[nodiscard]] std::vector<StoredLeafHashes> stored_leaf_hashes(const Toc& toc);

// The committed bytes of a container, with zeros for some ranges.
// Threads: every member from any number.
class UpdateBytes final : public sharing::RecordBytes {
 public:
  // Lifetime: borrows the file. `zeros` ascend and do not overlap. `cancel` may be null.
  UpdateBytes(const mapping::OsFile& file, std::uint64_t size, std::vector<ByteRange> zeros,
              const std::atomic<bool>* cancel)
      : file_(file), size_(size), zeros_(std::move(zeros)), cancel_(cancel) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  // Errors: cancelled, those of reading.
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  void close() const noexcept override {}

 private:
  const mapping::OsFile& file_;
  std::uint64_t size_;
  std::vector<ByteRange> zeros_;
  const std::atomic<bool>* cancel_;
};

// The bytes of OLD that copies may read: zeros stand for the header, which a repair may write anew, and for the leaf
// hashes, which a partial file may lack. The bytes of NEW that steps make: zeros stand for the leaf hashes, unless the
// update holds them.
// Lifetime: borrow the file.
[[nodiscard]] UpdateBytes bytes_of_old(const mapping::OsFile& file, const OpenedToc& opened,
                                       const std::atomic<bool>* cancel);
[[nodiscard]] UpdateBytes bytes_of_new(const ContainerFile& container, bool with_leaf_hashes,
                                       const std::atomic<bool>* cancel);

// A part of other bytes. Lifetime: borrows them.
class BytesWindow final : public sharing::RecordBytes {
 public:
  BytesWindow(const sharing::RecordBytes& of, ByteRange range) : of_(of), range_(range) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return range_.size; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    return of_.read_at(range_.offset + offset, buffer);
  }
  void close() const noexcept override {}

 private:
  const sharing::RecordBytes& of_;
  ByteRange range_;
};

}  // namespace fatctx::container
