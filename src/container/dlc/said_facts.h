// Collects what a text of the tools for Snapdragon says about itself: commands of converters and quantizers, versions,
// copyright, times. Keys and values stay those of the text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "fatctx/description.h"

namespace fatctx::container::dlc {

inline constexpr std::size_t kMaxSaidFacts = 512;
inline constexpr std::size_t kMaxSaidKey = 255;                       // bytes
inline constexpr std::size_t kMaxSaidBytes = std::size_t{256} << 10;  // all keys and values together

class SaidFacts {
 public:
  // Takes the lines `key=value` of a text; other lines are no facts.
  void add_lines(std::string_view text);
  // Takes the texts, numbers and truth values of an object. Those of inner objects get keys like
  // "header.artifact_type". A list of them is one value. {"major": 2, "minor": 3} is "2.3". All keys begin with
  // `path`.
  void add_object(const Json& object, const std::string& path = {});
  void add_member(const std::string& key, const Json& value);

  [[nodiscard]] std::vector<DescribedOption> take() { return std::move(facts_); }
  // Facts beyond the limits, and those that are not UTF-8.
  [[nodiscard]] std::uint64_t left_out() const noexcept { return left_out_; }

 private:
  void add(std::string key, std::string value);

  std::vector<DescribedOption> facts_;
  std::size_t bytes_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace fatctx::container::dlc
