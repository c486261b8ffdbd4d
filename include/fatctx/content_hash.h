// Hashes bytes outside of containers with the hash that containers use: for caches and for comparing files. The hash
// is XXH3-128, which detects accidents, not forgeries.
#pragma once

#include <string>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx {

class Container;
struct RecordInfo;

[[nodiscard]] Hash128 content_hash(ByteView bytes) noexcept;

// Hashes a file. Reads it once, in pieces of a fixed size. Errors: not_found, io, not_regular_file, changed.
[[nodiscard]] Result<Hash128> content_hash_of_file(const std::string& path);

// Hashes the hashes that the container states for a record and for the weight blobs it needs: two compilations of one
// name differ in it. It stays the same if the container is compacted. Reads no payload. Errors: not_found.
[[nodiscard]] Result<Hash128> content_hash_with_weights(const Container& container, const RecordInfo& record);

}  // namespace fatctx
