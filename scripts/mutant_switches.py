"""Puts a switch at every place of a C++ source that a simple change can break. For scripts/mutants.py."""

import dataclasses
import re
from collections.abc import Iterable, Iterator

SWITCH_HEADER = """// Written by scripts/mutants.py.
#pragma once
#pragma GCC system_header  // without warnings
#include <utility>
#include "fatctx/base/result.h"
namespace fatctx_mutants {
// Notes that the test comes to a place where the mutant would matter. Returns whether the mutant is switched on.
bool on(int place) noexcept;
template <typename T>
fatctx::Status unless(int place, T&& result) {
  if (result.ok() || on(place)) return fatctx::Done{};
  return std::forward<T>(result).error();
}
template <typename T>
bool flip(int place, T&& value) { return static_cast<bool>(value) != on(place); }
template <int Place> struct Less {};
template <int Place> struct LessEqual {};
template <int Place> struct Greater {};
template <int Place> struct GreaterEqual {};
template <int Place> struct Equal {};
template <int Place> struct Unequal {};
template <typename Comparison, typename Left> struct Half { const Left& left; };
#define FATCTX_MUTANTS_COMPARE(Name, shipped, broken)                                                         \\
  template <typename Left, int Place> Half<Name<Place>, Left> operator<(const Left& left, Name<Place>) {      \\
    return {left};                                                                                            \\
  }                                                                                                           \\
  template <typename Left, int Place, typename Right>                                                         \\
  bool operator>(Half<Name<Place>, Left> half, const Right& right) {                                          \\
    const bool said = half.left shipped right;                                                                \\
    const bool otherwise = half.left broken right;                                                            \\
    return said != otherwise && on(Place) ? otherwise : said;                                                 \\
  }
FATCTX_MUTANTS_COMPARE(Less, <, <=)
FATCTX_MUTANTS_COMPARE(LessEqual, <=, <)
FATCTX_MUTANTS_COMPARE(Greater, >, >=)
FATCTX_MUTANTS_COMPARE(GreaterEqual, >=, >)
FATCTX_MUTANTS_COMPARE(Equal, ==, !=)
FATCTX_MUTANTS_COMPARE(Unequal, !=, ==)
}  // namespace fatctx_mutants
"""
SWITCH = """// Written by scripts/mutants.py.
#include "mutant_switch.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
namespace fatctx_mutants {
namespace {
constexpr int kMost = 1 << 16;
struct State {
  bool switched_on[kMost] = {};
  volatile char* reached = nullptr;  // a file that children write to as well
  State() {
    char* rest = std::getenv("FATCTX_MUTANT");  // places, with commas between them
    for (; rest != nullptr && *rest != 0; rest += *rest == ',') {
      const long place = std::strtol(rest, &rest, 10);
      if (place < 0 || place >= kMost || (*rest != ',' && *rest != 0)) std::abort();
      switched_on[place] = true;
    }
    const char* log = std::getenv("FATCTX_MUTANT_LOG");
    const int file = log == nullptr ? -1 : ::open(log, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void* const map = ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) reached = static_cast<char*>(map);
    ::close(file);
  }
};
const State state;
}  // namespace
bool on(int at) noexcept {
  if (state.reached != nullptr) state.reached[at] = 1;
  return state.switched_on[at];
}
}  // namespace fatctx_mutants
"""
MOST_PLACES = 1 << 16
COMPARISONS = {"<": "Less", "<=": "LessEqual", ">": "Greater", ">=": "GreaterEqual", "==": "Equal", "!=": "Unequal"}


class CannotTry(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Mutant:
    place: int
    file: str
    line: int
    kind: str
    text: str  # the line
    nth: int   # number among those with the same file, kind and text

    @property
    def key(self) -> str:
        return f"{self.file} | {self.kind} | {self.text}" + (f" | {self.nth}" if self.nth else "")


@dataclasses.dataclass(frozen=True)
class Edit:
    at: int
    kind: str
    insertions: tuple[tuple[int, str], ...]  # with {} for the place
    cut: tuple[int, int] = (0, 0)            # a range that the insertion at its first byte replaces


def blanked(text: str) -> str:
    """Returns only the code: comments, and text between quotes, become spaces."""
    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'|^[ \t]*#[^\n]*", blank, text,
                  flags=re.DOTALL | re.MULTILINE)


