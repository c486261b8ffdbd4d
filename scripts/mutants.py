#!/usr/bin/env python3
"""Breaks the writers, the registry, the views and the checks of readers at every place in turn and expects a test to fail.

Works on a copy of the checkout. There each place that can be broken gets a number and a switch: a check whose error is
ignored, a statement left out, a condition negated, a comparison that takes one value more or less, a number off by one.
Readers get a switch at each place that refuses bytes.
The tests are built once. Each test is run once by itself without a mutant: that tells at which places a mutant would
matter to it, and how long it takes. Then each mutant is tried with those tests. The test that caught it in an earlier
run comes first (tests/mutants/caught_by.tsv), then those that caught its neighbours, then quick ones, many in one
process. A test that fails is run once more by itself, because it counts only if it fails again. Mutants that no quick
test notices are tried with the slow tests in groups: if a test passes with many mutants at once, it notices none of
them. A mutant that no test notices is a survivor: it needs a test, or a row with the reason in
tests/mutants/survivors.txt.

    scripts/mutants.py [--build FOLDER] [--only TEXT] [--sample N [--seed S]] [--jobs N] [--minutes N] [--keep]
                              [--listed] [--record] [--list | --report]

FOLDER/results.tsv keeps every result at once, so that a run which was stopped goes on where it was. Results count until
a source or a test changes. With --keep mutants that were caught stay caught, and survivors are tried again.
Listed mutants are tried with the slow tests only if --listed is given.
--record writes which test caught which mutant to tests/mutants/caught_by.tsv. The next run begins with that test.
Exit status: 0 no survivor without a reason, 1 survivors, 2 it could not be tried, 3 --minutes were over before the end.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import itertools
import json
import os
import pickle
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from mutant_switches import MOST_PLACES, SWITCH, SWITCH_HEADER, CannotTry, Edit, Mutant, blanked, edits_of, mutate
from refusals import refusal_pattern, refusals_of

ROOT = Path(__file__).resolve().parent.parent
SURVIVORS = ROOT / "tests/mutants/survivors.txt"
CAUGHT_BY = ROOT / "tests/mutants/caught_by.tsv"
WRITERS = ["src/container/edit", "src/container/write", "src/runtime/open", "src/runtime/view"]
READERS = [f"src/container/{room}" for room in ("check", "dlc", "fetch", "format", "import", "read", "update")]
FILES = [str(path.relative_to(ROOT)) for folder in [*WRITERS, *READERS] for path in sorted((ROOT / folder).glob("*.cc"))]
REFUSAL = refusal_pattern(path for folder in READERS for suffix in ("*.cc", "*.h") for path in (ROOT / folder).glob(suffix))
COPIED = ["CMakeLists.txt", "cmake", "data", "docs", "include", "samples", "src", "tests"]
PROGRAMS = ["container_tests", "runtime_tests", "faults_tests", "crash_tests"]
# A test that takes longer than this with the shipped code is left to its own proof.
TEST_SECONDS = 40
AMOUNTS = {"FATCTX_HAZARD_ROUNDS": "30", "FATCTX_CRASH_STATES": "20000", "FATCTX_CRASH_SEED": "1"}
MEMORY = 8 << 30  # limit for a test program: a mutant may allocate any amount
PRIVATE_MEMORY = 3 << 30
# Tests up to so many seconds run together before slower ones, and a process gets tests for about as long.
STEPS = (0.1, 0.5, 2, 8, TEST_SECONDS)
PROCESS_SECONDS = (1, 3, 8, 16, TEST_SECONDS)
ALONE_SECONDS = 0.5  # of tests that a mutant gets by itself; a group of mutants gets the others
GROUP = 32
CHUNK = 96  # mutants that get their results together


def run(command: list, **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


def edits_in(name: str, text: str) -> list[Edit]:
    """Returns what can be broken in a source with this name and text."""
    code = blanked(text)
    return list(edits_of(code) if os.path.dirname(name) in WRITERS else refusals_of(code, REFUSAL))


def shipped_mutants() -> list[Mutant]:
    """Returns the mutants of all files, as if each place compiled with its switch."""
    found: list[Mutant] = []
    for name in FILES:
        text = (ROOT / name).read_text()
        found += mutate(name, text, edits_in(name, text), len(found), set())[1]
    return found


class Build:
    def __init__(self, folder: Path, jobs: int):
        self.copy = folder / "copy"
        self.tree = folder / "tree"
        self.jobs = jobs
        self.mutants: list[Mutant] = []
        without: dict[str, set[int]] = {name: set() for name in FILES}
        for name in COPIED:
            self._copy(Path(name))
        self._write("src/mutant_switch.h", SWITCH_HEADER)
        self._write("src/base/mutant_switch.cc", SWITCH)
        self._place_switches(without)
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        done = run(["cmake", "-S", self.copy, "-B", self.tree, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG -D_GLIBCXX_ASSERTIONS", "-DFATCTX_UNITY=ON", "-DFATCTX_WERROR=OFF",
                    "-DFATCTX_ONNXRUNTIME=OFF", "-DFATCTX_BUILD_TOOLS=OFF", "-DFATCTX_BUILD_BENCH=OFF", *launcher])
        if done.returncode != 0:
            raise CannotTry(done.stdout[-4000:])
        for _ in range(12):  # a place that does not compile gets no switch
            done = run(["ninja", "-C", self.tree, f"-j{jobs}", "-k0", *PROGRAMS])
            if done.returncode == 0:
                break
            found = {(name, int(line)) for name in FILES
                     for line in re.findall(rf"{re.escape(name)}:(\d+):\d+: (?:fatal )?error", done.stdout)}
            found |= {(name, int(line)) for name in FILES for line in re.findall(
                rf"{re.escape(name)}:(\d+):\d+:   required from", done.stdout)}
            if not {(name, line) for name, line in found if line not in without[name]}:
                raise CannotTry(done.stdout[-6000:])
            for name, line in found:
                without[name].add(line)
            self._place_switches(without)
        else:
            raise CannotTry("it does not compile with switches")
        self.left_out = sum(len(lines) for lines in without.values())

    def _write(self, name: str, text: str) -> None:
        target = self.copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_file() or target.read_text() != text:
            target.write_text(text)

    def _copy(self, name: Path) -> None:
        """Copies only files that differ, so that equal ones are not built again."""
        source, target = ROOT / name, self.copy / name
        if source.is_dir():
            for gone in {one.name for one in target.iterdir()} - {one.name for one in source.iterdir()} if target.is_dir() else ():
                if (target / gone).is_file() and not gone.startswith("mutant_switch") and not gone.endswith(".switched"):
                    (target / gone).unlink()
            for one in source.iterdir():
                if one.name != "__pycache__":
                    self._copy(name / one.name)
        elif str(name) not in FILES and not (target.is_file() and target.read_bytes() == source.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            shutil.copymode(source, target)

    def _place_switches(self, without: dict[str, set[int]]) -> None:
        self.mutants = []
        first = 0
        for name in FILES:
            shipped = (ROOT / name).read_text()
            edits = edits_in(name, shipped)
            text, found = mutate(name, shipped, edits, first, without[name])
            first += len(edits)
            # The text is included from a separate file, because only a header can suppress all warnings.
            self._write(f"{name}.switched", text)
            self._write(name, f'#include "{Path(name).name}.switched"\n')
            self.mutants += found
        if first > MOST_PLACES:
            raise CannotTry(f"{first} places, {MOST_PLACES} at most")


@dataclasses.dataclass(frozen=True)
class Test:
    program: str
    name: str
    seconds: float  # of a processor
    wall: float     # seconds on the clock, beside other work of the machine
    reached: frozenset[int]  # places

    def __str__(self) -> str:
        return f"{self.program} {self.name}"


def most_processor_seconds(seconds: float) -> int:
    """Returns the limit for tests that take so long with the shipped code. With a mutant they may take eight times as
    long; a test that takes longer has noticed it: it would not end, or the mutant costs more than any promise allows."""
    return int(4 + 8 * seconds)


def limits_for(seconds: float):
    """Returns what sets the limits of a process."""
    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_DATA, (PRIVATE_MEMORY, PRIVATE_MEMORY))
        # Processor time, because a loop without end must not be mistaken for a machine that has other work.
        most = most_processor_seconds(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    return limits


def is_asleep(session: int) -> bool:
    """Returns whether no thread of the session uses or waits for a processor, or for a disk."""
    for _ in range(5):
        for stat in Path("/proc").glob("[0-9]*/task/*/stat"):
            try:
                fields = stat.read_text().rpartition(") ")[2].split()
            except OSError:
                continue  # it has ended
            if int(fields[3]) == session and fields[0] in "RD":
                return False
        time.sleep(0.1)
    return True


def failed_test(output: str) -> str:
    """Returns the test that a failed program names, or else the one that it ended in."""
    failed = re.search(r"^\[  FAILED  \] ([\w/]+\.[\w/]+)", output, re.MULTILINE)
    begun = re.findall(r"^\[ RUN      \] (\S+)", output, re.MULTILINE)
    return failed[1] if failed else begun[-1] if begun else ""


def listed_tests(listed: dict) -> Iterator[tuple[str, str]]:
    """Yields the names of tests and their files from the JSON of --gtest_list_tests."""
    for suite in listed["testsuites"]:
        for test in suite["testsuite"]:
            if "DISABLED_" not in suite["name"] + test["name"]:
                yield f"{suite['name']}.{test['name']}", test["file"]


def batches(tests: list[Test]) -> Iterator[list[Test]]:
    """Yields tests of one program that run in one process, the quickest first."""
    below = 0.0
    for step, most in zip(STEPS, PROCESS_SECONDS):
        for program in PROGRAMS:
            batch: list[Test] = []
            for test in tests:
                if test.program != program or not (below <= test.seconds < step):
                    continue
                if batch and sum(one.seconds for one in batch) + test.seconds > most:
                    yield batch
                    batch = []
                batch.append(test)
            if batch:
                yield batch
        below = step


@dataclasses.dataclass(frozen=True)
class Ended:
    """The end of a process that did not pass."""
    name: str   # of the test that failed
    hung: bool  # it used up its processor time, or waited for ever


@dataclasses.dataclass(frozen=True)
class Caught:
    mutant: Mutant
    by: Test


class Tests:
    def __init__(self, build: Build, folder: Path, jobs: int):
        self.programs, self.folder = build.tree / "tests", folder
        kept = folder / "reached.pickle"
        known: dict[str, Test | None] = pickle.loads(kept.read_bytes()) if kept.is_file() else {}
        wanted = list(self._listed(build.copy))
        new = [one for one in wanted if one[0] not in known]
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for number, ((key, _, _), test) in enumerate(zip(new, pool.map(lambda one: self._measured(*one[1:]), new))):
                known[key] = test
                if number % 100 == 99:
                    kept.write_bytes(pickle.dumps(known))
        known = {key: known[key] for key, _, _ in wanted}
        kept.write_bytes(pickle.dumps(known))
        self.tests = sorted((test for test in known.values() if test), key=lambda test: test.seconds)
        self.left_out = [name for key, _, name in wanted if not known[key]]
        self.of_place: dict[int, list[Test]] = {}
        for test in self.tests:
            for place in test.reached:
                self.of_place.setdefault(place, []).append(test)

    def _listed(self, copy: Path) -> Iterator[tuple[str, str, str]]:
        """Yields what a measurement of a test depends on, the test's program and its name."""
        shared = hashlib.sha256()
        for file in sorted(itertools.chain((copy / "src").rglob("*"), (copy / "include").rglob("*"),
                                           (copy / "tests").rglob("*.h"), (copy / "tests/support").rglob("*.cc"))):
            if file.is_file():
                shared.update(file.read_bytes())
        with tempfile.TemporaryDirectory(dir=self.folder) as temporary:
            for program in PROGRAMS:
                listed = Path(temporary) / program
                run([self.programs / program, "--gtest_list_tests", f"--gtest_output=json:{listed}"])
                for name, file in listed_tests(json.loads(listed.read_text(errors="replace"))):
                    digest = hashlib.sha256(f"{program} {name} {shared.hexdigest()}".encode() + Path(file).read_bytes())
                    yield digest.hexdigest(), program, name

    def _run(self, program: str, names: list[str], seconds: float, wall: float, **environment: str) -> tuple[Ended | None, float]:
        """Returns the end of a process that did not pass, and the processor time of it and its children."""
        with tempfile.TemporaryDirectory(dir=self.folder) as temporary, \
                tempfile.TemporaryFile(mode="w+", dir=self.folder, errors="replace") as out:
            process = subprocess.Popen(
                [self.programs / program, f"--gtest_filter={':'.join(names)}", "--gtest_fail_fast"],
                env={**os.environ, **AMOUNTS, "TMPDIR": temporary, **environment}, stdout=out, stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL, preexec_fn=limits_for(seconds), start_new_session=True)
            pid, ends, hung = 0, time.monotonic() + wall, False
            while pid == 0:
                pid, status, usage = os.wait4(process.pid, os.WNOHANG)
                if pid == 0 and not hung and time.monotonic() > ends:
                    hung = is_asleep(process.pid)
                    ends = time.monotonic() + wall
                    if hung:
                        os.killpg(process.pid, signal.SIGKILL)
                elif pid == 0:
                    time.sleep(0.004)
            process.returncode = os.waitstatus_to_exitcode(status)
            try:
                os.killpg(process.pid, signal.SIGKILL)  # its children
            except ProcessLookupError:
                pass
            used = usage.ru_utime + usage.ru_stime
            if process.returncode == 0:
                return None, used
            out.seek(0)
            return Ended(failed_test(out.read(4 << 20)), hung or process.returncode == -signal.SIGXCPU), used

    def _measured(self, program: str, name: str) -> Test | None:
        log = self.folder / f"reached-{threading.get_ident()}"
        log.write_bytes(bytes(MOST_PLACES))
        started = time.monotonic()
        ended, seconds = self._run(program, [name], TEST_SECONDS, 4 * TEST_SECONDS, FATCTX_MUTANT_LOG=str(log))
        wall = time.monotonic() - started
        reached = frozenset(place for place, byte in enumerate(log.read_bytes()) if byte)
        log.unlink()
        if ended is not None or seconds >= TEST_SECONDS:
            print(f"{'too long' if seconds >= TEST_SECONDS else 'fails by itself'}: {program} {name}", flush=True)
            return None
        return Test(program, name, seconds, wall, reached)

    def _failing(self, batch: list[Test], mutants: list[Mutant]) -> Ended | None:
        """Returns null if all pass. A crash is a failure too."""
        return self._run(batch[0].program, [test.name for test in batch], sum(test.seconds for test in batch),
                         20 + 10 * sum(test.wall for test in batch),
                         FATCTX_MUTANT=",".join(str(mutant.place) for mutant in mutants))[0]

    def _fails_again(self, test: Test, mutants: list[Mutant], before: Ended) -> bool:
        # A test that used up its time is not run again: it would take as long. It must pass without a mutant in that time.
        return self._failing([test], []) is None if before.hung else self._failing([test], mutants) is not None

    def caught_by(self, batch: list[Test], mutant: Mutant) -> Test | None:
        """Returns a test of the batch that fails for the mutant, and fails again by itself."""
        while batch:
            ended = self._failing(batch, [mutant])
            if ended is None:
                return None
            by = next((test for test in batch if test.name == ended.name), batch[0])
            if self._fails_again(by, [mutant], ended):
                return by
            batch = [test for test in batch if test is not by]
        return None

    def caught_of(self, batch: list[Test], group: list[Mutant]) -> list[Caught]:
        """Returns those of the group that a test of the batch notices by themselves."""
        found: list[Caught] = []
        while batch and group:
            ended = self._failing(batch, group)
            if ended is None:
                break
            by = next((test for test in batch if test.name == ended.name), batch[0])
            caught = self._halved(by, [mutant for mutant in group if mutant.place in by.reached], ended)
            found += [Caught(mutant, by) for mutant in caught]
            group = [mutant for mutant in group if mutant not in caught]
            if not caught:  # it fails now and then, or only for several of them at once
                batch = [test for test in batch if test is not by]
        return found

    def _halved(self, test: Test, group: list[Mutant], ended: Ended) -> list[Mutant]:
        """Returns those of a group for which the test failed that it notices by themselves."""
        if len(group) < 2:
            return [mutant for mutant in group if self._fails_again(test, [mutant], ended)]
        found: list[Mutant] = []
        for half in (group[::2], group[1::2]):
            failing = self._failing([test], half)
            found += self._halved(test, half, failing) if failing else []
        return found

    def notice(self, mutant: Mutant, first: list[Test]) -> tuple[Test | None, bool]:
        """Returns the test that fails, or null and whether all of them were tried. It tries quick tests and `first`."""
        tests = self.of_place.get(mutant.place, [])
        likely = [test for test in dict.fromkeys(first) if mutant.place in test.reached]
        for program in PROGRAMS:
            by = self.caught_by([test for test in likely if test.program == program], mutant)
            if by:
                return by, True
        spent = 0.0
        for batch in batches([test for test in tests if test not in likely]):
            spent += sum(test.seconds for test in batch)
            if spent > ALONE_SECONDS:
                return None, False
            by = self.caught_by(batch, mutant)
            if by:
                return by, True
        return None, True


