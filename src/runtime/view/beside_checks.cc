#include "runtime/view/beside_checks.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/exceptions.h"
#include "container/read/open.h"
#include "fatctx/container.h"
#include "mapping/process.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/step_watch.h"

namespace fatctx {

BesideChecks::BesideChecks(const MappedContainer& mapped, std::uint64_t max_made_bytes) noexcept
    : mapped_(mapped), max_made_bytes_(max_made_bytes), process_(mapping::process_id()) {}

BesideChecks::~BesideChecks() { stop_.store(true, std::memory_order_relaxed); }

// A lock that a thread of the parent held at the fork is never given back in the child.
bool BesideChecks::in_own_process() const noexcept { return mapping::process_id() == process_; }

Status BesideChecks::check(std::uint32_t record_id) const {
  const RecordInfo& record = mapped_.known(record_id);
  auto verified = mapped_.verify_record(record, max_made_bytes_);
  if (verified.ok()) return verified;
  return in_context(container::in_record(std::move(verified).error(), record), mapped_.name());
}

void BesideChecks::work() noexcept {
  const StepWatch watch(stop_, done_bytes_);
  std::unique_lock lock(mutex_);
  while (!waiting_.empty() && !stop_.load(std::memory_order_relaxed)) {
    const std::uint32_t id = waiting_.front();
    waiting_.pop_front();
    const std::uint64_t look = checks_[id].look;
    lock.unlock();
    Status checked = out_of_memory_as_error([&] { return check(id); });
    lock.lock();
    // If the file has changed meanwhile and somebody asked again, the record waits once more.
    if (checks_[id].look == look) checks_[id].ended = std::move(checked);
    changed_.notify_all();
  }
  running_ = false;
}

Status BesideChecks::begin(const RecordInfo& record) {
  const RecordState state = mapped_.verification_of(record);
  if (state == RecordState::kOk) return Done{};
  if (state == RecordState::kBad || !in_own_process()) return check(record.id);
  {
    const std::lock_guard lock(mutex_);
    const std::uint64_t look = mapped_.look();
    const auto known = checks_.find(record.id);
    if (known != checks_.end() && !known->second.ended && known->second.look == look) return Done{};
    checks_[record.id] = Check{.look = look};
    waiting_.push_back(record.id);
    if (running_) return Done{};
    auto started = mapping::BackgroundThread::start([this] { work(); });
    if (started.ok()) {
      thread_ = std::move(started).value();
      running_ = true;
      return Done{};
    }
    waiting_.pop_back();
    checks_.erase(record.id);
  }
  return check(record.id);
}

Status BesideChecks::await(std::span<const std::uint32_t> record_ids) {
  if (!in_own_process()) {
    for (const std::uint32_t id : record_ids) FATCTX_TRY(check(id));
    if (!record_ids.empty()) return Done{};
    return Error{ErrorCode::kCancelled,
                 fmt::format("{}: the checks go on in the parent process only, because a fork copies no threads; name "
                             "the records to check them here",
                             mapped_.name())};
  }
  std::unique_lock lock(mutex_);
  std::vector<std::uint32_t> ids(record_ids.begin(), record_ids.end());
  if (ids.empty()) {
    for (const auto& [id, checked] : checks_) ids.push_back(id);
  }
  for (const std::uint32_t id : ids) {
    const auto found = checks_.find(id);
    if (found == checks_.end()) continue;  // checked before, or its view is a copy that was checked when it was made
    while (!found->second.ended) changed_.wait(lock);
    FATCTX_TRY(*found->second.ended);
  }
  return Done{};
}

Status Container::await_checks(std::span<const std::uint32_t> record_ids) const {
  for (const std::uint32_t id : record_ids) FATCTX_TRY(record(id));
  return impl_->beside ? impl_->beside->await(record_ids) : Status(Done{});
}

}  // namespace fatctx
