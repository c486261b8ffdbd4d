#include "fatctx/content_hash.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "fatctx/container.h"
#include "mapping/os_file.h"

namespace fatctx {

Hash128 content_hash(ByteView bytes) noexcept { return container::hash128(bytes); }

Result<Hash128> content_hash_of_file(const std::string& path) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  auto opened = mapping::open_for_reading(path);
  if (!opened.ok()) return in_context(std::move(opened).error(), path);
  const mapping::OsFile& file = *opened.value();
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file.identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  container::Hasher hasher;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(kPiece, identity.size)));
  for (std::uint64_t at = 0; at < identity.size; at += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, identity.size - at)));
    auto status = file.read_at(at, piece);
    if (!status.ok()) return in_context(std::move(status).error(), path);
    hasher.update(piece);
  }
  FATCTX_ASSIGN(const mapping::FileIdentity now, file.identity());
  if (now != identity) return Error{ErrorCode::kChanged, fmt::format("{}: changed while it was read", path)};
  return hasher.digest();
}

Result<Hash128> content_hash_with_weights(const Container& container, const RecordInfo& record) {
  std::vector<Hash128> weights;
  for (const std::uint32_t id : record.weights) {
    FATCTX_ASSIGN(const RecordInfo blob, container.record(id));
    weights.push_back(blob.hash);
  }
  // References are in the order of ids, which change when a file is written anew.
  std::sort(weights.begin(), weights.end());
  std::vector<std::byte> hashes(record.hash.bytes.begin(), record.hash.bytes.end());
  for (const Hash128& hash : weights) hashes.insert(hashes.end(), hash.bytes.begin(), hash.bytes.end());
  return content_hash(hashes);
}

struct Sha256Sum::State {
  container::Sha256 sum;
};

Sha256Sum::Sha256Sum() : state_(std::make_unique<State>()) {}
Sha256Sum::~Sha256Sum() = default;
Sha256Sum::Sha256Sum(Sha256Sum&&) noexcept = default;
Sha256Sum& Sha256Sum::operator=(Sha256Sum&&) noexcept = default;
void Sha256Sum::add(ByteView bytes) noexcept { state_->sum.update(bytes); }
std::string Sha256Sum::hex() const { return to_hex(state_->sum.digest()); }

bool is_sha256_text(std::string_view text) noexcept {
  return text.size() == 64 &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

}  // namespace fatctx
