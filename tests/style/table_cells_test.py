"""A cell of a table in a document holds one short fact: at most 160 characters. Longer text belongs below the table."""

import re

import pytest

from checkout import matching, text_of

LIMIT = 160

# Page: (largest number of long cells that it may still have, reason). Numbers only fall; a page without long cells must
# leave the table.
EXCEPTIONS = {
    "docs/build.md": (1, "the cell lists the packages that a build needs"),
    "docs/features.md": (90, "a row quotes a request or names all tests that show it: the cell is the list"),
    "docs/install.md": (1, "the cell describes an optional package with its conditions"),
    "docs/loading.md": (1, "the cell describes a DLC as a source with its conditions"),
    "docs/loading_failures.md": (1, "the cell describes a change of the file in every way it can show"),
    "docs/loading_policies.md": (3, "cells describe a policy or a system with its exceptions"),
    "docs/testing.md": (24, "a row names all tests of a promise: the cell is the list"),
}


def pages() -> list[str]:
    return ["README.md", *matching(".md", under=("docs/",))]


def cells_of(text: str) -> list[tuple[int, str]]:
    """Returns line number and text of each cell of each table. Lines between code fences are not tables."""
    found = []
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        row = line.strip()
        if row.startswith("```"):
            fenced = not fenced
        elif row.startswith("|") and not fenced:
            found += [(number, cell.strip()) for cell in re.split(r"(?<!\\)\|", row.strip("|"))]
    return found


def long_cells(name: str, text: str) -> list[str]:
    return [f"{name}:{number}: {len(cell)} characters: {cell[:50]} ..." for number, cell in cells_of(text) if len(cell) > LIMIT]


def problems(found: dict[str, list[str]], exceptions: dict[str, tuple[int, str]]) -> list[str]:
    said = []
    for name, cells in found.items():
        allowed = exceptions.get(name, (0, ""))[0]
        if len(cells) > allowed:
            said += [f"{name}: {len(cells)} cells above {LIMIT} characters, {allowed} allowed", *cells]
    return said + [f"{name}: has no long cell any more; take its row out of the exceptions"
                   for name in exceptions if not found.get(name)]


def test_cells_of_tables_are_short():
    found = {name: long_cells(name, text_of(name)) for name in pages()}
    assert len(found) >= 20
    assert problems(found, EXCEPTIONS) == []


def test_every_exception_has_a_reason():
    assert [name for name, (_, reason) in EXCEPTIONS.items() if len(reason) < 20] == []


def test_planted_cells_are_found():
    long = "x" * (LIMIT + 1)
    assert len(long_cells("x.md", f"| a | b |\n|---|---|\n| {long} | {long} |\n")) == 2
    assert long_cells("x.md", f"  | a | {long} |\n")
    assert problems({"x.md": ["x.md:1: 161"]}, {}) and problems({"x.md": ["1", "2"]}, {"x.md": (1, "why")})
    assert problems({"x.md": []}, {"x.md": (1, "why")}) and problems({}, {"gone.md": (1, "why")})


@pytest.mark.parametrize("text", [f"| {'x' * LIMIT} | b |", "x" * 200, f"```\n| {'x' * 200} |\n```", f"| {'x' * 90} \\| {'x' * 50} |"])
def test_what_is_allowed_passes(text):
    assert long_cells("x.md", text + "\n") == []
