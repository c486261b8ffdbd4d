#!/usr/bin/env python3
"""Runs the cases of the command line: each folder of tests/cli/cases is one.

A case holds
  cmd      one shell line; `fatctx` is the built program
  setup    (optional) shell lines that make the input; they stop at the first failure. `. "$SETUP/model.sh"` runs a
           file of tests/cli/setup, for input that several cases use
  stdout   what the command prints; or stdout.json, which is compared as JSON and not as text
  stderr   what it says
  exit     its exit code

Both run in one fresh folder, with an environment of their own. In an expected text `{{*}}` stands for any text within
a line and `{{**}}` for any text; in expected JSON, a string "{{*}}" stands for any value. --update writes what was
printed, except where the expectation already matches, so that placeholders stay.
"""

import argparse
import concurrent.futures
import dataclasses
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE / "cases"
PLACEHOLDERS = {"{{*}}": "[^\n]*", "{{**}}": "(?s:.*)"}
TIMEOUT_S = 60


@dataclasses.dataclass
class Run:
    stdout: str
    stderr: str
    exit: str


def shell(script: str, folder: str, program: pathlib.Path) -> subprocess.CompletedProcess:
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": folder, "TMPDIR": folder,
                   "LC_ALL": "C.UTF-8", "TZ": "UTC", "SETUP": str(HERE / "setup"), "PYTHON": sys.executable}
    for name, value in os.environ.items():
        if name.endswith("SAN_OPTIONS"):  # how a sanitizer build behaves is the caller's business
            environment[name] = value
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT_S, check=False)


def run_case(case: pathlib.Path, program: pathlib.Path) -> Run:
    folder = tempfile.mkdtemp(prefix="fatctx-case-")
    try:
        setup = case / "setup"
        if setup.is_file():
            made = shell("set -euo pipefail\n" + setup.read_text(), folder, program)
            if made.returncode != 0:
                raise RuntimeError(f"setup failed with {made.returncode}:\n{made.stderr.decode(errors='replace')}")
        done = shell((case / "cmd").read_text(), folder, program)
    finally:
        subprocess.run(["chmod", "-R", "u+w", folder], check=False)  # sealed files and folders without permissions
        shutil.rmtree(folder, ignore_errors=True)
    return Run(done.stdout.decode(errors="backslashreplace"), done.stderr.decode(errors="backslashreplace"),
               f"{done.returncode}\n")


def text_matches(expected: str, found: str) -> bool:
    parts = re.split(r"(\{\{\*\*?\}\})", expected)
    return re.fullmatch("".join(PLACEHOLDERS.get(part) or re.escape(part) for part in parts), found) is not None


def json_matches(expected, found) -> bool:
    if isinstance(expected, str):
        if expected in PLACEHOLDERS:
            return True
        return isinstance(found, str) and text_matches(expected, found)
    if isinstance(expected, dict):
        return (isinstance(found, dict) and expected.keys() == found.keys()
                and all(json_matches(value, found[key]) for key, value in expected.items()))
    if isinstance(expected, list):
        return (isinstance(found, list) and len(expected) == len(found)
                and all(json_matches(*pair) for pair in zip(expected, found)))
    return type(expected) is type(found) and expected == found


def matches(file: pathlib.Path, expected: str, found: str) -> bool:
    if file.suffix != ".json":
        return text_matches(expected, found)
    try:
        return json_matches(json.loads(expected), json.loads(found))
    except ValueError:
        return False


def expectations(case: pathlib.Path, run: Run) -> list[tuple[pathlib.Path, str]]:
    stdout = case / ("stdout.json" if (case / "stdout.json").exists() else "stdout")
    return [(stdout, run.stdout), (case / "stderr", run.stderr), (case / "exit", run.exit)]


def check(case: pathlib.Path, program: pathlib.Path, update: bool) -> str:
    """The complaint about a case; empty if it is as expected."""
    try:
        run = run_case(case, program)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        return str(error)
    if int(run.exit) < 0:
        return f"ended by signal {-int(run.exit)}\n{run.stderr}"
    complaints = []
    for file, found in expectations(case, run):
        expected = file.read_text() if file.exists() else ""
        if file.exists() and matches(file, expected, found):
            continue
        if update:
            file.write_text(found)
            print(f"{case.name}/{file.name} written")
            continue
        if not file.exists():
            complaints.append(f"{file.name} is missing\n")
        complaints.append("".join(difflib.unified_diff(
            expected.splitlines(True), found.splitlines(True), f"{file.name} expected", f"{file.name} found")))
    return "\n".join(complaints)


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the cases of the command line.")
    parser.add_argument("program", type=pathlib.Path, help="the built fatctx")
    parser.add_argument("cases", nargs="*", help="names of cases; default: all")
    parser.add_argument("--update", action="store_true", help="write what was printed as the new expectation")
    arguments = parser.parse_intermixed_args()
    program = arguments.program.resolve()
    if program.name != "fatctx" or not os.access(program, os.X_OK):
        print(f"{program} is not the built program fatctx", file=sys.stderr)
        return 2
    cases = sorted(case for case in CASES.iterdir() if case.is_dir())
    unknown = set(arguments.cases) - {case.name for case in cases}
    if unknown:
        print(f"no such case: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    if arguments.cases:
        cases = [case for case in cases if case.name in arguments.cases]
    if not cases:
        print("there are no cases", file=sys.stderr)
        return 1

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = pool.map(lambda case: check(case, program, arguments.update), cases)
        for case, complaint in zip(cases, complaints):
            if complaint:
                failed += 1
                print(f"FAILED {case.name}: {(case / 'cmd').read_text().strip()}\n{complaint}")
    print(f"{len(cases) - failed} of {len(cases)} cases passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
