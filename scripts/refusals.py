"""Finds the places where a reader refuses bytes, in the text of a C++ source. For scripts/mutants.py."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from mutant_switches import Edit

# A function that makes an error, such as "Error malformed(std::string message) {".
MAKER = re.compile(r"^\s*(?:\[\[nodiscard\]\] )?(?:static |inline )?Error (?:\w+::)?(\w+)\(")
FINDING = re.compile(r"^ *(findings_\.add\(|hash_finding\()")


def refusal_pattern(files: Iterable[Path]) -> re.Pattern:
    """Returns the pattern of a statement that refuses something, with the functions of these files that make errors."""
    makers = {found[1] for path in files for line in path.read_text().split("\n") if (found := MAKER.match(line))}
    return re.compile(rf"return (?:rules_\.)?(?:(?:{'|'.join(sorted(makers))})(?=\()|Error(?=\{{))")


def body_indent(lines: list[str], index: int) -> int:
    """Returns the indentation of the statements of the function around a line."""
    for line in reversed(lines[:index]):
        if re.match(r"\S.*\{$", line) and not line.startswith(("namespace", "class", "struct")):
            return 2
        if re.match(r"  \S.*\{$", line) and not re.match(r"  (if|for|while|switch|struct|const auto)\b", line):
            return 4 if in_class(lines, index) else 2
    return 2


def in_class(lines: list[str], index: int) -> bool:
    for line in reversed(lines[:index]):
        if line.startswith("};"):
            return False
        if line.startswith("class "):
            return True
    return False


def in_makers(lines: list[str]) -> set[int]:
    """Returns the lines of functions that make errors. They refuse nothing by themselves."""
    found: set[int] = set()
    for index, line in enumerate(lines):
        if not MAKER.match(line) or line.endswith(";"):
            continue
        end = index
        if not line.endswith("}"):
            brace = line[:len(line) - len(line.lstrip())] + "}"
            end = next(i for i in range(index, len(lines)) if lines[i].startswith(brace))
        found |= set(range(index, end + 1))
    return found


def ends_lambda(lines: list[str], index: int) -> bool:
    """Returns true if the end of a lambda follows the statement that begins here."""
    end = next((i for i in range(index, len(lines)) if lines[i].rstrip().endswith(";")), len(lines))
    return end + 1 < len(lines) and lines[end + 1].strip().startswith("};")


def refusals_of(code: str, refusal: re.Pattern) -> Iterator[Edit]:
    """Yields an edit for each place that refuses something. Without the place, the function goes on. At the end of a
    function there is nothing to go on with: the refusal loses its words and its rule instead."""
    lines = code.split("\n")
    made = in_makers(lines)
    at = 0
    for index, line in enumerate(lines):
        found = None if index in made else refusal.search(line) or FINDING.match(line)
        if found:
            begin = at + (found.start(1) if found.re is FINDING else found.start())
            last = found.re is refusal and not lines[index - 1].rstrip().endswith(")") and \
                (ends_lambda(lines, index) or line.startswith("return", body_indent(lines, index)))
            yield Edit(begin, "refusal without words" if last else "refusal left out",
                       ((begin, "if (fatctx_mutants::on({})) return Error{{}}; " if last else "if (!fatctx_mutants::on({})) "),))
        at += len(line) + 1
