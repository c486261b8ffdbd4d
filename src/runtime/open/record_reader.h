// What the runtime's own files need of a Container and its public header does not show.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "fatctx/container.h"

namespace fatctx {

class RecordReader {
 public:
  static const std::shared_ptr<const MappedContainer>& of(const Container& container) noexcept {
    return container.mapped_;
  }
  // Views of this handle are copies; the mapping, if there is one, is not what they show.
  static bool copies(const Container& container) noexcept { return !container.copy_reason_.empty(); }
  static const OpenOptions& options(const Container& container) noexcept { return container.origin_.options; }
  // The same handle under the name that a caller knows it by. Requires: it was not opened by a path.
  static Container renamed(Container container, std::string name) {
    container.origin_.path = std::move(name);
    return container;
  }
  static const std::string& path(const Container& container) noexcept { return container.origin_.path; }
};

}  // namespace fatctx
