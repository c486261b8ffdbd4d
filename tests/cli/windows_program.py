"""Runs the command for Windows as if it were the one of this system: under Wine, with the words of this system.

A case expects what the command prints on Linux. Its text matches on Windows, too, if only separators, drives and the
system's own words differ. tests/windows/not_here.txt lists the cases that cannot hold there.
"""

import os
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOT_HERE = ROOT / "tests/windows/not_here.txt"

# The system's words for what went wrong, under Wine and on Windows itself.
SYSTEM_WORDS = {
    "No such file or directory": ("File not found", "Path not found", "The system cannot find the file specified",
                                  "The system cannot find the path specified"),
    "File exists": ("File already exists", "Cannot create a file when that file already exists"),
    "Permission denied": ("Access denied", "Access is denied"),
    "ext4": ("ntfs",),
}


def cases_not_here() -> dict[str, str]:
    """Returns the reason for each case that is left out."""
    rows = (line.split(maxsplit=2) for line in NOT_HERE.read_text(encoding="utf-8").splitlines())
    return {row[1]: row[2] for row in rows if len(row) == 3 and row[0] == "case"}


def write_wrapper(program: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Writes a program `fatctx` that starts the one for Windows, and returns its path."""
    wrapper = folder / "fatctx"
    wine = {name: value for name, value in os.environ.items() if name.startswith("WINE") or name == "DISPLAY"}
    settings = "export TMPDIR=/tmp\n" + "".join(f"export {name}={shlex.quote(value)}\n" for name, value in wine.items())
    wrapper.write_text(f"#!/bin/sh\n{settings}exec wine {shlex.quote(str(program))} \"$@\"\n", encoding="utf-8")
    wrapper.chmod(0o755)
    return wrapper


def as_here(value):
    """Returns a text, or the texts of a JSON value, with separators and words as Linux has them."""
    if isinstance(value, dict):
        return {name: as_here(part) for name, part in value.items()}
    if isinstance(value, list):
        return [as_here(part) for part in value]
    if not isinstance(value, str):
        return value
    for here, there in SYSTEM_WORDS.items():
        for words in there:
            value = value.replace(words, here)
    value = re.sub(r"system error \d+", "system error", value)  # other numbers for the same
    return re.sub(r"(?<![A-Za-z])[A-Z]:/", "/", value.replace("\\", "/"))
