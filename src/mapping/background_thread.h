// A thread for work that is done aside: the only place where the library starts one.
#pragma once

#include <functional>
#include <memory>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// The thread takes no signals: handlers of the application run on the application's threads.
//
// Ownership: waits for the end of the work when destroyed. In a forked child there is no thread to wait for; there the
//            object does nothing.
// Threads:   join() and the destructor from one thread at a time.
class BackgroundThread {
 public:
  // `work` must not throw. Errors: no_resource (the system has no thread to give).
  [[nodiscard]] static Result<std::unique_ptr<BackgroundThread>> start(std::function<void()> work);
  virtual ~BackgroundThread() = default;

  // Waits for the end of the work. False in a forked child, where the work will never be done.
  virtual bool join() noexcept = 0;
  // Waits for nothing, now or later: the work owns all that it uses. Instead of join().
  virtual void abandon() noexcept = 0;
  // False in a forked child.
  [[nodiscard]] virtual bool here() const noexcept = 0;
};

}  // namespace fatctx::mapping
