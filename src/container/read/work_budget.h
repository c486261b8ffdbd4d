// Limits the work that a file may cause: the bytes that one call makes from stored bytes, and its memory for programs
// and tables. Section 8.1 of docs/format.md gives the bounds.
//
// A small file can name the same stored bytes many times, fill without end, and store programs and tables that a codec
// expands. Every such step is counted here, for all records and threads of a call together.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "container/read/parse.h"

namespace fatctx::container {

// The bound of a call whose caller sets none.
inline constexpr std::uint64_t kMadeBytesAlways = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMadePerStoredByte = 100;
// The bound divided by this may be in memory at one time as programs, and as much again as tables.
inline constexpr std::uint64_t kHeldPart = 32;
// A read that hands on fewer bytes is counted as this many.
inline constexpr std::uint64_t kLeastRead = 512;
// A table of tensors is counted this many times: parsing takes about as long as hashing so many bytes, and takes this
// much memory.
inline constexpr std::uint64_t kTableWork = 4;

// A counter of made bytes and of held memory. Ownership: copies share one count. Threads: every member from any number
// of threads.
class WorkBudget {
  struct Pool;
  struct State;

 public:
  // Starts a count at zero. `max_made_bytes`: as OpenOptions::max_made_bytes. `passes`: how often the call makes its
  // records.
  explicit WorkBudget(const Toc& toc, std::uint64_t max_made_bytes = 0, std::uint64_t passes = 1);

  // Counts bytes before they are made.
  // Errors: limit_exceeded, without a rule, because the file breaks none. The caller names the record.
  [[nodiscard]] Status make(std::uint64_t bytes) const;
  [[nodiscard]] std::uint64_t made_bytes() const noexcept;
  [[nodiscard]] std::uint64_t max_made_bytes() const noexcept;

  // A share of the memory, counted until this object is destroyed.
  class Hold {
   public:
    Hold() = default;
    Hold(std::shared_ptr<State> state, Pool& pool, std::uint64_t bytes) noexcept
        : state_(std::move(state)), pool_(&pool), bytes_(bytes) {}
    ~Hold() { release(); }
    Hold(Hold&& other) noexcept
        : state_(std::move(other.state_)), pool_(other.pool_), bytes_(std::exchange(other.bytes_, 0)) {}
    Hold& operator=(Hold&& other) noexcept;
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    void release() noexcept;

   private:
    std::shared_ptr<State> state_;
    Pool* pool_ = nullptr;  // of state_
    std::uint64_t bytes_ = 0;
  };
  // Counts memory before it is allocated. Errors: limit_exceeded, as above.
  [[nodiscard]] Result<Hold> hold_program(std::uint64_t bytes) const;
  [[nodiscard]] Result<Hold> hold_table(std::uint64_t bytes) const;
  // Returns the same count for one of `parts` threads, which may hold only that fraction of the memory. Work that needs
  // more is left to one thread that may hold all of it. The reason: an allocator keeps for each thread the most that it
  // ever took.
  [[nodiscard]] WorkBudget share_of(std::uint64_t parts) const;
  // Returns the most memory that was held at one time.
  [[nodiscard]] std::uint64_t peak_held_bytes() const noexcept;

 private:
  [[nodiscard]] Result<Hold> hold(Pool& pool, std::uint64_t bytes, std::string_view what) const;

  std::shared_ptr<State> state_;
  std::uint64_t parts_ = 1;
};

// Returns whether the error is about the budget of a call, and not about the file.
[[nodiscard]] bool is_over_budget(const Error& error) noexcept;

}  // namespace fatctx::container
