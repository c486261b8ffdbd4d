#include "container/read/trust.h"

#include <algorithm>

#include <fmt/format.h>

#include "container/format/crypto.h"
#include "container/read/toc_head.h"

namespace fatctx::container {
namespace {

const PublicKey* find_key(std::span<const PublicKey> keys, const DiskSha256& id) {
  const auto found = std::find_if(keys.begin(), keys.end(), [&](const PublicKey& key) { return key.id() == id; });
  return found == keys.end() ? nullptr : &*found;
}

Error untrusted(const Header& header, ErrorCode code, std::string message) {
  return Error{code, std::move(message), {.file_offset = header.form().slots[header.pair]}};
}

// Returns the trusted key that the generation names as its signer; null if the caller requires no signature.
Result<const PublicKey*> claimed_key(const Header& header, const Trust& trust) {
  if (header.generation < trust.minimum_generation) {
    return untrusted(header, ErrorCode::kRollback,
                     fmt::format("this is generation {}, and at least {} is required: an older file has taken the "
                                 "place of a newer one",
                                 header.generation, trust.minimum_generation));
  }
  const PublicKey* key = nullptr;
  if (!trust.wants_signature()) return key;
  if (!header.signature) {
    return untrusted(header, ErrorCode::kSignatureMissing,
                     fmt::format("generation {} is not signed, and a signature by a trusted key is required; sign it "
                                 "with `fatctx sign`, or ask for an earlier generation that is",
                                 header.generation));
  }
  key = find_key(trust.keys, header.signature->key_id);
  if (key == nullptr) {
    return untrusted(header, ErrorCode::kSignatureBad,
                     fmt::format("generation {} is signed in the name of key {}, which is none of the trusted keys",
                                 header.generation, to_hex(header.signature->key_id)));
  }
  return key;
}

Error not_signed(const Header& header) {
  return untrusted(header, ErrorCode::kSignatureBad,
                   fmt::format("key {} has not signed generation {} of this container with this table of contents",
                               to_hex(header.signature->key_id), header.generation));
}

}  // namespace

SignedMessage signed_message(const Header& header, const DiskSha256& toc_sha256,
                             const DiskSha256& previous_toc_sha256) noexcept {
  SignedMessage message = {};
  message.magic = kSignedMessageMagic;
  message.uuid = header.uuid;
  message.generation = header.generation;
  message.committed_end = header.committed_end;
  message.toc_size = header.toc_size;
  message.toc_head_size = header.toc_head_size;
  message.hash_algorithm = kHashSha256;
  message.toc_sha256 = toc_sha256;
  message.previous_toc_sha256 = previous_toc_sha256;
  return message;
}

SlotSignature sign_generation(const Header& header, ByteView toc_head, const DiskSha256& previous_toc_sha256,
                              const SigningKey& key) noexcept {
  SlotSignature made;
  made.toc_sha256 = sha256(toc_head);
  made.previous_toc_sha256 = previous_toc_sha256;
  made.key_id = key.public_key().id();
  const SignedMessage message = signed_message(header, made.toc_sha256, previous_toc_sha256);
  made.signature = key.sign(std::as_bytes(std::span(&message, 1)));
  return made;
}

Status check_claims(const Header& header, const Trust& trust) {
  FATCTX_TRY(claimed_key(header, trust));
  return Done{};
}

bool toc_sha256_matches(ByteView toc, const Header& header) {
  const ByteView head = toc.first(static_cast<std::size_t>(header.toc_head_size));
  if (sha256(head) != header.signature->toc_sha256) return false;
  const std::uint64_t pages = toc_pages(header.toc_size - header.toc_head_size);
  if (header.toc_head_size != toc_head_size(pages, true)) return false;
  for (std::uint64_t page = 0; page < pages; ++page) {
    const ByteRange range = toc_page(page, header);
    const ByteView bytes = toc.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
    if (!page_sha256_matches(page_sha256_hashes(head, pages), page, bytes)) return false;
  }
  return true;
}

Status check_trust_in_head(const Header& header, ByteView head, const Trust& trust) {
  FATCTX_ASSIGN(const PublicKey* const key, claimed_key(header, trust));
  if (key == nullptr) return Done{};
  const SlotSignature& claimed = *header.signature;
  const SignedMessage message = signed_message(header, claimed.toc_sha256, claimed.previous_toc_sha256);
  if (sha256(head) == claimed.toc_sha256 &&
      signature_holds(std::as_bytes(std::span(&message, 1)), claimed.signature, *key)) {
    return Done{};
  }
  return not_signed(header);
}

Status check_trust(const Header& header, ByteView toc, const Trust& trust) {
  FATCTX_TRY(check_trust_in_head(header, toc.first(static_cast<std::size_t>(header.toc_head_size)), trust));
  if (!trust.wants_signature() || toc_sha256_matches(toc, header)) return Done{};
  return not_signed(header);
}

}  // namespace fatctx::container
