// A container in memory as the format layer opens it, for tests of records as they are stored.
#pragma once

#include <stdexcept>
#include <string_view>
#include <utility>

#include "container/check/verify.h"
#include "container/read/open.h"
#include "container/read/record_stream.h"
#include "support/memory_file.h"
#include "support/temp_dir.h"

namespace fatctx::container {

struct Opened {
  // Throws if the file does not open; these tests have another subject.
  explicit Opened(support::Bytes bytes) : file(std::move(bytes)) {
    auto read = read_toc(file, file.size());
    if (!read.ok()) throw std::runtime_error(to_text(read.error()));
    toc = std::move(read).value();
  }
  [[nodiscard]] const RecordInfo& record(std::string_view name) const {
    for (const RecordInfo& record : toc.toc.records) {
      if (record.name == name) return record;
    }
    throw std::out_of_range("no such record");
  }
  [[nodiscard]] Result<support::Bytes> bytes_of(std::string_view name) const {
    support::Bytes bytes;
    FATCTX_TRY(stream_logical(file, toc.toc, record(name), WorkBudget(toc.toc), [&](ByteView piece) -> Status {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return Done{};
    }));
    return bytes;
  }
  [[nodiscard]] Result<VerifyReport> verify_one(std::string_view name) const {
    return verify_record(file, toc.header, toc.toc, record(name), {});
  }

  support::MemoryFile file;
  OpenedToc toc;
};

}  // namespace fatctx::container