def accepted() -> dict[str, str]:
    """Returns reasons by key. A row is "FILE | KIND | LINE[ | NTH]", and below it, indented, why no test can tell."""
    rows: dict[str, str] = {}
    key = ""
    for line in SURVIVORS.read_text().splitlines():
        if line.startswith("  "):
            rows[key] = (rows[key] + " " + line.strip()).strip()
        elif line and not line.startswith("#"):
            key = line
            rows[key] = ""
    return rows


def digest_of_checkout() -> str:
    digest = hashlib.sha256()
    for name in COPIED:
        for file in sorted((ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name]):
            if file.is_file() and file.suffix in {".cc", ".h", ".txt", ".in"} and file != SURVIVORS:
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class Results:
    """The file of results. A row is the key, the word caught, survived or unfinished, and the test or the checkout."""

    def __init__(self, path: Path, keep: bool):
        self.path, self.digest, self._lock = path, digest_of_checkout(), threading.Lock()
        self.caught: dict[str, str] = {}
        self.survived: dict[str, bool] = {}  # whether all tests were tried
        text = path.read_text() if path.is_file() else ""
        if text and not text.endswith("\n"):  # the last run ended in a row
            path.write_text(text[:text.rfind("\n") + 1])
        rows = [line.split("\t") for line in text.splitlines()]
        self.before = {row[0] for row in rows if len(row) == 4}  # tried, perhaps in another state of the checkout
        for key, word, what, checkout in (row for row in rows if len(row) == 4):
            if checkout != self.digest and not (keep and word == "caught"):
                continue
            self._take(key, word, what)

    def _take(self, key: str, word: str, what: str) -> None:
        if word == "caught":
            self.caught[key] = what
            self.survived.pop(key, None)
        else:
            self.survived[key] = word == "survived"

    def add(self, key: str, word: str, what: str = "") -> None:
        with self._lock, self.path.open("a") as out:
            self._take(key, word, what)
            out.write(f"{key}\t{word}\t{what}\t{self.digest}\n")


