#!/usr/bin/env python3
"""Breaks the writers, the registry and the views at every place in turn and expects a test to fail for it.

Works on a copy of the checkout. There each place that can be broken gets a number and a switch: a check whose error is
ignored, a statement left out, a condition negated, a comparison that takes one value more or less, a number off by one.
The tests are built once and run once without a mutant: that tells which suites reach which place, and how long they
take. Then each mutant is tried with only those suites, the quickest first. A mutant that no test notices is a survivor:
it needs a test, or a row with the reason in tests/mutants/survivors.txt.

    scripts/writer_mutants.py [--build FOLDER] [--only TEXT] [--sample N [--seed S]] [--jobs N] [--list]

Caught mutants are kept in FOLDER/caught.txt and are not tried again until a source or a test changes (--keep: not even
then). Exit status: 0 no survivor without a reason, 1 survivors, 2 it could not be tried.
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SURVIVORS = ROOT / "tests/mutants/survivors.txt"
FILES = [f"src/container/{name}.cc" for name in (
    "edit/append_rows", "edit/appender", "edit/present_bytes", "edit/repair", "edit/replacing", "edit/restore",
    "edit/rewrite", "edit/sign", "write/check_opens", "write/copy_payload", "write/header_build", "write/packer",
    "write/plan", "write/publish_records", "write/toc_build", "write/toc_rows")] + [
    f"src/runtime/{name}.cc" for name in (
        "open/file_mapping", "open/mapped_container", "open/registry", "view/composed_view", "view/record_copy",
        "view/stitched_view", "view/view_cache")]
COPIED = ["CMakeLists.txt", "cmake", "data", "docs", "include", "samples", "src", "tests"]
# Suites that take longer than this with the shipped code are left to their own proofs.
SUITE_SECONDS = 30
PROGRAMS = {
    "container_tests": "Append*.*:Adding.*:Rewrite.*:Merge.*:Counters.*:Packer.*:Repair*.*:RoundTrip*.*:PackBytes.*:"
                       "PackPages.*:PagePlan.*:PartPlan.*:BytePlan.*:DistinctBytes.*:StoredOverlap.*:TocRows.*:"
                       "WorkedExample.*:ColdRecord.*:SharingRules.*:TargetFilters.*:Sliced*.*:Evidence.*",
    "runtime_tests": "AppendToOpenFile.*:Signed.*:Forged.*:Registry.*:ViewCache*.*:Composed*.*:Stitched*.*:"
                     "FileMapping*.*:OnDamage*.*:Hazard*.*:RecordMemory*.*:PrivateCopy*.*:RepairFile*.*:ContainerTest*.*:"
                     "Container.*:WaysIn*.*:Verify*.*:SessionMemory*.*:Above4GiB.*:NewerVersion.*",
    "faults_tests": "AppendFaults*.*:*/AppendFaults*.*:FullDisk*:AppendAllocationFails.*:CacheFolderFaults.*",
    "crash_tests": "AppendProtocol.*:TornSlots.*",
}
AMOUNTS = {"FATCTX_HAZARD_ROUNDS": "30", "FATCTX_CRASH_STATES": "20000", "FATCTX_CRASH_SEED": "1"}
MEMORY = 8 << 30  # limit for a test program: a mutant may allocate any amount

SWITCH_HEADER = """// Written by scripts/writer_mutants.py.
#pragma once
#pragma GCC system_header  // without warnings
#include <utility>
#include "fatctx/base/result.h"
namespace fatctx_mutants {
bool on(int place) noexcept;
template <typename T>
fatctx::Status unless(int place, T&& result) {
  if (on(place) || result.ok()) return fatctx::Done{};
  return std::forward<T>(result).error();
}
template <typename T>
bool flip(int place, T&& value) { return static_cast<bool>(value) != on(place); }
template <int Place> struct Less {};
template <int Place> struct LessEqual {};
template <int Place> struct Greater {};
template <int Place> struct GreaterEqual {};
template <int Place> struct Equal {};
template <int Place> struct Unequal {};
template <typename Comparison, typename Left> struct Half { const Left& left; };
#define FATCTX_MUTANTS_COMPARE(Name, shipped, broken)                                                         \\
  template <typename Left, int Place> Half<Name<Place>, Left> operator<(const Left& left, Name<Place>) {      \\
    return {left};                                                                                            \\
  }                                                                                                           \\
  template <typename Left, int Place, typename Right>                                                         \\
  bool operator>(Half<Name<Place>, Left> half, const Right& right) {                                          \\
    return on(Place) ? (half.left broken right) : (half.left shipped right);                                  \\
  }
FATCTX_MUTANTS_COMPARE(Less, <, <=)
FATCTX_MUTANTS_COMPARE(LessEqual, <=, <)
FATCTX_MUTANTS_COMPARE(Greater, >, >=)
FATCTX_MUTANTS_COMPARE(GreaterEqual, >=, >)
FATCTX_MUTANTS_COMPARE(Equal, ==, !=)
FATCTX_MUTANTS_COMPARE(Unequal, !=, ==)
}  // namespace fatctx_mutants
"""
SWITCH = """// Written by scripts/writer_mutants.py.
#include "mutant_switch.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
namespace fatctx_mutants {
namespace {
constexpr int kMost = 1 << 16;
struct State {
  int place = -1;
  volatile char* reached = nullptr;  // a file that children write to as well
  State() {
    if (const char* text = std::getenv("FATCTX_MUTANT")) place = std::atoi(text);
    const char* log = std::getenv("FATCTX_MUTANT_LOG");
    const int file = log == nullptr ? -1 : ::open(log, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    void* const map = ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) reached = static_cast<char*>(map);
    ::close(file);
  }
};
const State state;
}  // namespace
bool on(int at) noexcept {
  if (state.reached != nullptr) state.reached[at] = 1;
  return at == state.place;
}
}  // namespace fatctx_mutants
"""
MOST_PLACES = 1 << 16
COMPARISONS = {"<": "Less", "<=": "LessEqual", ">": "Greater", ">=": "GreaterEqual", "==": "Equal", "!=": "Unequal"}


class CannotTry(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Mutant:
    place: int
    file: str
    line: int
    kind: str
    text: str  # the line
    nth: int   # number among those with the same file, kind and text

    @property
    def key(self) -> str:
        return f"{self.file} | {self.kind} | {self.text}" + (f" | {self.nth}" if self.nth else "")


@dataclasses.dataclass(frozen=True)
class Edit:
    at: int
    kind: str
    insertions: tuple[tuple[int, str], ...]  # with {} for the place
    cut: tuple[int, int] = (0, 0)            # a range that the insertion at its first byte replaces


def blanked(text: str) -> str:
    """Returns only the code: comments, and text between quotes, become spaces."""
    def blank(match: re.Match) -> str:
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9a-zA-Z])'(?:\\.|[^'\\\n])+'|^[ \t]*#[^\n]*", blank, text,
                  flags=re.DOTALL | re.MULTILINE)


def closing(code: str, opening: int) -> int:
    """Returns the index of the parenthesis that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(code)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(code[index], 0)
        if depth == 0:
            return index
    raise CannotTry("a parenthesis has no end")


