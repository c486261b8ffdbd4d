"""Each source file includes or declares what it uses. `./check` compiles several files of a folder at once, and would not notice."""

import re
from functools import cache
from pathlib import PurePosixPath

import pytest

from checkout import code_only, cxx_files, text_of

TYPE = re.compile(r"^(?:using (\w+) = |(?:struct|class|enum class|enum|union) (\w+))", re.MULTILINE)
VALUE = re.compile(r"^(?:template <[^\n]*>\n)?(?:\[\[nodiscard\]\] )?(?! )[\w:<>,&*\[\] ]+?[ &*>](\w+)(?:\(| = |\{|\[)", re.MULTILINE)
USING = re.compile(r"\busing (?:::)?(?:\w+::)+(\w+);")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROOTS = ("src/", "include/", "tests/", "bench/", "")
TEST_NAMES = re.compile(r"^TEST\w*\([^()]*\)", re.MULTILINE)
MACRO = re.compile(r"[A-Z0-9_]+")
# One of the two is compiled.
SYSTEMS = ("_posix", "_win32", "_linux", "_other")


def names_of(code: str) -> set[str]:
    """Returns what a file defines outside of functions and types."""
    found = {name for match in TYPE.finditer(code) for name in match.groups() if name}
    return found | set(VALUE.findall(code)) | set(USING.findall(code))


def uses(code: str, name: str) -> bool:
    """Returns true if `code` uses a name that it does not declare, not even inside a function or as a parameter."""
    if name[0].isupper():
        return bool(re.search(rf"(?<![\w.:]){name}\b", code)) and not re.search(rf"\b(?:typename|struct|class|enum|using) {name}\b", code)
    if not re.search(rf"(?<![\w.>:]){name}\(", code):
        return False
    return not re.search(rf"(?:\b(?!(?:return|else|throw|case|and|or|not) )\w+|[>\]])[&*]*[ &*]{name} *(?:=|\(|\{{|;|,|\)|\[)", code)


def borrowed(files: dict[str, str], declared) -> list[str]:
    """Returns what a file of one folder uses of another one. `declared` tells the words of the headers of a file."""
    defined = {file: names_of(code) for file, code in files.items()}
    found = []
    for lender, names in defined.items():
        for name in names:
            if MACRO.fullmatch(name):
                continue
            for user, code in files.items():
                if name not in defined[user] and name in code and uses(code, name) and name not in declared(user):
                    found.append(f"{user} uses {name} of {lender}")
    return sorted(found)


@cache
def header_words(name: str) -> frozenset[str]:
    """Returns the words of all headers of the project that a file includes."""
    seen, todo, words = {name}, [name], set()
    while todo:
        file = todo.pop()
        text = text_of(file)
        if file != name:
            words.update(re.findall(r"\w+", code_only(text)))
        for included in INCLUDE.findall(text):
            places = [root + included for root in ROOTS] + [str(PurePosixPath(file).parent / included)]
            for place in places:
                if place in SOURCES and place not in seen:
                    seen.add(place)
                    todo.append(place)
    return frozenset(words)


SOURCES = frozenset(cxx_files("src/", "include/", "tools/", "tests/", "samples/", "bench/"))


def test_no_file_borrows_a_name_from_its_neighbours():
    folders: dict[str, dict[str, str]] = {}
    for name in SOURCES:
        path = PurePosixPath(name)
        if path.suffix == ".cc" and not path.stem.endswith(SYSTEMS):
            folders.setdefault(str(path.parent), {})[name] = TEST_NAMES.sub("", code_only(text_of(name)))
    found = [line for files in folders.values() for line in borrowed(files, header_words)]
    assert not found, "\n".join(found)


LENDER = "namespace {\nusing Row = runtime::ExplainedRecord;\nint place_of(int record) { return record; }\nconstexpr int kMost = 3;\n}\n"


@pytest.mark.parametrize(("user", "name"), [
    ("void show(const Story& story) {\n  for (const Row& row : story.rows) put(row);\n}\n", "Row"),
    ("int show() { return place_of(2); }\n", "place_of"),
])
def test_a_borrowed_name_is_found(user, name):
    assert borrowed({"a.cc": LENDER, "b.cc": user}, lambda _: frozenset()) == [f"b.cc uses {name} of a.cc"]


@pytest.mark.parametrize("user", [
    "using Row = int;\nRow show() { return 1; }\n",
    "void show() {\n  for (const other::Row& row : all) put(row);\n}\n",
    "template <typename Row>\nvoid show(const Row& row);\n",
    "void show() {\n  const auto place_of = [](int a) { return a; };\n  place_of(2);\n}\n",
    "int show(const Table& table) { return table.place_of(2); }\n",
])
def test_a_name_of_its_own_is_not(user):
    assert borrowed({"a.cc": LENDER, "b.cc": user}, lambda _: frozenset()) == []
    assert borrowed({"a.cc": LENDER, "b.cc": "int show() { return place_of(2); }\n"}, lambda _: frozenset({"place_of"})) == []
