#include "mapping/page_lock.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/immortal.h"
#include "mapping/fork_hook.h"
#include "mapping/page_lock_calls.h"
#include "mapping/page_range.h"

namespace fatctx::mapping {
namespace {

// A table of the held pages. Unlocking happens under the mutex. Locking happens outside of it, after the entry is made.
// So no unlock can hit a page that another lock holds, and no thread waits for a disk.
class Table {
 public:
  static Table& process();
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child() {
    held_.clear();  // a forked child does not inherit locks
    mutex_.unlock();
  }

  std::uint64_t add(PageRange pages) {
    const std::lock_guard lock(mutex_);
    held_.emplace(++last_id_, pages);
    return last_id_;
  }

  void remove(std::uint64_t id) noexcept {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(id);
    if (found == held_.end()) return;
    PageRange rest = found->second;
    held_.erase(found);
    // Walks from one foreign hold to the next, because page by page would be slow.
    while (rest.size() > 0) {
      PageRange next{rest.end, rest.end};  // the nearest foreign hold
      for (const auto& [other, pages] : held_) {
        if (pages.end <= rest.begin || pages.begin >= next.begin) continue;
        next = {std::max(pages.begin, rest.begin), pages.end};
      }
      if (next.begin > rest.begin) unlock_pages({rest.begin, next.begin});
      rest.begin = std::min(next.end, rest.end);
    }
  }

  bool holds_any(PageRange pages) {
    const std::lock_guard lock(mutex_);
    return std::any_of(held_.begin(), held_.end(), [&](const auto& entry) {
      return entry.second.begin < pages.end && pages.begin < entry.second.end;
    });
  }

 private:
  std::mutex mutex_;
  std::map<std::uint64_t, PageRange> held_;
  std::uint64_t last_id_ = 0;
};

constinit Immortal<Table> table_of_the_process;
Table& Table::process() { return table_of_the_process.get(); }

[[maybe_unused]] const bool fork_hooks_installed = install_fork_hooks_of<&Table::process>();

}  // namespace

Result<PageLock> PageLock::of(ByteView bytes) {
  const PageRange pages = pages_around(bytes, {0, bytes.size()});
  PageLock held(Table::process().add(pages));
  if (pages.size() == 0) return held;
  // After an error a part may be locked: the destructor of `held` undoes that.
  FATCTX_TRY(lock_pages(pages));
  return held;
}

bool holds_locks(PageRange pages) { return Table::process().holds_any(pages); }

PageLock& PageLock::operator=(PageLock&& other) noexcept {
  std::swap(id_, other.id_);
  return *this;
}

PageLock::~PageLock() {
  if (id_ != 0) Table::process().remove(id_);
}

}  // namespace fatctx::mapping
