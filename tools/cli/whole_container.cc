#include "tools/cli/whole_container.h"

#include <utility>

namespace fatctx::tools {

Result<Container> open_whole(const Source& source, const OpenOptions& options) {
  FATCTX_ASSIGN(Container container, Container::open(source, options));
  FATCTX_TRY(container.records());
  return container;
}

std::span<const RecordInfo> all_records(const Container& container) { return container.records().value(); }

std::vector<Candidate> all_candidates(const Container& container) { return container.candidates().value(); }

OpenReport open_report(const Container& container) { return container.report().value(); }

}  // namespace fatctx::tools
