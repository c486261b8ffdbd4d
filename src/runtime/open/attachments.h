// Who holds what of a container: views and sessions, counted as they come and go.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

namespace fatctx {

class MappedContainer;
struct RecordInfo;

// Threads: every member from any number of threads. The counters are made when the first view is: an open costs nothing
// for records that nobody asks for.
class Attachments {
 public:
  struct OfRecord {
    std::atomic<std::uint32_t> views{0};
    std::atomic<std::uint32_t> sessions{0};
    // Numbers of looks of the file (file_looks.h), 0 if there was none:
    std::atomic<std::uint64_t> damaged{0};   // in which it was found damaged
    std::atomic<std::uint64_t> whole{0};     // in which all bytes of its slices were found to be its own
    std::atomic<std::uint64_t> ranges{0};    // in which the leaves under its parts that are shown were found good
    std::atomic<std::uint64_t> composed{0};  // in which a composed view of it was found whole
  };

  Attachments() = default;
  ~Attachments() { delete[] records_.load(std::memory_order_relaxed); }
  Attachments(const Attachments&) = delete;
  Attachments& operator=(const Attachments&) = delete;

  // Requires: index < count, and `count` is the same in every call.
  [[nodiscard]] OfRecord& at(std::size_t index, std::size_t count);
  // Null if nothing was counted yet.
  [[nodiscard]] const OfRecord* all() const noexcept { return records_.load(std::memory_order_acquire); }
  [[nodiscard]] std::atomic<std::uint32_t>& sessions() noexcept { return sessions_; }

 private:
  std::atomic<OfRecord*> records_{nullptr};  // owns
  std::atomic<std::uint32_t> sessions_{0};
};

// What a view holds: the container, `keep`, and a place in the count of its record.
// Requires: `record` is one of the container's own.
[[nodiscard]] std::shared_ptr<const void> attach_view(const std::shared_ptr<const MappedContainer>& container,
                                                      const RecordInfo& record, std::shared_ptr<const void> keep);

// What a session holds, for as long as it or a copy of it lives.
[[nodiscard]] std::shared_ptr<const void> attach_session(const std::shared_ptr<const MappedContainer>& container,
                                                         std::span<const std::uint32_t> record_ids);

}  // namespace fatctx
