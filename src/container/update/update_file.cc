#include "container/update/update_file.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/update/container_file.h"
#include "fatctx/base/little_endian.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kReadUnit = std::uint64_t{1} << 20;

void add_head(Hasher& hasher, const DiskHash& before, const UpdatePart& part) noexcept {
  hasher.update(before);
  hasher.update(std::as_bytes(std::span(&part, 1)).first(offsetof(UpdatePart, stored_hash)));
}

}  // namespace

UpdateContainer container_of(const ContainerName& name) {
  return {.path = {}, .uuid = uuid_text(name.uuid), .generation = name.generation, .file_size = name.size};
}

Hash128 hash_of_part(const DiskHash& before, const UpdatePart& part, ByteView stored) noexcept {
  Hasher hasher;
  add_head(hasher, before, part);
  hasher.update(stored);
  return hasher.digest();
}

Error UpdateFile::error(ErrorCode code, std::string what, std::uint64_t at) const {
  return Error{code, fmt::format("{}: {}", path_, std::move(what)), {.file_offset = at}};
}

Result<UpdateFile> UpdateFile::open(const std::string& path) {
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  return open(std::move(file).value(), path);
}

Result<UpdateFile> UpdateFile::open(std::unique_ptr<mapping::OsFile> file, const std::string& path) {
  UpdateFile update(std::move(file), path);
  FATCTX_ASSIGN(const mapping::FileIdentity identity, update.file_->identity());
  if (!identity.regular) return update.error(ErrorCode::kNotRegularFile, "not a regular file", 0);
  update.size_ = identity.size;
  FATCTX_TRY(update.read_header());
  return update;
}

Status UpdateFile::read_header() {
  std::vector<std::byte> bytes(static_cast<std::size_t>(
      std::min<std::uint64_t>(size_, sizeof(UpdateHeader) + kMaxOldFiles * sizeof(ContainerName) + sizeof(DiskHash))));
  FATCTX_TRY(file_->read_at(0, bytes));
  if (!has_magic(bytes, kUpdateMagic)) return error(ErrorCode::kBadMagic, "not an update", 0);
  const auto head = copy_out<UpdateHeader>(bytes, 0);
  if (!head.ok()) return error(ErrorCode::kTruncated, "the update ends in its header", size_);
  const UpdateHeader header = head.value();
  if (header.version != kUpdateVersion) {
    return error(ErrorCode::kUnsupported,
                 fmt::format("an update of version {}; this program knows version {}",
                             static_cast<std::uint16_t>(header.version), kUpdateVersion),
                 offsetof(UpdateHeader, version));
  }
  if (header.old_count == 0 || header.old_count > kMaxOldFiles) {
    return error(ErrorCode::kLimitExceeded,
                 fmt::format("an update from {} files; 1 to {} are allowed",
                             static_cast<std::uint16_t>(header.old_count), kMaxOldFiles),
                 offsetof(UpdateHeader, old_count));
  }
  const std::uint64_t end = sizeof(UpdateHeader) + header.old_count * sizeof(ContainerName);
  const auto hash = copy_out<DiskHash>(bytes, end);
  if (!hash.ok()) return error(ErrorCode::kTruncated, "the update ends in its header", size_);
  if (hash128(ByteView(bytes).first(static_cast<std::size_t>(end))).bytes != hash.value()) {
    return error(ErrorCode::kChecksumMismatch, "the header of the update is damaged; fetch it again", 0);
  }
  if ((header.flags & ~kForPartial) != 0) {
    return error(ErrorCode::kMalformed, "the update has a flag that this version does not have",
                 offsetof(UpdateHeader, flags));
  }
  for_partial_ = header.flags == kForPartial;
  made_ = header.made;
  for (std::uint64_t i = 0; i < header.old_count; ++i) {
    olds_.push_back(copy_out<ContainerName>(bytes, sizeof(UpdateHeader) + i * sizeof(ContainerName)).value());
  }
  const auto too_large = [](const ContainerName& name) { return name.size == 0 || name.size > kMaxFileSize; };
  if (too_large(made_) || std::any_of(olds_.begin(), olds_.end(), too_large)) {
    return error(ErrorCode::kLimitExceeded, "the update names a file of a size that no container has",
                 offsetof(UpdateHeader, made));
  }
  header_hash_ = hash.value();
  header_size_ = end + sizeof(DiskHash);
  at_ = header_size_;
  hash_before_ = header_hash_;
  return Done{};
}

