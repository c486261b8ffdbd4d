#include "runtime/inspect/thin_dlc_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "container/dlc/cut.h"
#include "container/read/open.h"
#include "container/read/pieces.h"
#include "container/read/record_hasher.h"
#include "mapping/page_advice.h"
#include "mapping/sealed_file.h"
#include "runtime/inspect/stored_dlc.h"
#include "runtime/inspect/thin_plan.h"
#include "runtime/observe/observe.h"
#include "runtime/open/attachments.h"
#include "runtime/open/container_impl.h"

namespace fatctx {

// The state of a view. Ownership: holds the container, because the guard sets a flag in it and its copied memory counts
// there.
struct ThinDlcView::Impl {
  explicit Impl(std::shared_ptr<const MappedContainer> from) noexcept : container(std::move(from)) {}
  ~Impl() {
    if (region) {
      observe::Span span(ProfileEventKind::kUnmap, container->name());
      const std::uint64_t size = region->bytes().size();
      region.reset();
      span.succeeded(size);
    }
    container->composed_bytes().fetch_sub(charged_bytes, std::memory_order_relaxed);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::shared_ptr<const MappedContainer> container;
  std::vector<std::shared_ptr<const void>> records;  // each counts as one view of a record
  std::vector<std::string> entries;
  ThinPlan plan;
  std::uint64_t charged_bytes = 0;
  std::unique_ptr<const mapping::MappedRegion> region;
};

namespace {

constexpr std::uint64_t kBuildStep = std::uint64_t{256} << 10;   // stays in the CPU cache between read and write
constexpr std::uint64_t kSmallRecord = std::uint64_t{64} << 10;  // built without permission, like headers
constexpr std::uint64_t kLeastRecipePages = 8;                   // the shortest mapped run of a recipe
constexpr std::uint64_t kPrefetchStep = std::uint64_t{4} << 20;  // the longest delay of a cancel

using Records = std::map<std::size_t, const RecordInfo*>;  // by entry

class ThinBuilder {
 public:
  ThinBuilder(const Container& container, OpenedDlc& opened, const StitchHost& host)
      : container_(container), mapped_(mapped_of(container)), opened_(opened), host_(host) {}

  Result<std::shared_ptr<const ThinDlcView::Impl>> make(const DlcChoice& choice) {
    FATCTX_ASSIGN(const ThinDlc thin, container::dlc::cut(opened_.archive(), opened_.layout().file_size, choice));
    FATCTX_TRY(split(thin));
    auto impl = std::make_shared<ThinDlcView::Impl>(mapped_);
    impl->entries = thin.entries;
    FATCTX_ASSIGN(const std::vector<ThinRun> runs, runs_in_file());
    impl->plan = plan_thin(parts_, runs, host_.page_bytes, mappable_base(), host_.most_pieces);
    FATCTX_TRY(charge(*impl));
    if (const auto maps = host_.maps()) FATCTX_TRY(mapping::check_map_budget(*maps, impl->plan.pieces.size() + 1));
    for (const auto& [entry, record] : records_) impl->records.push_back(attach_view(mapped_, *record, nullptr));
    observe::Span span(ProfileEventKind::kMap, mapped_->name());
    FATCTX_TRY(map(*impl));
    FATCTX_TRY(verify(*impl));
    span.succeeded(impl->region->bytes().size());
    return std::shared_ptr<const ThinDlcView::Impl>(std::move(impl));
  }

 private:
  [[nodiscard]] bool copies() const noexcept { return container_.impl().copies(); }

  [[nodiscard]] std::optional<std::uint64_t> mappable_base() const {
    if (copies() || mapped_->file().descriptor() < 0 || mapped_->mapped_by_provider()) return std::nullopt;
    return mapped_->file().base();
  }

