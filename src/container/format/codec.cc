// The frame format is lz4's own, so that its command line tool reads our frames. A reader accepts only the variants
// that a stored record needs: a single frame that states its size and carries a checksum of its content. liblz4 itself
// would continue after a frame, skip frames, and trust a size until the end; these are refused here.
#include "container/format/codec.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <lz4frame.h>

#include "base/exceptions.h"
#include "fatctx/base/little_endian.h"

namespace fatctx::container {
namespace {

// A match reaches back 64 KiB at most, so larger blocks gain little. Smaller ones would cost ratio.
constexpr std::size_t kBlockSize = std::size_t{256} << 10;

constexpr std::uint32_t kFrameMagic = 0x184D2204;
constexpr std::uint32_t kSkippableMagic = 0x184D2A50;  // its low four bits vary
constexpr std::uint32_t kSkippableMask = 0xFFFFFFF0;
constexpr std::size_t kFlagsAt = 4;  // first byte after the magic
constexpr std::byte kFlagDictionary{0x01};
constexpr std::byte kFlagContentChecksum{0x04};
constexpr std::byte kFlagContentSize{0x08};

LZ4F_preferences_t preferences(std::uint64_t content_size) noexcept {
  LZ4F_preferences_t wanted = {};
  wanted.frameInfo.blockSizeID = LZ4F_max256KB;
  wanted.frameInfo.blockMode = LZ4F_blockIndependent;  // so that a block's bytes depend only on its content
  wanted.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  wanted.frameInfo.contentSize = content_size;
  wanted.compressionLevel = 0;
  return wanted;
}

// Only this error of liblz4 is not about its input.
void throw_if_out_of_memory(std::size_t code) {
  if (LZ4F_isError(code) != 0 && std::string_view(LZ4F_getErrorName(code)) == "ERROR_allocation_failed") {
    throw_out_of_memory();
  }
}

Error refuse(std::uint64_t at, std::string message) {
  return Error{ErrorCode::kCodec, std::move(message), {.file_offset = at, .rule = "F41"}};
}

}  // namespace

struct FrameWriter::State {
  explicit State(std::uint64_t content_size) : wanted(preferences(content_size)) {
    frame.resize(LZ4F_compressBound(kBlockSize, &wanted) + LZ4F_HEADER_SIZE_MAX);
    block.reserve(kBlockSize);
    // Must be last: nothing would free it if a later line threw.
    throw_if_out_of_memory(LZ4F_createCompressionContext(&context, LZ4F_VERSION));
  }
  ~State() { (void)LZ4F_freeCompressionContext(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  Status hand_on(std::size_t size, const StreamSink& sink) const {
    throw_if_out_of_memory(size);
    if (LZ4F_isError(size) != 0) {
      return Error{ErrorCode::kInternal, fmt::format("lz4 does not compress: {}", LZ4F_getErrorName(size))};
    }
    return size == 0 ? Status(Done{}) : sink(ByteView(frame).first(size));
  }

  Status begin(const StreamSink& sink) {
    if (begun) return Done{};
    begun = true;
    return hand_on(LZ4F_compressBegin(context, frame.data(), frame.size(), &wanted), sink);
  }

  Status compress(ByteView bytes, const StreamSink& sink) {
    return hand_on(LZ4F_compressUpdate(context, frame.data(), frame.size(), bytes.data(), bytes.size(), nullptr), sink);
  }

  LZ4F_preferences_t wanted;
  LZ4F_cctx* context = nullptr;
  std::vector<std::byte> frame;  // compressed bytes for the sink
  std::vector<std::byte> block;  // collected bytes, less than a block
  bool begun = false;
};

FrameWriter::FrameWriter(std::uint64_t content_size) : state_(std::make_unique<State>(content_size)) {}
FrameWriter::~FrameWriter() = default;

Status FrameWriter::write(ByteView bytes, const StreamSink& sink) {
  FATCTX_TRY(state_->begin(sink));
  while (!bytes.empty()) {
    if (state_->block.empty() && bytes.size() >= kBlockSize) {
      FATCTX_TRY(state_->compress(bytes.first(kBlockSize), sink));
      bytes = bytes.subspan(kBlockSize);
      continue;
    }
    const ByteView piece = bytes.first(std::min(bytes.size(), kBlockSize - state_->block.size()));
    state_->block.insert(state_->block.end(), piece.begin(), piece.end());
    bytes = bytes.subspan(piece.size());
    if (state_->block.size() < kBlockSize) continue;
    FATCTX_TRY(state_->compress(state_->block, sink));
    state_->block.clear();
  }
  return Done{};
}

Status FrameWriter::finish(const StreamSink& sink) {
  FATCTX_TRY(state_->begin(sink));
  FATCTX_TRY(state_->compress(state_->block, sink));
  return state_->hand_on(LZ4F_compressEnd(state_->context, state_->frame.data(), state_->frame.size(), nullptr), sink);
}

struct FrameReader::State {
  explicit State(std::uint64_t size) : logical_size(size), out(kBlockSize) {
    throw_if_out_of_memory(LZ4F_createDecompressionContext(&context, LZ4F_VERSION));
  }
  ~State() { (void)LZ4F_freeDecompressionContext(context); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Moves bytes to the header until it is complete, then checks it.
  Status take_header(ByteView& bytes) {
    const std::size_t piece = std::min(bytes.size(), header_wanted - header_size);
    std::memcpy(header.data() + header_size, bytes.data(), piece);
    bytes = bytes.subspan(piece);
    header_size += piece;
    taken += piece;
    if (header_size < header_wanted) return Done{};
    if (header_wanted == LZ4F_HEADER_SIZE_MIN) FATCTX_TRY(check_flags());
    if (header_size < header_wanted) return Done{};
    return check_header();
  }

  // Computes the length of the header from its first seven bytes.
  Status check_flags() {
    le32 magic;
    std::memcpy(&magic, header.data(), sizeof(magic));
    if ((magic & kSkippableMask) == kSkippableMagic) {
      return refuse(0, "it begins with a skippable frame; allowed is one lz4 frame and nothing else");
    }
    if (magic != kFrameMagic) return refuse(0, "it does not begin like an lz4 frame");
    const std::byte flags = header[kFlagsAt];
    if ((flags & kFlagDictionary) != std::byte{0}) return refuse(kFlagsAt, "its frame asks for a dictionary");
    if ((flags & kFlagContentSize) == std::byte{0}) return refuse(kFlagsAt, "its frame does not state its size");
    if ((flags & kFlagContentChecksum) == std::byte{0}) return refuse(kFlagsAt, "its frame has no content checksum");
    const std::size_t size = LZ4F_headerSize(header.data(), header_size);
    if (LZ4F_isError(size) != 0 || size > header.size()) return refuse(kFlagsAt, "the header of its frame is damaged");
    header_wanted = size;
    return Done{};
  }

  Status check_header() {
    LZ4F_frameInfo_t info = {};
    std::size_t size = header_size;
    const std::size_t next = LZ4F_getFrameInfo(context, &info, header.data(), &size);
    throw_if_out_of_memory(next);
    if (LZ4F_isError(next) != 0) {
      return refuse(kFlagsAt, fmt::format("the header of its frame is damaged: {}", LZ4F_getErrorName(next)));
    }
    if (info.contentSize != logical_size) {
      return refuse(kFlagsAt, fmt::format("its frame states {} bytes instead of {}", info.contentSize, logical_size));
    }
    wanted = next;
    unit_at = taken;
    in_blocks = true;
    return Done{};
  }

  // Feeds at most the bytes that the decoder asks for: a block and the size of the next one. So an error has an offset.
  Status take_blocks(ByteView& bytes, const StreamSink& sink) {
    const std::size_t size = std::min(wanted, bytes.size());
    ByteView piece = bytes.first(size);
    for (;;) {
      std::size_t made = out.size();
      std::size_t used = piece.size();
      const std::size_t next = LZ4F_decompress(context, out.data(), &made, piece.data(), &used, nullptr);
      throw_if_out_of_memory(next);
      if (LZ4F_isError(next) != 0) {
        return refuse(unit_at, fmt::format("its frame is damaged: {}", LZ4F_getErrorName(next)));
      }
      if (made > logical_size - produced) {
        return refuse(unit_at, fmt::format("its frame yields more than its {} bytes", logical_size));
      }
      produced += made;
      if (made != 0) FATCTX_TRY(sink(ByteView(out).first(made)));
      piece = piece.subspan(used);
      taken += used;
      ended = next == 0;
      const bool more = !piece.empty() || made == out.size();  // a full buffer may mean that there is more
      if (!ended && more && (used != 0 || made != 0)) continue;
      if (!ended && !piece.empty()) return refuse(unit_at, "its frame makes no progress");
      if (size == wanted) unit_at = taken;
      wanted = next;
      bytes = bytes.subspan(size - piece.size());
      return Done{};
    }
  }

  std::uint64_t logical_size;
  LZ4F_dctx* context = nullptr;
  std::array<std::byte, LZ4F_HEADER_SIZE_MAX> header = {};
  std::size_t header_size = 0;
  std::size_t header_wanted = LZ4F_HEADER_SIZE_MIN;
  bool in_blocks = false;
  bool ended = false;
  std::size_t wanted = 0;      // bytes that the decoder asks for next
  std::uint64_t taken = 0;     // bytes of the frame so far
  std::uint64_t unit_at = 0;   // start of the bytes that it asked for
  std::uint64_t produced = 0;  // logical bytes so far
  std::vector<std::byte> out;
};

Result<std::uint64_t> frame_content_size(ByteView frame) {
  constexpr std::size_t kSizeAt = 6;  // after the magic and two bytes of flags
  le32 magic;
  le64 size;
  if (frame.size() < kSizeAt + sizeof(size)) return refuse(frame.size(), "its frame is cut off");
  std::memcpy(&magic, frame.data(), sizeof(magic));
  if (magic != kFrameMagic) return refuse(0, "it does not begin like an lz4 frame");
  if ((frame[kFlagsAt] & kFlagContentSize) == std::byte{0})
    return refuse(kFlagsAt, "its frame does not state its size");
  std::memcpy(&size, frame.data() + kSizeAt, sizeof(size));
  return std::uint64_t{size};
}

FrameReader::FrameReader(std::uint64_t logical_size) : state_(std::make_unique<State>(logical_size)) {}
FrameReader::~FrameReader() = default;

Status FrameReader::feed(ByteView stored, const StreamSink& sink) {
  while (!stored.empty()) {
    if (state_->ended) return refuse(state_->taken, "bytes follow the end of its frame");
    FATCTX_TRY(state_->in_blocks ? state_->take_blocks(stored, sink) : state_->take_header(stored));
  }
  return Done{};
}

Status FrameReader::finish() const {
  if (state_->ended && state_->produced == state_->logical_size) return Done{};
  return refuse(state_->taken, fmt::format("its frame is cut off: {} of {} bytes come out of it", state_->produced,
                                           state_->logical_size));
}

}  // namespace fatctx::container
