// Views of parts of a file that is no container: mapped, or copied where the caller or the consumer wants that.
#pragma once

#include <memory>
#include <string>

#include "fatctx/container.h"
#include "fatctx/file_mapping.h"
#include "mapping/mapped_region.h"
#include "runtime/open/load_input.h"

namespace fatctx {

// Threads: const members from any number of threads.
class PlainBytes {
 public:
  // Errors: those of map_region, invalid_argument (options that contradict each other), copy_not_allowed.
  [[nodiscard]] static Result<std::shared_ptr<const PlainBytes>> open(PlainFile plain, const OpenOptions& options,
                                                                      const MappingSupport& consumer);
  PlainBytes(PlainFile plain, std::shared_ptr<ViewAllocator> allocator,
             std::unique_ptr<mapping::MappedRegion> region) noexcept
      : plain_(std::move(plain)), allocator_(std::move(allocator)), region_(std::move(region)) {}

  // Requires: `range` lies in the file. Errors: of a copy those of the allocator, truncated, io, cancelled (by a
  // StepWatch).
  [[nodiscard]] static Result<RecordView> view(const std::shared_ptr<const PlainBytes>& bytes, std::uint32_t id,
                                               ByteRange range);
  // Brings a part of the map into memory; does nothing for what is in memory anyway. Errors: those of populate_at,
  // cancelled (by a StepWatch).
  [[nodiscard]] Status prefetch(ByteRange range) const;

 private:
  PlainFile plain_;
  std::shared_ptr<ViewAllocator> allocator_;       // of copies; null: mapped
  std::unique_ptr<mapping::MappedRegion> region_;  // null: copies
};

}  // namespace fatctx
