#include "runtime/view/composed_view.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "container/read/checked_bytes.h"
#include "container/read/open.h"
#include "container/read/recipe_record.h"
#include "container/sharing/parallel.h"
#include "mapping/same_file.h"
#include "mapping/sealed_file.h"
#include "runtime/observe/observe.h"
#include "runtime/open/attachments.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/compose_plan.h"

namespace fatctx {
namespace {

using container::Recipe;
using container::RecipeStep;
using mapping::MixedPiece;

// A view is built and verified once. If another process removes it from a cache folder, it is built and verified again.
constexpr std::uint64_t kBuildPasses = 4;
constexpr std::uint64_t kBuildStep = std::uint64_t{256} << 10;  // stays in the CPU cache between copy and write

// Returns the recipe; a record in several pieces becomes a recipe of copies only.
Result<Recipe> recipe_of(const MappedContainer& mapped, const RecordInfo& record, const container::WorkBudget& budget) {
  if (record.recipe) return container::read_recipe(mapped.file(), mapped.toc(), record, budget);
  const std::vector<ByteRange> sources = container::slices_in_file(mapped.toc(), record);
  std::vector<RecipeStep> steps;
  steps.reserve(sources.size());
  std::uint64_t at = 0;
  for (const ByteRange& source : sources) {
    steps.push_back({RecipeStep::Kind::kCopy, at, source.size, at});
    at += source.size;
  }
  return Recipe::read(container::encode_recipe(steps, {}), record.size_bytes, sources);
}

ComposePlan plan_for(const MappedContainer& mapped, const Recipe& recipe, const StitchHost& host) {
  ComposeHost limits{.page_bytes = host.page_bytes, .base = {}, .most_pieces = host.most_pieces};
  if (mapped.file().descriptor() >= 0 && !mapped.mapped_by_provider()) limits.base = mapped.file().base();
  return plan_composition(recipe, limits);
}

std::uint64_t budget_of(const OpenOptions& options) noexcept {
  return options.file_mapping == FileMapping::kRequire ? 0 : options.max_copied_bytes;
}

// Returns the cache folder; empty if bytes must not be stored in files.
std::string cache_of(const OpenOptions& options) {
  return options.file_mapping == FileMapping::kRequire ? std::string() : options.cache_folder;
}

bool has_permission(const OpenOptions& options) noexcept {
  return options.file_mapping != FileMapping::kRequire &&
         (options.max_copied_bytes != 0 || !options.cache_folder.empty());
}

// `why` names the obstacle to mapping a record in pieces; empty for a recipe.
Error over_budget(const OpenOptions& options, const RecordInfo& record, std::uint64_t built, std::uint64_t used,
                  const std::string& why) {
  const std::uint64_t needed = used + built;
  const std::string reason = why.empty() ? "" : why + "; ";
  if (options.file_mapping == FileMapping::kRequire) {
    return {ErrorCode::kCopyNotAllowed,
            fmt::format("mapping is required, and {}{} bytes of memory are needed for what cannot be mapped of its {} "
                        "bytes; open with file mapping \"auto\" and max_copied_bytes of at least {}, or with a "
                        "cache_folder",
                        reason, built, record.size_bytes, needed)};
  }
  return {ErrorCode::kCopyNotAllowed,
          fmt::format("{}{} bytes of memory are needed for what cannot be mapped of its {} bytes{}, and "
                      "max_copied_bytes is {}; open with at least {}, or with a cache_folder",
                      reason, built, record.size_bytes, used == 0 ? "" : fmt::format(", beside {} in use", used),
                      options.max_copied_bytes, needed)};
}

std::string obstacle_of(const MappedContainer& mapped, const RecordInfo& record, const StitchHost& host) {
  if (record.recipe) return {};
  return stitch_obstacle(mapped, record, container::pieces_of(mapped.toc(), record), host);
}

Result<std::shared_ptr<ComposedRecord>> within_budget(const std::shared_ptr<const MappedContainer>& mapped,
                                                      const RecordInfo& record, std::uint64_t built,
                                                      const OpenOptions& options, const StitchHost& host) {
  const std::uint64_t most = budget_of(options);
  std::atomic<std::uint64_t>& used = mapped->composed_bytes();
  auto made = std::make_shared<ComposedRecord>(mapped, record.id);
  std::uint64_t before = used.load(std::memory_order_relaxed);
  do {
    if (built != 0 && (before > most || built > most - before)) {
      return over_budget(options, record, built, before, obstacle_of(*mapped, record, host));
    }
  } while (!used.compare_exchange_weak(before, before + built, std::memory_order_relaxed));
  made->takes_over(built);
  return made;
}

// Builds the literals, fills and copies of one block between the mapped pages, in the order of the record.
Status build(const Recipe& recipe, std::span<const MixedPiece> pieces, std::size_t block, const MappedContainer& mapped,
             const RecordInfo& record, const container::WorkBudget& budget, const container::StreamSink& sink) {
  container::CheckedBytes file(mapped.file(), mapped.toc(), record, budget);
  const auto checked = [&](std::uint64_t offset, std::span<std::byte> out) { return file.read_into(offset, out); };
  std::vector<std::byte> buffer;
  std::uint64_t at = 0;
  for (const MixedPiece& piece : pieces) {
    const std::uint64_t end = at + piece.size;
    while (piece.built && piece.block == block && at != end) {
      buffer.resize(static_cast<std::size_t>(std::min(kBuildStep, end - at)));
      FATCTX_TRY(recipe.apply({at, buffer.size()}, checked, buffer));
      FATCTX_TRY(sink(buffer));
      at += buffer.size();
    }
    at = end;
  }
  return Done{};
}

// Divides the built bytes among several blocks of about equal size, in their order.
std::vector<MixedPiece> among_blocks(std::span<const MixedPiece> pieces, std::uint64_t built_bytes,
                                     std::size_t blocks) {
  const std::uint64_t most = (built_bytes / blocks / kBuildStep + 1) * kBuildStep;  // whole pages
  std::vector<MixedPiece> result;
  std::uint8_t block = 0;
  std::uint64_t used = 0;  // of the block
  for (const MixedPiece& piece : pieces) {
    if (!piece.built) {
      result.push_back(piece);
      continue;
    }
    for (std::uint64_t left = piece.size; left != 0;) {
      if (used == most) {
        ++block;
        used = 0;
      }
      const std::uint64_t size = std::min(left, most - used);
      result.push_back({.built = true, .offset = used, .size = size, .block = block});
      used += size;
      left -= size;
    }
  }
  return result;
}

// Returns how many threads build so many bytes, each a block of its own, because the system lets one thread at a time
// write to a file. Most of the time goes into getting memory. A short build is done before another thread has begun.
std::size_t block_count(std::uint64_t built_bytes) {
  constexpr std::uint64_t kLeastABlock = std::uint64_t{4} << 20;
  constexpr unsigned kMostBlocks = 2;
  if (built_bytes < kMostBlocks * kLeastABlock) return 1;
  return std::min(kMostBlocks, container::sharing::thread_count(0));
}

std::int64_t nanoseconds_of(const mapping::FileTime& time) noexcept {
  return time.seconds * 1'000'000'000 + time.nanoseconds;
}

// Compares the time as well, because inode numbers are reused.
bool is_unchanged(const mapping::FileIdentity& a, const mapping::FileIdentity& b) noexcept {
  return mapping::is_same_file(a, b) && a.size == b.size && a.modified == b.modified;
}

}  // namespace

ComposedRecord::~ComposedRecord() {
  if (region_) {
    observe::Span span(ProfileEventKind::kUnmap, container().name());
    const std::uint64_t size = region_->bytes().size();
    region_.reset();
    span.succeeded(size);
  }
  container().composed_bytes().fetch_sub(memory_bytes_, std::memory_order_relaxed);
  container().cached_bytes().fetch_sub(cached_bytes_, std::memory_order_relaxed);
}

Status ComposedRecord::map(std::span<const int> descriptors) {
  std::vector<mapping::SealableBlock> built;
  for (const int descriptor : descriptors)
    built.push_back({.data = nullptr, .size_bytes = 0, .descriptor = descriptor});
  FATCTX_ASSIGN(region_, mapping::map_mixed(container().file(), pieces_, built.empty() ? nullptr : built.data(),
                                            &container().stitched_lost()));
  return Done{};
}

Status ComposedRecord::make(const RecordInfo& record, const Recipe& recipe, ComposePlan plan, bool check,
                            const container::WorkBudget& budget) {
  const std::size_t blocks = memory_bytes_ == 0 ? 0 : block_count(memory_bytes_);
  pieces_ = blocks < 2 ? std::move(plan.pieces) : among_blocks(plan.pieces, memory_bytes_, blocks);
  std::vector<std::uint64_t> sizes(blocks);
  for (const MixedPiece& piece : pieces_) {
    if (piece.built) sizes[piece.block] = piece.offset + piece.size;
  }
  std::vector<mapping::SealedFile> built;
  std::vector<int> descriptors;
  for (const std::uint64_t size : sizes) {
    FATCTX_ASSIGN(mapping::SealedFile made, mapping::SealedFile::make(size));
    built.push_back(std::move(made));
    descriptors.push_back(built.back().descriptor());
  }
  FATCTX_TRY(
      container::sharing::for_each_index(static_cast<unsigned>(blocks), blocks, [&](std::size_t block) -> Status {
        mapping::SealedFile& memory = built[block];
        FATCTX_TRY(build(recipe, pieces_, block, container(), container().known(record_id_), budget,
                         [&](ByteView bytes) { return memory.write(bytes); }));
        return memory.seal();
      }));
  FATCTX_TRY(map(descriptors));
  // Verifies through the range that the caller will get, so that its pages are in the page table afterwards.
  if (check) FATCTX_TRY(verify(record, budget));
  return Done{};
}

// Builds into the file and verifies the bytes there. A wrong file is never published.
Status ComposedRecord::build_cached(const RecordInfo& record, const Recipe& recipe, CachedViewWriter& writer,
                                    const container::WorkBudget& budget) {
  FATCTX_TRY(build(recipe, pieces_, 0, container(), container().known(record_id_), budget,
                   [&](ByteView bytes) { return writer.write(bytes); }));
  FATCTX_TRY(writer.finish());
  FATCTX_TRY(map(std::array{writer.descriptor()}));
  auto verified = verify_all(record, budget);
  region_.reset();  // unmaps it: the descriptor permits writing, so the range could be made writable
  return verified;
}

// Returns false if the folder has no valid file. `ours` is the file that this call has made, which is already verified.
Result<bool> ComposedRecord::take_cached(const RecordInfo& record, const ViewCache& cache, const ViewCacheKey& key,
                                         const std::optional<mapping::FileIdentity>& ours,
                                         const container::WorkBudget& budget) {
  FATCTX_ASSIGN(std::optional<CachedView> found, cache.find(key, rejected_));
  if (!found) return false;
  observe::Span span(ProfileEventKind::kMap, found->path);
  span.about(record);
  FATCTX_TRY(map(std::array{found->file->descriptor()}));
  FATCTX_ASSIGN(const mapping::FileIdentity mapped, found->file->identity());
  std::string wrong;
  if (mapped.size != found->identity.size || mapped.modified != found->identity.modified) {
    wrong = "it was written to while it was looked at";
  } else if (!ours || !is_unchanged(*ours, mapped)) {
    auto verified = verify_all(record, budget);
    // Damage of the container has another rule than F37.
    if (!verified.ok() && verified.error().where.rule != "F37") return std::move(verified).error();
    if (!verified.ok()) wrong = "it does not hold the record's bytes";
  }
  if (!wrong.empty()) {
    region_.reset();
    rejected_ = found->path + ": " + wrong;
    cache.reject(*found);
    return false;
  }
  cache.mark_used(*found);
  count_cache_use(ours && is_unchanged(*ours, mapped));
  cache_written_ns_.store(nanoseconds_of(mapped.modified), std::memory_order_relaxed);
  cached_ = std::move(found);
  cached_bytes_ = key.built_bytes;
  container().cached_bytes().fetch_add(cached_bytes_, std::memory_order_relaxed);
  span.succeeded(cached_bytes_);
  return true;
}

Status ComposedRecord::make_cached(const RecordInfo& record, const Recipe& recipe, ComposePlan plan,
                                   std::uint64_t page_bytes, const ViewCache& cache,
                                   const container::WorkBudget& budget) {
  // Limits the attempts: another process may remove the file again, or replace it by a wrong one.
  constexpr int kAttempts = 8;
  const ViewCacheKey key = view_cache_key(record, plan.pieces, plan.built_bytes, page_bytes);
  pieces_ = std::move(plan.pieces);
  std::optional<mapping::FileIdentity> ours;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    FATCTX_ASSIGN(const bool taken, take_cached(record, cache, key, ours, budget));
    if (taken) return Done{};
    auto writer = cache.begin(key);
    if (!writer.ok() && writer.error().code == ErrorCode::kExists) continue;
    if (!writer.ok()) return std::move(writer).error();
    FATCTX_TRY(build_cached(record, recipe, *writer.value(), budget));
    FATCTX_ASSIGN(ours, writer.value()->identity());
    auto published = writer.value()->publish();
    if (!published.ok() && published.error().code != ErrorCode::kExists) return published;
  }
  return Error{ErrorCode::kChanged,
               fmt::format("{} in cache folder {} is taken away or replaced again and again; see who else writes to "
                           "that folder, or name another one",
                           view_cache_name(key), cache.path())};
}