  // Splits the thin DLC into parts, and finds where the container stores each.
  Status split(const ThinDlc& thin) {
    std::uint64_t target = 0;
    for (const DlcPiece& piece : thin.pieces) {
      if (!piece.bytes.empty()) {
        own_bytes_.push_back(piece.bytes);
        parts_.push_back({.target = target, .size = piece.bytes.size(), .bytes = own_bytes_.back()});
        target += piece.bytes.size();
        continue;
      }
      for (const container::dlc::LayoutRun& run : container::dlc::runs_in(opened_.layout(), piece.range)) {
        ThinPart part{.target = target, .size = run.size, .offset = run.offset};
        if (run.entry == container::dlc::LayoutRun::kRest) {
          part.bytes = ByteView(opened_.layout().rest)
                           .subspan(static_cast<std::size_t>(run.offset), static_cast<std::size_t>(run.size));
        } else {
          FATCTX_ASSIGN(const RecordInfo* record, opened_.record_of(run.entry));
          records_.emplace(run.entry, record);
          starts_.emplace(run.entry, target);
          part.entry = run.entry;
          part.fresh = record->size_bytes <= kSmallRecord;
        }
        parts_.push_back(part);
        target += run.size;
      }
    }
    return Done{};
  }

  Result<std::vector<ThinRun>> runs_in_file() {
    std::vector<ThinRun> runs;
    if (!mappable_base()) return runs;
    for (const ThinPart& part : parts_) {
      if (part.entry == ThinPart::kNone) continue;
      const RecordInfo& record = *records_[part.entry];
      const auto add = [&](std::uint64_t offset, std::uint64_t file_offset, std::uint64_t size) {
        const std::uint64_t from = std::max(offset, part.offset);
        const std::uint64_t to = std::min(offset + size, part.offset + part.size);
        if (from < to) runs.push_back({part.target + from - part.offset, file_offset + from - offset, to - from});
      };
      if (record.recipe) {
        auto recipe = opened_.ranges().recipe_of(record);
        if (!recipe.ok()) return container::in_record(std::move(recipe).error(), record);
        for (const auto& run : recipe.value()->congruent_runs(host_.page_bytes, kLeastRecipePages)) {
          add(run.target, run.file_offset, run.size);
        }
      } else if (record.codec == Codec::kNone) {
        for (const container::Piece& piece : container::pieces_of(mapped_->toc(), record)) {
          add(piece.offset_in_record, piece.in_file.offset, piece.in_file.size);
        }
      }
    }
    return runs;
  }

  // Charges copied payload to the container's budget.
  Status charge(ThinDlcView::Impl& impl) const {
    const std::uint64_t copied = impl.plan.copied_bytes;
    if (copies() || copied == 0) return Done{};
    const OpenOptions& options = options_of(container_);
    const bool required = options.file_mapping == FileMapping::kRequire;
    const std::uint64_t most = required ? 0 : options.max_copied_bytes;
    std::atomic<std::uint64_t>& used = mapped_->composed_bytes();
    std::uint64_t before = used.load(std::memory_order_relaxed);
    do {
      if (before <= most && copied <= most - before) continue;
      return Error{
          ErrorCode::kCopyNotAllowed,
          fmt::format(
              "{} bytes of payload of the thin DLC are not stored in the container as whole pages, and {}; "
              "open with {}max_copied_bytes of at least {}",
              copied,
              required ? "mapping is required" : fmt::format("max_copied_bytes is {}", options.max_copied_bytes),
              required ? "file mapping \"auto\" and " : "", before + copied)};
    } while (!used.compare_exchange_weak(before, before + copied, std::memory_order_relaxed));
    impl.charged_bytes = copied;
    return Done{};
  }

  // Reads bytes of the thin DLC from `at` on. `part` is the part that contains `at`; the call advances it.
  Status read(std::uint64_t at, std::span<std::byte> out, std::size_t& part) {
    while (!out.empty()) {
      const ThinPart& from = parts_[part];
      if (at >= from.target + from.size) {
        ++part;
        continue;
      }
      const std::uint64_t skipped = at - from.target;
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), from.size - skipped));
      if (from.entry == ThinPart::kNone) {
        const ByteView bytes = from.bytes.subspan(static_cast<std::size_t>(skipped), size);
        std::copy(bytes.begin(), bytes.end(), out.begin());
      } else {
        const RecordInfo& record = *records_[from.entry];
        auto read = opened_.ranges().read(record, from.offset + skipped, out.first(size));
        if (!read.ok()) return container::in_record(std::move(read).error(), record);
      }
      at += size;
      out = out.subspan(size);
    }
    return Done{};
  }

