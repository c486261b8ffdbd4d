"""docs/features.md: every id occurs once, every state is valid, every named test exists."""

import re

import pytest

from checkout import files, matching, text_of

COUNTS = {1: 27, 2: 34, 3: 80, 4: 56, 5: 21}
IDS = [f"S{part}.{number}" for part, count in COUNTS.items() for number in range(1, count + 1)]
assert len(IDS) == 218

ROW = re.compile(r"^\|\s*(S\d+\.\d+)\s*\|((?:[^|\\]|\\.)*)\|((?:[^|\\]|\\.)*)\|\s*$")
GTEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P|RC_GTEST_PROP|RC_GTEST_FIXTURE_PROP)"
                   r"\(\s*(\w+)\s*,\s*(\w+)\s*[,)]", re.MULTILINE)
PYTEST = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)


def existing_tests() -> set[str]:
    found = set()
    for name in matching(".cc", under=("tests/",)):
        found |= {f"{suite}.{test}" for suite, test in GTEST.findall(text_of(name))}
    for name in matching("_test.py", under=("tests/",)):
        found |= {f"{name}::{test}" for test in PYTEST.findall(text_of(name))}
    for name in files():
        if name.startswith("tests/cli/cases/"):
            found |= {f"cli:{case}" for case in re.findall(r"^=== ([a-z0-9-]+)$", text_of(name), re.MULTILINE)}
    return found


def rows_of(text: str) -> list[tuple[str, str, str]]:
    """Returns (id, feature, state) of every row that looks like one, also of a broken one."""
    rows = []
    for line in text.splitlines():
        if re.match(r"^\|\s*S\d", line):
            match = ROW.match(line)
            rows.append(tuple(cell.strip() for cell in match.groups()) if match else (line, "", ""))
    return rows


# Tests of the lanes that run on request only, and tests that read documents and run nothing.
ON_REQUEST = ("tests/qnn/", "tests/real/")
OF_DOCUMENTS = ("tests/style/", "tests/ort/document_test.py", "tests/cli/docs_test.py")
STATES = ("shown by ", "shown on request by ", "documented, shown by ")


def weak_evidence(id: str, state: str, names: list[str]) -> list[str]:
    """Returns a violation if all tests are on request, or all read documents, and the state does not say so."""
    for folders, marked in ((ON_REQUEST, "shown on request by "), (OF_DOCUMENTS, "documented, shown by ")):
        weak = all(name.startswith(folders) for name in names)
        if weak != state.startswith(marked):
            return [f'{id}: the state {"must" if weak else "must not"} begin with "{marked.strip()}"']
    return []


def violations(rows: list[tuple[str, str, str]], tests: set[str]) -> list[str]:
    found = []
    listed = [row[0] for row in rows]
    found += [f"{id}: {listed.count(id)} rows" for id in IDS if listed.count(id) != 1]
    for id, feature, state in rows:
        if id not in IDS:
            found.append(f"{id}: no such id, or the row is broken")
        elif not feature:
            found.append(f"{id}: says nothing")
        elif state.startswith(STATES):
            names = [name.strip().strip("`") for name in re.sub(r"^.*?\bby ", "", state).split(",")]
            found += [f"{id}: no test is called {name}" for name in names if name not in tests]
            found += weak_evidence(id, state, names)
        elif state.startswith("declined: "):
            if len(state) < len("declined: ") + 20:
                found.append(f"{id}: declined without a reason")
        elif state != "open":
            found.append(f"{id}: the state is neither open, shown by ... nor declined: ...")
    return found


CONFLICTS = [f"X{number}" for number in range(1, 10)]


def conflict_violations(text: str, tests: set[str]) -> list[str]:
    """Checks the table of contradictions: each once, with a decision and tests that exist, one of which runs something."""
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in text.splitlines() if re.match(r"^\| X\d", line)]
    found = [f"{id}: {sum(row[0] == id for row in rows)} rows" for id in CONFLICTS if sum(row[0] == id for row in rows) != 1]
    for row in rows:
        if row[0] not in CONFLICTS or len(row) != 4 or not all(row):
            found.append(f"{row[0]}: no such id, or the row is broken")
            continue
        names = [name.strip().strip("`") for name in row[3].split(",")]
        found += [f"{row[0]}: no test is called {name}" for name in names if name not in tests]
        found += weak_evidence(row[0], "shown by", names)
    return found


