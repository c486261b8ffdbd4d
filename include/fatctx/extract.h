// Extracts a record's bytes from a container, as a stream or as a file, and writes the files that belong beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"

namespace fatctx {

// Takes the next bytes of a stream; an error stops it. Lifetime: the view is valid during the call only.
using ByteSink = std::function<Status(ByteView)>;

// Streams the logical bytes of a record, read by pread and never through the map, in pieces of at most 1 MiB.
// Every leaf is checked before its bytes are handed on or decompressed, and the record's hash at the end: the last
// error may come after the last byte.
// Errors: not_found, unsupported, checksum_mismatch, codec, limit_exceeded (it has more bytes than
//         OpenOptions::max_made_bytes allows), truncated, changed, io, and the errors of `sink`.
// Cost:   1 MiB of memory for a stored record, up to 10 MiB for a compressed one, whatever its size.
[[nodiscard]] Status stream_record(const Container& container, std::uint32_t record_id, const ByteSink& sink,
                                   const Progress& progress = {});

// Writes the same bytes into a file that appears whole or not at all. Reserves room for all of it first, if the
// filesystem can do that. Errors: also exists (without `overwrite`), no_space, commit_unknown.
[[nodiscard]] Status extract_record(const Container& container, std::uint32_t record_id, const std::string& path,
                                    bool overwrite, const Progress& progress = {});

// Writes bytes of the caller's, such as a model that names an extracted record, into a file that appears whole or not
// at all. Errors: those of extract_record that do not concern a container.
[[nodiscard]] Status publish_bytes(ByteView bytes, const std::string& path, bool overwrite);

}  // namespace fatctx
