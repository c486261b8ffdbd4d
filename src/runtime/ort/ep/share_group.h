// Sessions of a process that compile into one container: from the first session with ep.share_ep_contexts=1 to the one
// with ep.stop_share_ep_contexts=1.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "fatctx/container.h"
#include "runtime/ort/ep/weight_pool.h"

namespace fatctx::ort {

// A lock that a session of a group holds while it compiles, so that two sessions write one after the other.
class ShareGroup {
 public:
  // If `last` is true, the destructor ends the group, whether or not the session has succeeded.
  explicit ShareGroup(bool last);
  ~ShareGroup();
  ShareGroup(const ShareGroup&) = delete;
  ShareGroup& operator=(const ShareGroup&) = delete;
  // Returns an absolute path; empty: this session is the first of its group.
  [[nodiscard]] const std::string& container() const;
  // Notes that the session has written its part, and that `pool` has the weights of the container as it is now.
  void written(const Container& container, std::optional<WeightPool> pool);
  // Returns the pool passed to written(), if the container has not changed since. Returns it only once.
  [[nodiscard]] std::optional<WeightPool> take_pool(const Container& container);
  // Forgets a container that was removed: the next session is the first of its group.
  void forget(const std::string& container);

 private:
  std::unique_lock<std::mutex> lock_;
  bool last_;
};

}  // namespace fatctx::ort
