#include "container/edit/synced_file.h"

#include "mapping/write_zeros.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kBatchSize = std::uint64_t{16} << 20U;

}  // namespace

Status SyncedFile::write_at(std::uint64_t offset, ByteView bytes) {
  fresh_.push_back({offset, bytes.size()});
  fresh_bytes_ += bytes.size();
  auto written = file_.write_at(offset, bytes);
  if (!written.ok()) {
    take_back();
    return written;
  }
  return fresh_bytes_ < kBatchSize ? Status(Done{}) : sync();
}

Status SyncedFile::sync() {
  if (fresh_.empty()) return Done{};
  auto synced = file_.sync();
  if (!synced.ok()) {
    take_back();
    return synced;
  }
  fresh_.clear();
  fresh_bytes_ = 0;
  return Done{};
}

void SyncedFile::take_back() {
  for (const ByteRange& range : fresh_) (void)mapping::write_zeros(file_, range);
  fresh_.clear();
  fresh_bytes_ = 0;
}

}  // namespace fatctx::container
