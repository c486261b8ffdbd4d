// How the file of a mapping looked last, and the number of that look. What was found good of payload is written down
// with the number, so that a new number makes all of it unknown at once, and nothing of earlier looks has to be kept.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mapping/file_identity.h"

namespace fatctx {

// Threads: every member from any number of threads. Nobody waits for anybody, because a fork may leave a thread of the
// parent behind in the middle of begin(): a child then sees a new look at every question, which costs it time only.
class FileLooks {
 public:
  explicit FileLooks(const mapping::FileIdentity& first) noexcept;
  FileLooks(const FileLooks&) = delete;
  FileLooks& operator=(const FileLooks&) = delete;

  // From 1, and only rising; 0 is the number of no look. Load it before the bytes that are found good under it.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
  // Is this how the file looked last? False also while another thread writes down how.
  [[nodiscard]] bool last_was(const mapping::FileIdentity& identity) const noexcept;
  // Begins a look. `known` is the number as it was after the file was asked how it looks: if it has risen since, what
  // is found good under the present one was read later than that, and many threads that see one change make one look.
  // The number rises before anybody can see the new identity, so that who finds that unchanged has the new number. Of
  // two threads at once one writes down how the file looks; if the other has seen it later, the next question finds
  // the difference.
  void begin(const mapping::FileIdentity& identity, std::uint64_t known) noexcept;

 private:
  static constexpr std::size_t kWords = 10;
  using Words = std::array<std::uint64_t, kWords>;
  [[nodiscard]] static Words words_of(const mapping::FileIdentity& identity) noexcept;

  std::atomic<std::uint64_t> number_{1};
  std::atomic<std::uint64_t> sequence_{0};  // odd while the words change
  std::array<std::atomic<std::uint64_t>, kWords> words_ = {};
};

}  // namespace fatctx
