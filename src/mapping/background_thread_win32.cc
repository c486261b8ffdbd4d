#include <system_error>
#include <thread>

#include "mapping/background_thread.h"

namespace fatctx::mapping {
namespace {

class Win32Thread final : public BackgroundThread {
 public:
  explicit Win32Thread(std::function<void()> work) : thread_(std::move(work)) {}
  Win32Thread(const Win32Thread&) = delete;
  Win32Thread& operator=(const Win32Thread&) = delete;
  ~Win32Thread() override { join(); }

  bool join() noexcept override {
    if (thread_.joinable()) thread_.join();
    return true;
  }
  void abandon() noexcept override {
    if (thread_.joinable()) thread_.detach();
  }
  [[nodiscard]] bool here() const noexcept override { return true; }

 private:
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<BackgroundThread>> BackgroundThread::start(std::function<void()> work) {
  try {
    return std::unique_ptr<BackgroundThread>(std::make_unique<Win32Thread>(std::move(work)));
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kNoResource, std::string("cannot start a thread: ") + error.what()};
  }
}

}  // namespace fatctx::mapping
