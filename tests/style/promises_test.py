"""The tests that docs/testing.md lists for each promise exist."""

import re

import pytest

from checkout import ROOT, files, text_of

TITLE = "## What files promise, and what fails if they do not"


def rows(document: str) -> dict[int, list[str]]:
    """Returns, by the number of a promise, the names in backquotes in its last column."""
    section = document.split(TITLE)[1].split("\n## ")[0]
    return {int(number): re.findall(r"`([^`]+)`", tests)
            for number, tests in re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", section, re.MULTILINE)}


def missing(names: list[str], sources: str, exists=lambda name: (ROOT / name).is_file()) -> list[str]:
    found = []
    for name in names:
        if "/" in name:
            there = exists(name)
        else:
            suite, _, test = name.partition(".")
            there = bool(re.search(rf"^TEST(_F|_P)?\({suite},\s+{test}\)", sources, re.MULTILINE)) or \
                f"NAME {name} " in sources
        if not there:
            found.append(name)
    return found


def all_sources() -> str:
    return "".join(text_of(name) for name in files()
                   if name.startswith("tests/") and name.endswith((".cc", "CMakeLists.txt")))


def test_every_promise_has_tests_that_exist():
    promises = rows(text_of("docs/testing.md"))
    assert sorted(promises) == list(range(1, 11))
    assert all(promises.values())
    assert missing([name for names in promises.values() for name in names], all_sources()) == []


@pytest.mark.parametrize("name", ["AppendCrash.NoSuchTest", "NoSuchSuite.Test", "tests/style/no_such_test.py"])
def test_a_planted_name_is_found(name):
    assert missing([name], all_sources()) == [name]
