// A file in memory that records every write and sync in order. Crash states are generated from this log.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "mapping/os_file.h"

namespace fatctx::crash {

using Bytes = std::vector<std::byte>;

struct Call {
  enum class Kind { kWrite, kSync, kFailedSync, kAcknowledged };
  Kind kind = Kind::kWrite;
  std::uint64_t offset = 0;
  Bytes bytes;
};

class RecordingFile final : public mapping::OsFile {
 public:
  // Sync number `failing_sync` fails, counted from 1. The system has then dropped the bytes that were to be written,
  // and the next sync does not report it.
  RecordingFile(Bytes& bytes, std::vector<Call>& log, std::uint64_t failing_sync = 0)
      : bytes_(bytes), log_(log), failing_sync_(failing_sync) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    if (!within({offset, buffer.size()}, bytes_.size())) return Error{ErrorCode::kTruncated, "ends too early"};
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), buffer.size(), buffer.begin());
    return Done{};
  }
  Status write_at(std::uint64_t offset, ByteView bytes) override {
    log_.push_back({Call::Kind::kWrite, offset, Bytes(bytes.begin(), bytes.end())});
    if (bytes_.size() < offset + bytes.size()) bytes_.resize(static_cast<std::size_t>(offset + bytes.size()));
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    return Done{};
  }
  Status allocate(std::uint64_t) override { return Done{}; }
  Status sync() override {
    if (++syncs_ == failing_sync_) {
      log_.push_back({Call::Kind::kFailedSync, 0, {}});
      return Error{ErrorCode::kIo, "cannot sync", {.os_error = 5}};
    }
    log_.push_back({Call::Kind::kSync, 0, {}});
    return Done{};
  }
  Result<mapping::FileIdentity> identity() const override {
    mapping::FileIdentity identity;
    identity.size = bytes_.size();
    identity.regular = true;
    return identity;
  }
  int descriptor() const noexcept override { return -1; }

 private:
  Bytes& bytes_;
  std::vector<Call>& log_;
  std::uint64_t failing_sync_;
  std::uint64_t syncs_ = 0;
};

// A read-only file over the disk content after a crash.
class ImageFile final : public mapping::OsFile {
 public:
  ImageFile(const Bytes& bytes, std::uint64_t size) : bytes_(bytes), size_(size) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    if (!within({offset, buffer.size()}, size_)) return Error{ErrorCode::kTruncated, "ends too early"};
    std::memcpy(buffer.data(), bytes_.data() + offset, buffer.size());
    return Done{};
  }
  Status write_at(std::uint64_t, ByteView) override { return Error{ErrorCode::kInternal, "an image is for reading"}; }
  Status allocate(std::uint64_t) override { return Error{ErrorCode::kInternal, "an image is for reading"}; }
  Status sync() override { return Error{ErrorCode::kInternal, "an image is for reading"}; }
  Result<mapping::FileIdentity> identity() const override {
    mapping::FileIdentity identity;
    identity.size = size_;
    identity.regular = true;
    return identity;
  }
  int descriptor() const noexcept override { return -1; }

 private:
  const Bytes& bytes_;
  std::uint64_t size_;
};

}  // namespace fatctx::crash
