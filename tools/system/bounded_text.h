// Keeps the output of other programs within a limit.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace fatctx::tools {

// A text that keeps the first and the last half of its input.
class BoundedText {
 public:
  explicit BoundedText(std::size_t limit) : half_(std::max<std::size_t>(limit / 2, 1)) {}
  void append(std::string_view piece) {
    const std::size_t to_head = std::min(piece.size(), half_ - head_.size());
    head_ += piece.substr(0, to_head);
    tail_ += piece.substr(to_head);
    if (tail_.size() > 2 * half_) drop_middle();
  }
  [[nodiscard]] std::string text() && {
    if (tail_.size() > half_) drop_middle();
    if (dropped_ != 0) head_ += fmt::format("\n[{} bytes left out]\n", dropped_);
    return std::move(head_) + tail_;
  }

 private:
  void drop_middle() {
    const std::size_t excess = tail_.size() - half_;
    dropped_ += excess;
    tail_.erase(0, excess);
  }

  std::size_t half_;
  std::string head_;
  std::string tail_;
  std::size_t dropped_ = 0;
};

}  // namespace fatctx::tools
