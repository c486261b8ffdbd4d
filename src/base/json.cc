#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <locale>
#include <sstream>
#include <string>

namespace fatctx {

Json::Json(double value) {
  if (!std::isfinite(value)) return;
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  value_ = Written{std::move(text)};
}

Json::Json(std::initializer_list<Member> members) : value_(Object(members)) {}

std::optional<std::int64_t> Json::whole() const noexcept {
  if (const auto* negative = std::get_if<std::int64_t>(&value_)) return *negative;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t* natural = number();
  if (natural == nullptr || *natural > kMost) return std::nullopt;
  return static_cast<std::int64_t>(*natural);
}

std::optional<double> Json::real() const {
  if (const std::uint64_t* natural = number()) return static_cast<double>(*natural);
  if (const auto* negative = std::get_if<std::int64_t>(&value_)) return static_cast<double>(*negative);
  const auto* written = std::get_if<Written>(&value_);
  return written == nullptr ? std::nullopt : real_number(written->text);
}

const Json* Json::find(std::string_view key) const noexcept {
  const Object* object = members();
  if (object == nullptr) return nullptr;
  const auto member = std::find_if(object->begin(), object->end(), [&](const Member& m) { return m.key == key; });
  return member == object->end() ? nullptr : &member->value;
}

void Json::push_back(Json item) { std::get<Array>(value_).push_back(std::move(item)); }

void Json::add(std::string key, Json value) { std::get<Object>(value_).push_back({std::move(key), std::move(value)}); }

std::string json_pointer_to(std::string_view key) {
  std::string pointer = "/";
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

std::optional<double> real_number(std::string_view text) {
  if (text.find_first_not_of("0123456789.eE+-") != std::string_view::npos || text.starts_with('+')) return std::nullopt;
  // A stream, because std::from_chars() of some standard libraries cannot read fractions.
  std::istringstream stream{std::string(text)};
  stream.exceptions(std::ios::badbit);  // a stream would keep it to itself that memory ran out
  stream.imbue(std::locale::classic());
  double number = 0;
  if (!(stream >> number) || stream.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  return number;
}

}  // namespace fatctx
