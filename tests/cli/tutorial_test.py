"""The commands of docs/tutorial.md run in order, in a folder of their own, and print what the page shows.

A line `...` of the page stands for any lines, and `...` within a line for any text of that line. Blocks of Python run as
doctests, each in a process of its own.
"""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
BUILD = Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
TIMEOUT_S = 300
DOCTEST = "import doctest, sys; sys.exit(doctest.testfile(sys.argv[1], False, optionflags=doctest.ELLIPSIS)[0] > 0)"


@dataclasses.dataclass
class Step:
    command: str
    answer: str


def steps_of(page: str) -> list[Step]:
    """Returns every command of the page in order; a block of Python is one command."""
    found = []
    for kind, block in re.findall(r"^```(console|pycon)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        if kind == "pycon":
            found.append(Step(f"python -c '{DOCTEST}' /dev/stdin <<'BLOCK'\n{block}BLOCK\n", ""))
            continue
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command = re.match(r"(?:.*\\\n)*.*\n", part).group()
            found.append(Step(command, part[len(command):]))
    return found


def matches(expected: str, found: str) -> bool:
    pattern = ""
    for line in expected.splitlines():
        pattern += r"(?:.*\n)*" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
    return re.fullmatch(pattern, found) is not None


def missing() -> str:
    """Returns the parts that this machine lacks to run the page; empty if it lacks none."""
    tools = Path(sys.prefix) / "bin"
    for file, remedy in ((BUILD / "tools" / "fatctx", "scripts/build.sh"), (tools / "iree-compile", "scripts/setup.sh"),
                         (tools / "iree-import-onnx", "scripts/setup.sh")):
        if not os.access(file, os.X_OK):
            return f"{file.name} is not here; {remedy} makes it"
    modules = "import fatctx, iree.runtime, numpy, onnx, onnxruntime"
    if subprocess.run([sys.executable, "-c", modules], cwd=BUILD, capture_output=True, timeout=TIMEOUT_S).returncode != 0:
        return f"this Python cannot do `{modules}`; scripts/build.sh makes the environment"
    return ""


def checkout_in(folder: Path) -> Path:
    """Makes a folder that looks like a checkout; the page writes only below its build/."""
    (folder / "build").mkdir()
    for name, target in (("build/release", BUILD), (".venv", sys.prefix), ("samples", ROOT / "samples")):
        (folder / name).symlink_to(target)
    return folder


def run(steps: list[Step], folder: Path) -> subprocess.CompletedProcess:
    """Runs all steps in one shell. The output of step N goes to N.out. An exit code other than 0 ends the shell."""
    script = "".join(f"{{\n{step.command}}} >'{folder}/{number}.out' 2>&1 || exit\n" for number, step in enumerate(steps))
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "FATCTX_", "PYTHON"))}
    return subprocess.run(["bash", "-c", script], cwd=checkout_in(folder), timeout=TIMEOUT_S, check=False,
                          stdin=subprocess.DEVNULL, env={**environment, "HOME": str(folder), "LC_ALL": "C.UTF-8"})


def test_the_page_can_be_followed(tmp_path):
    if reason := missing():
        pytest.skip(reason)
    steps = steps_of(PAGE.read_text(encoding="utf-8"))
    assert len(steps) >= 15

    code = run(steps, tmp_path).returncode

    printed = [file.read_text() for number in range(len(steps)) if (file := tmp_path / f"{number}.out").exists()]
    assert code == 0, f"{steps[len(printed) - 1].command}: exit {code}\n{printed[-1]}"
    for step, answer in zip(steps, printed, strict=True):
        assert matches(step.answer, answer), f"{step.command}: the page shows\n{step.answer}\nbut it printed\n{answer}"


def test_commands_and_blocks_of_python_are_found_in_order():
    page = "x\n```console\n$ one \\\n    more\nsaid\n$ two\n```\n```\nnot this\n```\n```pycon\n>>> 1\n1\n```\n"

    steps = steps_of(page)

    assert [(step.command.split("\n")[0], step.answer) for step in steps[:2]] == [("one \\", "said\n"), ("two", "")]
    assert len(steps) == 3 and ">>> 1\n1\n" in steps[2].command


@pytest.mark.parametrize("expected, found, same", [
    ("a\n...\nd\n", "a\nb\nc\nd\n", True),
    ("a\n...\nd\n", "a\nd\n", True),
    ("size ... bytes\n", "size 12 bytes\n", True),
    ("size ... bytes\n", "size 12\nbytes\n", False),
    ("a\n", "a\nb\n", False),
    ("", "a\n", False),
])
def test_dots_stand_for_what_the_page_leaves_out(expected, found, same):
    assert matches(expected, found) is same


@pytest.mark.parametrize("command", ["false", "python -c '" + DOCTEST + "' /dev/stdin <<'BLOCK'\n>>> 1 + 1\n3\nBLOCK"])
def test_a_step_that_fails_ends_the_run(tmp_path, command):
    steps = [Step(f"PATH={Path(sys.prefix) / 'bin'}:$PATH\n", ""), Step(command + "\n", ""), Step("echo on\n", "on\n")]

    assert run(steps, tmp_path).returncode != 0
    assert not (tmp_path / "2.out").exists()