Status ComposedRecord::verify(const RecordInfo& record, const container::WorkBudget& budget) const {
  return verify_since(record, whole_.load(std::memory_order_relaxed), budget);
}

Status ComposedRecord::verify_all(const RecordInfo& record, const container::WorkBudget& budget) const {
  return verify_since(record, 0, budget);
}

Status ComposedRecord::verify_since(const RecordInfo& record, std::uint64_t known,
                                    const container::WorkBudget& budget) const {
  const auto in_region = [&](std::uint64_t at, const MixedPiece& piece) {
    return region_->bytes().subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(piece.size));
  };
  FATCTX_ASSIGN(const std::uint64_t found, container().verify_composed(record, pieces_, in_region, known, budget));
  whole_.store(found, std::memory_order_relaxed);
  return Done{};
}

Status ComposedRecord::recheck() const {
  if (!cached_) return Done{};
  FATCTX_ASSIGN(const mapping::FileIdentity now, cached_->file->identity());
  if (now.size != cached_->identity.size) {
    return Error{
        ErrorCode::kChanged,
        fmt::format("{} was truncated to {} bytes while it was mapped; results computed from it are not valid; give "
                    "back all views of the record and acquire it again",
                    cached_->path, now.size)};
  }
  const std::int64_t written = nanoseconds_of(now.modified);
  if (written == cache_written_ns_.load(std::memory_order_relaxed)) return Done{};
  const RecordInfo& record = container().known(record_id_);
  // No limit: this many bytes were allowed when the view was made.
  auto verified = verify_all(record, container::WorkBudget(container().toc(), UINT64_MAX));
  if (!verified.ok() && verified.error().where.rule != "F37") return verified;
  if (!verified.ok()) {
    return Error{ErrorCode::kChecksumMismatch,
                 fmt::format("{} was written to while it was mapped; results computed from it are not valid; give back "
                             "all views of the record and acquire it again",
                             cached_->path),
                 {.rule = "F37"}};
  }
  cache_written_ns_.store(written, std::memory_order_relaxed);
  return Done{};
}

