"""scripts/tidy.py checks the files that a generated unit includes, and with --changed only those that differ from
main."""

import importlib.util
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def tidy(tmp_path, monkeypatch):
    """Loads the script as a module, in an empty checkout of its own."""
    specification = importlib.util.spec_from_file_location("tidy", ROOT / "scripts" / "tidy.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    for name, text in {"src/a.cc": '#include "a.h"\n', "src/a.h": "// a\n", "src/b.cc": "// b\n"}.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    unit = tmp_path / "build" / "unit_0.cxx"
    unit.parent.mkdir()
    unit.write_text(f'/* generated */\n\n#include "{tmp_path}/src/a.cc"\n\n#include "{tmp_path}/src/b.cc"\n')
    monkeypatch.chdir(tmp_path)
    return module


def git(*words):
    environment = os.environ | {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
                                "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", *words], check=True, capture_output=True, env=environment)


def test_a_unit_stands_for_the_files_that_it_includes(tidy):
    assert tidy.files_in("build/unit_0.cxx") == ("src/a.cc", "src/b.cc")
    assert tidy.files_in("src/a.cc") == ("src/a.cc",)
    assert tidy.is_chosen(tidy.files_in("build/unit_0.cxx"), ("src/",))
    assert not tidy.is_chosen(tidy.files_in("build/unit_0.cxx"), ("tools/",))


def test_a_unit_is_read_again_when_a_header_of_one_of_its_files_changes(tidy):
    before = tidy.key_of("build/unit_0.cxx", "clang++", b"")
    assert {"src/a.cc", "src/a.h", "src/b.cc"} <= tidy.reached_from("build/unit_0.cxx")
    Path("src/a.h").write_text("// another\n")
    tidy.content_hash.cache_clear()

    assert tidy.key_of("build/unit_0.cxx", "clang++", b"") != before


def test_changed_files_are_those_since_main_was_left(tidy):
    git("init", "-q", "-b", "main")
    git("add", "src")
    git("commit", "-q", "-m", "first")
    Path("src/b.cc").write_text("// changed on main, not committed\n")
    assert tidy.changed_files() & {"src/a.h", "src/b.cc"} == {"src/b.cc"}

    git("checkout", "-q", "-b", "branch")
    git("commit", "-q", "-a", "-m", "second")
    Path("src/new.cc").write_text("// new\n")
    assert tidy.changed_files() & {"src/a.h", "src/b.cc", "src/new.cc"} == {"src/b.cc", "src/new.cc"}
