// Our reader and writer against a well-known library: they agree on which texts are JSON, and on every value in them.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <string>
#include <vector>

#include "base/json.h"

#include "support/sanitized.h"

namespace fatctx {
namespace json_oracle_test {

using Oracle = nlohmann::ordered_json;

constexpr std::size_t kDeep = 64;

// Fractions and longer numbers are kept as they were written; the oracle does not do this.
bool has_other_numbers(const Oracle& json) {
  if (json.is_number_float()) return true;
  if (!json.is_structured()) return false;
  return std::any_of(json.begin(), json.end(), [](const Oracle& item) { return has_other_numbers(item); });
}

// The oracle refuses numbers that do not fit a double.
bool has_long_exponent(const std::string& text) {
  static const std::regex exponent("[eE][+-]?[0-9]{3}");
  return std::regex_search(text, exponent);
}

struct Count {
  int both_take = 0;
  int both_refuse = 0;
};

void compare(const std::string& text, Count& count) {
  if (text.find('\0') != std::string::npos) return;  // the oracle takes it for the end of the text
  if (has_long_exponent(text)) return;
  JsonFault fault;
  const auto ours = read_json(text, kDeep, fault);
  const Oracle theirs = Oracle::parse(text, nullptr, false);
  if (ours) {
    ASSERT_FALSE(theirs.is_discarded()) << text;
    ++count.both_take;
    if (theirs.is_number()) {
      EXPECT_EQ(ours->real(), theirs.get<double>()) << text;
    }
    if (has_other_numbers(theirs)) return;
    EXPECT_EQ(write_json(*ours), theirs.dump(2, ' ', true)) << text;
    EXPECT_EQ(write_json(*ours, {.ascii = false}), theirs.dump(2)) << text;
    EXPECT_EQ(json_line(*ours), theirs.dump(-1, ' ', true)) << text;
  } else if (fault.kind == JsonFault::Kind::kNotJson) {
    EXPECT_TRUE(theirs.is_discarded()) << text << " from byte " << fault.position;
    ++count.both_refuse;
  }
}

const std::vector<std::string>& seeds() {
  static const std::vector<std::string> texts = {
      R"({"schema":"fatctx.device/1","backend":"cpu","features":["dotprod","i8mm"],"vtcm_mb":8})",
      R"([null,true,false,0,-0,1,-1,1.5,-2e3,1E+2,1e-2,18446744073709551615,-9223372036854775808])",
      R"(["\u0000\u001f\u00e4\ud83d\ude00\\\"\/\b\f\n\r\t"," \u007f ä € 😀"])",
      R"( { "a" : { "b" : [ [ ] , { } , [ { "c" : [ 1 , 2 ] } ] ] } , "" : "" } )",
      "\xEF\xBB\xBF{\"k\":\t[\r\n1 ]}",
  };
  return texts;
}

TEST(JsonAgainstAnOracle, AgreesOnTheSeeds) {
  Count count;
  for (const std::string& text : seeds()) compare(text, count);
  EXPECT_EQ(count.both_take, static_cast<int>(seeds().size()));
}

TEST(JsonAgainstAnOracle, AgreesOnEveryPrefixAndOnEveryByteInEveryPlace) {
  Count count;
  for (const std::string& text : seeds()) {
    for (std::size_t size = 0; size < text.size(); ++size) compare(text.substr(0, size), count);
    for (std::size_t at = 0; at < text.size(); ++at) {
      for (int byte = 1; byte < 256; byte += support::kStride) {
        std::string other = text;
        other[at] = static_cast<char>(byte);
        compare(other, count);
      }
    }
  }
  EXPECT_GT(count.both_take, 1'000 / support::kStride);
  EXPECT_GT(count.both_refuse, 10'000 / support::kStride);
}

// The oracle writes some numbers with a digit too many or a last digit that is not the nearest, and an exponent from
// 1e+15 on; we write one from 1e+16 on.
bool no_longer(const std::string& ours, const std::string& theirs, double value) {
  const bool as_whole = std::abs(value) >= 1e15 && std::abs(value) < 1e16;
  return as_whole || ours.size() <= theirs.size();
}

TEST(JsonAgainstAnOracle, AgreesOnFractions) {
  std::mt19937_64 random(20261125);
  std::vector<double> values = {0.1, 1e-4, 1e-5, 123456.789, 1e14, 1e15, 1e16, 1e17, 1e100, 2.5e-308, 5e-324};
  for (int i = 0; i < 20'000; i += support::kStride) values.push_back(std::bit_cast<double>(random()));
  std::uniform_real_distribution<double> usual(-1e6, 1e6);
  for (int i = 0; i < 20'000; i += support::kStride) values.push_back(usual(random));
  std::size_t same = 0;
  for (const double value : values) {
    const Json ours = value;
    EXPECT_TRUE(no_longer(json_line(ours), Oracle(value).dump(), value)) << json_line(ours);
    same += json_line(ours) == Oracle(value).dump() ? 1U : 0U;
    if (std::isfinite(value)) {
      EXPECT_EQ(Oracle::parse(json_line(ours)).get<double>(), value);
    }
    JsonFault fault;
    const auto again = read_json(Oracle(value).dump(), 0, fault);
    ASSERT_TRUE(again.has_value());
    if (std::isfinite(value)) {
      EXPECT_EQ(again->real(), value);
    }
  }
  EXPECT_GT(same, values.size() / 100 * 99);
}

TEST(JsonAgainstAnOracle, AgreesOnSpliced) {
  Count count;
  std::mt19937 random(20260214);
  const auto below = [&](std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end)(random); };
  for (int i = 0; i < 20'000; i += support::kStride) {
    std::string text = seeds()[below(seeds().size() - 1)];
    for (std::size_t rounds = below(3) + 1; rounds > 0; --rounds) {
      const std::string& other = seeds()[below(seeds().size() - 1)];
      const std::size_t from = below(other.size());
      const std::size_t at = below(text.size());
      text.replace(at, below(text.size() - at), other.substr(from, below(other.size() - from)));
    }
    compare(text, count);
  }
  EXPECT_GT(count.both_refuse, 1'000 / support::kStride);
}

}  // namespace json_oracle_test
}  // namespace fatctx
