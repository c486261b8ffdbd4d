// Completes the target of a record, so that people can name a chip in the words that a device is described with.
#pragma once

#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "fatctx/soc_table.h"

namespace fatctx {

// Returns the target with everything that the table says of its SoC. A target of another backend than "htp" stays as it
// is. `arch` may also be a SoC as device_from_text() takes it: a part ("SM8650"), a vendor number ("57"), "kernel:557"
// or a name as sold ("Snapdragon 8 Gen 3"). Empty facts are filled in from the table: part, vendor number, arch and
// VTCM. A number that several parts share gives no part. Stated facts stay as they are.
//
// Errors: invalid_argument, if the facts contradict the table or each other ("v79" and number 57). Unless
//         `allow_unreachable`, also if no device gets the record: an arch, a number or a part that the table does not
//         have. The message names the known ones that are similar.
// Threads: any.
[[nodiscard]] Result<PackKey> complete_target(PackKey target, const SocTable& table, bool allow_unreachable = false);

}  // namespace fatctx
