// A number of a few bits, each with the chance that it had after the bits before it.
#pragma once

#include <array>
#include <cstddef>

#include "container/update/range_coder.h"

namespace fatctx::container {

template <unsigned Bits>
struct BitTree {
  std::array<Chance, std::size_t{1} << Bits> chances = {};

  template <typename Coder>
  void code(Coder& coder, unsigned& value) {
    unsigned node = 1;
    for (unsigned i = Bits; i-- != 0;) {
      unsigned bit = value >> i & 1;
      coder.bit(chances[node], bit);
      node = node << 1 | bit;
    }
    value = node - (1U << Bits);
  }
};

}  // namespace fatctx::container
