// The lz4 codec. Arbitrary bytes as a frame are refused with `codec`, or yield exactly the promised size; they never
// yield more in between. Compressed bytes decompress to the original, with pieces of any size on both sides.
//
// Input: 1 byte for the kind, 3 bytes for the promised size, 1 byte for the size of the pieces; then the frame, or
// (kind 1 and 2) the bytes to compress. In kind 2, 8 bytes of edits precede those: four times {place in the frame,
// value}.
#include <algorithm>
#include <vector>

#include "container/format/codec.h"
#include "fuzz/input.h"
#include "fuzz/promise.h"

namespace {

using namespace fatctx;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kPieceLimit = 256 * 1024;

std::vector<ByteView> in_pieces(ByteView bytes, std::uint8_t choice) {
  const std::size_t size = choice == 0 ? std::max<std::size_t>(bytes.size(), 1) : choice;
  std::vector<ByteView> pieces;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(size, bytes.size()))) {
    pieces.push_back(bytes.first(std::min(size, bytes.size())));
  }
  return pieces;
}

Bytes compressed(ByteView plain, std::uint8_t pieces) {
  Bytes frame;
  const container::StreamSink sink = [&](ByteView more) -> Status {
    frame.insert(frame.end(), more.begin(), more.end());
    return Done{};
  };
  container::FrameWriter writer(plain.size());
  for (const ByteView piece : in_pieces(plain, pieces)) {
    fuzz::require(writer.write(piece, sink).ok(), "any bytes can be compressed");
  }
  fuzz::require(writer.finish(sink).ok(), "a frame can be finished");
  return frame;
}

// Returns the content of the frame, or an error if the frame is refused.
Result<Bytes> decompressed(ByteView frame, std::uint64_t promised, std::uint8_t pieces) {
  Bytes plain;
  const container::StreamSink sink = [&](ByteView more) -> Status {
    fuzz::require(more.size() <= kPieceLimit, "pieces are small");
    plain.insert(plain.end(), more.begin(), more.end());
    fuzz::require(plain.size() <= promised, "a frame never yields more than was promised");
    return Done{};
  };
  container::FrameReader reader(promised);
  for (const ByteView piece : in_pieces(frame, pieces)) FATCTX_TRY(reader.feed(piece, sink));
  FATCTX_TRY(reader.finish());
  fuzz::require(plain.size() == promised, "a frame that is accepted yields all that was promised");
  return plain;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t kind = input.byte();
  const std::uint64_t promised = input.number(3);
  const std::uint8_t pieces = input.byte();
  if (kind % 3 == 0) {
    const auto plain = decompressed(input.rest(), promised, pieces);
    if (!plain.ok()) {
      fuzz::require_good(plain.error());
      fuzz::require(plain.error().code == ErrorCode::kCodec, "a bad frame is a codec error", plain.error().message);
    }
    return 0;
  }
  const ByteView edits = kind % 3 == 2 ? input.take(8) : ByteView{};
  const ByteView text = input.rest();
  Bytes plain;  // the text is repeated, so that there is something to compress
  for (std::uint64_t i = 0; i <= promised % 4; ++i) plain.insert(plain.end(), text.begin(), text.end());
  if (plain.empty()) return 0;  // never compressed: its frame could not state its size
  Bytes frame = compressed(plain, pieces);
  for (std::size_t i = 0; i + 1 < edits.size(); i += 2) {
    frame[std::to_integer<std::size_t>(edits[i]) % frame.size()] ^= edits[i + 1];
  }
  const auto back = decompressed(frame, plain.size(), static_cast<std::uint8_t>(pieces * 7));
  if (!back.ok()) {
    fuzz::require_good(back.error());
    fuzz::require(kind % 3 == 2, "what was compressed comes back", back.error().message);
    fuzz::require(back.error().code == ErrorCode::kCodec, "a bad frame is a codec error", back.error().message);
  } else if (kind % 3 == 1) {
    fuzz::require(back.value() == plain, "what was compressed comes back");
    fuzz::require(compressed(plain, 1) == frame, "the same bytes give the same frame in whatever pieces they come");
  }
  return 0;
}
