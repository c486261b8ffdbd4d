// Records the last known identity of a mapped file, and a number for it. Results of verification are stored with this
// number: a new number invalidates all of them at once, and no list of earlier results is needed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "mapping/file_identity.h"

namespace fatctx {

// A record of the last known identity of a file, with a number that rises when the identity changes.
// Threads: every member from any number of threads. No thread waits for another, because a fork may interrupt a thread
// of the parent within begin(). The child then sees a new look at every query, which costs only time.
class FileLooks {
 public:
  explicit FileLooks(const mapping::FileIdentity& first) noexcept;
  FileLooks(const FileLooks&) = delete;
  FileLooks& operator=(const FileLooks&) = delete;

  // Starts at 1 and only rises; 0 means no look. Load it before reading the bytes that are verified under it.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
  // Returns true if this is the last known identity. Returns false also while another thread writes the identity.
  [[nodiscard]] bool last_was(const mapping::FileIdentity& identity) const noexcept;
  // Begins a look. `known` is the number as loaded after the identity was queried.
  // If the number has risen since, results under it were read after that query, and the call does not raise it again.
  // Threads that see the same change thus make one look.
  // The number rises before the new identity is visible, so a thread that finds the identity unchanged has the new
  // number.
  // If two threads call this at once, only one of them writes the identity. If the other one saw a later identity, the
  // next query finds the difference.
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