def closing(code: str, opening: int) -> int:
    """Returns the index of the parenthesis that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(code)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[index], 0)
        if depth == 0:
            return index
    raise CannotTry("a parenthesis has no end")


def edits_of(code: str) -> Iterator[Edit]:
    for found in re.finditer(r"\bFATCTX_TRY\(", code):
        end = closing(code, found.end() - 1)
        yield Edit(found.start(), "error ignored",
                   ((found.end(), "fatctx_mutants::unless({}, "), (end, ")")))
        yield Edit(found.start(), "check left out", ((found.start(), "if (fatctx_mutants::on({})) {{}} else "),))
    for found in re.finditer(r"\bif \(", code):
        end = closing(code, found.end() - 1)
        begin = max(found.end(), code.rfind(";", found.end(), end) + 1)
        if re.match(r"\s*(const )?(auto|[\w:]+(<[^()]*>)?)[&*]* (const )?\w+ = ", code[begin:end]):
            continue  # it declares a variable that it tests
        yield Edit(found.start(), "condition negated", ((begin, "fatctx_mutants::flip({}, "), (end, ")")))
    for found in re.finditer(r" (<=|>=|==|!=|<|>) ", code):
        head = code[code.rfind("\n", 0, found.start()) + 1:found.start()]
        if re.search(r"\b(static_assert|constexpr|template|operator)\b", head):
            continue
        kind = {"==": "equality negated", "!=": "equality negated"}.get(found[1], "bound moved")
        yield Edit(found.start(), kind, ((found.start(), f" <fatctx_mutants::{COMPARISONS[found[1]]}<{{}}>{{{{}}}}> "),),
                   (found.start(), found.end()))
    for found in re.finditer(r" [+-] 1\b(?![.'uUlL])", code):
        head = code[code.rfind("\n", 0, found.start()) + 1:found.start()]
        if re.search(r"\b(static_assert|constexpr)\b", head):
            continue
        yield Edit(found.start(), "off by one", ((found.end() - 1, "(fatctx_mutants::on({}) ? 2 : 1)"),),
                   (found.end() - 1, found.end()))
    for found in re.finditer(r"\breturn (true|false);", code):
        yield Edit(found.start(), "answer negated", ((found.start(1), "fatctx_mutants::flip({}, "), (found.end(1), ")")))
    statement = r"^[ ]+((?:\+\+|--)?[A-Za-z_*][\w.:>\[\]()-]*?(?: (?:=|\+=|-=|\|=) [^\n]+|\([^\n]*\))?;)[ ]*$"
    for found in re.finditer(statement, code, re.MULTILINE):
        body = found[1]
        if re.match(r"(return|FATCTX_\w+|break|continue|using|if|for|while|switch|case|static_assert|default|goto|else)\b", body) or \
                not re.search(r"[=(]|\+\+|--", body) or body.count("(") != body.count(")") or body.count("{") != body.count("}"):
            continue
        before = code[:found.start()].rstrip()
        if before and before[-1] not in ";{}" and not re.search(r"(\)|\belse|:)$", before):
            continue  # the end of a longer statement
        if before.endswith(")") and not re.search(r"\n[ ]*(\} else )?(if|for|while) \(", before[before.rfind("\n"):]):
            continue
        yield Edit(found.start(1), "statement left out", ((found.start(1), "if (fatctx_mutants::on({})) {{}} else "),))


def mutate(name: str, text: str, edits: Iterable[Edit], first: int, without: set[int]) -> tuple[str, list[Mutant]]:
    """Returns the text with switches for these edits, except in lines of `without`, and its mutants. Lines and places
    keep their numbers."""
    mutants: list[Mutant] = []
    insertions: list[tuple[int, int, str, int]] = []  # position, order, text, position to continue from
    seen: dict[tuple[str, str], int] = {}
    lines = text.split("\n")
    for place, edit in enumerate(sorted(edits, key=lambda one: (one.at, one.kind)), first):
        line = text.count("\n", 0, edit.at) + 1
        said = lines[line - 1].strip()
        nth = seen.get((edit.kind, said), 0)
        seen[edit.kind, said] = nth + 1
        if line in without or any(line <= bad <= text.count("\n", 0, edit.insertions[-1][0]) + 1 for bad in without):
            continue
        mutants.append(Mutant(place, name, line, edit.kind, said, nth))
        for number, (at, what) in enumerate(edit.insertions):
            to = edit.cut[1] if edit.cut[1] and number == 0 else at
            insertions.append((at, len(insertions) if number == 0 else -len(insertions), what.format(place), to))
    out, last = [], 0
    for at, _, what, to in sorted(insertions):
        out += [text[last:at], what]
        last = max(last, to)
    out.append(text[last:])
    return f'#pragma GCC system_header\n#include "mutant_switch.h"\n#line 1 "{name}"\n' + "".join(out), mutants
