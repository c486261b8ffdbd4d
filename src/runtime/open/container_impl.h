// The state of a Container, for files of the runtime only.
#pragma once

#include <memory>
#include <string>

#include "fatctx/container.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {

class BesideChecks;
class Registry;

struct Container::Impl {
  std::shared_ptr<const MappedContainer> mapped;
  Registry* registry = nullptr;  // opened this container and reopens it; must outlive both
  Source source;                 // as given to open; its descriptor may be closed by now
  OpenOptions options = {};
  bool already_live = false;
  std::string copy_reason = {};  // empty: views point into the mapping
  // The checks of VerifyPolicy::kBesideLoad, else null. Behind `mapped`, which it borrows.
  std::shared_ptr<BesideChecks> beside = nullptr;

  // Returns true if views of this handle are copies. They then do not show the mapping, even if there is one.
  [[nodiscard]] bool copies() const noexcept { return !copy_reason.empty(); }
};

// Returns the mapping that all handles of the same file share.
[[nodiscard]] inline const std::shared_ptr<const MappedContainer>& mapped_of(const Container& container) noexcept {
  return container.impl().mapped;
}

[[nodiscard]] inline const OpenOptions& options_of(const Container& container) noexcept {
  return container.impl().options;
}

}  // namespace fatctx
