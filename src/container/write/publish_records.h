// Turns added records into a container: plans, copies, publishes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "container/format/disk_format.h"
#include "container/write/incoming_records.h"
#include "fatctx/packer.h"
#include "mapping/publish.h"

namespace fatctx::container {

// The identity that a rewritten file keeps from the file it was made from.
struct Lineage {
  DiskUuid uuid = {};
  std::uint64_t generation = 1;  // of the new file, which has no other
};

struct PublishAs {
  const Lineage* lineage = nullptr;  // null: a first generation, with a uuid that follows from its content
  std::string mode_of = {};          // a file whose permissions the new file gets; empty: by the umask
  // Tells whether the caller already holds the lock of the file that is replaced.
  mapping::TargetLock target_lock = mapping::TargetLock::kTake;
  // Called when the file is complete, before it gets its name; may refuse. May be empty.
  std::function<Status()> may_replace = {};
};

// Publishes the records. Errors: those of Packer::publish and of `as.may_replace`, checksum_mismatch (F37: the bytes of
// a record do not have the hash that its source states).
[[nodiscard]] Result<PackReport> publish_records(const IncomingRecords& incoming, const PackOptions& options,
                                                 const std::string& path, const PublishAs& as = {});

}  // namespace fatctx::container
