// Handles of the C interface: numbers that lead to objects while they are open, and to an error ever after.
//
// A number is made of the kind of object, a slot and the slot's generation, which goes up with every close. So a
// closed, made-up or foreign number is told from a live one without touching memory that a caller may have freed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::capi {

enum class Kind : std::uint8_t {
  kDevice = 1,
  kContainer,
  kModel,
  kSession,
  kTensorTable,
  kView,
  kPacker,
  kMappingProvider,
  kViewAllocator,
  kRangeAccess,
  kPrefetch,
  kRecordLock,
  kReport,
  kAppender,
  kSocTable,
  kLoadSignal,
  kLoadList,
  kFetchPlan,
};
[[nodiscard]] std::string_view kind_name(Kind kind) noexcept;

// Threads: every member function from any number of threads. No object is destroyed and nothing is called under the
// lock.
class HandleTable {
 public:
  // The table of this process; never destroyed, because handles may be closed by destructors of static objects.
  [[nodiscard]] static HandleTable& process();

  // Errors: no_resource (2^24 handles are open).
  [[nodiscard]] Result<std::uint64_t> add(Kind kind, std::shared_ptr<void> object);
  // Errors: invalid_argument (0), stale_handle.
  [[nodiscard]] Result<std::shared_ptr<void>> find(Kind kind, std::uint64_t id);
  // The table's share, which the caller then drops. Errors: stale_handle.
  [[nodiscard]] Result<std::shared_ptr<void>> take(Kind kind, std::uint64_t id);

  // A number that is stale until it is filled, which cannot fail. Errors: no_resource.
  [[nodiscard]] Result<std::uint64_t> reserve(Kind kind);
  // Requires: `id` is reserved, and neither filled nor given back.
  void fill(std::uint64_t id, std::shared_ptr<void> object);
  void give_back(std::uint64_t id);

  // Around a fork: the lock is taken, so that the child finds the table whole.
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }

 private:
  struct Slot {
    std::shared_ptr<void> object;  // null: free
    std::uint32_t generation = 1;
    Kind kind = Kind::kDevice;
  };

  [[nodiscard]] static std::size_t slot_of(std::uint64_t id) noexcept;
  // The open slot that `id` names. Requires: the lock is held.
  [[nodiscard]] Slot* open_slot(Kind kind, std::uint64_t id) noexcept;

  std::mutex mutex_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;  // has room for every slot, so that closing cannot fail
};

// A number for an object that is still to be made; given back if nothing is.
class ReservedHandle {
 public:
  [[nodiscard]] static Result<ReservedHandle> of(HandleTable& table, Kind kind) {
    FATCTX_ASSIGN(const std::uint64_t id, table.reserve(kind));
    return ReservedHandle(table, id);
  }
  [[nodiscard]] std::uint64_t lead_to(std::shared_ptr<void> object) {
    const std::uint64_t id = table_.get_deleter().id;
    table_.release()->fill(id, std::move(object));
    return id;
  }

 private:
  struct GiveBack {
    std::uint64_t id;
    void operator()(HandleTable* table) const { table->give_back(id); }
  };
  ReservedHandle(HandleTable& table, std::uint64_t id) : table_(&table, GiveBack{id}) {}

  std::unique_ptr<HandleTable, GiveBack> table_;
};

}  // namespace fatctx::capi
