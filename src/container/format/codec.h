// lz4 frames for what is never mapped: docs/format.md, section 5.2. The only file that knows lz4 is codec.cc.
//
// Both directions stream: memory depends on the size of a block, never on that of the record.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// Takes the next bytes of a stream; an error stops it. Lifetime: the view is valid during the call only.
using StreamSink = std::function<Status(ByteView)>;

// Makes one frame. The same bytes give the same frame in whatever pieces they come: the compressor sees blocks of one
// size, each by itself.
//
// Threads: one at a time.
class FrameWriter {
 public:
  explicit FrameWriter(std::uint64_t content_size);
  ~FrameWriter();
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  // Errors: internal, what `sink` returns.
  [[nodiscard]] Status write(ByteView bytes, const StreamSink& sink);
  // Requires: `content_size` bytes were written.
  [[nodiscard]] Status finish(const StreamSink& sink);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The content size that the header of a frame states. Needs the first 15 bytes of it, or all of a shorter one.
// Errors: codec, if it is no frame that a FrameReader takes.
[[nodiscard]] Result<std::uint64_t> frame_content_size(ByteView frame);

// Takes one frame apart. Errors are `codec` (F41) with the byte of the frame that the complaint is about.
//
// Threads: one at a time.
class FrameReader {
 public:
  explicit FrameReader(std::uint64_t logical_size);
  ~FrameReader();
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  // The next stored bytes; what they yield goes to `sink` in pieces of at most 256 KiB, and never more than
  // `logical_size` bytes in all. Errors: codec, what `sink` returns; nothing may follow an error.
  [[nodiscard]] Status feed(ByteView stored, const StreamSink& sink);
  // Errors: codec, if the frame is not complete.
  [[nodiscard]] Status finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fatctx::container