def edits_of(code: str) -> Iterator[Edit]:
    for found in re.finditer(r"\bFATCTX_TRY\(", code):
        end = closing(code, found.end() - 1)
        yield Edit(found.start(), "error ignored",
                   ((found.end(), "fatctx_mutants::unless({}, "), (end, ")")))
        yield Edit(found.start(), "check left out", ((found.start(), "if (fatctx_mutants::on({})) {{}} else "),))
    for found in re.finditer(r"\bif \(", code):
        end = closing(code, found.end() - 1)
        begin = max(found.end(), code.rfind(";", found.end(), end) + 1)
        if re.match(r"\s*(const )?(auto|[\w:]+(<[^()]*>)?)[&*]* (const )?\w+ = ", code[begin:end]):
            continue  # it declares a variable that it tests
        yield Edit(found.start(), "condition negated", ((begin, "fatctx_mutants::flip({}, "), (end, ")")))
    for found in re.finditer(r" (<=|>=|==|!=|<|>) ", code):
        head = code[code.rfind("\n", 0, found.start()) + 1:found.start()]
        if re.search(r"\b(static_assert|constexpr|template|operator)\b", head):
            continue
        kind = {"==": "equality negated", "!=": "equality negated"}.get(found[1], "bound moved")
        yield Edit(found.start(), kind, ((found.start(), f" <fatctx_mutants::{COMPARISONS[found[1]]}<{{}}>{{{{}}}}> "),),
                   (found.start(), found.end()))
    for found in re.finditer(r" [+-] 1\b(?![.'uUlL])", code):
        head = code[code.rfind("\n", 0, found.start()) + 1:found.start()]
        if re.search(r"\b(static_assert|constexpr)\b", head):
            continue
        yield Edit(found.start(), "off by one", ((found.end() - 1, "(fatctx_mutants::on({}) ? 2 : 1)"),),
                   (found.end() - 1, found.end()))
    for found in re.finditer(r"\breturn (true|false);", code):
        yield Edit(found.start(), "answer negated", ((found.start(1), "fatctx_mutants::flip({}, "), (found.end(1), ")")))
    statement = r"^[ ]+((?:\+\+|--)?[A-Za-z_*][\w.:>\[\]()-]*?(?: (?:=|\+=|-=|\|=) [^\n]+|\([^\n]*\))?;)[ ]*$"
    for found in re.finditer(statement, code, re.MULTILINE):
        body = found[1]
        if re.match(r"(return|FATCTX_\w+|break|continue|using|if|for|while|switch|case|static_assert|default|goto|else)\b", body) or \
                not re.search(r"[=(]|\+\+|--", body) or body.count("(") != body.count(")") or body.count("{") != body.count("}"):
            continue
        before = code[:found.start()].rstrip()
        if before and before[-1] not in ";{}" and not re.search(r"(\)|\belse|:)$", before):
            continue  # the end of a longer statement
        if before.endswith(")") and not re.search(r"\n[ ]*(\} else )?(if|for|while) \(", before[before.rfind("\n"):]):
            continue
        yield Edit(found.start(1), "statement left out", ((found.start(1), "if (fatctx_mutants::on({})) {{}} else "),))


