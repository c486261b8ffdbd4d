// Views of parts of a file that is not a container. They are mapped, or copied if the caller or the consumer asks for
// copies.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>

#include "fatctx/file_mapping.h"
#include "fatctx/memory.h"
#include "fatctx/open_options.h"
#include "fatctx/view.h"
#include "mapping/mapped_region.h"
#include "runtime/open/plain_file.h"

namespace fatctx {

// A file that is not a container, opened for views. Threads: const members from any number of threads.
class PlainBytes {
 public:
  // Opens the views of a file. Errors: those of map_region, invalid_argument (options that contradict each other),
  // copy_not_allowed.
  [[nodiscard]] static Result<std::shared_ptr<const PlainBytes>> open(PlainFile plain, const OpenOptions& options,
                                                                      const MappingSupport& consumer);
  PlainBytes(PlainFile plain, std::shared_ptr<ViewAllocator> allocator,
             std::unique_ptr<mapping::MappedRegion> region) noexcept
      : plain_(std::move(plain)), allocator_(std::move(allocator)), region_(std::move(region)) {}

  // Returns a view of `range`. Requires: `range` is within the file.
  // Errors: for a copy those of the allocator, truncated, io, cancelled (by a StepWatch).
  [[nodiscard]] static Result<RecordView> view(const std::shared_ptr<const PlainBytes>& bytes, std::uint32_t id,
                                               ByteRange range);
  // Brings parts of the file into memory, as Session::prefetch does. Does nothing for bytes that are in memory anyway.
  // `cancel` and `done_bytes` serve a prefetch on its own thread; null if there is none. Errors: those of populate_at.
  [[nodiscard]] Result<PrefetchReport> prefetch(std::span<const ByteRange> ranges, const PrefetchOptions& options,
                                                const std::atomic<bool>* cancel,
                                                std::atomic<std::uint64_t>* done_bytes) const;
  // Gives back the memory of parts of the file, as Session::release does. Errors: operation_not_permitted (locked).
  [[nodiscard]] Result<ReleaseReport> release(std::span<const ByteRange> ranges, const ReleaseOptions& options) const;

 private:
  PlainFile plain_;
  std::shared_ptr<ViewAllocator> allocator_;       // of the copies; null: views are mapped
  std::unique_ptr<mapping::MappedRegion> region_;  // null: views are copies
};

}  // namespace fatctx
