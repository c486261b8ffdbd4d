// The containers that a repair takes bytes from. Each is opened when it is needed, and each byte that it gives is
// compared with a hash that the damaged file has.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "container/edit/restore.h"
#include "container/fetch/source_file.h"
#include "container/fetch/wanted_leaves.h"
#include "container/read/open.h"
#include "fatctx/repair.h"
#include "fatctx/repair_source.h"

namespace fatctx::container {

// Threads: one at a time.
class RepairSources {
 public:
  // `target`: the file that is repaired; it cannot be a source.
  RepairSources(const RepairOptions& options, const mapping::FileIdentity& target);

  [[nodiscard]] bool none() const noexcept { return sources_.empty(); }
  // Returns whether one of them can be opened. Errors: cancelled.
  [[nodiscard]] Result<bool> any_opens();
  // Returns both copies of the table that `header` names, if a source has it. Errors: cancelled.
  [[nodiscard]] Result<std::vector<Restoration>> table_of(const Header& header);
  // Returns the parts of the leaf hashes that are not good in `file` and that a source has. Errors: cancelled, those of
  // judge_leaf_hashes.
  [[nodiscard]] Result<std::vector<Restoration>> leaf_hashes_for(const mapping::OsFile& file, const Toc& toc);
  // Takes the missing leaves. In a dry run it only counts what the sources promise. Returns the bytes that no source
  // has. Errors: cancelled, those of WantedLeaves::take except for checksum_mismatch.
  [[nodiscard]] Result<ByteSet> take_leaves(const Toc& toc, WantedLeaves& wanted, bool dry_run,
                                            const Progress& progress);
  [[nodiscard]] std::vector<RepairSourceReport> reports() const;

 private:
  struct Source {
    RepairSource from;
    bool tried = false;
    std::unique_ptr<SourceFile> file;  // null: not opened, or it cannot be
    OpenedToc opened;
    RepairSourceReport report;
  };
  // Leaves of a source, and where they belong.
  struct Copies;

  // Opens the source at the first call. Returns whether it can be used. Errors: cancelled.
  [[nodiscard]] static Result<bool> open(Source& source);
  [[nodiscard]] static Status note(Source& source, Error error);
  [[nodiscard]] static Status find_leaves(Source& source, const Toc& toc, const std::vector<WantedLeaf>& leaves,
                                          Copies& copies);

  std::deque<Source> sources_;  // a SourceFile borrows its source
};

}  // namespace fatctx::container