  Status map(ThinDlcView::Impl& impl) {
    std::uint64_t built_bytes = 0;
    for (const mapping::MixedPiece& piece : impl.plan.pieces) built_bytes += piece.built ? piece.size : 0;
    FATCTX_ASSIGN(mapping::SealedFile memory, mapping::SealedFile::make(built_bytes));
    std::vector<std::byte> buffer;
    std::uint64_t at = 0;
    std::size_t part = 0;
    for (const mapping::MixedPiece& piece : impl.plan.pieces) {
      const std::uint64_t end = at + piece.size;
      while (piece.built && at != end) {
        buffer.resize(static_cast<std::size_t>(std::min(kBuildStep, end - at)));
        FATCTX_TRY(read(at, buffer, part));
        FATCTX_TRY(memory.write(buffer));
        at += buffer.size();
      }
      at = end;
    }
    FATCTX_TRY(memory.seal());
    mapping::SealableBlock block;
    block.descriptor = memory.descriptor();
    FATCTX_ASSIGN(impl.region,
                  mapping::map_mixed(mapped_->file(), impl.plan.pieces, &block, &mapped_->stitched_lost()));
    return Done{};
  }

  Status verify(const ThinDlcView::Impl& impl) const {
    const VerifyPolicy policy = options_of(container_).verify;
    if (policy == VerifyPolicy::kNone) return Done{};
    for (const auto& [entry, record] : records_) {
      auto verified = policy == VerifyPolicy::kPrivateCopy ? verify_copy(impl, entry, *record)
                      : copies()                           ? Status(Done{})
                      : record->recipe                     ? verify_recipe(impl, entry, *record)
                                       : mapped_->verify_record(*record, options_of(container_).max_made_bytes);
      if (!verified.ok()) return container::in_record(std::move(verified).error(), *record);
    }
    return Done{};
  }

  // Returns the offset of an entry's bytes in the thin DLC, which stores them in one run.
  [[nodiscard]] std::uint64_t start_of(std::size_t entry) const { return starts_.find(entry)->second; }

  // Verifies sealed memory once more: the bytes read before could still be changed until they were sealed.
  [[nodiscard]] Status verify_copy(const ThinDlcView::Impl& impl, std::size_t entry, const RecordInfo& record) const {
    const ByteView bytes = impl.region->bytes().subspan(static_cast<std::size_t>(start_of(entry)),
                                                        static_cast<std::size_t>(record.size_bytes));
    if (container::matches_record(mapped_->toc(), record, bytes)) return Done{};
    return Error{ErrorCode::kChecksumMismatch,
                 "the copy was changed while it was made; somebody writes to the memory of this process",
                 {.rule = "F37"}};
  }

  [[nodiscard]] Status verify_recipe(const ThinDlcView::Impl& impl, std::size_t entry, const RecordInfo& record) const {
    const std::uint64_t start = start_of(entry);
    const std::uint64_t end = start + record.size_bytes;
    std::vector<mapping::MixedPiece> of_record;
    std::uint64_t at = 0;
    for (const mapping::MixedPiece& piece : impl.plan.pieces) {
      const std::uint64_t from = std::max(at, start);
      const std::uint64_t to = std::min(at + piece.size, end);
      if (from < to) of_record.push_back({piece.built, piece.offset + from - at, to - from});
      at += piece.size;
    }
    const auto in_region = [&](std::uint64_t offset, const mapping::MixedPiece& piece) {
      return impl.region->bytes().subspan(static_cast<std::size_t>(start + offset),
                                          static_cast<std::size_t>(piece.size));
    };
    const auto found = mapped_->verify_composed(
        record, of_record, in_region, 0, container::WorkBudget(mapped_->toc(), options_of(container_).max_made_bytes));
    if (!found.ok()) return found.error();
    return Done{};
  }

