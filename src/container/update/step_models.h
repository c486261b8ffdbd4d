// The chances of everything that the steps of an update consist of. Encoder and decoder keep equal models, from the
// first part to the last.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "container/update/bit_tree.h"
#include "container/update/plain_literals.h"
#include "container/update/range_coder.h"

namespace fatctx::container {

struct UpdateStep {
  enum class Kind : std::uint8_t { kCopy, kLiteral, kFill };
  Kind kind = Kind::kCopy;
  std::uint64_t target = 0;  // first byte in NEW
  std::uint64_t size = 0;    // at least 1
  std::uint32_t source = 0;  // of a copy: 0 is NEW itself, 1 the first OLD
  std::uint64_t offset = 0;  // of a copy: in the source; of a fill: the byte
};

// How the bytes of a literal are stored.
enum class LiteralForm : std::uint8_t {
  kPlain,       // each byte, as earlier plain literals let expect it
  kDifference,  // the difference of each byte to where the copy before would go on
  kRaw,         // outside of the coded bytes
};

// Where copies come from: the offset in the source less the offset in NEW, modulo 2^64.
struct Displacement {
  std::uint32_t source = 0;
  std::uint64_t distance = 0;
  friend bool operator==(const Displacement&, const Displacement&) noexcept = default;
};

// The displacements that were used last, the newest first.
class RecentDisplacements {
 public:
  static constexpr unsigned kLog2 = 4;
  static constexpr std::size_t kCount = std::size_t{1} << kLog2;

  [[nodiscard]] const Displacement& newest() const noexcept { return places_[0]; }
  [[nodiscard]] const Displacement& at(std::size_t index) const noexcept { return places_[index]; }
  [[nodiscard]] std::size_t index_of(const Displacement& place) const noexcept {  // kCount: none
    return static_cast<std::size_t>(std::find(places_.begin(), places_.end(), place) - places_.begin());
  }
  void use(const Displacement& place) noexcept {
    const std::size_t index = std::min(index_of(place), kCount - 1);
    std::copy_backward(places_.begin(), places_.begin() + static_cast<std::ptrdiff_t>(index),
                       places_.begin() + static_cast<std::ptrdiff_t>(index) + 1);
    places_[0] = place;
  }

 private:
  std::array<Displacement, kCount> places_ = {};
};

// A number of up to 64 bits: its length, and its bits. The lowest eight have models, those between have none.
struct NumberModel {
  static constexpr unsigned kLowBits = 8;

  BitTree<7> length;
  std::array<std::array<Chance, std::size_t{1} << kLowBits>, kLowBits + 2> low = {};

  // Returns false if a decoder finds a longer number.
  template <typename Coder>
  [[nodiscard]] bool code(Coder& coder, std::uint64_t& value) {
    auto bits = static_cast<unsigned>(std::bit_width(value));
    length.code(coder, bits);
    if (bits > 64) return false;
    if (bits < 2) {
      value = bits;
      return true;
    }
    std::uint64_t result = 1;  // the highest bit
    for (unsigned i = bits - 1; i-- > kLowBits;) {
      unsigned bit = value >> i & 1;
      coder.even_bit(bit);
      result = result << 1 | bit;
    }
    auto& chances = low[std::min(bits, kLowBits + 2) - 1];
    unsigned node = 1;
    for (unsigned i = std::min(bits - 1, kLowBits); i-- != 0;) {
      unsigned bit = value >> i & 1;
      coder.bit(chances[node], bit);
      node = node << 1 | bit;
      result = result << 1 | bit;
    }
    value = result;
    return true;
  }
};

// Bytes of literals. Ownership: values only.
class LiteralModels {
 public:
  [[nodiscard]] PlainLiterals& plain() noexcept { return plain_; }
  // `before` and `earlier` are the two differences before this one.
  template <typename Coder>
  void difference(Coder& coder, bool first, unsigned before, unsigned earlier, unsigned& byte) {
    const unsigned context = first ? 0 : 1 + (before != 0 ? 1U : 0U) + (earlier != 0 ? 2U : 0U);
    difference_[context].code(coder, byte);
  }

 private:
  PlainLiterals plain_;
  std::array<BitTree<8>, 5> difference_ = {};
};

// The head of each step: its kind, its size, and where it comes from.
class StepModels {
 public:
  struct Head {
    UpdateStep::Kind kind = UpdateStep::Kind::kCopy;
    std::uint64_t size = 0;
    LiteralForm form = LiteralForm::kPlain;
    Displacement from = {};  // of a copy
    unsigned fill = 0;
  };

  // Returns false if a decoder finds no head of a step.
  template <typename Coder>
  [[nodiscard]] bool code(Coder& coder, Head& head) {
    auto kind = static_cast<unsigned>(head.kind);
    kinds_[before_].code(coder, kind);
    if (kind > static_cast<unsigned>(UpdateStep::Kind::kFill)) return false;
    head.kind = static_cast<UpdateStep::Kind>(kind);
    before_ = kind;
    if (!sizes_[kind].code(coder, head.size)) return false;
    switch (head.kind) {
      case UpdateStep::Kind::kCopy:
        return code_place(coder, head.from);
      case UpdateStep::Kind::kLiteral: {
        auto form = static_cast<unsigned>(head.form);
        forms_.code(coder, form);
        head.form = static_cast<LiteralForm>(form);
        return form <= static_cast<unsigned>(LiteralForm::kRaw);
      }
      case UpdateStep::Kind::kFill:
        fills_.code(coder, head.fill);
        return true;
    }
    return false;
  }
  [[nodiscard]] const RecentDisplacements& recent() const noexcept { return recent_; }

 private:
  enum Place : unsigned { kAsBefore, kRecent, kNear, kFar };  // kFar: of another source

  template <typename Coder>
  [[nodiscard]] bool code_place(Coder& coder, Displacement& from) {
    const Displacement newest = recent_.newest();
    auto index = static_cast<unsigned>(recent_.index_of(from));
    unsigned place = index == 0                            ? kAsBefore
                     : index < RecentDisplacements::kCount ? kRecent
                     : from.source == newest.source        ? kNear
                                                           : kFar;
    places_.code(coder, place);
    if (place == kAsBefore) {
      from = newest;
      return true;
    }
    if (place == kRecent) {
      indexes_.code(coder, index);
      from = recent_.at(index);
    } else {
      if (place == kFar) {
        unsigned source = from.source;
        sources_.code(coder, source);
        from.source = source;
      } else {
        from.source = newest.source;
      }
      std::uint64_t moved = from.distance - newest.distance;
      unsigned down = static_cast<unsigned>(moved >> 63);
      downs_.code(coder, down);
      if (down != 0) moved = 0 - moved;
      if (!distances_.code(coder, moved)) return false;
      from.distance = newest.distance + (down != 0 ? 0 - moved : moved);
    }
    recent_.use(from);
    return true;
  }

  unsigned before_ = 0;  // the kind of the last step
  std::array<BitTree<2>, 3> kinds_ = {};
  std::array<NumberModel, 3> sizes_ = {};
  BitTree<2> forms_;
  BitTree<8> fills_;
  BitTree<2> places_;
  BitTree<RecentDisplacements::kLog2> indexes_;
  BitTree<5> sources_;
  BitTree<1> downs_;
  NumberModel distances_;
  RecentDisplacements recent_;
};

}  // namespace fatctx::container
