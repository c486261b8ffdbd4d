#include "runtime/view/plain_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mapping/page_advice.h"
#include "runtime/open/file_mapping.h"
#include "runtime/open/step_watch.h"
#include "runtime/view/copy_memory.h"
#include "runtime/view/sealed_copy.h"

namespace fatctx {
namespace {

constexpr std::uint64_t kReadStep = std::uint64_t{1} << 20;
constexpr std::uint64_t kPrefetchStep = std::uint64_t{4} << 20;

Status read_range(const PlainFile& plain, ByteRange range, std::byte* out) {
  for (std::uint64_t at = 0; at < range.size;) {
    const std::uint64_t size = std::min(kReadStep, range.size - at);
    auto read = plain.file->read_at(range.offset + at, {out + at, static_cast<std::size_t>(size)});
    if (!read.ok()) return in_context(std::move(read).error(), plain.name);
    FATCTX_TRY(StepWatch::step(size));
    at += size;
  }
  return Done{};
}

}  // namespace

Result<std::shared_ptr<const PlainBytes>> PlainBytes::open(PlainFile plain, const OpenOptions& options,
                                                           const MappingSupport& consumer) {
  using Opened = std::shared_ptr<const PlainBytes>;
  FATCTX_ASSIGN(const std::string asked, asked_copy_reason(plain.name, options));
  if (!asked.empty()) {
    std::shared_ptr<ViewAllocator> allocator = options.verify == VerifyPolicy::kPrivateCopy ? sealed_allocator()
                                               : options.allocator                          ? options.allocator
                                                                                            : heap_allocator();
    return Opened(std::make_shared<const PlainBytes>(std::move(plain), std::move(allocator), nullptr));
  }
  std::string obstacle = consumer_reason(consumer);
  std::unique_ptr<mapping::MappedRegion> region;
  if (obstacle.empty()) {
    auto mapped = map_region(*plain.file, plain.identity.size, options.mapping_provider);
    if (mapped.ok()) {
      region = std::move(mapped).value();
    } else if (mapped.error().code == ErrorCode::kUnsupported) {
      obstacle = fmt::format("mapping is not available: {}", mapped.error().message);
    } else {
      return in_context(std::move(mapped).error(), plain.name);
    }
  }
  if (region) return Opened(std::make_shared<const PlainBytes>(std::move(plain), nullptr, std::move(region)));
  if (options.file_mapping == FileMapping::kRequire) {
    return copy_not_allowed(plain.name, obstacle, plain.identity.size);
  }
  count_file_mapping_fallback();
  return Opened(std::make_shared<const PlainBytes>(std::move(plain), heap_allocator(), nullptr));
}

Result<RecordView> PlainBytes::view(const std::shared_ptr<const PlainBytes>& bytes, std::uint32_t id, ByteRange range) {
  const AccessPath path = bytes->region_ ? AccessPath::kDirect : AccessPath::kCopied;
  const auto size = static_cast<std::size_t>(range.size);
  if (size == 0) return RecordView(bytes, id, {}, path);
  if (bytes->region_) {
    return RecordView(bytes, id, bytes->region_->bytes().subspan(static_cast<std::size_t>(range.offset), size), path);
  }
  auto copy = std::make_shared<CopyMemory>(bytes->allocator_);
  FATCTX_TRY(copy->take(range.size));
  FATCTX_TRY(read_range(bytes->plain_, range, copy->block().data));
  FATCTX_TRY(copy->filled());
  const ByteView copied(copy->block().data, size);
  return RecordView(std::move(copy), id, copied, path, range.size);
}

Result<PrefetchReport> PlainBytes::prefetch(std::span<const ByteRange> ranges, const PrefetchOptions& options,
                                            const std::atomic<bool>* cancel,
                                            std::atomic<std::uint64_t>* done_bytes) const {
  PrefetchReport report;
  for (const ByteRange& range : ranges) report.asked_bytes += range.size;
  if (!region_ || !plain_.file->memory().empty()) return report;
  for (const ByteRange& range : ranges) {
    for (std::uint64_t at = 0; at < range.size;) {
      for (const std::atomic<bool>* stop : {options.cancel, cancel}) {
        if (stop != nullptr && stop->load(std::memory_order_relaxed)) report.cancelled = true;
      }
      const std::uint64_t size = std::min({kPrefetchStep, range.size - at, options.max_bytes - report.done_bytes});
      if (report.cancelled || size == 0) return report;
      const ByteView bytes =
          region_->bytes().subspan(static_cast<std::size_t>(range.offset + at), static_cast<std::size_t>(size));
      auto method = mapping::populate_at(*plain_.file, bytes, range.offset + at);
      if (!method.ok()) return in_context(std::move(method).error(), plain_.name);
      report.method =
          method.value() == mapping::PopulateMethod::kPopulate ? PrefetchMethod::kPopulate : PrefetchMethod::kReadAhead;
      at += size;
      report.done_bytes += size;
      if (done_bytes != nullptr) done_bytes->store(report.done_bytes, std::memory_order_relaxed);
      if (options.progress) options.progress(report.done_bytes, report.asked_bytes);
    }
  }
  return report;
}

Result<ReleaseReport> PlainBytes::release(std::span<const ByteRange> ranges, const ReleaseOptions& options) const {
  ReleaseReport report;
  for (const ByteRange& range : ranges) {
    report.asked_bytes += range.size;
    if (!region_ || !region_->backed_by_file()) continue;
    auto dropped = mapping::drop_pages(region_->bytes(), range);
    if (!dropped.ok()) return in_context(std::move(dropped).error(), plain_.name);
    if (!options.keep_cached) mapping::drop_cache(*plain_.file, range);
    report.released_bytes += dropped.value();
  }
  return report;
}

}  // namespace fatctx
