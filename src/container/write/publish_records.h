// Records that were added become a container: planned, copied, published.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "container/format/disk_format.h"
#include "container/write/incoming_records.h"
#include "fatctx/packer.h"
#include "mapping/publish.h"

namespace fatctx::container {

// What a file that is written anew keeps of the one it was made from.
struct Lineage {
  DiskUuid uuid = {};
  std::uint64_t generation = 1;  // of the new file, the only one in it
};

struct PublishAs {
  const Lineage* lineage = nullptr;  // null: a first generation, with a uuid that follows from its content
  std::string mode_of = {};          // the new file may be read and written by whom this one may; empty: by the umask
  // Says if the caller already holds the lock of the file that is replaced.
  mapping::TargetLock target_lock = mapping::TargetLock::kTake;
  // Asked when the file is whole, before it gets its name. Empty: nothing is asked.
  std::function<Status()> may_replace = {};
};

// Errors: those of Packer::publish, what `as.may_replace` says, checksum_mismatch (F37: a record has other bytes than
// its source says).
[[nodiscard]] Result<PackReport> publish_records(const IncomingRecords& incoming, const PackOptions& options,
                                                 const std::string& path, const PublishAs& as = {});

}  // namespace fatctx::container
