// The coding of plain literals. New bytes of a binary mostly look like earlier new ones: they are rows of a table, with
// other numbers in them. So coder and decoder look up where the last bytes came before, and expect the byte that
// followed them there. They stay at that place when a byte differs, because the row goes on behind it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "container/update/bit_tree.h"
#include "container/update/range_coder.h"
#include "fatctx/base/bytes.h"

namespace fatctx::container {

// The bytes of all plain literals, one behind the other. Memory: 2.1 MiB.
class PlainLiterals {
 public:
  // Codes the next byte, and remembers it.
  template <typename Coder>
  void code(Coder& coder, unsigned& byte) {
    code_byte(coder, place_, byte);
    remember(byte);
  }
  // Prices bytes as if nothing were learned from them.
  void price(Pricer& pricer, ByteView bytes) {
    Place place = place_;
    for (const std::byte one : bytes) {
      auto byte = static_cast<unsigned>(one);
      code_byte(pricer, place, byte);
      place.next(*this, byte);
    }
  }

 private:
  static constexpr unsigned kWindowLog2 = 20;
  static constexpr unsigned kPlacesLog2 = 16;
  static constexpr unsigned kKeyBytes = 6;  // the table of places is keyed by the last six bytes
  static constexpr unsigned kMostEqual = 16;
  static constexpr unsigned kMostMisses = 15;
  static constexpr unsigned kFewMisses = 2;  // up to here, a byte that differs is like the expected one

  // Where the bytes are expected to go on.
  struct Place {
    std::uint64_t recent = 0;  // the last eight bytes, the newest one in the low bits
    std::uint64_t size = 0;    // bytes so far
    std::uint64_t from = 0;    // place of the expected byte; size: none is expected
    unsigned equal = 0;        // expected bytes that came since the last one that did not
    unsigned misses = 0;       // expected bytes that did not come, since sixteen came in a row

    [[nodiscard]] bool expects() const noexcept { return from != size; }
    // Goes on behind `byte`.
    void next(const PlainLiterals& all, unsigned byte) noexcept {
      if (expects() && all.at(from) == byte) {
        equal = std::min(equal + 1, kMostEqual);
        if (equal == kMostEqual) misses = 0;
      } else if (expects()) {
        equal = 0;
        ++misses;
      }
      ++from;
      ++size;
      recent = recent << 8 | byte;
      if (misses > kMostMisses || from >= all.size_ || size - from > kWindow) forget();
      look_up(all);
    }

   private:
    static constexpr std::uint64_t kWindow = std::uint64_t{1} << kWindowLog2;

    void forget() noexcept {
      from = size;
      equal = misses = 0;
    }
    // Looks where the last bytes stood before, unless the present place has been right so far.
    void look_up(const PlainLiterals& all) noexcept {
      if (expects() && misses == 0) return;
      const std::uint64_t found = all.places_[key_of(recent)];
      if (found == 0 || size - found > kWindow - sizeof(recent)) return;
      unsigned same = 0;
      while (same < sizeof(recent) && found > same && all.at(found - 1 - same) == (recent >> (8 * same) & 0xff)) ++same;
      if (same < kKeyBytes || (expects() && same <= equal)) return;
      from = found;
      equal = same;
      misses = 0;
    }
  };

  [[nodiscard]] static std::size_t key_of(std::uint64_t recent) noexcept {
    constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
    constexpr unsigned kUnused = 64 - 8 * kKeyBytes;
    return static_cast<std::size_t>(((recent << kUnused) * kSpread) >> (64 - kPlacesLog2));
  }
  [[nodiscard]] unsigned at(std::uint64_t place) const noexcept {
    return static_cast<unsigned>(window_[static_cast<std::size_t>(place % window_.size())]);
  }

  template <typename Coder>
  void code_byte(Coder& coder, const Place& place, unsigned& byte) {
    BitTree<8>& by_the_one_before = by_the_one_before_[place.recent & 0xff];
    if (!place.expects()) {
      by_the_one_before.code(coder, byte);
      return;
    }
    const unsigned expected = at(place.from);
    const std::size_t row = std::size_t{place.misses} * (kMostEqual + 1) + place.equal;
    unsigned differs = byte == expected ? 0 : 1;
    coder.bit(differs_[row][expected], differs);
    if (differs == 0) {
      byte = expected;
    } else if (place.misses > kFewMisses) {
      by_the_one_before.code(coder, byte);
    } else {
      unsigned difference = (byte - expected) & 0xff;
      differences_[row].code(coder, difference);
      byte = (expected + difference) & 0xff;
    }
  }

  void remember(unsigned byte) {
    window_[static_cast<std::size_t>(size_ % window_.size())] = static_cast<std::uint8_t>(byte);
    ++size_;
    place_.next(*this, byte);
    if (size_ >= kKeyBytes) places_[key_of(place_.recent)] = size_;
  }

  Place place_;
  std::uint64_t size_ = 0;
  std::vector<std::uint8_t> window_ = std::vector<std::uint8_t>(std::size_t{1} << kWindowLog2);
  // Behind the last bytes of each key; 0: they did not come yet.
  std::vector<std::uint64_t> places_ = std::vector<std::uint64_t>(std::size_t{1} << kPlacesLog2);
  std::vector<BitTree<8>> by_the_one_before_ = std::vector<BitTree<8>>(256);
  // By the misses and the equal bytes before; differs_ also by the expected byte.
  std::vector<std::array<Chance, 256>> differs_ =
      std::vector<std::array<Chance, 256>>(std::size_t{kMostMisses + 1} * (kMostEqual + 1));
  std::vector<BitTree<8>> differences_ = std::vector<BitTree<8>>(std::size_t{kFewMisses + 1} * (kMostEqual + 1));
};

}  // namespace fatctx::container
