// A thread for background work: the only place where the library starts one.
#pragma once

#include <functional>
#include <memory>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// A running thread. It takes no signals: handlers of the application run on the application's threads.
//
// Ownership: the destructor waits for the end of the work. A forked child has no thread to wait for; there the object
// does nothing.
// Threads: join() and the destructor from one thread at a time.
class BackgroundThread {
 public:
  // Starts the thread. `work` must not throw. Errors: no_resource (the system refuses another thread).
  [[nodiscard]] static Result<std::unique_ptr<BackgroundThread>> start(std::function<void()> work);
  virtual ~BackgroundThread() = default;

  // Waits for the end of the work. Returns false in a forked child, where the work will never be done.
  virtual bool join() noexcept = 0;
  // Gives up waiting for the work, now and in the destructor; `work` must own all that it uses. Replaces join().
  virtual void abandon() noexcept = 0;
  // Returns whether the thread runs in this process: false in a forked child.
  [[nodiscard]] virtual bool here() const noexcept = 0;
};

}  // namespace fatctx::mapping
