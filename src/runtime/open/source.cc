#include "fatctx/source.h"

#include <fmt/format.h>

namespace fatctx {

Source Source::of_descriptor(int descriptor, const FileWindow& window) {
  Source source(Kind::kDescriptor);
  source.name_ = window == FileWindow{} ? fmt::format("fd {}", descriptor)
                                        : fmt::format("fd {} from byte {:#x}", descriptor, window.offset);
  source.descriptor_ = descriptor;
  source.window_ = window;
  return source;
}

Source Source::of_memory(ByteView bytes, std::shared_ptr<const void> owner) {
  Source source(Kind::kMemory);
  source.name_ = "memory";
  source.bytes_ = bytes;
  source.owner_ = std::move(owner);
  return source;
}

Source Source::named(std::string name) const {
  Source renamed = *this;
  renamed.name_ = std::move(name);
  return renamed;
}

}  // namespace fatctx