  const Container& container_;
  const std::shared_ptr<const MappedContainer>& mapped_;
  OpenedDlc& opened_;
  const StitchHost& host_;
  std::vector<std::vector<std::byte>> own_bytes_;  // bytes of the thin DLC; moving the vectors keeps their addresses
  std::vector<ThinPart> parts_;
  std::map<std::size_t, std::uint64_t> starts_;  // by entry
  Records records_;
};

std::uint32_t count_pieces(const ThinPlan& plan, bool built) noexcept {
  return static_cast<std::uint32_t>(
      std::count_if(plan.pieces.begin(), plan.pieces.end(), [&](const auto& piece) { return piece.built == built; }));
}

}  // namespace

ByteView ThinDlcView::bytes() const& noexcept { return impl_->region->bytes(); }

std::uint64_t ThinDlcView::size_bytes() const noexcept { return bytes().size(); }

RecordView ThinDlcView::as_view() const {
  return {impl_, 0, bytes(), AccessPath::kComposed, new_bytes() + copied_bytes()};
}

std::span<const std::string> ThinDlcView::entries() const& noexcept { return impl_->entries; }

std::uint32_t ThinDlcView::mapped_pieces() const noexcept { return count_pieces(impl_->plan, false); }

std::uint32_t ThinDlcView::built_pieces() const noexcept { return count_pieces(impl_->plan, true); }

std::uint64_t ThinDlcView::mapped_bytes() const noexcept { return size_bytes() - new_bytes() - copied_bytes(); }

std::uint64_t ThinDlcView::new_bytes() const noexcept { return impl_->plan.new_bytes; }

std::uint64_t ThinDlcView::copied_bytes() const noexcept { return impl_->plan.copied_bytes; }

Result<PrefetchReport> ThinDlcView::prefetch(const PrefetchOptions& options) const {
  FATCTX_TRY(impl_->container->recheck());
  PrefetchReport report;
  report.asked_bytes = size_bytes();
  std::uint64_t at = 0;
  for (const mapping::MixedPiece& piece : impl_->plan.pieces) {
    for (std::uint64_t done = 0; done < piece.size;) {
      if (options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed)) report.cancelled = true;
      const std::uint64_t step = std::min({kPrefetchStep, piece.size - done, options.max_bytes - report.done_bytes});
      if (report.cancelled || step == 0) return report;
      if (!piece.built) {  // built pieces are in memory already
        const ByteView bytes =
            impl_->region->bytes().subspan(static_cast<std::size_t>(at + done), static_cast<std::size_t>(step));
        auto method = mapping::populate_at(impl_->container->file(), bytes, piece.offset + done);
        if (!method.ok()) return in_context(std::move(method).error(), impl_->container->name());
        report.method = method.value() == mapping::PopulateMethod::kPopulate ? PrefetchMethod::kPopulate
                                                                             : PrefetchMethod::kReadAhead;
      }
      done += step;
      report.done_bytes += step;
      if (options.progress) options.progress(report.done_bytes, report.asked_bytes);
    }
    at += piece.size;
  }
  return report;
}

Result<ThinDlcView> thin_dlc_view(const Container& container, const DlcChoice& choice, std::string_view layout,
                                  const StitchHost& host) {
  FATCTX_ASSIGN(const std::unique_ptr<OpenedDlc> opened, OpenedDlc::open(container, layout));
  auto made = ThinBuilder(container, *opened, host).make(choice);
  if (!made.ok()) return opened->about(std::move(made).error());
  return ThinDlcView(std::move(made).value());
}

Result<ThinDlcView> thin_dlc_view(const Container& container, const DlcChoice& choice, std::string_view layout) {
  return thin_dlc_view(container, choice, layout, StitchHost{});
}

}  // namespace fatctx
