// An owner of a POSIX descriptor.
#pragma once

#include <utility>

namespace fatctx::mapping {

class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
  // Gives up ownership: the caller must close the descriptor.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  // Closes now; returns the errno of close, 0 on success. EINTR counts as closed, as on Linux.
  int reset() noexcept;

 private:
  int fd_ = -1;
};

}  // namespace fatctx::mapping
