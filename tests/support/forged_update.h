// Updates that make_update() would not write: by hand, or changed behind its back.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "container/format/hash.h"
#include "container/update/part_encoder.h"
#include "container/update/update_file.h"
#include "support/temp_dir.h"

namespace fatctx::support {

// Some bytes, which say that they are more; zeros follow them.
class SaidBytes final : public container::sharing::RecordBytes {
 public:
  SaidBytes(Bytes bytes, std::uint64_t size) : bytes_(std::move(bytes)), size_(size) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    for (std::byte& byte : buffer) {
      byte = offset < bytes_.size() ? bytes_[static_cast<std::size_t>(offset)] : std::byte{0};
      ++offset;
    }
    return Done{};
  }
  void close() const noexcept override {}

 private:
  Bytes bytes_;
  std::uint64_t size_;
};

// Returns an update with these steps, from one old file. `bytes` are those of NEW, for its literals and hashes.
inline Bytes forged_update(const container::ContainerName& made, const Bytes& bytes,
                           const container::ContainerName& old_name, Bytes old_bytes,
                           std::span<const container::UpdateStep> steps, std::uint32_t flags = 0) {
  const SaidBytes said(bytes, made.size);
  const SaidBytes old(std::move(old_bytes), std::uint64_t{1} << 46);
  const std::vector<const container::sharing::RecordBytes*> sources = {&said, &old};
  const std::uint64_t old_size = old.size();
  const auto groups = container::PartGroups::whole(made.size, std::span(&old_size, 1));
  container::PartEncoder encoder(sources, groups);
  Bytes file;
  const auto put = [&](const auto& value) {
    const auto view = std::as_bytes(std::span(&value, 1));
    file.insert(file.end(), view.begin(), view.end());
  };
  put(container::UpdateHeader{container::kUpdateMagic, container::kUpdateVersion, std::uint16_t{1}, flags, made});
  put(old_name);
  container::DiskHash before = container::hash128(file).bytes;
  put(before);
  for (std::uint64_t at = 0; at < made.size && !steps.empty(); at += container::kPartSize) {
    const ByteRange part{at, std::min(container::kPartSize, made.size - at)};
    const auto count = static_cast<std::size_t>(std::count_if(
        steps.begin(), steps.end(), [&](const container::UpdateStep& step) { return step.target < at + part.size; }));
    const container::EncodedPart encoded = encoder.encode(part, steps.first(count)).value();
    steps = steps.subspan(count);
    container::UpdatePart head{encoded.step_count,
                               static_cast<std::uint32_t>(encoded.coded.size()),
                               static_cast<std::uint32_t>(encoded.raw.size()),
                               0U,
                               encoded.made_hash.bytes,
                               {}};
    Bytes stored = encoded.coded;
    stored.insert(stored.end(), encoded.raw.begin(), encoded.raw.end());
    head.stored_hash = before = container::hash_of_part(before, head, stored).bytes;
    put(head);
    file.insert(file.end(), stored.begin(), stored.end());
  }
  return file;
}

// Makes the hashes of an update right, as far as its sizes allow.
inline void rehash_update(Bytes& bytes) {
  container::UpdateHeader header;
  if (bytes.size() < sizeof(header)) return;
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::size_t at = sizeof(header) + header.old_count * sizeof(container::ContainerName);
  container::DiskHash before = {};
  if (bytes.size() < at + before.size()) return;
  before = container::hash128(ByteView(bytes).first(at)).bytes;
  std::copy(before.begin(), before.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
  at += before.size();
  container::UpdatePart part;
  while (bytes.size() - at >= sizeof(part)) {
    std::memcpy(&part, bytes.data() + at, sizeof(part));
    const std::uint64_t stored = std::uint64_t{part.coded_size} + part.raw_size;
    if (stored > bytes.size() - at - sizeof(part)) return;
    const ByteView rest = ByteView(bytes).subspan(at + sizeof(part), static_cast<std::size_t>(stored));
    part.stored_hash = before = container::hash_of_part(before, part, rest).bytes;
    std::memcpy(bytes.data() + at, &part, sizeof(part));
    at += sizeof(part) + rest.size();
  }
}

}  // namespace fatctx::support
