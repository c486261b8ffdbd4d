// A source that the library holds itself, so that a call can go on when its caller has left.
#pragma once

#include <memory>
#include <utility>

#include "fatctx/source.h"
#include "mapping/os_file.h"

namespace fatctx {

// Ownership: copyable; copies share one descriptor and the owner of the bytes. Threads: const members from any number
// of threads.
class HeldSource {
 public:
  // Duplicates the descriptor of a source that has one. Errors: those of duplicate_for_reading, naming the source.
  [[nodiscard]] static Result<HeldSource> hold(const Source& source);

  [[nodiscard]] const Source& source() const noexcept { return source_; }
  // Returns false if the bytes are the caller's for as long as the call only.
  [[nodiscard]] bool may_outlive_the_call() const noexcept {
    return source_.kind() != Source::Kind::kMemory || source_.owner() != nullptr;
  }

 private:
  explicit HeldSource(Source source) noexcept : source_(std::move(source)) {}

  Source source_;
  std::shared_ptr<const mapping::OsFile> held_;  // of a descriptor; otherwise null
};

}  // namespace fatctx
