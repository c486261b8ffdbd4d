// A source that the library owns, so that a call can continue after its caller has left.
#pragma once

#include <memory>
#include <utility>

#include "fatctx/source.h"
#include "mapping/os_file.h"

namespace fatctx {

// A source with its own descriptor.
// Ownership: copyable; copies share one descriptor and the owner of the bytes. Threads: const members from any number
// of threads.
class HeldSource {
 public:
  // Duplicates the descriptor of a source that has one. Errors: those of duplicate_for_reading, naming the source.
  [[nodiscard]] static Result<HeldSource> hold(const Source& source);

  [[nodiscard]] const Source& source() const noexcept { return source_; }
  // Returns false if the bytes belong to the caller and are valid only during the call.
  [[nodiscard]] bool may_outlive_the_call() const noexcept {
    return source_.kind() != Source::Kind::kMemory || source_.owner() != nullptr;
  }

 private:
  explicit HeldSource(Source source) noexcept : source_(std::move(source)) {}

  Source source_;
  std::shared_ptr<const mapping::OsFile> held_;  // set for a descriptor; otherwise null
};

}  // namespace fatctx
