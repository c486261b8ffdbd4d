// Completes the target of a record, so that people can name a chip in the words that a device is described with.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "fatctx/rewrite.h"
#include "fatctx/soc_table.h"

namespace fatctx {

struct CompletedTarget {
  PackKey key;
  // With `allow_unreachable`: one sentence for each contradiction that was kept. PackRecord::warnings takes them.
  std::vector<std::string> warnings = {};
};

// Returns the target with everything that the table says of its SoC. A target of another backend than "htp" stays as it
// is. `arch` may also be a SoC as device_from_text() takes it: a part ("SM8650"), a vendor number ("57"), "kernel:557"
// or a name as sold ("Snapdragon 8 Gen 3"). Empty facts are filled in from the table: part, vendor number, arch and
// VTCM. A number that several parts share gives no part. Stated facts stay as they are.
//
// Errors: invalid_argument, if the facts contradict the table or each other ("v79" and number 57), or if no device gets
//         the record: an arch, a number or a part that the table does not have. The message names the known ones that
//         are similar. With `allow_unreachable` neither is an error: the facts stay as they were stated, a SoC that
//         contradicts them fills in nothing, and a warning names the contradiction.
// Threads: any.
[[nodiscard]] Result<CompletedTarget> complete_target(PackKey target, const SocTable& table,
                                                      bool allow_unreachable = false);

// Returns the filter with a SoC that `arch` names, in the same words, replaced by its backend and its vendor number, or
// by its part if it has no number. Another `arch` stays as it is. Threads: any.
[[nodiscard]] TargetFilter complete_filter(TargetFilter filter, const SocTable& table);

}  // namespace fatctx
