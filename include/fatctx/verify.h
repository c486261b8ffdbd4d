// The options and the report of a check of a file or a record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/progress.h"

namespace fatctx {

struct VerifyOptions {
  // Judges a file as if it were sealed for delivery. Bytes behind its committed end, bytes that no record uses, and
  // damaged tables of earlier generations are then findings too. Whole files only.
  bool strict = false;
  // Checks only the leaves of 64 KiB that cover these bytes of the file, or of the logical bytes if one record is
  // checked. A compressed record is checked in full. Does not check copies, padding, or hashes of whole records.
  std::optional<ByteRange> range = {};
  // Number of threads that read and hash; 0: the number of processors, at most 8. The findings and their order are the
  // same for any number.
  std::uint32_t threads = 0;
  Progress progress = {};
};

struct VerifyFinding {
  Error error;  // names record, rule and offset
};

struct VerifyReport {
  std::uint64_t checked_bytes = 0;
  std::vector<VerifyFinding> findings;  // empty: the file is whole
  // The bytes of the file in findings of code not_present. A partial container has no other finding.
  std::uint64_t absent_bytes = 0;
  std::string key_id = {};          // as OpenReport::key_id
  bool signature_verified = false;  // as OpenReport::signature_verified
};

}  // namespace fatctx
