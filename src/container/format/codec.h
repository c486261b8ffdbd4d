// Compresses records that are never memory-mapped into lz4 frames: docs/format.md, section 5.2. Only codec.cc uses lz4.
//
// Both directions stream: memory depends on the size of a block, never on that of the record.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// A function that takes the next bytes of a stream; an error stops it. Lifetime: the view is valid during the call
// only.
using StreamSink = std::function<Status(ByteView)>;

// A compressor that makes one frame. Equal bytes give an equal frame, whatever the sizes of the pieces: blocks have one
// size and are compressed independently.
//
// Threads: one at a time.
class FrameWriter {
 public:
  explicit FrameWriter(std::uint64_t content_size);
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  // Compresses the next bytes. Errors: internal, those of `sink`.
  [[nodiscard]] Status write(ByteView bytes, const StreamSink& sink);
  // Writes the rest of the frame. Requires: `content_size` bytes were written.
  [[nodiscard]] Status finish(const StreamSink& sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Returns the content size that the header of a frame states. Needs the first 15 bytes of the frame, or all of a
// shorter one.
// Errors: codec, if a FrameReader would refuse the frame.
[[nodiscard]] Result<std::uint64_t> frame_content_size(ByteView frame);

// A decompressor of one frame. Errors are `codec` (F41) with the offset in the frame.
//
// Threads: one at a time.
class FrameReader {
 public:
  explicit FrameReader(std::uint64_t logical_size);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // Decompresses the next stored bytes. Hands them to `sink` in pieces of at most 256 KiB, never more than
  // `logical_size` bytes in all. Errors: codec, those of `sink`; the reader must not be used after an error.
  [[nodiscard]] Status feed(ByteView stored, const StreamSink& sink);
  // Errors: codec, if the frame is not complete.
  [[nodiscard]] Status finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fatctx::container
