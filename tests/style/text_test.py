"""Text that no file of the project may contain: paths of a developer's machine, registry hosts, banners, unfinished
parts."""

import re

import pytest

from checkout import cxx_files, files, text_of

BINARY = (".fatctx", ".irpa", ".vmfb", ".onnx", ".png", ".bin", ".gz", ".ico")
SELF = "tests/style/text_test.py"  # this file must contain the banned text

# Hosts from which packages come. A file names packages, but never the place that a machine gets them from.
HOSTS = r"(?:files\.)?pythonhosted\.org|pypi\.org|pypi\.python\.org|registry\.npmjs\.org|crates\.io" \
        r"|conda\.anaconda\.org|deb\.debian\.org|security\.debian\.org|snapshot\.debian\.org|archive\.ubuntu\.com" \
        r"|proxy\.golang\.org|repo\.maven\.apache\.org|rubygems\.org"

FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w./$}{-])/(?:work|root|home/\w+|Users/\w+|tmp/exp|tmp/\w+/)(?![\w-])"),
    "a package-registry host": re.compile(HOSTS),
    "a banner": re.compile(r"[\u2013\u2014\u2500\u2550]{2,}|^\s*(?://|#)\s*[-=*#~_]{6,}", re.MULTILINE),
    "a loose end": re.compile(r"\b(?:TODO(?!\(#\d+\): )|FIXME|HACK)\b"),
}
VAGUE_NAME = re.compile(r"(?:^|[/_.-])(?:utils?|common|managers?|misc|helpers?)(?=[._/-])", re.IGNORECASE)


def violations(name: str, text: str) -> list[str]:
    return [f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {what}: {m.group().strip()!r}"
            for what, pattern in FORBIDDEN.items() for m in pattern.finditer(text)]


def whitespace_violations(name: str, text: str) -> list[str]:
    found = [f"{name}:{number}: blank at the end of the line"
             for number, line in enumerate(text.split("\n"), 1) if line != line.rstrip()]
    if text and not text.endswith("\n"):
        found.append(f"{name}: no line end at the end of the file")
    if "\r" in text:
        found.append(f"{name}: carriage return")
    return found


def starts_with_a_comment(text: str) -> bool:
    return re.match(r"// \S.{15,}", text) is not None


def texts() -> list[tuple[str, str]]:
    found = []
    for name in files():
        if name.endswith(BINARY) or name.startswith(("tests/golden/", "tests/fuzz/")):
            continue
        try:
            found.append((name, text_of(name)))
        except UnicodeDecodeError:
            raise AssertionError(f"{name}: not UTF-8 text; list its ending in BINARY if it is meant to be binary")
    return found


def test_no_file_says_what_it_must_not():
    assert [bad for name, text in texts() if name != SELF for bad in violations(name, text)] == []


def test_lines_end_cleanly():
    checked = [(name, text) for name, text in texts() if not name.startswith("tests/cli/cases/")]
    assert [bad for name, text in checked for bad in whitespace_violations(name, text)] == []


def test_names_say_what_a_file_is_about():
    assert [name for name in files() if VAGUE_NAME.search(name)] == []


def test_every_public_header_says_what_it_is_for():
    headers = cxx_files("include/")
    assert len(headers) >= 10
    assert [name for name in headers if not starts_with_a_comment(text_of(name))] == []


@pytest.mark.parametrize("text", [
    "see /work/main/src", "cache in /tmp/exp/w", "in /root/.cache", "open('/home/alice/x')", 'cd "/Users/bob/x"',
    "pip install --index-url https://pypi.org/simple x", "deb http://deb.debian.org/debian bookworm main",
    "// ------------------------------", "# ======= part two", "───────────── ", "——————",
    "// TODO: later", "// TODO(me): later", "// FIXME it",
])
def test_a_planted_phrase_is_found(text):
    assert violations("docs/x.md", text + "\n")


@pytest.mark.parametrize("text", [
    "a / b", "build/work/x", "TODO(#12): append", "| --- | --- |", "--help", "x -- y", "`/proc/self/maps`",
    "|---|---|", "network", "/tmp is a folder", "docs/work/x", "// - a list item", "${HOME}/work",
])
def test_what_is_allowed_passes(text):
    assert violations("docs/x.md", text + "\n") == []


def test_planted_names_and_line_ends_are_found():
    for name in ("src/base/utils.h", "src/common.cc", "src/runtime/map_manager.h", "tools/helpers/x.py"):
        assert VAGUE_NAME.search(name)
    for name in ("src/base/error.h", "docs/uncommon.md", "src/runtime/open/registry.cc"):
        assert not VAGUE_NAME.search(name)
    assert whitespace_violations("x", "a \n") and whitespace_violations("x", "a") and whitespace_violations("x", "a\r\n")
    assert not starts_with_a_comment("#pragma once\n") and not starts_with_a_comment("// x.h\n")
