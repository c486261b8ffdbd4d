// An OsFile in memory that counts its calls and fails those that a test chooses.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "mapping/os_file.h"

namespace fatctx::support {

enum class FileCall : std::size_t { kRead, kWrite, kAllocate, kSync, kIdentity };
inline constexpr std::size_t kFileCallCount = 5;

// A file in memory. Threads: one at a time.
class MemoryFile final : public mapping::OsFile {
 public:
  explicit MemoryFile(std::vector<std::byte> bytes = {}) : bytes_(std::move(bytes)) {}

  // May be changed at any time; the file then looks as if another writer had changed it.
  [[nodiscard]] std::vector<std::byte>& bytes() noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t calls(FileCall call) const noexcept { return calls_[static_cast<std::size_t>(call)]; }
  // Returns the number of bytes requested from read_at so far.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_read_; }

  // Makes call number `nth` of its kind, counted from 0, fail with `code`: once, or together with all later ones.
  void fail(FileCall call, std::uint64_t nth, bool for_ever, ErrorCode code = ErrorCode::kIo) {
    faults_.push_back({call, nth, for_ever, code});
  }
  // From read number `nth` on the file ends at `size`, as if it had been cut between two reads.
  void cut_before_read(std::uint64_t nth, std::uint64_t size) {
    cut_at_read_ = nth;
    cut_size_ = size;
  }
  // Hides the bytes behind `size`. This is cheaper than a copy if every length is tried.
  void show_only(std::uint64_t size) noexcept { visible_ = size; }
  [[nodiscard]] std::uint64_t size() const noexcept { return std::min<std::uint64_t>(visible_, bytes_.size()); }

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    if (calls(FileCall::kRead) >= cut_at_read_) visible_ = std::min(visible_, cut_size_);
    FATCTX_TRY(count(FileCall::kRead, offset));
    bytes_read_ += buffer.size();
    if (!within({offset, buffer.size()}, size())) {
      return Error{ErrorCode::kTruncated, "the file in memory ends too early", {.file_offset = offset}};
    }
    if (!buffer.empty()) std::memcpy(buffer.data(), bytes_.data() + offset, buffer.size());
    return Done{};
  }
  Status write_at(std::uint64_t offset, ByteView bytes) override {
    FATCTX_TRY(count(FileCall::kWrite, offset));
    if (bytes.empty()) return Done{};
    const auto end = static_cast<std::size_t>(offset + bytes.size());
    if (bytes_.size() < end) bytes_.resize(end);
    std::memcpy(bytes_.data() + offset, bytes.data(), bytes.size());
    return Done{};
  }
  Status allocate(std::uint64_t) override { return count(FileCall::kAllocate, 0); }
  Status sync() override { return count(FileCall::kSync, 0); }
  Result<mapping::FileIdentity> identity() const override {
    FATCTX_TRY(count(FileCall::kIdentity, 0));
    mapping::FileIdentity identity;
    identity.inode = 1;
    identity.size = size();
    identity.regular = true;
    return identity;
  }
  int descriptor() const noexcept override { return -1; }

 private:
  struct Fault {
    FileCall call;
    std::uint64_t nth;
    bool for_ever;
    ErrorCode code;
  };

  Status count(FileCall call, std::uint64_t offset) const {
    const std::uint64_t number = calls_[static_cast<std::size_t>(call)]++;
    for (const Fault& fault : faults_) {
      if (fault.call != call || (fault.for_ever ? number < fault.nth : number != fault.nth)) continue;
      return Error{fault.code, "a fault of the test", {.file_offset = offset, .os_error = 5}};
    }
    return Done{};
  }

  std::vector<std::byte> bytes_;
  std::vector<Fault> faults_;
  std::uint64_t cut_at_read_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t cut_size_ = 0;
  mutable std::uint64_t visible_ = std::numeric_limits<std::uint64_t>::max();
  mutable std::uint64_t bytes_read_ = 0;
  mutable std::array<std::uint64_t, kFileCallCount> calls_ = {};
};

}  // namespace fatctx::support
