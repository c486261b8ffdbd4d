// Reads a JSON text (RFC 8259) as a sequence of events, for callers that need a few values of a long text, or that have
// limits. It builds no tree; json.h does. Accepts only the standard: no comment, no trailing comma, no second document.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_lexer.h"

namespace fatctx {

// A receiver of events. Each function returns whether to continue.
template <typename T>
concept JsonEvents = requires(T& events, bool truth, std::uint64_t natural, std::int64_t negative,
                              std::string_view written, std::string words) {
  { events.null() } -> std::same_as<bool>;
  { events.boolean(truth) } -> std::same_as<bool>;
  { events.natural(natural) } -> std::same_as<bool>;
  { events.negative(negative) } -> std::same_as<bool>;
  { events.other_number(written) } -> std::same_as<bool>;
  { events.text(std::move(words)) } -> std::same_as<bool>;
  { events.key(std::move(words)) } -> std::same_as<bool>;
  { events.begin_object() } -> std::same_as<bool>;
  { events.end_object() } -> std::same_as<bool>;
  { events.begin_array() } -> std::same_as<bool>;
  { events.end_array() } -> std::same_as<bool>;
};

enum class JsonOutcome : std::uint8_t { kWhole, kNotJson, kTooDeep, kStopped };  // kStopped: by an event

template <JsonEvents Events>
class JsonReader {
 public:
  // Recurses at most `max_depth` arrays and objects deep.
  JsonReader(std::string_view text, std::size_t max_depth, Events& events) noexcept
      : lexer_(text), max_depth_(max_depth), events_(events) {}

  // Reads the text. May be called once.
  [[nodiscard]] JsonOutcome read() {
    if (!value(0)) return outcome_;
    lexer_.skip_blanks();
    return lexer_.at_end() ? JsonOutcome::kWhole : JsonOutcome::kNotJson;
  }
  // Returns the position, counted from 1, of the first byte that is not JSON.
  [[nodiscard]] std::size_t position() const noexcept { return lexer_.at() + 1; }

 private:
  bool ends_with(JsonOutcome outcome) noexcept {
    outcome_ = outcome;
    return false;
  }
  bool goes_on(bool answer) noexcept { return answer || ends_with(JsonOutcome::kStopped); }

  bool value(std::size_t depth) {
    lexer_.skip_blanks();
    if (lexer_.next_is('{')) return object(depth);
    if (lexer_.next_is('[')) return array(depth);
    if (lexer_.next_is('"')) {
      std::string words;
      return lexer_.text(words) && goes_on(events_.text(std::move(words)));
    }
    if (lexer_.next_is('t')) return lexer_.word("true") && goes_on(events_.boolean(true));
    if (lexer_.next_is('f')) return lexer_.word("false") && goes_on(events_.boolean(false));
    if (lexer_.next_is('n')) return lexer_.word("null") && goes_on(events_.null());
    JsonNumber number;
    if (!lexer_.number(number)) return false;
    if (number.kind == JsonNumber::Kind::kNatural) return goes_on(events_.natural(number.natural));
    if (number.kind == JsonNumber::Kind::kNegative) return goes_on(events_.negative(number.negative));
    return goes_on(events_.other_number(number.written));
  }

  bool array(std::size_t depth) {
    if (depth == max_depth_) return ends_with(JsonOutcome::kTooDeep);
    (void)lexer_.take('[');
    if (!goes_on(events_.begin_array())) return false;
    lexer_.skip_blanks();
    if (!lexer_.next_is(']')) {
      do {
        if (!value(depth + 1)) return false;
        lexer_.skip_blanks();
      } while (lexer_.take(','));
    }
    return lexer_.take(']') && goes_on(events_.end_array());
  }

  bool object(std::size_t depth) {
    if (depth == max_depth_) return ends_with(JsonOutcome::kTooDeep);
    (void)lexer_.take('{');
    if (!goes_on(events_.begin_object())) return false;
    lexer_.skip_blanks();
    if (!lexer_.next_is('}')) {
      do {
        if (!member(depth)) return false;
        lexer_.skip_blanks();
      } while (lexer_.take(','));
    }
    return lexer_.take('}') && goes_on(events_.end_object());
  }

  bool member(std::size_t depth) {
    lexer_.skip_blanks();
    std::string key;
    if (!lexer_.text(key)) return false;
    lexer_.skip_blanks();
    if (!lexer_.take(':')) return false;
    return goes_on(events_.key(std::move(key))) && value(depth + 1);
  }

  JsonLexer lexer_;
  std::size_t max_depth_;
  Events& events_;
  JsonOutcome outcome_ = JsonOutcome::kNotJson;  // unless something else ended it
};

}  // namespace fatctx
