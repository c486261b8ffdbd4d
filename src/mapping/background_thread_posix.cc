#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <system_error>
#include <thread>

#include "mapping/background_thread.h"
#include "mapping/os_error.h"

namespace fatctx::mapping {
namespace {

// Blocks all signals for a while: a new thread inherits the mask of its creator.
class NoSignals {
 public:
  NoSignals() noexcept {
    sigset_t all;
    (void)sigfillset(&all);  // a macro on some systems
    (void)::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~NoSignals() { (void)::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

class PosixThread final : public BackgroundThread {
 public:
  explicit PosixThread(std::function<void()> work)
      : thread_(std::make_unique<std::thread>(std::move(work))), owner_(::getpid()) {}
  PosixThread(const PosixThread&) = delete;
  PosixThread& operator=(const PosixThread&) = delete;
  ~PosixThread() override { join(); }

  bool join() noexcept override {
    if (!here()) {
      (void)thread_.release();  // a forked child has no such thread: joining or detaching it is undefined
      return false;
    }
    if (thread_ && thread_->joinable()) thread_->join();
    return true;
  }
  void abandon() noexcept override {
    if (here() && thread_ && thread_->joinable()) thread_->detach();
  }
  [[nodiscard]] bool here() const noexcept override { return ::getpid() == owner_; }

 private:
  std::unique_ptr<std::thread> thread_;
  pid_t owner_;
};

}  // namespace

Result<std::unique_ptr<BackgroundThread>> BackgroundThread::start(std::function<void()> work) {
  const NoSignals masked;
  try {
    return std::unique_ptr<BackgroundThread>(std::make_unique<PosixThread>(std::move(work)));
  } catch (const std::system_error& error) {
    Error failed = os_error(error.code().value(), "cannot start a thread");
    failed.code = ErrorCode::kNoResource;
    return failed;
  }
}

}  // namespace fatctx::mapping
