// Extracts a record's bytes from a container: as a stream, into memory of the caller's or as a file. Writes the files
// that belong beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

// The way in which read_record() gets bytes.
enum class ReadMethod : std::uint8_t {
  kAuto,      // a piece that the page cache has is read from there; of the others, those of large records directly
  kDirect,    // past the page cache, where the filesystem and the memory allow it; else as kCached
  kCached,    // through the page cache
  kStreamed,  // only in reports: piece after piece on the calling thread, as stream_record() does
};
[[nodiscard]] std::string_view read_method_name(ReadMethod method) noexcept;  // "auto", "direct", "cached", "streamed"
[[nodiscard]] std::optional<ReadMethod> read_method_from_name(std::string_view name) noexcept;

struct ReadOptions {
  ReadMethod method = ReadMethod::kAuto;
  bool keep_cached = false;   // does not drop the pages that the call read into the page cache
  std::uint32_t threads = 0;  // number of threads; 0: chosen by the size, at most 4; 1: one beside the caller
  Progress progress = {};
};

struct ReadReport {
  ReadMethod method = ReadMethod::kStreamed;  // the one that read most of the bytes
  std::string reason;                         // why this method, with the measured facts
  std::uint64_t size_bytes = 0;               // size of the record
  std::uint64_t direct_bytes = 0;             // read past the page cache
  std::uint64_t cached_bytes = 0;  // bytes that the page cache had before; 0 if the system does not report it
  std::uint32_t threads = 0;       // number of threads that read; 0: the calling thread alone
};

// Reads the logical bytes of a record into `out`, which has exactly its size: for consumers that cannot take mapped
// memory. A record that is a segment of its own is read in large pieces by several threads, and hashed there on the
// way, so `out` should be memory that is also quick to read. Others are streamed. Pages that were not in the page cache
// before do not stay there. After an error the content of `out` is undefined.
// Errors: invalid_argument (another size; the method "streamed"); those of stream_record().
// Cost:   up to 9 MiB of memory beside `out` for a record that is read in pieces; else that of stream_record().
[[nodiscard]] Result<ReadReport> read_record(const Container& container, std::uint32_t record_id,
                                             std::span<std::byte> out, const ReadOptions& options = {});

// Writes the same bytes into a file that appears whole or not at all. Reserves room for all of it first, if the
// filesystem can do that. Errors: also exists (without `overwrite`), no_space, commit_unknown.
[[nodiscard]] Status extract_record(const Container& container, std::uint32_t record_id, const std::string& path,
                                    bool overwrite, const Progress& progress = {});

// Writes bytes of the caller's, such as a model that names an extracted record, into a file that appears whole or not
// at all. Errors: those of extract_record that do not concern a container.
[[nodiscard]] Status publish_bytes(ByteView bytes, const std::string& path, bool overwrite);

}  // namespace fatctx