def mutate(name: str, text: str, first: int, without: set[int]) -> tuple[str, list[Mutant]]:
    """Returns the text with switches, except in lines of `without`, and its mutants. Lines and places keep their numbers."""
    code = blanked(text)
    mutants: list[Mutant] = []
    insertions: list[tuple[int, int, str, int]] = []  # position, order, text, position to continue from
    seen: dict[tuple[str, str], int] = {}
    lines = text.split("\n")
    for place, edit in enumerate(sorted(edits_of(code), key=lambda one: (one.at, one.kind)), first):
        line = text.count("\n", 0, edit.at) + 1
        said = lines[line - 1].strip()
        nth = seen.get((edit.kind, said), 0)
        seen[edit.kind, said] = nth + 1
        if line in without or any(line <= bad <= text.count("\n", 0, edit.insertions[-1][0]) + 1 for bad in without):
            continue
        mutants.append(Mutant(place, name, line, edit.kind, said, nth))
        for number, (at, what) in enumerate(edit.insertions):
            to = edit.cut[1] if edit.cut[1] and number == 0 else at
            insertions.append((at, len(insertions) if number == 0 else -len(insertions), what.format(place), to))
    out, last = [], 0
    for at, _, what, to in sorted(insertions):
        out += [text[last:at], what]
        last = max(last, to)
    out.append(text[last:])
    return f'#pragma GCC system_header\n#include "mutant_switch.h"\n#line 1 "{name}"\n' + "".join(out), mutants


def run(command: list, **more) -> subprocess.CompletedProcess:
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)


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
                    "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", "-DFATCTX_UNITY=ON", "-DFATCTX_WERROR=OFF",
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
            text, found = mutate(name, shipped, first, without[name])
            first += len(list(edits_of(blanked(shipped))))
            # The text is included from a separate file, because only a header can suppress all warnings.
            self._write(f"{name}.switched", text)
            self._write(name, f'#include "{Path(name).name}.switched"\n')
            self.mutants += found
        if first > MOST_PLACES:
            raise CannotTry(f"{first} places, {MOST_PLACES} at most")


@dataclasses.dataclass
class Suite:
    program: str
    tests: str  # a filter of googletest
    seconds: float = 0
    reached: bytes = b""


