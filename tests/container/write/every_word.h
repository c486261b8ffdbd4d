// A key that states everything that a key can state.
#pragma once

#include "fatctx/packer.h"

namespace fatctx::container {

inline PackKey every_word_of_a_key() {
  return {.group = "group",
          .unit = "unit",
          .backend = "htp",
          .qnn_soc = 57,
          .part = "SM8650",
          .arch = "v75",
          .features = {"fp16", "dual", "fp16"},
          .vtcm_mb = 8,
          .sdk = {2, 31, 5, 250'130},
          .variant = "variant",
          .api = {2, 7, 1, 4},
          .blob = {3, 2, 9, 6},
          .generic = true};
}

}  // namespace fatctx::container
