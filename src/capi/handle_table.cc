#include "capi/handle_table.h"

#include <utility>

#include <fmt/format.h>

#include "base/immortal.h"
#include "mapping/fork_hook.h"

namespace fatctx::capi {
namespace {

constexpr unsigned kSlotBits = 24;
constexpr unsigned kGenerationBits = 32;
constexpr std::size_t kMaxSlots = std::size_t{1} << kSlotBits;

std::uint64_t id_of(Kind kind, std::size_t slot, std::uint32_t generation) noexcept {
  return (std::uint64_t{static_cast<std::uint8_t>(kind)} << (kSlotBits + kGenerationBits)) |
         (std::uint64_t{slot} << kGenerationBits) | generation;
}

Error stale(Kind kind, std::uint64_t id) {
  const auto named = static_cast<Kind>(id >> (kSlotBits + kGenerationBits));
  if (named != kind && kind_name(named) != "unknown") {
    return {ErrorCode::kStaleHandle,
            fmt::format("handle {:#x} is that of a {}, and a {} is needed", id, kind_name(named), kind_name(kind))};
  }
  return {
      ErrorCode::kStaleHandle,
      fmt::format("handle {:#x} is of no open {}: it was closed, or never made by this process", id, kind_name(kind))};
}

}  // namespace

std::string_view kind_name(Kind kind) noexcept {
  switch (kind) {
    case Kind::kDevice:
      return "device";
    case Kind::kContainer:
      return "container";
    case Kind::kModel:
      return "model";
    case Kind::kSession:
      return "session";
    case Kind::kTensorTable:
      return "tensor table";
    case Kind::kView:
      return "view";
    case Kind::kPacker:
      return "packer";
    case Kind::kAppender:
      return "appender";
    case Kind::kMappingProvider:
      return "mapping provider";
    case Kind::kViewAllocator:
      return "view allocator";
    case Kind::kRangeAccess:
      return "range access";
    case Kind::kPrefetch:
      return "prefetch";
    case Kind::kRecordLock:
      return "record lock";
    case Kind::kReport:
      return "report";
    case Kind::kSocTable:
      return "table of SoCs";
    case Kind::kLoadSignal:
      return "load signal";
    case Kind::kLoadList:
      return "list of loads";
    case Kind::kFetchPlan:
      return "plan of a fetch";
  }
  return "unknown";
}

namespace {
constinit Immortal<HandleTable> table_of_the_process;
[[maybe_unused]] const bool fork_hooks_installed = mapping::install_fork_hooks_of<&HandleTable::process>();
}  // namespace

HandleTable& HandleTable::process() {
  return table_of_the_process.get([] { return std::unique_ptr<HandleTable>(new HandleTable); });
}

Result<std::uint64_t> HandleTable::add(Kind kind, std::shared_ptr<void> object) {
  FATCTX_ASSIGN(const std::uint64_t id, reserve(kind));
  fill(id, std::move(object));
  return id;
}

Result<std::uint64_t> HandleTable::reserve(Kind kind) {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    if (slots_.size() == kMaxSlots) {
      return Error{ErrorCode::kNoResource,
                   fmt::format("{} handles are open, which is the limit; close those that are not needed", kMaxSlots)};
    }
    if (free_.capacity() <= slots_.size()) free_.reserve(2 * slots_.size() + 1);
    slots_.emplace_back();
    free_.push_back(static_cast<std::uint32_t>(slots_.size() - 1));
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  slots_[index].kind = kind;
  return id_of(kind, index, slots_[index].generation);
}

void HandleTable::fill(std::uint64_t id, std::shared_ptr<void> object) {
  const std::lock_guard lock(mutex_);
  slots_[slot_of(id)].object = std::move(object);
}

void HandleTable::give_back(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  free_.push_back(static_cast<std::uint32_t>(slot_of(id)));
}

std::size_t HandleTable::slot_of(std::uint64_t id) noexcept {
  return static_cast<std::size_t>(id >> kGenerationBits) & (kMaxSlots - 1);
}

HandleTable::Slot* HandleTable::open_slot(Kind kind, std::uint64_t id) noexcept {
  const std::size_t index = slot_of(id);
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  const bool open = slot.object != nullptr && slot.kind == kind && id == id_of(kind, index, slot.generation);
  return open ? &slot : nullptr;
}

Result<std::shared_ptr<void>> HandleTable::find(Kind kind, std::uint64_t id) {
  if (id == 0) return Error{ErrorCode::kInvalidArgument, fmt::format("the {} handle is null", kind_name(kind))};
  {
    const std::lock_guard lock(mutex_);
    if (const Slot* slot = open_slot(kind, id)) return slot->object;
  }
  return stale(kind, id);
}

Result<std::shared_ptr<void>> HandleTable::take(Kind kind, std::uint64_t id) {
  {
    const std::lock_guard lock(mutex_);
    if (Slot* slot = open_slot(kind, id)) {
      std::shared_ptr<void> object = std::exchange(slot->object, nullptr);
      if (++slot->generation == 0) slot->generation = 1;
      free_.push_back(static_cast<std::uint32_t>(slot - slots_.data()));
      return object;
    }
  }
  return stale(kind, id);
}

}  // namespace fatctx::capi
