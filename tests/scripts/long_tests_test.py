"""tests/long_tests.txt: every line is a test that there is, in order, so that no renamed test comes back unnoticed."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEST = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
ADDED = re.compile(r"add_test\(NAME (\S+)")


def test_every_line_begins_a_name():
    lines = [line for line in (ROOT / "tests" / "long_tests.txt").read_text().splitlines() if line and not line.startswith("#")]
    tests = {f"{suite}.{name}" for path in (ROOT / "tests").rglob("*_test.cc") for suite, name in TEST.findall(path.read_text())}
    tests |= {name for path in (ROOT / "tests").rglob("CMakeLists.txt") for name in ADDED.findall(path.read_text())}

    assert lines == sorted(set(lines)) and len(lines) > 10
    assert [line for line in lines if not any(name.startswith(line.rpartition("/")[2]) for name in tests)] == []