bool is_composed(const Container& container, const RecordInfo& record, const StitchHost& host) {
  if (record.recipe) return true;
  if (record.slice_count < 2) return false;  // an empty record has none (F22)
  const MappedContainer& mapped = *mapped_of(container);
  const bool never_maps = mapped.file().descriptor() < 0 || mapped.mapped_by_provider();
  if (never_maps && !has_permission(options_of(container))) return false;
  const std::vector<container::Piece> pieces = container::pieces_of(mapped.toc(), record);
  return pieces.size() > 1 && !stitch_obstacle(mapped, record, pieces, host).empty();
}

Status check_composable(const Container& container, const RecordInfo& record, const StitchHost& host) {
  const MappedContainer& mapped = *mapped_of(container);
  const OpenOptions& options = options_of(container);
  const auto named = [&](Error error) {
    return in_context(container::in_record(std::move(error), record), mapped.name());
  };
  const std::string folder = cache_of(options);
  ComposePlan plan;
  if (const auto live = live_composed(mapped, record.id)) {
    plan.built_bytes = live->memory_bytes() + live->cached_bytes();
    if (!folder.empty()) return Done{};
  } else {
    auto recipe = recipe_of(mapped, record, container::WorkBudget(mapped.toc(), options.max_made_bytes));
    if (!recipe.ok()) return named(std::move(recipe).error());
    plan = plan_for(mapped, recipe.value(), host);
  }
  if (!folder.empty() && plan.built_bytes != 0) {
    const ViewCacheKey key = view_cache_key(record, plan.pieces, plan.built_bytes, host.page_bytes);
    auto fits = check_cache_limit(folder, view_cache_file_bytes(key), options.cache_limit_bytes);
    if (!fits.ok()) return named(std::move(fits).error());
  } else if (plan.built_bytes > budget_of(options)) {
    return named(over_budget(options, record, plan.built_bytes, 0, obstacle_of(mapped, record, host)));
  }
  return Done{};
}

