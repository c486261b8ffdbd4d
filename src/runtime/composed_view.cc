#include "runtime/composed_view.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "base/immortal.h"
#include "container/checked_bytes.h"
#include "container/open.h"
#include "container/recipe_record.h"
#include "mapping/fork_hook.h"
#include "mapping/sealed_file.h"
#include "runtime/attachments.h"
#include "runtime/compose_plan.h"
#include "runtime/live_table.h"
#include "runtime/mapped_container.h"
#include "runtime/observe.h"
#include "runtime/record_reader.h"

namespace fatctx {
namespace {

using container::Recipe;
using container::RecipeStep;
using mapping::MixedPiece;

constexpr std::uint64_t kBuildStep = std::uint64_t{256} << 10;  // stays in the cache between copy and write

struct ComposedKey {
  const MappedContainer* container = nullptr;
  std::uint32_t record_id = 0;
  friend bool operator==(const ComposedKey&, const ComposedKey&) = default;
};

struct ComposedKeyHash {
  std::size_t operator()(const ComposedKey& key) const noexcept {
    return std::hash<const void*>{}(key.container) ^ std::size_t{key.record_id} * 1009;
  }
};

using ComposedTable = LiveTable<ComposedKey, ComposedRecord, ComposedKeyHash>;

constinit Immortal<ComposedTable> composed_of_the_process;
ComposedTable& composed() { return composed_of_the_process.get(); }

// When the library is loaded, as those of the registry.
[[maybe_unused]] const bool fork_hooks_installed =
    mapping::install_fork_hooks({[] { composed().before_fork(); }, [] { composed().after_fork_in_parent(); },
                                 [] { composed().after_fork_in_child(); }});

// A record in several pieces is a recipe of copies only.
Result<Recipe> recipe_of(const MappedContainer& mapped, const RecordInfo& record) {
  if (record.recipe) return container::read_recipe(mapped.file(), mapped.toc(), record);
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

Error over_budget(const OpenOptions& options, const RecordInfo& record, std::uint64_t built, std::uint64_t used) {
  const std::uint64_t needed = used + built;
  if (options.file_mapping == FileMapping::kRequire) {
    return {ErrorCode::kCopyNotAllowed,
            fmt::format("mapping is required, and {} bytes of memory are needed for what cannot be mapped of its {} "
                        "bytes; open with file mapping \"auto\" and max_copied_bytes of at least {}",
                        built, record.size_bytes, needed)};
  }
  return {ErrorCode::kCopyNotAllowed,
          fmt::format("{} bytes of memory are needed for what cannot be mapped of its {} bytes{}, and max_copied_bytes "
                      "is {}; open with at least {}",
                      built, record.size_bytes, used == 0 ? "" : fmt::format(", beside {} in use", used),
                      options.max_copied_bytes, needed)};
}

// Takes the bytes out of the budget for a record that gives them back at its end.
Result<std::shared_ptr<ComposedRecord>> within_budget(const std::shared_ptr<const MappedContainer>& mapped,
                                                      const RecordInfo& record, std::uint64_t built,
                                                      const OpenOptions& options) {
  const std::uint64_t most = budget_of(options);
  std::atomic<std::uint64_t>& used = mapped->composed_bytes();
  auto made = std::make_shared<ComposedRecord>(mapped);
  std::uint64_t before = used.load(std::memory_order_relaxed);
  do {
    if (built != 0 && (before > most || built > most - before)) return over_budget(options, record, built, before);
  } while (!used.compare_exchange_weak(before, before + built, std::memory_order_relaxed));
  made->takes_over(built);
  return made;
}

// Literals, fills and copies between the mapped pages, in the order of the record.
Status build(const Recipe& recipe, std::span<const MixedPiece> pieces, const MappedContainer& mapped,
             mapping::SealedFile& memory) {
  container::CheckedBytes file(mapped.file(), mapped.toc());
  const auto checked = [&](std::uint64_t offset, std::span<std::byte> out) -> Status {
    auto at = out.begin();
    return file.read({offset, out.size()}, [&](ByteView bytes) -> Status {
      at = std::copy(bytes.begin(), bytes.end(), at);
      return Done{};
    });
  };
  std::vector<std::byte> buffer;
  std::uint64_t at = 0;
  for (const MixedPiece& piece : pieces) {
    const std::uint64_t end = at + piece.size;
    while (piece.built && at != end) {
      buffer.resize(static_cast<std::size_t>(std::min(kBuildStep, end - at)));
      FATCTX_TRY(recipe.apply({at, buffer.size()}, checked, buffer));
      FATCTX_TRY(memory.write(buffer));
      at += buffer.size();
    }
    at = end;
  }
  return Done{};
}

}  // namespace

ComposedRecord::~ComposedRecord() {
  if (region_) {
    observe::Span span(ProfileEventKind::kUnmap, container_->name());
    const std::uint64_t size = region_->bytes().size();
    region_.reset();
    span.succeeded(size);
  }
  container_->composed_bytes().fetch_sub(built_bytes_, std::memory_order_relaxed);
}

Status ComposedRecord::make(const RecordInfo& record, const Recipe& recipe, std::vector<MixedPiece> pieces,
                            bool check) {
  pieces_ = std::move(pieces);
  mapping::SealableBlock memory;
  std::optional<mapping::SealedFile> built;
  if (built_bytes_ != 0) {
    FATCTX_ASSIGN(mapping::SealedFile made, mapping::SealedFile::make(built_bytes_));
    built.emplace(std::move(made));
    FATCTX_TRY(build(recipe, pieces_, *container_, *built));
    FATCTX_TRY(built->seal());
    memory.descriptor = built->descriptor();
  }
  FATCTX_ASSIGN(region_, mapping::map_mixed(container_->file(), pieces_, &memory, &container_->stitched_lost()));
  // From the range that will be handed out, so that its pages are in the page table then.
  if (check) FATCTX_TRY(verify(record));
  return Done{};
}

Status ComposedRecord::verify(const RecordInfo& record) const {
  const auto in_region = [&](std::uint64_t at, const MixedPiece& piece) {
    return region_->bytes().subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(piece.size));
  };
  FATCTX_ASSIGN(const Freshness* found,
                container_->verify_composed(record, pieces_, in_region, whole_.load(std::memory_order_relaxed)));
  whole_.store(found, std::memory_order_relaxed);
  return Done{};
}

bool is_composed(const Container& container, const RecordInfo& record, const StitchHost& host) {
  if (record.size_bytes == 0) return false;
  if (record.recipe) return true;
  if (record.slice_count < 2 || budget_of(RecordReader::options(container)) == 0) return false;
  const MappedContainer& mapped = *RecordReader::of(container);
  const std::vector<container::Piece> pieces = container::pieces_of(mapped.toc(), record);
  return pieces.size() > 1 && !stitch_obstacle(mapped, record, pieces, host).empty();
}

Status check_composable(const Container& container, const RecordInfo& record, const StitchHost& host) {
  const MappedContainer& mapped = *RecordReader::of(container);
  const OpenOptions& options = RecordReader::options(container);
  const auto named = [&](Error error) {
    return in_context(container::in_record(std::move(error), record), mapped.name());
  };
  std::uint64_t built = 0;
  if (const auto live = live_composed(mapped, record.id)) {
    built = live->built_bytes();
  } else {
    auto recipe = recipe_of(mapped, record);
    if (!recipe.ok()) return named(std::move(recipe).error());
    built = plan_for(mapped, recipe.value(), host).built_bytes;
  }
  if (built > budget_of(options)) return named(over_budget(options, record, built, 0));
  return Done{};
}

Result<RecordView> composed_view(const Container& container, const RecordInfo& record, const StitchHost& host) {
  const std::shared_ptr<const MappedContainer>& mapped = RecordReader::of(container);
  const OpenOptions& options = RecordReader::options(container);
  const bool verify = options.verify != VerifyPolicy::kNone;
  const auto named = [&](Error error) {
    return in_context(container::in_record(std::move(error), record), mapped->name());
  };
  ComposedTable::Claim claim(composed(), {mapped.get(), record.id});
  std::shared_ptr<const ComposedRecord> range = claim.live();
  if (range) {
    // A handle without the budget gets the same answer, whether or not somebody else has paid for the memory.
    if (range->built_bytes() > budget_of(options)) {
      return named(over_budget(options, record, range->built_bytes(), 0));
    }
    claim.finish(nullptr);
    if (verify) {
      auto verified = range->verify(record);
      if (!verified.ok()) return named(std::move(verified).error());
    }
  } else {
    const auto make = [&]() -> Result<std::shared_ptr<const ComposedRecord>> {
      observe::Span span(ProfileEventKind::kMap, mapped->name());
      span.about(record);
      FATCTX_ASSIGN(const Recipe recipe, recipe_of(*mapped, record));
      ComposePlan plan = plan_for(*mapped, recipe, host);
      FATCTX_ASSIGN(const auto made, within_budget(mapped, record, plan.built_bytes, options));
      // The reservation is cut into pieces, and what is left of it is a map more while that lasts.
      if (const auto maps = host.maps()) FATCTX_TRY(mapping::check_map_budget(*maps, plan.pieces.size() + 1));
      FATCTX_TRY(made->make(record, recipe, std::move(plan.pieces), verify));
      span.succeeded(made->region().bytes().size());
      return std::shared_ptr<const ComposedRecord>(made);
    };
    auto made = make();
    if (!made.ok()) return named(std::move(made).error());
    range = std::move(made).value();
    claim.finish(range);
  }
  const ByteView bytes = range->region().bytes();
  const std::uint64_t built = range->built_bytes();
  return RecordView(attach_view(mapped, record, std::move(range)), record.id, bytes, AccessPath::kComposed, built);
}

std::shared_ptr<const ComposedRecord> live_composed(const MappedContainer& mapped, std::uint32_t record_id) {
  return composed().find({&mapped, record_id});
}

}  // namespace fatctx
