// The views that all sessions of the process share: stitched ranges, composed ranges and copies of records.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fatctx/file_mapping.h"
#include "fatctx/view.h"
#include "runtime/open/live_table.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {

// A view of one record that sessions share. It holds its container, so that no other container can reuse the address in
// its key.
class SharedView {
 public:
  explicit SharedView(std::shared_ptr<const MappedContainer> container) noexcept : container_(std::move(container)) {}
  virtual ~SharedView() = default;
  SharedView(const SharedView&) = delete;
  SharedView& operator=(const SharedView&) = delete;

  [[nodiscard]] const MappedContainer& container() const noexcept { return *container_; }
  // Checks the bytes that the view does not map from the container's file.
  [[nodiscard]] virtual Status recheck() const { return Done{}; }

 private:
  std::shared_ptr<const MappedContainer> container_;
};

struct SharedViewKey {
  const MappedContainer* container = nullptr;
  std::uint32_t record_id = 0;
  AccessPath path = AccessPath::kDirect;     // kStitched, kComposed or kCopied
  const ViewAllocator* allocator = nullptr;  // the allocator of a copy
  friend auto operator<=>(const SharedViewKey&, const SharedViewKey&) = default;
};

// The right of one thread to make the view of a key, while other threads that want it wait.
template <typename View>
class SharedViewClaim {
 public:
  explicit SharedViewClaim(const SharedViewKey& key);

  // Returns the view if it exists; otherwise null.
  [[nodiscard]] std::shared_ptr<const View> live() const { return std::static_pointer_cast<const View>(claim_.live()); }
  void finish(const std::shared_ptr<const View>& made) { claim_.finish(made); }

 private:
  LiveTable<SharedViewKey, SharedView>::Claim claim_;
};

// Returns the only table of the process. Keys of one container are adjacent.
[[nodiscard]] LiveTable<SharedViewKey, SharedView>& shared_views();

template <typename View>
SharedViewClaim<View>::SharedViewClaim(const SharedViewKey& key) : claim_(shared_views(), key) {}

// Returns the shared view of the record if it exists. `View` must be the type that belongs to `path`.
template <typename View>
[[nodiscard]] std::shared_ptr<const View> live_view(const MappedContainer& container, std::uint32_t record_id,
                                                    AccessPath path) {
  return std::static_pointer_cast<const View>(shared_views().find({&container, record_id, path, nullptr}));
}

// Returns the shared views of one container that exist at this moment, ordered by record.
[[nodiscard]] std::vector<std::shared_ptr<const SharedView>> live_views_of(const MappedContainer& container);

}  // namespace fatctx
