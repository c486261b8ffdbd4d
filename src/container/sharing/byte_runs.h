// Finds runs of a record's bytes that are stored already, at any byte offset, or that repeat one byte.
//
// The bytes themselves determine where anchors are, so equal bytes have equal anchors at any offset. From an anchor
// that the index knows, a run extends backward and forward as far as the bytes are equal.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <vector>

#include "container/sharing/anchor_index.h"
#include "container/sharing/gear_scan.h"
#include "container/sharing/record_bytes.h"
#include "container/sharing/stored_bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

struct ByteRun {
  std::uint64_t target = 0;  // in the record
  std::uint64_t size = 0;
  bool fill = false;
  std::uint32_t store = 0;   // if it is a copy
  std::uint64_t source = 0;  // of a copy: offset in the store; of a fill: the byte

  [[nodiscard]] std::uint64_t end() const noexcept { return target + size; }
};

// The bytes that copies may read, with an index of their anchors.
//
// Ownership: the bytes of stores outlive this. Threads: const members from any number of threads.
class StoredBytes {
 public:
  // Adds a store under the caller's `number`. Errors: those of reading.
  [[nodiscard]] Status add(const RecordBytes& bytes, std::uint32_t number, unsigned threads = 1);

  struct Store {
    const RecordBytes* bytes = nullptr;
    std::uint32_t number = 0;
    std::uint64_t place = 0;  // of its first byte, with all stores concatenated
  };
  [[nodiscard]] const AnchorIndex& anchors() const noexcept { return anchors_; }
  [[nodiscard]] const Store& store(std::uint32_t number) const noexcept;
  // Returns the store that holds the byte in front of `place`. Requires: there is such a byte.
  [[nodiscard]] const Store& store_before(std::uint64_t place) const noexcept;

 private:
  AnchorIndex anchors_;
  std::deque<Store> stores_;  // a deque, so that addresses stay valid
  std::unordered_map<std::uint32_t, const Store*> by_number_;
  std::uint64_t end_ = 0;
};

// A record is scanned in units of this size, independently; a run across two units is joined afterwards.
inline constexpr std::uint64_t kScanUnit = std::uint64_t{8} << 20;

// Returns the runs of a record, ascending and disjoint. None is shorter than `least`, which is at least 64. They do
// not depend on the number of threads, nor on the pieces in which bytes are read.
//
// Memory: 6 MiB a thread, and 40 bytes a run. Closes the sources that it reads. Errors: those of reading.
[[nodiscard]] Result<std::vector<ByteRun>> find_runs(const StoredBytes& stored, const RecordBytes& record,
                                                     std::uint64_t least, unsigned threads);

// A search for the runs of one record, unit by unit. Threads: one at a time.
class RunFinder {
 public:
  RunFinder(const StoredBytes& stored, const RecordBytes& record, std::uint64_t least)
      : stored_(stored), least_(least), record_(&record) {}

  // Returns the runs of one unit; does not read outside of it. Errors: those of reading.
  [[nodiscard]] Result<std::vector<ByteRun>> find(ByteRange unit);
  // Joins the last run before `seam` with the first one after it, as if found in one pass, then appends `next` to
  // `runs`.
  [[nodiscard]] Status join(std::vector<ByteRun>& runs, std::vector<ByteRun> next, std::uint64_t seam);
  // Closes the sources that were read.
  void close() {
    targets_.close_all();
    sources_.close_all();
  }

 private:
  struct Candidate {
    const StoredBytes::Store* store = nullptr;
    std::uint64_t source = 0;
    std::uint64_t target = 0;
    std::uint64_t size = 0;
  };
  struct Anchor {
    std::uint64_t end = 0;    // in the record
    std::uint64_t place = 0;  // behind stored bytes with the same value, or kNoPlace
  };
  Status load(std::uint64_t at);
  [[nodiscard]] const Anchor* next_anchor(std::uint64_t at, std::uint64_t wanted);
  [[nodiscard]] std::uint64_t rolling_at(std::uint64_t end) const noexcept;
  [[nodiscard]] Result<std::uint64_t> equal_behind(const ByteRun& run, std::uint64_t end);
  [[nodiscard]] Result<std::uint64_t> equal_before(const ByteRun& run, std::uint64_t from);
  [[nodiscard]] Result<bool> take_copy(std::uint64_t end, std::uint64_t place);
  [[nodiscard]] Result<bool> take_fill(std::uint64_t end);
  [[nodiscard]] Result<Candidate> as_the_last_one(std::uint64_t at);
  void take(const Candidate& run);
  [[nodiscard]] Result<Candidate> longest_from(const StoredBytes::Store& store, std::uint64_t source,
                                               std::uint64_t window_at);
  [[nodiscard]] Result<std::uint64_t> forward(const StoredBytes::Store& store, std::uint64_t source,
                                              std::uint64_t target);
  [[nodiscard]] Result<std::uint64_t> backward(const StoredBytes::Store& store, std::uint64_t source,
                                               std::uint64_t target);
  [[nodiscard]] ByteView window(std::uint64_t end) const noexcept;

  [[nodiscard]] std::uint64_t unit_end() const noexcept { return unit_.offset + unit_.size; }

  const StoredBytes& stored_;
  const std::uint64_t least_;
  BlockCache targets_{16};
  BlockCache sources_{48};
  const RecordBytes* record_;
  ByteRange unit_;
  std::vector<std::byte> buffer_;
  std::uint64_t buffer_at_ = 0;  // offset of its first byte in the record
  GearScan gear_{kAnchorLog2};
  std::vector<Anchor> anchors_;  // of the part of the buffer that is hashed
  std::size_t next_anchor_ = 0;  // index of the first one that is not examined yet
  std::uint64_t hashed_to_ = 0;  // the last place that is hashed
  std::uint64_t free_from_ = 0;  // end of the last run: later runs start here or behind it
  ByteRun last_copy_;
  const StoredBytes::Store* last_store_ = nullptr;  // of the last copy; null if there was none
  std::vector<ByteRun> runs_;
};

}  // namespace fatctx::container::sharing
