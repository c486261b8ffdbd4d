"""Each source file includes or declares what it uses. `./check` compiles several files of a folder at once, and would not notice."""

import re
from functools import cache
from pathlib import PurePosixPath

import pytest

from checkout import code_only, cxx_files, text_of

TYPE = re.compile(r"^(?:using (\w+) = |(?:struct|class|enum class|enum|union) (\w+)(?![\w;]))", re.MULTILINE)
VALUE = re.compile(r"^(?:template <[^\n]*>\n)?(?:\[\[nodiscard\]\] )?(?! )[\w:<>,&*\[\] ]+?[ &*>](\w+)(?:\(| = |\{|\[)", re.MULTILINE)
USING = re.compile(r"\busing (?:::)?(?:\w+::)+(\w+);")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ROOTS = ("src/", "include/", "tests/", "bench/", "")
TEST_NAMES = re.compile(r"^TEST\w*\([^()]*\)", re.MULTILINE)
MACRO = re.compile(r"[A-Z0-9_]+")
NO_NAMES = {"sizeof"}
NAMESPACES = ("container", "faults", "fuzz", "mapping", "runtime", "sharing", "support", "tools")
# One of the two is compiled.
SYSTEMS = ("_posix", "_win32", "_linux", "_other")
# Declares functions of another system.
NOT_OURS = {"tests/windows/posix/calls.h"}


def names_of(code: str) -> set[str]:
    """Returns what a file defines outside of functions and types."""
    found = {name for match in TYPE.finditer(code) for name in match.groups() if name}
    return found | set(VALUE.findall(code)) | set(USING.findall(code))


def uses(code: str, name: str) -> bool:
    """Returns true if `code` uses a name that it does not declare, not even inside a function or as a parameter."""
    if re.search(rf"\b(?:{'|'.join(NAMESPACES)})::{name}\b", code):
        return True
    if name[0].isupper():
        return bool(re.search(rf"(?<![\w.:]){name}\b", code)) and not re.search(rf"\b(?:typename|struct|class|enum|using) {name}\b", code)
    if not re.search(rf"(?<![\w.>:]){name}\(", code):
        return False
    return not re.search(rf"(?:\b(?!(?:return|else|throw|case|and|or|not) )\w+|[>\]])[&*]*[ &*]{name} *(?:=|\(|\{{|;|,|\)|\[|:)|\(\*{name}\)", code)


def borrowed(files: dict[str, str], declared, lenders: dict[str, str] | None = None) -> list[str]:
    """Returns what a file uses of another one without a declaration. `declared` tells the words of the headers of a file.
    Lenders are the files themselves, or those that are given."""
    defined = {file: names_of(code) for file, code in files.items()}
    lent: dict[str, str] = {}
    for lender, code in sorted((files if lenders is None else lenders).items()):
        for name in (defined.get(lender) or names_of(code)) - NO_NAMES:
            if not MACRO.fullmatch(name):
                lent.setdefault(name, lender)
    found = []
    for user, code in files.items():
        for name in (lent.keys() & set(re.findall(r"\w+", code))) - defined[user]:
            if uses(code, name) and name not in declared(user):
                found.append(f"{user} uses {name} of {lent[name]}")
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


def source_files() -> dict[str, str]:
    names = [name for name in SOURCES if name.endswith(".cc") and not name.removesuffix(".cc").endswith(SYSTEMS)]
    return {name: TEST_NAMES.sub("", code_only(text_of(name))) for name in names}


def test_no_file_borrows_a_name_from_its_neighbours():
    folders: dict[str, dict[str, str]] = {}
    for name, code in source_files().items():
        folders.setdefault(str(PurePosixPath(name).parent), {})[name] = code
    found = [line for files in folders.values() for line in borrowed(files, header_words)]
    assert not found, "\n".join(found)


def test_every_file_includes_the_headers_of_the_project_that_it_uses():
    headers = {name: code_only(text_of(name)) for name in SOURCES - NOT_OURS if name.endswith(".h")}
    found = borrowed(source_files(), header_words, headers)
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


def test_a_missing_header_is_found():
    header = {"ranges.h": "namespace fatctx {\n[[nodiscard]] constexpr ByteRange overlap(ByteRange a, ByteRange b) noexcept;\n}\n"}
    user = {"b.cc": "bool meet(ByteRange a, ByteRange b) { return overlap(a, b).size != 0; }\n"}
    assert borrowed(user, lambda _: frozenset(), header) == ["b.cc uses overlap of ranges.h"]
    assert borrowed(user, lambda _: frozenset({"overlap"}), header) == []