// Reads the fields of the next part. Returns false behind the last one.
Result<bool> UpdateFile::read_part_head(StoredPart& part) {
  if (made_to_ == made_.size) {
    if (at_ != size_) return error(ErrorCode::kTrailingData, "bytes follow the last part of the update", at_);
    return false;
  }
  const auto truncated = [this] {
    return error(ErrorCode::kTruncated, "the update ends before its last part; fetch it again", size_);
  };
  if (size_ - at_ < sizeof(UpdatePart)) return truncated();
  FATCTX_TRY(file_->read_at(at_, std::as_writable_bytes(std::span(&part.part, 1))));
  part.made = {made_to_, std::min(kPartSize, made_.size - made_to_)};
  const std::uint64_t stored = std::uint64_t{part.part.coded_size} + part.part.raw_size;
  if (part.part.reserved != 0 || stored > most_stored_of_part(part.made.size) ||
      part.part.step_count > most_steps_of_part(part.made.size)) {
    return error(ErrorCode::kMalformed,
                 fmt::format("part {} of the update has impossible sizes", made_to_ >> kPartLog2), at_);
  }
  if (size_ - at_ - sizeof(UpdatePart) < stored) return truncated();
  at_ += sizeof(UpdatePart);
  return true;
}

Status UpdateFile::check_size(std::uint64_t given, std::uint64_t max_made_bytes) const {
  const std::uint64_t most = max_made_bytes != 0 ? max_made_bytes : most_made(given + size_);
  if (made_.size <= most) return Done{};
  return Error{ErrorCode::kLimitExceeded,
               fmt::format("{}: it makes a file of {} bytes, more than allowed ({}); max_made_bytes allows more", path_,
                           static_cast<std::uint64_t>(made_.size), most)};
}

Status UpdateFile::check(const std::atomic<bool>* cancel) {
  StoredPart part;
  std::vector<std::byte> buffer;
  while (true) {
    FATCTX_ASSIGN(const bool more, read_part_head(part));
    if (!more) break;
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return Error{ErrorCode::kCancelled, "cancelled"};
    Hasher hasher;
    add_head(hasher, hash_before_, part.part);
    const std::uint64_t end = at_ + part.part.coded_size + part.part.raw_size;
    for (std::uint64_t at = at_; at < end; at += buffer.size()) {
      buffer.resize(static_cast<std::size_t>(std::min(kReadUnit, end - at)));
      FATCTX_TRY(file_->read_at(at, buffer));
      hasher.update(buffer);
    }
    if (hasher.digest().bytes != part.part.stored_hash) {
      return error(ErrorCode::kChecksumMismatch,
                   fmt::format("part {} of the update is damaged; fetch it again", made_to_ >> kPartLog2), at_);
    }
    at_ = end;
    made_to_ += part.made.size;
    hash_before_ = part.part.stored_hash;
  }
  rewind();
  return Done{};
}

void UpdateFile::rewind() noexcept {
  at_ = header_size_;
  made_to_ = 0;
  hash_before_ = header_hash_;
}

Result<bool> UpdateFile::next(StoredPart& part) {
  FATCTX_ASSIGN(const bool more, read_part_head(part));
  if (!more) return false;
  part.stored.resize(std::size_t{part.part.coded_size} + part.part.raw_size);
  FATCTX_TRY(file_->read_at(at_, part.stored));
  if (hash_of_part(hash_before_, part.part, part.stored).bytes != part.part.stored_hash) {
    return error(ErrorCode::kChecksumMismatch,
                 fmt::format("part {} of the update is damaged; fetch it again", made_to_ >> kPartLog2), at_);
  }
  at_ += part.stored.size();
  made_to_ += part.made.size;
  hash_before_ = part.part.stored_hash;
  return true;
}

}  // namespace fatctx::container

namespace fatctx {

Result<UpdateReport> read_update(const std::string& path) {
  FATCTX_ASSIGN(container::UpdateFile update, container::UpdateFile::open(path));
  FATCTX_TRY(update.check(nullptr));
  UpdateReport report;
  report.path = path;
  report.update_bytes = update.size();
  report.for_partial = update.for_partial();
  report.made = container::container_of(update.made());
  for (const container::ContainerName& old : update.olds()) report.old.push_back(container::container_of(old));
  return report;
}

}  // namespace fatctx