def limits() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Tests:
    def __init__(self, tree: Path, folder: Path, jobs: int):
        self.programs, self.folder = tree / "tests", folder
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            self.suites = [suite for suite in pool.map(self._measure, self._listed()) if suite]
        self.suites.sort(key=lambda suite: suite.seconds)

    def _listed(self) -> list[Suite]:
        suites = []
        for program, tests in PROGRAMS.items():
            listed = run([self.programs / program, "--gtest_list_tests", f"--gtest_filter={tests}"]).stdout
            suites += [Suite(program, f"{name}.*") for name in re.findall(r"^(\S+)\.", listed, re.MULTILINE)]
        return suites

    def passes(self, suite: Suite, timeout: float, **environment: str) -> bool:
        """Returns true if the suite passes. A crash or a run without end is a failure like any other."""
        with tempfile.TemporaryDirectory(dir=self.folder) as temporary:
            process = subprocess.Popen(
                [self.programs / suite.program, f"--gtest_filter={suite.tests}", "--gtest_brief=1", "--gtest_fail_fast"],
                env={**os.environ, **AMOUNTS, "TMPDIR": temporary, **environment}, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, preexec_fn=limits, start_new_session=True)
            try:
                return process.wait(timeout) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                try:
                    os.killpg(process.pid, 9)  # its children too
                except ProcessLookupError:
                    pass
                process.wait()

    def _measure(self, suite: Suite) -> Suite | None:
        log = self.folder / f"reached-{threading.get_ident()}"
        log.write_bytes(bytes(MOST_PLACES))
        started = time.monotonic()
        passed = self.passes(suite, SUITE_SECONDS, FATCTX_MUTANT_LOG=str(log))
        suite.seconds = time.monotonic() - started
        suite.reached = log.read_bytes()
        log.unlink()
        if not passed:
            print(f"{'too long' if suite.seconds >= SUITE_SECONDS else 'fails by itself'}: {suite.program} {suite.tests}")
            return None
        return suite

    def notice(self, mutant: Mutant) -> str:
        """Returns the suite that fails, or an empty text."""
        for suite in self.suites:
            if suite.reached[mutant.place] and \
                    not self.passes(suite, 10 + 10 * suite.seconds, FATCTX_MUTANT=str(mutant.place)):
                return f"{suite.program} {suite.tests}"
        return ""


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
            if file.is_file() and file.suffix in {".cc", ".h", ".txt", ".in"}:
                digest.update(file.read_bytes())
    return digest.hexdigest()


def caught_before(log: Path, keep: bool) -> set[str]:
    """Returns the keys of the log. Starts a new log if it belongs to another checkout."""
    head = f"# {digest_of_checkout()}"
    lines = log.read_text().splitlines() if log.is_file() else []
    if not lines or (lines[0] != head and not keep):
        log.write_text(head + "\n")
        return set()
    return {line.partition(" <- ")[0] for line in lines[1:]}


def try_all(chosen: list[Mutant], tests: Tests, log: Path, before: set[str], jobs: int) -> list[Mutant]:
    reasons = accepted()
    survivors: list[Mutant] = []
    lock = threading.Lock()

    def one(mutant: Mutant) -> None:
        if mutant.key in before:
            return
        by = tests.notice(mutant)
        with lock:
            if by:
                with log.open("a") as out:
                    out.write(f"{mutant.key} <- {by}\n")
                return
            reached = any(suite.reached[mutant.place] for suite in tests.suites)
            reason = reasons.get(mutant.key)
            if not reason:
                survivors.append(mutant)
            print(f"{f'accepted: {reason}' if reason else 'SURVIVED' if reached else 'SURVIVED, no test comes here'}\n"
                  f"  {mutant.file}:{mutant.line}: {mutant.kind}: {mutant.text}\n  {mutant.key}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, mutant) for mutant in chosen]):
            done.result()
    return survivors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, help="keep the copy, its build and the caught mutants here")
    parser.add_argument("--only", default="", help="try only the mutants whose file, kind or line holds this text")
    parser.add_argument("--sample", type=int, default=0, help="try only so many, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", "-j", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--keep", action="store_true", help="believe results from before a source or test changed")
    parser.add_argument("--list", action="store_true", help="say what there is and try nothing")
    arguments = parser.parse_args()

    def choose(mutants: list[Mutant]) -> list[Mutant]:
        chosen = [mutant for mutant in mutants if arguments.only in mutant.key]
        if arguments.sample and arguments.sample < len(chosen):
            chosen = random.Random(arguments.seed).sample(chosen, arguments.sample)
        return chosen

    try:
        if arguments.list:
            all_of_them: list[Mutant] = []
            for name in FILES:
                all_of_them += mutate(name, (ROOT / name).read_text(), len(all_of_them), set())[1]
            for mutant in choose(all_of_them):
                print(mutant.key)
            return 0
        with tempfile.TemporaryDirectory() as temporary:
            folder = (arguments.build or Path(temporary)).resolve()
            folder.mkdir(parents=True, exist_ok=True)
            build = Build(folder, arguments.jobs)
            tests = Tests(build.tree, folder, arguments.jobs)
            chosen = choose(build.mutants)
            before = caught_before(folder / "caught.txt", arguments.keep)
            print(f"{len(build.mutants)} places, {build.left_out} lines without a switch, {len(tests.suites)} suites, "
                  f"{len(chosen)} mutants to try", flush=True)
            survivors = try_all(chosen, tests, folder / "caught.txt", before, arguments.jobs)
    except CannotTry as reason:
        print(f"writer_mutants: {reason}", file=sys.stderr)
        return 2
    print(f"{len(chosen)} mutants, {len(chosen) - len(survivors)} caught or accepted, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
