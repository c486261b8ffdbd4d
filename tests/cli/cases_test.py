"""The files of cases are read and written without loss; a broken file is refused, and the error names the place."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cases  # noqa: E402

TEXT = """=== first
--- setup
. "$SETUP/model.sh"
echo more

--- run
fatctx info model.fatctx
--- stdout
a line

another
--- exit 2

=== second
--- setup of first
--- run
fatctx info model.fatctx --json
--- stdout json
{"a": 1}
--- stderr
fatctx: a word

=== third
--- run
fatctx info model.fatctx | head -c 3
--- stdout without newline
abc
"""


def test_every_part_of_a_case_is_read():
    first, second, third = cases.parse(TEXT, "info")

    assert (first.name, first.file, first.run) == ("first", "info", "fatctx info model.fatctx\n")
    assert first.setup == '. "$SETUP/model.sh"\necho more\n\n'
    assert (first.stdout, first.stderr, first.exit) == ("a line\n\nanother\n", "", 2)
    assert (second.setup, second.stdout_is_json, second.stderr) == (first.setup, True, "fatctx: a word\n")
    assert (second.exit, third.stdout) == (0, "abc")


def test_what_is_written_is_what_was_read():
    assert cases.to_text(cases.parse(TEXT, "info")) == TEXT


@pytest.mark.parametrize("file", sorted(cases.CASES.glob("*.txt")), ids=lambda file: file.stem)
def test_every_file_of_cases_is_as_it_would_be_written(file):
    assert cases.to_text(cases.load_file(file)) == file.read_text(encoding="utf-8")


def test_no_case_is_there_twice_and_all_are_there():
    known = cases.load_all()

    assert len(known) >= 534
    assert {case.file for case in known} == {file.stem for file in cases.CASES.iterdir()}


@pytest.mark.parametrize("text,complaint", [
    ("words\n", "info.txt:1: text outside of a section"),
    ("=== a\n--- run\nfatctx\n\n=== a\n--- run\nfatctx\n", "two cases have one name"),
    ("=== a\n--- stdout\nwords\n", "a has no `--- run`"),
    ("=== a\n--- run\nfatctx\n--- exit two\n", 'info.txt:4: "two" is not an exit code'),
    ("=== a\n--- setup of b\n--- run\nfatctx\n", "a takes the set-up of b, which has none"),
    ("=== a\n--- where here\n--- run\nfatctx\n", 'info.txt:2: "here" is not a place'),
    ("=== a\n--- run quickly\nfatctx\n", 'info.txt:2: "quickly" is no word of this section'),
])
def test_a_broken_file_is_refused_with_its_place(text, complaint):
    with pytest.raises(cases.Malformed, match=complaint.replace(".", r"\.")):
        cases.parse(text, "info")
