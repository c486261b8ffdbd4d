// A container somewhere else, as a file for the parsers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "container/format/byte_set.h"
#include "fatctx/repair_source.h"
#include "mapping/os_file.h"
#include "mapping/read_only_file.h"

namespace fatctx::container {

// Keeps all that read_at() reads: that is for headers, tables and leaf hashes. Payload goes through stream().
//
// Ownership: borrows the source. Threads: one at a time.
class SourceFile final : public mapping::ReadOnlyFile {
 public:
  // Reads the first 64 KiB: they hold the header, and the table of a small file. Errors: those of the source; io.
  [[nodiscard]] static Result<std::unique_ptr<SourceFile>> open(const RepairSource& source);

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override;
  Result<mapping::FileIdentity> identity() const override;

  // Reads what it does not have of these ranges, which ascend, so that read_at() finds it. Errors: as read_at().
  [[nodiscard]] Status read_ahead(const std::vector<ByteRange>& ranges) const;
  // Gives `take` the bytes of these ranges, which ascend, once each and in any order, and keeps none.
  // Errors: those of `take` and of the source; io (it brings nothing).
  [[nodiscard]] Status stream(const std::vector<ByteRange>& ranges, const TakeBytes& take) const;
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint64_t read_bytes() const noexcept { return read_bytes_; }

 private:
  SourceFile(const RepairSource& source, std::uint64_t size) : source_(&source), size_(size) {}

  const RepairSource* source_;
  std::uint64_t size_;
  mutable std::uint64_t read_bytes_ = 0;
  mutable ByteSet have_;
  mutable std::map<std::uint64_t, std::vector<std::byte>> pieces_;  // by offset; they do not overlap
};

// Returns a source that reads the file at `path`. It refuses the file that `target` identifies.
[[nodiscard]] RepairSource source_here(const std::string& path, const mapping::FileIdentity& target);

}  // namespace fatctx::container
