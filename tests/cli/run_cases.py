#!/usr/bin/env python3
"""Runs the cases of the command line: tests/cli/cases/*.txt, whose form cases.py describes.

Set-up and command of a case run in one new folder, with an environment of their own. --update writes the printed
text as the new expectation, except where the expectation already matches, so that placeholders stay.
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

import cases as case_files
import windows_program
from cases import Case

HERE = pathlib.Path(__file__).resolve().parent
PLACEHOLDERS = {"{{*}}": "[^\n]*", "{{**}}": "(?s:.*)"}
TIMEOUT_S = 60


@dataclasses.dataclass
class Run:
    stdout: str
    stderr: str
    exit: int


def shell(script: str, folder: str, program: pathlib.Path) -> subprocess.CompletedProcess:
    environment = {"PATH": f"{program.parent}:/usr/bin:/bin", "HOME": folder, "TMPDIR": folder,
                   "LC_ALL": "C.UTF-8", "TZ": "UTC", "SETUP": str(HERE / "setup"), "PYTHON": sys.executable}
    for name, value in os.environ.items():
        if name.endswith("SAN_OPTIONS"):  # the caller chooses the behavior of a sanitizer build
            environment[name] = value
    return subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=TIMEOUT_S, check=False)


def run_case(case: Case, program: pathlib.Path) -> Run:
    folder = tempfile.mkdtemp(prefix="fatctx-case-")
    try:
        if case.setup:
            made = shell("set -euo pipefail\n" + case.setup, folder, program)
            if made.returncode != 0:
                raise RuntimeError(f"setup failed with {made.returncode}:\n{made.stderr.decode(errors='replace')}")
        done = shell(case.run, folder, program)
    finally:
        subprocess.run(["chmod", "-R", "u+w", folder], check=False)  # sealed files and folders without permissions
        shutil.rmtree(folder, ignore_errors=True)
    return Run(done.stdout.decode(errors="backslashreplace"), done.stderr.decode(errors="backslashreplace"),
               done.returncode)


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


def matches(is_json: bool, expected: str, found: str, is_windows: bool = False) -> bool:
    same = windows_program.as_here if is_windows else lambda value: value
    if not is_json:
        return text_matches(expected, found) or text_matches(same(expected), same(found))
    try:
        return json_matches(same(json.loads(expected)), same(json.loads(found)))
    except ValueError:
        return False


def runs_here(case: Case, program: pathlib.Path) -> bool:
    """Returns false for a case of a build with the page of `report` if this one has none, and the other way round."""
    places = ("../share/fatctx/report.html", "../../../js/build/report.html")  # as the command looks for it
    has_page = any((program.parent / place).is_file() for place in places)
    return not case.where or (case.where == "page") == has_page


def check(case: Case, program: pathlib.Path, update: bool, is_windows: bool) -> tuple[str, bool]:
    """Runs a case. Returns the complaint, empty if the case passes, and true if the case was updated."""
    try:
        run = run_case(case, program)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        return str(error), False
    if run.exit < 0:
        return f"ended by signal {-run.exit}\n{run.stderr}", False
    complaints, updated = [], False
    for part, is_json in (("stdout", case.stdout_is_json), ("stderr", False)):
        expected, found = getattr(case, part), getattr(run, part)
        if matches(is_json, expected, found, is_windows):
            continue
        if update:
            setattr(case, part, found)
            updated = True
        else:
            complaints.append("".join(difflib.unified_diff(
                expected.splitlines(True), found.splitlines(True), f"{part} expected", f"{part} found")))
    if run.exit != case.exit:
        if update:
            case.exit, updated = run.exit, True
        else:
            complaints.append(f"exit code {case.exit} expected, {run.exit} found\n")
    return "\n".join(complaints), updated


def main() -> int:
    parser = argparse.ArgumentParser(description="Runs the cases of the command line.")
    parser.add_argument("program", type=pathlib.Path, help="the built fatctx")
    parser.add_argument("cases", nargs="*", help="names of cases or of files of cases; default: all")
    parser.add_argument("--update", action="store_true", help="write what was printed as the new expectation")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each Nth case, for slow machines")
    parser.add_argument("--without", action="append", default=[], metavar="CASE", help="not this case; may be given again")
    arguments = parser.parse_intermixed_args()
    program = arguments.program.resolve()
    is_windows = program.name == "fatctx.exe"
    if program.name not in ("fatctx", "fatctx.exe") or not os.access(program, os.X_OK):
        print(f"{program} is not the built program fatctx", file=sys.stderr)
        return 2
    left_out = windows_program.cases_not_here() if is_windows else {}
    left_out |= dict.fromkeys(arguments.without, "left out by --without")
    try:
        known = case_files.load_all()
    except case_files.Malformed as error:
        print(error, file=sys.stderr)
        return 2
    # A name is that of a case, or of a file for all of its cases.
    unknown = (set(arguments.cases) | set(left_out)) - {case.name for case in known} - {case.file for case in known}
    if unknown:
        print(f"no such case: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    cases = [case for case in known if not arguments.cases or {case.name, case.file} & set(arguments.cases)]
    cases = [case for case in cases if runs_here(case, program)][::arguments.every]
    if not cases:
        print("there are no cases", file=sys.stderr)
        return 1

    skipped = [case.name for case in cases if case.name in left_out]
    for name in skipped:
        print(f"skipped: {name}: {left_out[name]}")
    cases = [case for case in cases if case.name not in left_out]
    folder = tempfile.mkdtemp(prefix="fatctx-program-")
    try:
        if is_windows:
            program = windows_program.write_wrapper(program, pathlib.Path(folder))
        return run_all(cases, known, program, arguments.update, is_windows)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_all(cases: list[Case], known: list[Case], program: pathlib.Path, update: bool, is_windows: bool) -> int:
    failed, to_write = 0, set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda case: check(case, program, update, is_windows), cases)
        for case, (complaint, updated) in zip(cases, results):
            if updated:
                to_write.add(case.file)
                print(f"{case.file}.txt: {case.name} updated")
            if complaint:
                failed += 1
                print(f"FAILED {case.name} ({case.file}.txt): {case.run.strip()}\n{complaint}")
    for file in sorted(to_write):
        case_files.save_file(file, [case for case in known if case.file == file])
    print(f"{len(cases) - failed} of {len(cases)} cases passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
