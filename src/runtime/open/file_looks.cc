#include "runtime/open/file_looks.h"

namespace fatctx {

FileLooks::Words FileLooks::words_of(const mapping::FileIdentity& identity) noexcept {
  const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  return {identity.device,
          identity.inode,
          identity.inode_high,
          identity.size,
          identity.base,
          word(identity.modified.seconds),
          word(identity.modified.nanoseconds),
          word(identity.changed.seconds),
          word(identity.changed.nanoseconds),
          identity.regular ? 1U : 0U};
}

FileLooks::FileLooks(const mapping::FileIdentity& first) noexcept {
  const Words words = words_of(first);
  for (std::size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_relaxed);
}

bool FileLooks::last_was(const mapping::FileIdentity& identity) const noexcept {
  const Words asked = words_of(identity);
  const std::uint64_t before = sequence_.load(std::memory_order_acquire);
  bool same = before % 2 == 0;
  // Acquire: a thread that sees a word of a later look also sees the sequence number of that look.
  for (std::size_t i = 0; same && i < kWords; ++i) same = words_[i].load(std::memory_order_acquire) == asked[i];
  return same && sequence_.load(std::memory_order_relaxed) == before;
}

void FileLooks::begin(const mapping::FileIdentity& identity, std::uint64_t known) noexcept {
  number_.compare_exchange_strong(known, known + 1, std::memory_order_acq_rel);
  std::uint64_t sequence = sequence_.load(std::memory_order_relaxed);
  if (sequence % 2 != 0 || !sequence_.compare_exchange_strong(sequence, sequence + 1, std::memory_order_acq_rel))
    return;
  const Words words = words_of(identity);
  for (std::size_t i = 0; i < kWords; ++i) words_[i].store(words[i], std::memory_order_release);
  sequence_.store(sequence + 2, std::memory_order_release);
}

}  // namespace fatctx