Result<RecordView> composed_view(const Container& container, const RecordInfo& record, const StitchHost& host) {
  const std::shared_ptr<const MappedContainer>& mapped = mapped_of(container);
  const OpenOptions& options = options_of(container);
  const bool verify = options.verify != VerifyPolicy::kNone;
  const auto named = [&](Error error) {
    return in_context(container::in_record(std::move(error), record), mapped->name());
  };
  const std::string folder = cache_of(options);
  SharedViewClaim<ComposedRecord> claim({mapped.get(), record.id, AccessPath::kComposed});
  std::shared_ptr<const ComposedRecord> range = claim.live();
  if (range) {
    // A handle without permission gets the same error whether or not the view exists already. A handle with permission
    // shares the view wherever it is stored, because that costs nothing more.
    const std::uint64_t built = range->memory_bytes() + range->cached_bytes();
    if (folder.empty() && built > budget_of(options)) {
      return named(over_budget(options, record, built, 0, obstacle_of(*mapped, record, host)));
    }
    claim.finish(nullptr);
    if (auto same = range->recheck(); !same.ok()) return named(std::move(same).error());
    if (verify) {
      auto verified = range->verify(record, container::WorkBudget(mapped->toc(), options.max_made_bytes));
      if (!verified.ok()) return named(std::move(verified).error());
    }
  } else {
    const auto make = [&]() -> Result<std::shared_ptr<const ComposedRecord>> {
      observe::Span span(ProfileEventKind::kMap, mapped->name());
      span.about(record);
      FATCTX_TRY(container::WorkBudget(mapped->toc(), options.max_made_bytes).make(record.size_bytes));
      const container::WorkBudget budget(mapped->toc(), options.max_made_bytes, kBuildPasses);
      FATCTX_ASSIGN(const Recipe recipe, recipe_of(*mapped, record, budget));
      ComposePlan plan = plan_for(*mapped, recipe, host);
      const bool cached = !folder.empty() && plan.built_bytes != 0;
      FATCTX_ASSIGN(const auto made, within_budget(mapped, record, cached ? 0 : plan.built_bytes, options, host));
      // The reservation is split into pieces; its remainder is one more map for that time. Another one is the piece
      // that two blocks share.
      if (const auto maps = host.maps()) FATCTX_TRY(mapping::check_map_budget(*maps, plan.pieces.size() + 2));
      if (cached) {
        FATCTX_ASSIGN(const ViewCache cache, ViewCache::open(folder, options.cache_limit_bytes));
        FATCTX_TRY(made->make_cached(record, recipe, std::move(plan), host.page_bytes, cache, budget));
      } else {
        FATCTX_TRY(made->make(record, recipe, std::move(plan), verify, budget));
      }
      span.succeeded(made->region().bytes().size());
      return std::shared_ptr<const ComposedRecord>(made);
    };
    auto made = make();
    if (!made.ok()) return named(std::move(made).error());
    range = std::move(made).value();
    claim.finish(range);
  }
  const ByteView bytes = range->region().bytes();
  const std::uint64_t in_memory = range->memory_bytes();
  const std::uint64_t in_cache = range->cached_bytes();
  return RecordView(attach_view(mapped, record, std::move(range)), record.id, bytes, AccessPath::kComposed, in_memory,
                    in_cache);
}

std::shared_ptr<const ComposedRecord> live_composed(const MappedContainer& mapped, std::uint32_t record_id) {
  return live_view<ComposedRecord>(mapped, record_id, AccessPath::kComposed);
}

Status recheck_caches(const MappedContainer& mapped) {
  if (mapped.cached_bytes().load(std::memory_order_relaxed) == 0) return Done{};
  for (const auto& view : live_views_of(mapped)) {
    auto same = view->recheck();
    if (!same.ok()) return in_context(std::move(same).error(), mapped.name());
  }
  return Done{};
}

}  // namespace fatctx
