// Views of records whose bytes cannot all be mapped: pages of the file where they fit, and built memory between them,
// as one range of addresses per record and process.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "container/recipe.h"
#include "fatctx/container.h"
#include "mapping/stitched_region.h"
#include "runtime/stitched_view.h"

namespace fatctx {

class Freshness;

// Ownership: holds the container, so that no other one can come to lie at the address in its key, because the guard
// sets a flag in it, and because its memory counts there. Threads: const members from any number of threads.
class ComposedRecord {
 public:
  explicit ComposedRecord(std::shared_ptr<const MappedContainer> container) noexcept
      : container_(std::move(container)) {}
  ~ComposedRecord();
  ComposedRecord(const ComposedRecord&) = delete;
  ComposedRecord& operator=(const ComposedRecord&) = delete;

  // So many of the container's composed_bytes() are its own now: it builds as much, and gives them back at its end.
  void takes_over(std::uint64_t built_bytes) noexcept { built_bytes_ = built_bytes; }
  // Builds, verifies and maps; once, by who made it.
  [[nodiscard]] Status make(const RecordInfo& record, const container::Recipe& recipe,
                            std::vector<mapping::MixedPiece> pieces, bool check);
  // Verifies what is not known to be good since the file last changed.
  [[nodiscard]] Status verify(const RecordInfo& record) const;

  [[nodiscard]] const mapping::MappedRegion& region() const noexcept { return *region_; }
  // Behind each other, these are the region.
  [[nodiscard]] std::span<const mapping::MixedPiece> pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::uint64_t built_bytes() const noexcept { return built_bytes_; }

 private:
  std::shared_ptr<const MappedContainer> container_;
  std::uint64_t built_bytes_ = 0;
  std::vector<mapping::MixedPiece> pieces_;
  std::unique_ptr<const mapping::MappedRegion> region_;
  // The look of the file in which all of it was found whole.
  mutable std::atomic<const Freshness*> whole_{nullptr};
};

// Is the record one that is composed for this handle? Recipes are; a record in several pieces is, if they cannot be
// mapped side by side and the handle has a budget. Requires: the handle's views are not copies.
[[nodiscard]] bool is_composed(const Container& container, const RecordInfo& record, const StitchHost& host = {});

// A view of the range that this process has of the record, made if nobody holds one; threads that ask at once wait for
// one of them. Requires: is_composed().
// Errors: those of Container::acquire.
[[nodiscard]] Result<RecordView> composed_view(const Container& container, const RecordInfo& record,
                                               const StitchHost& host = {});

// Done if this handle's budget allows the record's view; copy_not_allowed, or what is wrong with its recipe.
[[nodiscard]] Status check_composable(const Container& container, const RecordInfo& record,
                                      const StitchHost& host = {});

// What the process has of the record, if anybody holds a view of it; else null.
[[nodiscard]] std::shared_ptr<const ComposedRecord> live_composed(const MappedContainer& mapped,
                                                                  std::uint32_t record_id);

}  // namespace fatctx
