"""The floor that the bench `sharing` compares sizes with is computed from content, and only from a complete list."""

import pathlib
import subprocess
import sys

import pytest

FLOOR = pathlib.Path(__file__).resolve().parents[2] / "bench" / "sharing" / "floor.py"


def run(*lists):
    return subprocess.run([sys.executable, str(FLOOR), *map(str, lists)], capture_output=True, text=True, check=False)


@pytest.fixture
def listed(tmp_path):
    """Writes files and a list of their parts, given as {file: [part, ...]}."""
    def write(files, skip=None, more=""):
        lines = []
        for name, parts in files.items():
            (tmp_path / name).write_bytes(b"".join(parts))
            at = 0
            for part in parts:
                if part != skip:
                    lines.append(f"{tmp_path / name}\t{at}\t{len(part)}\n")
                at += len(part)
        made = tmp_path / "list"
        made.write_text("".join(lines) + more.format(folder=tmp_path))
        return made
    return write


def test_equal_parts_count_once_wherever_they_stand(listed):
    a, b, c = b"a" * 5000, b"b" * 3000, b"c" * 100

    result = run(listed({"one": [a, b], "two": [c, b, a]}))

    assert result.stdout.split()[0] == str(5000 + 3000 + 100)


def test_pages_count_once_too(listed):
    page, other = bytes(range(256)) * 16, b"x" * 4096

    result = run(listed({"one": [page, other, page], "two": [page, b"tail"]}))

    assert result.stdout.split()[1] == str(4096 + 4096 + 4)


def test_every_list_has_its_line(listed):
    made = listed({"one": [b"abc"]})

    assert run(made, made).stdout == "3 3\n3 3\n"


@pytest.mark.parametrize("skip", [b"first", b"second", b"last"])
def test_a_list_with_a_hole_is_refused(listed, skip):
    result = run(listed({"one": [b"first", b"second", b"last"]}, skip=skip))

    assert result.returncode == 1
    assert "one" in result.stderr and result.stdout == ""


def test_a_list_with_an_overlap_is_refused(listed):
    result = run(listed({"one": [b"first", b"second"]}, more="{folder}/one\t2\t9\n"))

    assert result.returncode == 1
    assert "expected to begin at" in result.stderr


def test_a_file_that_is_not_there_is_named(tmp_path):
    result = run(tmp_path / "no-list")

    assert result.returncode == 1
    assert "no-list" in result.stderr


def test_it_asks_for_a_list():
    assert run().returncode == 2
