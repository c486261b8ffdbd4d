// The best target of which every record is whole: OnDamage::kNext.
#pragma once

#include <vector>

#include "fatctx/container.h"
#include "fatctx/select.h"

namespace fatctx {

struct WholeTarget {
  Selection selection;            // nothing chosen: no record fits, damaged or not
  std::vector<RecordView> views;  // of the chosen binaries and their weights
};

// Chooses, acquires what was chosen, and chooses again without what is damaged. Writes what it learns about records
// into `candidates`. Errors: those of select() and of acquire; of the first damaged record if no target is whole,
// listing the others.
[[nodiscard]] Result<WholeTarget> choose_whole_target(const Container& container, std::vector<Candidate>& candidates,
                                                      const Device& device, const SelectPolicy& policy);

}  // namespace fatctx
