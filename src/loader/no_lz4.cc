// Replaces src/container/format/codec.cc in a loader without lz4: compressed bytes are refused by name.
#include "container/format/codec.h"
#include "loader/refused_options.h"

namespace fatctx::container {
namespace {

Error refused() { return not_in_loader("lz4 (it was built without FATCTX_LOADER_LZ4)"); }

}  // namespace

struct FrameReader::State {};

FrameReader::FrameReader(std::uint64_t /*logical_size*/) {}
FrameReader::~FrameReader() = default;
Status FrameReader::feed(ByteView /*stored*/, const StreamSink& /*sink*/) { return refused(); }
Status FrameReader::finish() const { return refused(); }
Result<std::uint64_t> frame_content_size(ByteView /*frame*/) { return refused(); }

}  // namespace fatctx::container
