// Appends in memory, for tests of the resulting bytes.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "container/edit/append.h"
#include "support/memory_file.h"
#include "support/sample_container.h"

namespace fatctx::support {

struct Appended {
  Result<AppendReport> report;
  Bytes bytes;  // of the file afterwards, also after an error
};

// Appends `records` to `file`; `prepare` may make the file fail.
template <typename Prepare>
[[nodiscard]] Appended append_with(Bytes file, std::vector<PackRecord> records, const AppendOptions& options,
                                   const Prepare& prepare) {
  auto memory = std::make_unique<MemoryFile>(std::move(file));
  MemoryFile& kept = *memory;  // owned by the Appender, which lives until this function ends
  auto appender = appender_over(std::move(memory), "m.fatctx", options);
  if (!appender.ok()) return {std::move(appender).error(), {}};
  for (PackRecord& record : records) {
    auto added = appender.value().add(std::move(record));
    if (!added.ok()) return {std::move(added).error(), kept.bytes()};
  }
  prepare(kept);
  auto report = appender.value().commit();
  return {std::move(report), std::move(kept.bytes())};
}

[[nodiscard]] inline Appended append(Bytes file, std::vector<PackRecord> records, const AppendOptions& options = {}) {
  return append_with(std::move(file), std::move(records), options, [](MemoryFile&) {});
}

}  // namespace fatctx::support
