// Counts the views and the sessions that hold a container.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "base/block_array.h"

namespace fatctx {

class MappedContainer;
struct RecordInfo;

// A table of counters, one for each record of a container. They are made with the first view of a record, so an open
// costs nothing for records that nobody acquires.
// Threads: every member from any number of threads.
class Attachments {
 public:
  struct OfRecord {
    std::atomic<std::uint32_t> views{0};
    std::atomic<std::uint32_t> sessions{0};
    // Each is the number of a look of the file (file_looks.h), or 0 if there was none:
    std::atomic<std::uint64_t> damaged{0};   // in which the record was found damaged
    std::atomic<std::uint64_t> whole{0};     // in which all bytes of its slices matched their hashes
    std::atomic<std::uint64_t> ranges{0};    // in which the leaves of its mapped parts matched
    std::atomic<std::uint64_t> composed{0};  // in which a composed view of it was verified
  };

  explicit Attachments(std::size_t records) : records_(records) {}

  // Returns the counters of a record.
  [[nodiscard]] OfRecord& at(std::size_t index) { return records_.at(index); }
  // Returns the counters of a record, or null if nothing was counted for it or its neighbours yet.
  [[nodiscard]] const OfRecord* find(std::size_t index) const noexcept { return records_.find(index); }
  [[nodiscard]] std::atomic<std::uint32_t>& sessions() noexcept { return sessions_; }

 private:
  BlockArray<OfRecord> records_;
  std::atomic<std::uint32_t> sessions_{0};
};

// Returns the owner of a view: it holds the container and `keep`, and counts as one view of the record.
// Requires: `record` is one of the container's own.
[[nodiscard]] std::shared_ptr<const void> attach_view(const std::shared_ptr<const MappedContainer>& container,
                                                      const RecordInfo& record, std::shared_ptr<const void> keep);

// Returns the owner of a session. The session counts for as long as it or a copy of it lives.
[[nodiscard]] std::shared_ptr<const void> attach_session(const std::shared_ptr<const MappedContainer>& container,
                                                         std::span<const std::uint32_t> record_ids);

}  // namespace fatctx