def short(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def caught_before() -> dict[str, str]:
    """Returns the tests that caught mutants in the run that was recorded last, by the hashes of keys."""
    rows = [line.split("\t") for line in CAUGHT_BY.read_text().splitlines() if not line.startswith("#")] if CAUGHT_BY.is_file() else []
    return {word: test for test, words in rows for word in words.split()}


def record(mutants: list[Mutant], results: Results) -> None:
    """Writes which test caught which mutant. Keeps the rows of mutants that this run did not try, and drops lines
    that are gone. The file only says where the next run begins: each mutant is tried again."""
    known = caught_before()
    by: dict[str, list[str]] = {}
    for mutant in mutants:
        tried = mutant.key in results.caught or mutant.key in results.survived
        test = results.caught.get(mutant.key) if tried else known.get(short(mutant.key))
        if test:
            by.setdefault(test, []).append(short(mutant.key))
    rows = []
    for test, words in sorted(by.items()):
        words.sort()
        rows += [f"{test}\t{' '.join(words[first:first + 12])}\n" for first in range(0, len(words), 12)]
    CAUGHT_BY.write_text("# Written by scripts/mutants.py --record: a test, and the mutants that it caught. Only a hint for the next run.\n"
                         + "".join(rows))


def try_alone(chosen: list[Mutant], tests: Tests, results: Results, jobs: int, ends: float) -> None:
    """Tries what has no result yet, each mutant with quick tests, until the time `ends`."""
    by_name = {str(test): test for test in tests.tests}
    hints = {word: by_name[test] for word, test in caught_before().items() if test in by_name}
    caught = {mutant.place: by_name[results.caught[mutant.key]] for mutant in chosen
              if results.caught.get(mutant.key) in by_name}

    def one(mutant: Mutant) -> None:
        if mutant.key in results.caught or mutant.key in results.survived or time.monotonic() > ends:
            return
        # The test that caught it before is likely to catch it, and then the tests that caught the neighbours.
        near = sorted(dict(caught), key=lambda place: abs(place - mutant.place))[:6]
        hint = [hints[short(mutant.key)]] if short(mutant.key) in hints else []
        by, finished = tests.notice(mutant, hint or [caught[place] for place in near if caught[place].seconds < 1])
        if by:
            caught[mutant.place] = by
        results.add(mutant.key, "caught" if by else "survived" if finished else "unfinished", str(by or ""))

    # Mutants that were never tried come before those that survived in an earlier state of the checkout.
    ordered = sorted(chosen, key=lambda mutant: mutant.key in results.before)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, mutant) for mutant in ordered]):
            done.result()


