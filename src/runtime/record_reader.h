// What the runtime's own files need of a Container and its public header does not show.
#pragma once

#include <memory>
#include <string>

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
  static const std::string& path(const Container& container) noexcept { return container.origin_.path; }
};

}  // namespace fatctx
