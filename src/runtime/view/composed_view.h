// Views of records whose bytes cannot all be mapped: pages of the file where they fit, and between them what was built,
// in memory or in a file of a cache folder, as one range of addresses per record and process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "container/read/recipe.h"
#include "fatctx/container.h"
#include "mapping/stitched_region.h"
#include "runtime/view/compose_plan.h"
#include "runtime/view/shared_views.h"
#include "runtime/view/stitched_view.h"
#include "runtime/view/view_cache.h"

namespace fatctx {

// A composed range. Its memory counts in the container, and the guard sets a flag there.
// Threads: const members from any number of threads.
class ComposedRecord final : public SharedView {
 public:
  ComposedRecord(std::shared_ptr<const MappedContainer> container, std::uint32_t record_id) noexcept
      : SharedView(std::move(container)), record_id_(record_id) {}
  ~ComposedRecord() override;
  ComposedRecord(const ComposedRecord&) = delete;
  ComposedRecord& operator=(const ComposedRecord&) = delete;

  // So many of the container's composed_bytes() are its own now: it builds as much, and gives them back at its end.
  void takes_over(std::uint64_t memory_bytes) noexcept { memory_bytes_ = memory_bytes; }
  // Builds in memory, verifies and maps; once, by who made it.
  [[nodiscard]] Status make(const RecordInfo& record, const container::Recipe& recipe, ComposePlan plan, bool check,
                            const container::WorkBudget& budget);
  // Finds what is to be built in the folder, or builds it there. What comes from there is always verified.
  // Errors: those of ViewCache, changed (what lies there is wrong again and again).
  [[nodiscard]] Status make_cached(const RecordInfo& record, const container::Recipe& recipe, ComposePlan plan,
                                   std::uint64_t page_bytes, const ViewCache& cache,
                                   const container::WorkBudget& budget);
  // Verifies what is not known to be good since the file last changed.
  [[nodiscard]] Status verify(const RecordInfo& record, const container::WorkBudget& budget) const;
  // Is what it shows of a cache folder still what was verified? One fstat; verifies again if somebody wrote to it.
  // Errors: changed (it was cut: give back all views of the record), checksum_mismatch, io.
  [[nodiscard]] Status recheck_cache() const;

  [[nodiscard]] const mapping::MappedRegion& region() const noexcept { return *region_; }
  // Behind each other, these are the region.
  [[nodiscard]] std::span<const mapping::MixedPiece> pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }
  [[nodiscard]] std::uint64_t cached_bytes() const noexcept { return cached_bytes_; }
  // Null if nothing of it lies in a cache folder.
  [[nodiscard]] const CachedView* cached() const noexcept { return cached_ ? &*cached_ : nullptr; }
  // Why a file of the folder was thrown away for this one; empty if none was.
  [[nodiscard]] const std::string& rejected() const noexcept { return rejected_; }

 private:
  [[nodiscard]] Status map(int built_descriptor);
  [[nodiscard]] Status verify_all(const RecordInfo& record, const container::WorkBudget& budget) const;
  [[nodiscard]] Status verify_since(const RecordInfo& record, std::uint64_t known,
                                    const container::WorkBudget& budget) const;
  [[nodiscard]] Status build_cached(const RecordInfo& record, const container::Recipe& recipe, CachedViewWriter& writer,
                                    const container::WorkBudget& budget);
  [[nodiscard]] Result<bool> take_cached(const RecordInfo& record, const ViewCache& cache, const ViewCacheKey& key,
                                         const std::optional<mapping::FileIdentity>& ours,
                                         const container::WorkBudget& budget);

  std::uint32_t record_id_;
  std::uint64_t memory_bytes_ = 0;
  std::uint64_t cached_bytes_ = 0;
  std::optional<CachedView> cached_;
  std::string rejected_;
  std::vector<mapping::MixedPiece> pieces_;
  std::unique_ptr<const mapping::MappedRegion> region_;
  // The number of the look of the file in which all of it was found whole.
  mutable std::atomic<std::uint64_t> whole_{0};
  // When the file of the cache folder was last written to, as far as it was verified since.
  mutable std::atomic<std::int64_t> cache_written_ns_{0};
};

// Is the record one that is composed for this handle? Recipes are, and so is a record in several pieces of a file that
// cannot be mapped side by side. Of a buffer, or through a mapping provider, nothing can be: there the handle has to
// have asked for it by a budget or a cache folder. Requires: the handle's views are not copies.
[[nodiscard]] bool is_composed(const Container& container, const RecordInfo& record, const StitchHost& host = {});

// A view of the range that this process has of the record, made if nobody holds one; threads that ask at once wait for
// one of them. Requires: is_composed().
// Errors: those of Container::acquire.
[[nodiscard]] Result<RecordView> composed_view(const Container& container, const RecordInfo& record,
                                               const StitchHost& host = {});

// Done if this handle's budget or cache folder allows the record's view; copy_not_allowed, or what is wrong with its
// recipe.
[[nodiscard]] Status check_composable(const Container& container, const RecordInfo& record,
                                      const StitchHost& host = {});

// What the process has of the record, if anybody holds a view of it; else null.
[[nodiscard]] std::shared_ptr<const ComposedRecord> live_composed(const MappedContainer& mapped,
                                                                  std::uint32_t record_id);

// ComposedRecord::recheck_cache() of everything that somebody holds of the container.
[[nodiscard]] Status recheck_caches(const MappedContainer& mapped);

}  // namespace fatctx
