"""Every test is in a folder whose tests are run."""

import re

import pytest

from checkout import files, text_of


def program_folders(cmake: str) -> set[str]:
    return set(re.findall(r"^\s*fatctx_test_program\(\s*([\w/]+)\s*\)", cmake, re.MULTILINE))


def orphaned_tests(names: list[str], folders: set[str]) -> list[str]:
    found = []
    for name in names:
        if name.endswith("_test.cc"):
            folder, _, rest = name.removeprefix("tests/").partition("/")
            room_and_file = rest.split("/")  # tests/LAYER/FILE or tests/LAYER/ROOM/FILE
            if not name.startswith("tests/") or folder not in folders or len(room_and_file) > 2:
                found.append(f"{name}: no fatctx_test_program() of tests/CMakeLists.txt compiles it")
        elif name.endswith("_test.py") and not name.startswith("tests/"):
            found.append(f"{name}: pytest runs what lies in tests/ only")
        elif re.search(r"(^|/)test_[^/]*\.py$", name):
            found.append(f"{name}: name it *_test.py like the others")
    return found


def test_every_test_file_is_run():
    names = files()
    folders = program_folders(text_of("tests/CMakeLists.txt"))
    assert folders, "tests/CMakeLists.txt names no test program"
    assert any(name.endswith("_test.cc") for name in names)
    assert orphaned_tests(names, folders) == []


def test_every_file_with_tests_in_it_is_named_as_one():
    strays = [name for name in files() if name.endswith(".cc") and not name.endswith("_test.cc")
              and re.search(r"^(TEST|TEST_F|TEST_P|TYPED_TEST)\(", text_of(name), re.MULTILINE)]
    assert strays == []


@pytest.mark.parametrize("name", ["tests/lost/toc_test.cc", "src/container/toc_test.cc", "tests/toc_test.cc",
                                  "tests/container/read/deep/toc_test.cc", "scripts/thing_test.py",
                                  "tests/python/test_thing.py"])
def test_a_planted_orphan_is_found(name):
    assert orphaned_tests([name], {"container"})


def test_the_programs_are_read_from_the_build_file():
    assert program_folders("function(fatctx_test_program name)\nfatctx_test_program(base)\n") == {"base"}
