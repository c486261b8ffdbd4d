// Sessions of a process that compile into one container: from the first with ep.share_ep_contexts=1 to the one with
// ep.stop_share_ep_contexts=1.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "fatctx/container.h"
#include "runtime/ort/ep/weight_pool.h"

namespace fatctx::ort {

// Held while a session of a group compiles, so that two at once write one after the other.
class ShareGroup {
 public:
  // With `last` the group ends with this object, whether its session has written anything or failed.
  explicit ShareGroup(bool last);
  ~ShareGroup();
  ShareGroup(const ShareGroup&) = delete;
  ShareGroup& operator=(const ShareGroup&) = delete;
  // Absolute; empty: this session is the first of its group.
  [[nodiscard]] const std::string& container() const;
  // The session has written its part, and `pool` knows the weights of the container as it is now.
  void written(const Container& container, std::optional<WeightPool> pool);
  // What written() was given, if the container is still as it was then. Once.
  [[nodiscard]] std::optional<WeightPool> take_pool(const Container& container);
  // The container is gone again: the next session is the first of its group.
  void forget(const std::string& container);

 private:
  std::unique_lock<std::mutex> lock_;
  bool last_;
};

}  // namespace fatctx::ort
