#!/usr/bin/env python3
"""Breaks the commit protocol in every way of tests/crash/mutants and expects the test named there to fail.

Works on a copy of the checkout. Each patch is applied alone to the shipped sources; the one test program that it names
is built and run. A mutant whose test passes has survived: the test, or the crash model under it, does not see it.

    scripts/protocol_mutants.py [--build FOLDER] [--only TEXT] [--states N] [--list]

Takes about ten minutes on two processors. Exit status: 0 all caught, 1 survivors, 2 it could not be tried.
"""

import argparse
import dataclasses
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATCHES = ROOT / "tests/crash/mutants"
COPIED = ["CMakeLists.txt", "cmake", "data", "docs", "include", "samples", "src", "tests"]
TIMEOUT_S = 300


class CannotTry(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    patch: Path
    breaks: str
    program: str
    tests: str  # a filter of googletest

    @staticmethod
    def read(patch: Path) -> "Mutant":
        head = re.match(r"Breaks: (.+)\nCaught by: (\w+_tests) (\S+)\n\n--- a/", patch.read_text())
        if not head:
            raise CannotTry(f"{patch.name}: begins with \"Breaks: WHAT\", \"Caught by: PROGRAM FILTER\" and an empty line")
        return Mutant(patch.stem, patch, *head.groups())


def mutants() -> list[Mutant]:
    return [Mutant.read(patch) for patch in sorted(PATCHES.glob("*.patch"))]


def patch(copy: Path, mutant: Mutant, *options: str) -> None:
    done = subprocess.run(["patch", "-p1", "--fuzz=0", "--batch", "--silent", "--no-backup-if-mismatch", *options,
                           "-i", mutant.patch], cwd=copy, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise CannotTry(f"{mutant.name}: the patch does not apply any more\n{done.stdout}")


def files_of(root: Path) -> dict[Path, Path]:
    """Returns the files that a build needs: path below the root, and real path."""
    found = [file for name in COPIED for file in ((root / name).rglob("*") if (root / name).is_dir() else [root / name])]
    return {file.relative_to(root): file for file in found if file.is_file() and "__pycache__" not in file.parts}


def copy_checkout(copy: Path) -> None:
    """Copies only files that differ, so that equal ones are not built again. A copied file gets the current time,
    because an object in the build folder may be that of a mutant."""
    wanted, there = files_of(ROOT), files_of(copy)
    for gone in there.keys() - wanted.keys():
        there[gone].unlink()
    for name, source in wanted.items():
        target = copy / name
        if name in there and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        target.chmod(source.stat().st_mode)


class Build:
    def __init__(self, folder: Path, states: int):
        self.copy, self.tree = folder / "copy", folder / "build"
        self.states = states
        copy_checkout(self.copy)
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self._run(["cmake", "-S", self.copy, "-B", self.tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                   "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g0", "-DFATCTX_WERROR=OFF", "-DFATCTX_BUILD_TOOLS=OFF",
                   "-DFATCTX_BUILD_BENCH=OFF", *launcher])

    @staticmethod
    def _run(command: list) -> None:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise CannotTry(done.stdout[-4000:])

    def passes(self, program: str, tests: str) -> bool:
        """Returns true if the tests pass. A crash or a run without end is a failure like any other. Raises CannotTry
        if the filter matches no test."""
        self._run(["ninja", "-C", self.tree, program])
        environment = {**os.environ, "FATCTX_CRASH_STATES": str(self.states), "FATCTX_CRASH_SEED": "1"}
        try:
            done = subprocess.run([self.tree / "tests" / program, f"--gtest_filter={tests}", "--gtest_brief=1"],
                                  env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            return False
        if b"Running 0 tests" in done.stdout or b"PASSED  ] 0 tests" in done.stdout and done.returncode == 0:
            raise CannotTry(f"{program}: no test is named {tests}")
        return done.returncode == 0


def try_all(chosen: list[Mutant], build: Build) -> list[Mutant]:
    for program, tests in sorted({(mutant.program, mutant.tests) for mutant in chosen}):
        if not build.passes(program, tests):
            raise CannotTry(f"{program} {tests} fails although nothing is broken")
    survivors = []
    for mutant in chosen:
        started = time.monotonic()
        patch(build.copy, mutant)
        try:
            survived = build.passes(mutant.program, mutant.tests)
        finally:
            patch(build.copy, mutant, "--reverse")
        if survived:
            survivors.append(mutant)
        print(f"{'SURVIVED' if survived else 'caught':8}  {mutant.name:32} by {mutant.program} {mutant.tests}"
              f"  {time.monotonic() - started:.0f} s", flush=True)
    return survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, help="keep the copy and its build here (default: a temporary folder)")
    parser.add_argument("--only", default="", help="try only the mutants whose name holds this text")
    parser.add_argument("--states", type=int, default=100_000, help="crash states that the model explores (%(default)s)")
    parser.add_argument("--list", action="store_true", help="say what there is and try nothing")
    arguments = parser.parse_args()
    try:
        chosen = [mutant for mutant in mutants() if arguments.only in mutant.name]
        if not chosen:
            raise CannotTry(f"no mutant's name holds \"{arguments.only}\"")
        if arguments.list:
            for mutant in chosen:
                print(f"{mutant.name:32} {mutant.breaks}")
            return 0
        with tempfile.TemporaryDirectory() as temporary:
            survivors = try_all(chosen, Build((arguments.build or Path(temporary)).resolve(), arguments.states))
    except CannotTry as reason:
        print(f"protocol_mutants: {reason}", file=sys.stderr)
        return 2
    print(f"{len(chosen)} mutants, {len(chosen) - len(survivors)} caught, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
