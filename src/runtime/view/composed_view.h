// Views of records whose bytes cannot all be mapped. Pages of the file are mapped where they fit; the bytes between
// them are built, in memory or in a file of a cache folder. One range of addresses exists per record and process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

// A composed range of addresses. Its memory counts in the container, and the guard sets a flag there.
// Threads: const members from any number of threads.
class ComposedRecord final : public SharedView {
 public:
  ComposedRecord(std::shared_ptr<const MappedContainer> container, std::uint32_t record_id) noexcept
      : SharedView(std::move(container)), record_id_(record_id) {}
  ~ComposedRecord() override;
  ComposedRecord(const ComposedRecord&) = delete;
  ComposedRecord& operator=(const ComposedRecord&) = delete;

  // Takes over so many of the container's composed_bytes(), for the memory that it builds. The destructor gives them
  // back.
  void takes_over(std::uint64_t memory_bytes) noexcept { memory_bytes_ = memory_bytes; }
  // Builds in memory, verifies and maps. Called once, by the thread that made the object.
  [[nodiscard]] Status make(const RecordInfo& record, const container::Recipe& recipe, ComposePlan plan, bool check,
                            const container::WorkBudget& budget);
  // Finds the built bytes in the cache folder, or builds them there. Bytes from the folder are always verified.
  // Errors: those of ViewCache, changed (the file in the folder is wrong again and again).
  [[nodiscard]] Status make_cached(const RecordInfo& record, const container::Recipe& recipe, ComposePlan plan,
                                   std::uint64_t page_bytes, const ViewCache& cache,
                                   const container::WorkBudget& budget);
  // Verifies all bytes that were not verified since the file last changed.
  [[nodiscard]] Status verify(const RecordInfo& record, const container::WorkBudget& budget) const;
  // Checks that the mapped bytes of the cache folder are still the verified ones. Costs one fstat; verifies again if
  // the file was written to.
  // Errors: changed (truncated: give back all views of the record), checksum_mismatch, io.
  [[nodiscard]] Status recheck() const override;

  [[nodiscard]] const mapping::MappedRegion& region() const noexcept { return *region_; }
  // Returns the pieces of the region, in their order and without gaps.
  [[nodiscard]] std::span<const mapping::MixedPiece> pieces() const noexcept { return pieces_; }
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }
  [[nodiscard]] std::uint64_t cached_bytes() const noexcept { return cached_bytes_; }
  // Returns null if nothing of it is stored in a cache folder.
  [[nodiscard]] const CachedView* cached() const noexcept { return cached_ ? &*cached_ : nullptr; }
  // Returns why a file of the folder was rejected and replaced; empty if none was.
  [[nodiscard]] const std::string& rejected() const noexcept { return rejected_; }

 private:
  [[nodiscard]] Status map(std::span<const int> descriptors);  // of the blocks
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
  // The number of the look of the file in which all bytes were verified.
  mutable std::atomic<std::uint64_t> whole_{0};
  // The time of the last write to the cache file that is covered by a verification.
  mutable std::atomic<std::int64_t> cache_written_ns_{0};
};

// Returns true if this handle shows the record as a composed view. That holds for recipes, and for a record in several
// pieces of a file that cannot be mapped next to each other.
// A buffer or a mapping provider can map no pieces next to each other. The handle must then have allowed a composed
// view by a budget or a cache folder.
// Requires: the handle's views are not copies.
[[nodiscard]] bool is_composed(const Container& container, const RecordInfo& record, const StitchHost& host = {});

// Returns a view of the range that this process has of the record; builds the range if nobody holds a view of it.
// Threads that ask at the same time wait for one of them. Requires: is_composed().
// Errors: those of Container::acquire.
[[nodiscard]] Result<RecordView> composed_view(const Container& container, const RecordInfo& record,
                                               const StitchHost& host = {});

// Returns Done if this handle's budget or cache folder allows the record's view.
// Errors: copy_not_allowed, no_space, those of reading the recipe.
[[nodiscard]] Status check_composable(const Container& container, const RecordInfo& record,
                                      const StitchHost& host = {});

// Returns the range of the record if anybody holds a view of it; otherwise null.
[[nodiscard]] std::shared_ptr<const ComposedRecord> live_composed(const MappedContainer& mapped,
                                                                  std::uint32_t record_id);

// Calls SharedView::recheck() for all live composed views of the container.
[[nodiscard]] Status recheck_caches(const MappedContainer& mapped);

}  // namespace fatctx