def try_in_groups(left: list[Mutant], tests: Tests, results: Results, jobs: int, ends: float) -> None:
    """Tries with all tests what quick ones have not noticed, until the time `ends`. Neighbours come into different chunks
    and groups, because one may hide another: a negated condition skips its branch, and all mutants in it."""
    chunks = -(-len(left) // CHUNK)
    for start in range(chunks):
        chunk = left[start::chunks]
        caught: set[int] = set()

        def one(batch: list[Test]) -> None:
            reached = frozenset().union(*(test.reached for test in batch))
            here = [mutant for mutant in chunk if mutant.place in reached and mutant.place not in caught]
            count = -(-len(here) // GROUP)
            for number in range(count):
                if time.monotonic() > ends:
                    return
                for found in tests.caught_of(batch, here[number::count]):
                    caught.add(found.mutant.place)
                    results.add(found.mutant.key, "caught", str(found.by))

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for done in concurrent.futures.as_completed([pool.submit(one, batch) for batch in batches(tests.tests)]):
                done.result()
        if time.monotonic() > ends:
            return
        for mutant in chunk:
            if mutant.place not in caught:
                results.add(mutant.key, "survived")


def try_all(chosen: list[Mutant], tests: Tests, results: Results, jobs: int, listed: set[str], ends: float) -> None:
    """Tries what has no result yet, until the time `ends`. Listed mutants get quick tests only."""
    try_alone(chosen, tests, results, jobs, ends)
    left = [mutant for mutant in chosen if results.survived.get(mutant.key) is False and mutant.key not in listed]
    print(f"{len(left)} of {len(chosen)} mutants need slow tests", flush=True)
    try_in_groups(left, tests, results, jobs, ends)


def report(chosen: list[Mutant], results: Results, reached: set[int] | None = None) -> int:
    """Prints survivors and a sum, and returns the exit status."""
    reasons = accepted()
    listed = survived = unfinished = untried = 0
    for mutant in chosen:
        reason = reasons.get(mutant.key)
        if mutant.key in results.caught:
            if reason:
                print(f"caught, and needs no reason: {mutant.key}\n  by {results.caught[mutant.key]}")
            continue
        if mutant.key not in results.survived:
            untried += 1
            continue
        finished = results.survived[mutant.key]
        listed += bool(reason)
        survived += not reason and finished
        unfinished += not reason and not finished
        if not reason:
            what = "SURVIVED" if finished else "SURVIVED SO FAR"
            if reached is not None and mutant.place not in reached:
                what += ", no test comes here"
            print(f"{what}\n  {mutant.file}:{mutant.line}: {mutant.kind}: {mutant.text}\n  {mutant.key}")
    caught = sum(mutant.key in results.caught for mutant in chosen)
    print(f"{len(chosen)} mutants: {caught} caught, {listed} listed with a reason, {survived} survived, "
          f"{unfinished} survived so far, {untried} not tried")
    return 1 if survived else 3 if unfinished or untried else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, help="keep the copy, its build and the results here")
    parser.add_argument("--only", default="", help="try only the mutants whose file, kind or line holds this text")
    parser.add_argument("--sample", type=int, default=0, help="try only so many, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", "-j", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--minutes", type=float, default=0, help="begin no mutant after so many minutes")
    parser.add_argument("--keep", action="store_true", help="mutants that were caught before a source or test changed stay caught")
    parser.add_argument("--listed", action="store_true", help="try listed mutants with slow tests too")
    parser.add_argument("--record", action="store_true", help="write which test caught which mutant to tests/mutants/caught_by.tsv")
    parser.add_argument("--list", action="store_true", help="say what there is and try nothing")
    parser.add_argument("--report", action="store_true", help="print the results in FOLDER and try nothing")
    arguments = parser.parse_args()
    ends = time.monotonic() + 60 * arguments.minutes if arguments.minutes else float("inf")

    def choose(mutants: list[Mutant]) -> list[Mutant]:
        chosen = [mutant for mutant in mutants if arguments.only in mutant.key]
        if arguments.sample and arguments.sample < len(chosen):
            chosen = sorted(random.Random(arguments.seed).sample(chosen, arguments.sample), key=lambda mutant: mutant.place)
        return chosen

    try:
        if arguments.list or (arguments.report and arguments.build):
            all_of_them = shipped_mutants()
            if arguments.report:
                results = Results(arguments.build / "results.tsv", arguments.keep)
                if arguments.record:
                    record(all_of_them, results)
                return report(choose(all_of_them), results)
            for mutant in choose(all_of_them):
                print(mutant.key)
            return 0
        with tempfile.TemporaryDirectory() as temporary:
            folder = (arguments.build or Path(temporary)).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            build = Build(folder, arguments.jobs)
            tests = Tests(build, folder, arguments.jobs)
            chosen = choose(build.mutants)
            results = Results(folder / "results.tsv", arguments.keep)
            print(f"{len(build.mutants)} places, {build.left_out} lines without a switch, {len(tests.tests)} tests, "
                  f"{len(tests.left_out)} too long or failing by themselves, {len(chosen)} mutants to try", flush=True)
            listed = set() if arguments.listed else set(accepted())
            try_all(chosen, tests, results, arguments.jobs, listed, ends)
            if arguments.record:
                record(build.mutants, results)
            return report(chosen, results, set(tests.of_place))
    except CannotTry as reason:
        print(f"mutants: {reason}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
