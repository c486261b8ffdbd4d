// An adaptive binary range coder: every bit costs as much as it is surprising. Encoder, decoder and pricer have one
// interface, so that a model is written down once for all three.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fatctx/base/bytes.h"

namespace fatctx::container {

inline constexpr unsigned kChanceBits = 12;

// The chance that a bit is 0, in 1/4096. It learns from every bit, at first fast and then slowly.
class Chance {
 public:
  [[nodiscard]] std::uint32_t of_zero() const noexcept { return zero_ >> (kBits - kChanceBits); }
  void learn(unsigned bit) noexcept {
    const unsigned rate = kFirstRate + seen_ / 2;
    const std::uint32_t aim = bit == 0 ? kMost : kLeast;
    zero_ = static_cast<std::uint16_t>(zero_ + (static_cast<std::int32_t>(aim) - static_cast<std::int32_t>(zero_)) /
                                                   (1 << rate));
    if (rate < kLastRate) ++seen_;
  }

 private:
  static constexpr unsigned kBits = 16;
  static constexpr unsigned kFirstRate = 1;
  static constexpr unsigned kLastRate = 5;
  // Keep of_zero() from 1 to 4095.
  static constexpr std::uint32_t kLeast = 1U << (kBits - kChanceBits);
  static constexpr std::uint32_t kMost = (1U << kBits) - kLeast;

  std::uint16_t zero_ = 1U << (kBits - 1);
  std::uint8_t seen_ = 0;
};

inline constexpr std::uint32_t kLeastRange = std::uint32_t{1} << 24;

class RangeEncoder {
 public:
  void bit(Chance& chance, unsigned& bit) {
    const std::uint32_t zero = (range_ >> kChanceBits) * chance.of_zero();
    if (bit == 0) {
      range_ = zero;
    } else {
      low_ += zero;
      range_ -= zero;
    }
    chance.learn(bit);
    widen();
  }
  // A bit without a model.
  void even_bit(unsigned& bit) {
    range_ >>= 1;
    if (bit != 0) low_ += range_;
    widen();
  }
  // Returns all bytes; the encoder is as new afterwards.
  [[nodiscard]] std::vector<std::byte> finish() {
    for (unsigned i = 0; i < sizeof(std::uint32_t) + 1; ++i) shift();
    std::vector<std::byte> bytes;
    bytes.swap(out_);
    *this = RangeEncoder();
    return bytes;
  }
  [[nodiscard]] std::size_t size() const noexcept { return out_.size(); }

 private:
  void widen() {
    while (range_ < kLeastRange) {
      range_ <<= 8;
      shift();
    }
  }
  void shift() {
    constexpr std::uint64_t kCarry = std::uint64_t{1} << 32;
    constexpr std::uint64_t kNoCarry = 0xff000000;
    if (low_ < kNoCarry || low_ >= kCarry) {
      const auto carry = static_cast<std::uint8_t>(low_ >> 32);
      for (std::uint8_t byte = first_; waiting_ != 0; --waiting_, byte = 0xff) {
        out_.push_back(static_cast<std::byte>(byte + carry));
      }
      first_ = static_cast<std::uint8_t>(low_ >> 24);
    }
    ++waiting_;
    low_ = (low_ << 8) & (kCarry - 1);
  }

  std::uint64_t low_ = 0;
  std::uint32_t range_ = 0xffffffff;
  std::uint8_t first_ = 0;     // of the bytes that a carry may still change; the others are 0xff
  std::uint64_t waiting_ = 1;  // their number
  std::vector<std::byte> out_;
};

// Reads zeros behind the end; all_taken() tells.
class RangeDecoder {
 public:
  explicit RangeDecoder(ByteView coded) : coded_(coded) {
    for (unsigned i = 0; i < sizeof(std::uint32_t) + 1; ++i) code_ = code_ << 8 | next();
  }
  void bit(Chance& chance, unsigned& bit) {
    const std::uint32_t zero = (range_ >> kChanceBits) * chance.of_zero();
    if (code_ < zero) {
      bit = 0;
      range_ = zero;
    } else {
      bit = 1;
      code_ -= zero;
      range_ -= zero;
    }
    chance.learn(bit);
    widen();
  }
  void even_bit(unsigned& bit) {
    range_ >>= 1;
    bit = code_ >= range_ ? 1 : 0;
    if (bit != 0) code_ -= range_;
    widen();
  }
  // Returns whether exactly all bytes were read.
  [[nodiscard]] bool all_taken() const noexcept { return at_ == coded_.size(); }
  [[nodiscard]] bool past_end() const noexcept { return at_ > coded_.size(); }

 private:
  void widen() {
    while (range_ < kLeastRange) {
      range_ <<= 8;
      code_ = code_ << 8 | next();
    }
  }
  std::uint32_t next() noexcept {
    const std::size_t at = at_++;
    return at < coded_.size() ? static_cast<std::uint32_t>(coded_[at]) : 0;
  }

  ByteView coded_;
  std::size_t at_ = 0;
  std::uint32_t code_ = 0;
  std::uint32_t range_ = 0xffffffff;
};

inline constexpr unsigned kCostUnit = 16;  // of a bit
inline constexpr unsigned kCostLog2 = 7;
// Costs of a chance of (i + 1/2) / 128: its logarithm, by squaring four times.
[[nodiscard]] constexpr std::array<std::uint16_t, std::size_t{1} << kCostLog2> make_bit_costs() {
  constexpr unsigned kOne = 15;  // the bits of a chance of 1
  std::array<std::uint16_t, std::size_t{1} << kCostLog2> costs = {};
  for (std::size_t i = 0; i < costs.size(); ++i) {
    std::uint64_t value = (2 * i + 1) << (kOne - kCostLog2 - 1);
    unsigned log = 0;  // 16 x log2 of the chance's numerator, less kOne
    for (unsigned step = 0; step < 4; ++step) {
      value *= value;
      log <<= 1;
      for (; value >> (kOne + 1) != 0; value >>= 1) ++log;
    }
    costs[i] = static_cast<std::uint16_t>(kOne * kCostUnit - kOne - log);
  }
  return costs;
}
inline constexpr std::array<std::uint16_t, std::size_t{1} << kCostLog2> kBitCosts = make_bit_costs();

// Counts what bits would cost, in 1/16 of a bit, and lets no model learn.
class Pricer {
 public:
  void bit(const Chance& chance, unsigned& bit) noexcept {
    const std::uint32_t zero = chance.of_zero();
    cost_ += kBitCosts[(bit == 0 ? zero : (1U << kChanceBits) - zero) >> (kChanceBits - kCostLog2)];
  }
  void even_bit(unsigned&) noexcept { cost_ += kCostUnit; }
  [[nodiscard]] std::uint64_t bits() const noexcept { return cost_ / kCostUnit; }

 private:
  std::uint64_t cost_ = 0;
};

}  // namespace fatctx::container
