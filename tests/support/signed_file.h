// Signed containers: valid ones, and forgeries by an author with or without a key.
#pragma once

#include <stdexcept>
#include <string>

#include "container/edit/key_files.h"
#include "container/read/open.h"
#include "container/read/trust.h"
#include "fatctx/signature.h"
#include "support/hostile_file.h"
#include "support/memory_file.h"

namespace fatctx::support {

// Signs the file with `key`, whatever its content.
inline void sign_again(HostileFile& file, const container::SigningKey& key) {
  file.in_header = [&key](Bytes& bytes) {
    auto slot = struct_at<container::Slot>(bytes, container::kSlotOffsets[0]);
    container::Header header;
    header.uuid = slot.uuid;
    header.generation = slot.generation;
    header.committed_end = slot.committed_end;
    header.toc_size = slot.toc_size;
    header.toc_head_size = slot.toc_head_size;
    const ByteView head = ByteView(bytes).subspan(static_cast<std::size_t>(slot.toc_offset[0]),
                                                  static_cast<std::size_t>(slot.toc_head_size));
    const container::SlotSignature made = container::sign_generation(header, head, slot.previous_toc_sha256, key);
    for (const std::uint8_t index : {std::uint8_t{0}, std::uint8_t{2}}) {
      slot.slot_index = index;
      slot.toc_sha256 = made.toc_sha256;
      slot.key_id = made.key_id;
      slot.signature = made.signature;
      put_struct(bytes, container::kSlotOffsets[index], slot);
    }
  };
}

// Two payloads with the same XXH3 hash, wherever they begin at a multiple of 1,024 bytes of the hashed input. If the
// low half of a word equals that of the secret there, the product is zero for any high half. The sum of both words is
// equal.
inline constexpr unsigned char kFirstSecret[4] = {0xb8, 0xfe, 0x6c, 0x39};
inline constexpr unsigned char kSecondSecret[4] = {0x7c, 0x01, 0x81, 0x2c};
inline constexpr std::size_t kStripe = 64;

inline void make_forgeable(Bytes& payload) {
  std::memcpy(payload.data(), kFirstSecret, sizeof kFirstSecret);
  std::memcpy(payload.data() + kStripe, kSecondSecret, sizeof kSecondSecret);
  payload[4] = std::byte{10};
  payload[kStripe + 4] = std::byte{20};
}
// Exchanges the payload for the other one. `at`: its offset in `bytes`.
inline void forge(Bytes& bytes, std::size_t at = 0) {
  bytes.at(at + 4) = std::byte{20};
  bytes.at(at + kStripe + 4) = std::byte{10};
}

}  // namespace fatctx::support
