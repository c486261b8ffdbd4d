// The loader starts no thread: all work runs on the caller's.
#include "container/sharing/parallel.h"
#include "fatctx/container.h"
#include "loader/refused_options.h"
#include "mapping/background_thread.h"
#include "runtime/view/beside_checks.h"

namespace fatctx {

Result<std::unique_ptr<mapping::BackgroundThread>> mapping::BackgroundThread::start(std::function<void()> /*work*/) {
  return Error{ErrorCode::kNoResource, "the small loader starts no thread"};
}

namespace container::sharing {

unsigned thread_count(unsigned /*asked*/) noexcept { return 1; }

Status for_each_index(unsigned /*threads*/, std::size_t count, const std::function<Status(std::size_t)>& work,
                      const std::function<void()>& /*while_waiting*/) {
  for (std::size_t i = 0; i < count; ++i) FATCTX_TRY(work(i));
  return Done{};
}

}  // namespace container::sharing

BesideChecks::BesideChecks(const MappedContainer& mapped, std::uint64_t max_made_bytes) noexcept
    : mapped_(mapped), max_made_bytes_(max_made_bytes), process_(0) {}
BesideChecks::~BesideChecks() = default;
// Never asked for: open_options_in() refuses the policy.
Status BesideChecks::begin(const RecordInfo& /*record*/) { return not_in_loader("checks beside the load"); }
Status BesideChecks::await(std::span<const std::uint32_t> /*record_ids*/) { return Done{}; }

Status Container::await_checks(std::span<const std::uint32_t> /*record_ids*/) const { return Done{}; }

}  // namespace fatctx
