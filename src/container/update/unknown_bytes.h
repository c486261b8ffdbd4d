// Keeps account of the bytes of NEW that an update cannot make here: those whose source is absent.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "container/format/byte_set.h"
#include "container/read/open.h"
#include "container/update/part_decoder.h"
#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Returns the bytes of OLD that are absent, without leaf hashes: copies read those as zeros. Looks at payload, because
// a copy of a partial file may have zeros where the file had holes. Calls `go_on` after each piece.
// Errors: those of `go_on` and of reading.
[[nodiscard]] Result<ByteSet> absent_bytes_of(const mapping::OsFile& file, const Toc& toc,
                                              const std::function<Status()>& go_on);

// Memory: 64 bytes for each place from which bytes are left out, at most 16 MiB. Threads: one at a time.
class UnknownBytes {
 public:
  // `absent`: the bytes that are absent of each OLD, in the order of the update. `path`: of the update, for messages.
  UnknownBytes(std::vector<ByteSet> absent, std::string path) : absent_(std::move(absent)), path_(std::move(path)) {}

  // Takes the next step. Errors: limit_exceeded (bytes are missing in more than 2^18 places).
  [[nodiscard]] Status note(const DecodedStep& decoded);
  // Returns the unknown bytes of a range of NEW.
  [[nodiscard]] std::vector<ByteRange> within(ByteRange range) const { return unknown_.within(range); }

 private:
  std::vector<ByteSet> absent_;
  std::string path_;
  ByteSet unknown_;
};

}  // namespace fatctx::container
