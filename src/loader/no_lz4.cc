// Replaces src/container/format/codec.cc in a loader without lz4: compressed bytes are refused by name.
#include "container/format/codec.h"
#include "loader/refused_options.h"

namespace fatctx::container {
namespace {

Error no_lz4() { return not_in_loader("lz4 (it was built without FATCTX_LOADER_LZ4)"); }

}  // namespace

struct FrameReader::State {};

FrameReader::FrameReader(std::uint64_t /*logical_size*/) {}
FrameReader::~FrameReader() = default;
Status FrameReader::feed(ByteView /*stored*/, const StreamSink& /*sink*/) { return no_lz4(); }
Status FrameReader::finish() const { return no_lz4(); }
Result<std::uint64_t> frame_content_size(ByteView /*frame*/) { return no_lz4(); }

}  // namespace fatctx::container
