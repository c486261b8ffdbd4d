// Chooses the best target whose records are all undamaged: OnDamage::kNext.
#pragma once

#include <vector>

#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx {

struct WholeTarget {
  Selection selection;            // chooses nothing if no record fits, damaged or not
  std::vector<RecordView> views;  // of the chosen binaries and their weights
};

// Chooses a target and acquires its records. If a record is damaged, chooses again without it. Writes the states of the
// records that it has read into `candidates`.
// Errors: those of select() and of acquire; if every target is damaged, that of the first damaged record, listing the
// others.
[[nodiscard]] Result<WholeTarget> choose_whole_target(const Container& container, std::vector<Candidate>& candidates,
                                                      const Device& device, const SelectPolicy& policy);

}  // namespace fatctx
