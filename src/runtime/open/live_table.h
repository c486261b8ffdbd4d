// Objects that are made once and shared while anybody holds them. They are found by key; one thread makes an object
// while others wait.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace fatctx {

// A table of shared objects by key; keys must be ordered. It does not keep an object alive.
// Threads: every member from any number of threads.
template <typename Key, typename Value>
class LiveTable {
 public:
  [[nodiscard]] std::shared_ptr<const Value> find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : found->second.thing.lock();
  }

  // The right of one thread to make the object of a key. The destructor gives it back, also after a failure.
  class Claim {
   public:
    // Waits until no other thread makes this object.
    Claim(LiveTable& table, const Key& key) : table_(table), key_(key) {
      std::unique_lock lock(table_.mutex_);
      table_.forget_dead();
      // Looks up the entry again after each wait, because forget_dead() may have removed it.
      while (table_.entries_[key_].making) table_.changed_.wait(lock);
      Entry& entry = table_.entries_[key_];
      entry.making = true;
      live_ = entry.thing.lock();
    }
    ~Claim() { finish(nullptr); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;

    // Returns the object if another thread has made it, perhaps while this thread waited; otherwise null.
    [[nodiscard]] const std::shared_ptr<const Value>& live() const noexcept { return live_; }

    void finish(const std::shared_ptr<const Value>& made) {
      if (finished_) return;
      finished_ = true;
      {
        const std::lock_guard lock(table_.mutex_);
        Entry& entry = table_.entries_[key_];
        entry.making = false;
        if (made) entry.thing = made;
        if (entry.thing.expired()) table_.entries_.erase(key_);  // leaves no entry after a failure
      }
      table_.changed_.notify_all();
    }

   private:
    LiveTable& table_;
    Key key_;
    std::shared_ptr<const Value> live_;
    bool finished_ = false;
  };

  // Returns the objects that exist at this moment, in the order of their keys.
  [[nodiscard]] std::vector<std::shared_ptr<const Value>> live() const {
    const std::lock_guard lock(mutex_);
    return collect(entries_.begin(), entries_.end());
  }
  // Returns the objects whose keys are within [first, last].
  [[nodiscard]] std::vector<std::shared_ptr<const Value>> live_between(const Key& first, const Key& last) const {
    const std::lock_guard lock(mutex_);
    return collect(entries_.lower_bound(first), entries_.upper_bound(last));
  }

  [[nodiscard]] std::size_t live_count() const {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& [key, entry] : entries_) {
      if (!entry.thing.expired()) ++count;
    }
    return count;
  }

  // Takes the lock for the time of a fork, so that the child finds the table consistent.
  void before_fork() { mutex_.lock(); }
  void after_fork_in_parent() { mutex_.unlock(); }
  void after_fork_in_child() {
    // In the child, the threads that made or awaited objects do not exist.
    for (auto& [key, entry] : entries_) entry.making = false;
    new (&changed_) std::condition_variable;
    mutex_.unlock();
  }

 private:
  struct Entry {
    std::weak_ptr<const Value> thing;
    bool making = false;
  };

  template <typename Iterator>
  [[nodiscard]] static std::vector<std::shared_ptr<const Value>> collect(Iterator begin, Iterator end) {
    std::vector<std::shared_ptr<const Value>> found;
    for (; begin != end; ++begin) {
      if (auto thing = begin->second.thing.lock()) found.push_back(std::move(thing));
    }
    return found;
  }

  // Removes entries of destroyed objects whenever the table has doubled, so the cost is amortised. Requires: the lock
  // is held.
  void forget_dead() {
    if (entries_.size() < next_sweep_) return;
    std::erase_if(entries_, [](const auto& item) { return !item.second.making && item.second.thing.expired(); });
    next_sweep_ = 2 * entries_.size() + 16;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, Entry> entries_;
  std::size_t next_sweep_ = 16;
};

}  // namespace fatctx