def quoted_ids(text: str) -> set[str]:
    """Returns the ids behind "Shows" in comments of tests."""
    return {id for sentence in re.findall(r"\bShows\b((?:\s*(?://|#)?\s*(?:and\s+)?S\d+\.\d+,?)+)", text)
            for id in re.findall(r"S\d+\.\d+", sentence)}


def test_every_feature_has_one_row_and_a_true_state():
    assert violations(rows_of(text_of("docs/features.md")), existing_tests()) == []


def test_every_contradiction_is_decided():
    assert conflict_violations(text_of("docs/features.md"), existing_tests()) == []


def test_planted_contradictions_are_found():
    good = [f"| {id} | a (S1.1, S1.2) | b | `Toc.IsThere` |" for id in CONFLICTS]
    assert conflict_violations("\n".join(good), {"Toc.IsThere"}) == []
    for row in ("", "| X1 | a | b | `Toc.Gone` |", "| X1 | a | `Toc.IsThere` |", "| X1 | a | b | `tests/qnn/a_test.py::test_a` |"):
        assert conflict_violations("\n".join([row, *good[1:]]), {"Toc.IsThere", *WEAK}), row
    assert conflict_violations("\n".join([*good, "| X10 | a | b | `Toc.IsThere` |"]), {"Toc.IsThere"})


def test_ids_in_tests_exist():
    names = matching(".cc", ".py", under=("tests/",))
    unknown = {name: sorted(quoted_ids(text_of(name)) - set(IDS)) for name in names
               if name != "tests/style/features_test.py"}
    assert {name: ids for name, ids in unknown.items() if ids} == {}


WEAK = {"tests/qnn/a_test.py::test_a", "tests/style/a_test.py::test_a"}
GOOD = [(id, "a feature", "open") for id in IDS]


@pytest.mark.parametrize("rows", [
    GOOD[1:],
    GOOD + GOOD[:1],
    GOOD + [("S1.28", "one too many", "open")],
    [("S1.1", "a feature", "done")] + GOOD[1:],
    [("S1.1", "a feature", "")] + GOOD[1:],
    [("S1.1", "", "open")] + GOOD[1:],
    [("S1.1", "a feature", "declined: no")] + GOOD[1:],
    [("S1.1", "a feature", "shown by `Toc.IsNotThere`")] + GOOD[1:],
    [("S1.1", "a feature", "shown by `Toc.IsThere`, `cli:gone`")] + GOOD[1:],
    [("S1.1", "a feature", "shown by `tests/qnn/a_test.py::test_a`")] + GOOD[1:],
    [("S1.1", "a feature", "shown by `tests/style/a_test.py::test_a`")] + GOOD[1:],
    [("S1.1", "a feature", "shown on request by `Toc.IsThere`")] + GOOD[1:],
    [("S1.1", "a feature", "documented, shown by `tests/style/a_test.py::test_a`, `Toc.IsThere`")] + GOOD[1:],
    [("| S1.1 | broken | open", "", "")] + GOOD[1:],
])
def test_a_planted_violation_is_found(rows):
    assert violations(rows, {"Toc.IsThere", *WEAK})


def test_what_is_allowed_passes():
    rows = [("S1.1", "a feature", "shown by `Toc.IsThere`"), ("S1.2", "b", "declined: because it is not ours to do"),
            ("S1.3", "c", "shown on request by `tests/qnn/a_test.py::test_a`"),
            ("S1.4", "d", "documented, shown by `tests/style/a_test.py::test_a`"),
            ("S1.5", "e", "shown by `Toc.IsThere`, `tests/qnn/a_test.py::test_a`")]
    assert violations(rows + GOOD[5:], {"Toc.IsThere", *WEAK}) == []


def test_tables_and_comments_are_read():
    assert rows_of("| S1.7 | `a\\|b` | open |\n| id | x | y |\n") == [("S1.7", "`a\\|b`", "open")]
    assert rows_of("| S1.7 | open |\n")[0][1] == ""
    assert quoted_ids("// Shows S5.5, S3.70.\n// and S1.1") == {"S5.5", "S3.70"}
    assert GTEST.findall("TEST(Registry, MapsOnce) {\nTEST_F(Big, File) {") == [("Registry", "MapsOnce"), ("Big", "File")]
