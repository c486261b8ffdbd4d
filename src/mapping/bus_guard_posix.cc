#include "mapping/bus_guard.h"

#include <signal.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>

#include "mapping/os_error.h"
#include "mapping/page_range.h"

namespace fatctx::mapping {

// A slot that the watching thread writes and the handler reads on any thread: atomics only. An odd `version` means that
// the range is being changed.
struct WatchedRange {
  std::atomic<std::uint32_t> version{0};
  std::atomic<bool> taken{false};
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<std::uint32_t> faults{0};
  std::atomic<std::atomic<bool>*> also_lost{nullptr};
};

namespace {

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<bool>::is_always_lock_free,
              "a signal handler must not take locks");

// A list that grows by blocks which are never freed: the handler may be walking over them.
struct Block {
  std::array<WatchedRange, 64> ranges;
  Block* next = nullptr;
};

std::atomic<Block*> blocks{nullptr};
std::atomic<std::uint64_t> losses{0};
std::atomic<bool> installed{false};
struct sigaction previous = {};  // written before `installed`, by the one thread that installs
std::size_t page = 4096;         // set before the handler can run

void set(WatchedRange& range, std::uintptr_t begin, std::uintptr_t end) noexcept {
  range.version.fetch_add(1, std::memory_order_acq_rel);
  range.begin.store(begin, std::memory_order_release);
  range.end.store(end, std::memory_order_release);
  range.version.fetch_add(1, std::memory_order_acq_rel);
}

WatchedRange* take_free_range() noexcept {
  for (Block* block = blocks.load(std::memory_order_acquire); block != nullptr; block = block->next) {
    for (WatchedRange& range : block->ranges) {
      bool free = false;
      if (!range.taken.load(std::memory_order_relaxed) &&
          range.taken.compare_exchange_strong(free, true, std::memory_order_acquire)) {
        return &range;
      }
    }
  }
  return nullptr;
}

// A map cannot change while it is read, so a range that is being changed cannot be the wanted one.
bool holds(const WatchedRange& range, std::uintptr_t address, PageRange& limits) noexcept {
  const std::uint32_t before = range.version.load(std::memory_order_acquire);
  limits = {range.begin.load(std::memory_order_acquire), range.end.load(std::memory_order_acquire)};
  const bool stable = before % 2 == 0 && range.version.load(std::memory_order_acquire) == before;
  return stable && limits.begin <= address && address < limits.end;
}

// Replaces lost bytes by zeros. The first fault replaces everything behind it, the second the whole map. Page by page,
// a large file would need a signal for each page and use up the map count.
bool replace_by_zeros(WatchedRange& range, PageRange limits, std::uintptr_t address) noexcept {
  const bool first = range.faults.fetch_add(1, std::memory_order_acq_rel) == 0;
  const std::uintptr_t from = first ? address / page * page : limits.begin;
  const PageRange lost{from, limits.end};
  void* const zeros =
      ::mmap(lost.start(), lost.size(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  if (zeros == MAP_FAILED) return false;
  if (!first) return true;
  losses.fetch_add(1, std::memory_order_relaxed);
  // A reader is in the map, so its watch still exists, and so does `also_lost`, which outlives the watch.
  if (std::atomic<bool>* also = range.also_lost.load(std::memory_order_acquire)) {
    also->store(true, std::memory_order_release);
  }
  return true;
}

bool is_ours(std::uintptr_t address) noexcept {
  for (Block* block = blocks.load(std::memory_order_acquire); block != nullptr; block = block->next) {
    for (WatchedRange& range : block->ranges) {
      PageRange limits;
      if (holds(range, address, limits)) return replace_by_zeros(range, limits, address);
    }
  }
  return false;
}

void pass_on(int signal, siginfo_t* info, void* context) {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_IGN && info->si_code <= 0) {
    return;  // sent by a process, and ignored before as well
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    struct sigaction standard = {};
    standard.sa_handler = SIG_DFL;
    (void)::sigaction(signal, &standard, nullptr);
    if (info->si_code <= 0) (void)::raise(signal);  // a real fault repeats itself
  } else {
    previous.sa_handler(signal);
  }
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved = errno;
  // A signal from kill() or raise() has no address to look up.
  const bool fault = info->si_code > 0;
  if (!fault || !is_ours(reinterpret_cast<std::uintptr_t>(info->si_addr))) pass_on(signal, info, context);
  errno = saved;
}

}  // namespace

BusWatch::BusWatch(ByteView mapped, std::atomic<bool>* also_lost) : range_(take_free_range()) {
  if (range_ == nullptr) {
    auto* block = new Block;
    range_ = &block->ranges.front();
    range_->taken.store(true, std::memory_order_relaxed);
    Block* head = blocks.load(std::memory_order_relaxed);
    do {
      block->next = head;
    } while (!blocks.compare_exchange_weak(head, block, std::memory_order_acq_rel));
  }
  range_->faults.store(0, std::memory_order_relaxed);
  range_->also_lost.store(also_lost, std::memory_order_relaxed);
  const PageRange pages = pages_around(mapped, {0, mapped.size()});
  set(*range_, pages.begin, pages.end);
}

BusWatch::~BusWatch() {
  if (range_ == nullptr) return;
  set(*range_, 0, 0);
  range_->also_lost.store(nullptr, std::memory_order_release);
  range_->taken.store(false, std::memory_order_release);
}

bool BusWatch::lost() const noexcept {
  return range_ != nullptr && range_->faults.load(std::memory_order_acquire) != 0;
}

Status install_bus_guard() {
  static constinit std::mutex once;
  const std::lock_guard lock(once);
  if (installed.load(std::memory_order_relaxed)) return Done{};
  page = page_size();
  if (::sigaction(SIGBUS, nullptr, &previous) != 0) return os_error(errno, "cannot read the handler of SIGBUS");
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  // Runs on the signal stack of the thread, if it has one: runtimes with small stacks need that.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
  (void)sigemptyset(&action.sa_mask);  // a macro on some systems
  if (::sigaction(SIGBUS, &action, nullptr) != 0) return os_error(errno, "cannot install a handler of SIGBUS");
  installed.store(true, std::memory_order_release);
  return Done{};
}

bool bus_guard_in_charge() noexcept {
  struct sigaction now = {};
  return bus_guard_installed() && ::sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == on_bus_error;
}
bool bus_guard_installed() noexcept { return installed.load(std::memory_order_acquire); }
std::uint64_t bus_guard_losses() noexcept { return losses.load(std::memory_order_relaxed); }

}  // namespace fatctx::mapping
