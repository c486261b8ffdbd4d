#include "container/read/work_budget.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "fatctx/base/checked.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

std::uint64_t times(std::uint64_t a, std::uint64_t b) noexcept { return checked_mul(a, b).value_or(kMost); }

std::uint64_t plus(std::uint64_t a, std::uint64_t b) noexcept { return checked_add(a, b).value_or(kMost); }

}  // namespace

struct WorkBudget::Pool {
  std::uint64_t held = 0;
};

struct WorkBudget::State {
  std::uint64_t stored = 0;
  std::uint64_t limit = 0;   // for one pass, as the caller set it
  std::uint64_t passes = 1;  // each of them may make `limit` bytes
  std::atomic<std::uint64_t> made{0};

  std::mutex mutex;
  Pool programs;
  Pool tables;
  std::uint64_t peak = 0;
};

WorkBudget::WorkBudget(const Toc& toc, std::uint64_t max_made_bytes, std::uint64_t passes)
    : state_(std::make_shared<State>()) {
  state_->stored = toc.stored_bytes;
  state_->limit =
      max_made_bytes != 0 ? max_made_bytes : std::max(kMadeBytesAlways, times(kMadePerStoredByte, state_->stored));
  state_->passes = passes;
}

Status WorkBudget::make(std::uint64_t bytes) const {
  const std::uint64_t most = times(state_->limit, state_->passes);
  std::uint64_t before = state_->made.load(std::memory_order_relaxed);
  do {
    if (bytes <= most && before <= most - bytes) continue;
    const std::uint64_t needed = plus(before, bytes);
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("{} bytes would be made or read again for it{}, out of {} bytes that the container "
                             "stores; at most {} are made for one call; if you trust the file, allow more with "
                             "max_made_bytes (--max-made-bytes) of at least {}",
                             bytes, before == 0 ? "" : fmt::format(", after {} for others", before), state_->stored,
                             state_->limit, (needed - 1) / state_->passes + 1)};
  } while (!state_->made.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return Done{};
}

std::uint64_t WorkBudget::made_bytes() const noexcept { return state_->made.load(std::memory_order_relaxed); }

std::uint64_t WorkBudget::max_made_bytes() const noexcept { return state_->limit; }

WorkBudget::Hold& WorkBudget::Hold::operator=(Hold&& other) noexcept {
  if (this == &other) return *this;
  release();
  state_ = std::move(other.state_);
  pool_ = other.pool_;
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void WorkBudget::Hold::release() noexcept {
  if (!state_) return;
  {
    const std::scoped_lock lock(state_->mutex);
    pool_->held -= std::exchange(bytes_, 0);
  }
  state_.reset();
}

Result<WorkBudget::Hold> WorkBudget::hold(Pool& pool, std::uint64_t bytes, std::string_view what) const {
  const std::uint64_t most = state_->limit / kHeldPart;
  const std::scoped_lock lock(state_->mutex);
  if (bytes > most / parts_ || pool.held > most - bytes) {
    return Error{ErrorCode::kLimitExceeded,
                 fmt::format("{} bytes of memory would be taken for its {}, out of {} bytes that the container stores; "
                             "at most {} are taken at a time; if you trust the file, allow more with max_made_bytes "
                             "(--max-made-bytes) of at least {}",
                             bytes, what, state_->stored, most, times(plus(pool.held, bytes), kHeldPart))};
  }
  pool.held += bytes;
  state_->peak = std::max(state_->peak, state_->programs.held + state_->tables.held);
  return Hold(state_, pool, bytes);
}

Result<WorkBudget::Hold> WorkBudget::hold_program(std::uint64_t bytes) const {
  return hold(state_->programs, bytes, "program");
}

Result<WorkBudget::Hold> WorkBudget::hold_table(std::uint64_t bytes) const {
  return hold(state_->tables, bytes, "table of tensors");
}

WorkBudget WorkBudget::share_of(std::uint64_t parts) const {
  WorkBudget share = *this;
  share.parts_ = parts;
  return share;
}

std::uint64_t WorkBudget::peak_held_bytes() const noexcept {
  const std::scoped_lock lock(state_->mutex);
  return state_->peak;
}

bool is_over_budget(const Error& error) noexcept {
  return error.code == ErrorCode::kLimitExceeded && error.where.rule.empty();
}

}  // namespace fatctx::container
