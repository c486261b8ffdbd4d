#!/usr/bin/env python3
"""Measures which lines of src/container the inputs of the fuzz targets reach, and which the tests reach.

    scripts/coverage.py [--build FOLDER] [--with-tests] [--least PERCENT] [--explain]

Replays seeds, changed seeds, old crashes, golden files and what scripts/fuzz has learnt (build/fuzz-corpus, if it exists) with
the replay programs of the preset coverage. Changed seeds are made from the seeds by chance, the same every time: what a fuzzer
finds in its first seconds. --with-tests runs the programs of tests too, and counts them separately. FOLDER/unreached.txt
lists the unreached places: a file, its lines, and the reason from tests/fuzz/unreached.txt.
--explain prints the lines themselves, and fails if one has no reason there or if a reason is of no use any more.
Exit status: 0 done, 1 fewer lines than --least, a program failed or a reason is missing, 2 the programs are not built.
"""

import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REASONS = ROOT / "tests/fuzz/unreached.txt"
COVERED = "src/container/"
GOLDEN = ["tests/golden/v1"]
# Programs of tests that come to src/container. Long sweeps over every byte reach no further line.
TESTS = {"container_tests": "-*EveryByte*:*EveryBit*:*Sweep*:Hostile*", "tools_tests": "*", "capi_tests": "*",
         "runtime_tests": "-*Hazard*:RegistryThreads.*:Above4GiB.*", "faults_tests": "*AppendFaults*:AppendAllocation*"}

# How often each seed is changed; fewer times where one input takes milliseconds.
CHANGES = {"append": 60, "c_calls": 30, "container_bytes": 60, "container_edits": 200, "writers": 12}
CHANGES_OF_OTHERS = 300
SWEPT_IN_FRONT, SWEPT_AT_THE_END = 160, 260
NUMBERS = [0, 1, 2, 3, 7, 8, 15, 16, 31, 63, 64, 127, 128, 255, 256, 4095, 4096, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1]

Lines = dict[str, dict[int, int]]  # how often each line of a file has run


class CannotMeasure(Exception):
    pass


def targets() -> list[str]:
    """Those of the library; the others are of the command and come no further than to what people write."""
    return sorted(path.name.removesuffix("_fuzz.cc") for path in (ROOT / "tests/fuzz").glob("*_fuzz.cc")
                  if path.name != "self_test_fuzz.cc" and '#include "tools/' not in path.read_text())


def folders(target: str, build: Path) -> list[str]:
    """Arguments of the replay program: the seeds, then what may be missing."""
    words = [f"tests/fuzz/seeds/{target}", "--if-there", f"tests/fuzz/crashes/{target}",
             "--if-there", f"build/fuzz-corpus/{target}", "--if-there", str(build / "changed" / target)]
    return words + (GOLDEN if target == "container_bytes" else [])


def changed(data: bytes, others: list[bytes], by: random.Random) -> bytes:
    """One to four small changes, as a fuzzer makes them."""
    out = bytearray(data)
    for _ in range(by.randint(1, 4)):
        at = by.randrange(len(out) + 1)
        size = min(by.choice((1, 2, 4, 8)), len(out) - at)
        kind = by.randrange(8)
        if kind == 0 and at < len(out):
            out[at] ^= 1 << by.randrange(8)
        elif kind == 1:
            out[at:at + size] = (by.choice(NUMBERS) % 256**size).to_bytes(size, "little")
        elif kind == 2:
            out[at:at + size] = ((int.from_bytes(out[at:at + size], "little") + by.choice((-16, -2, -1, 1, 2, 16))) % 256**size).to_bytes(size, "little")
        elif kind == 3:
            del out[at:at + by.randint(1, 16)]
        elif kind == 4:
            out[at:at] = by.randbytes(by.randint(1, 12))
        elif kind == 5:
            out += by.randbytes(by.randint(1, 24))
        elif kind == 6:
            out[at:at] = out[at:at + by.randint(1, 40)]
        else:
            other = by.choice(others)
            begin = by.randrange(len(other) + 1)
            out[at:] = other[begin:begin + 512]
    return bytes(out)


def write_changed(target: str, build: Path) -> None:
    folder = build / "changed" / target
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    seeds = {path.name: path.read_bytes() for path in sorted((ROOT / "tests/fuzz/seeds" / target).iterdir())}
    for name, data in seeds.items():
        by = random.Random(f"{target} {name}")
        for number in range(CHANGES.get(target, CHANGES_OF_OTHERS)):
            (folder / f"{name}-{number}").write_bytes(changed(data, list(seeds.values()), by))
        if target in CHANGES:
            continue
        # Formats have their numbers in front or at the end: each byte there by itself.
        for at in {*range(min(len(data), SWEPT_IN_FRONT)), *range(max(0, len(data) - SWEPT_AT_THE_END), len(data))}:
            for kind, value in (("flip", data[at] ^ 1), ("full", 255)):
                (folder / f"{name}-{kind}-{at}").write_bytes(data[:at] + bytes([value]) + data[at + 1:])


def run(program: Path, words: list[str], profiles: Path) -> bool:
    log = profiles / f"{program.name}.log"
    environment = {**os.environ, "LLVM_PROFILE_FILE": str(profiles / f"{program.name}-%m.profraw")}
    with log.open("w") as out:
        code = subprocess.run([program, *words], cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT).returncode
    if code != 0:
        print(f"{program.name} failed, exit {code}; see {log.relative_to(ROOT)}")
    return code == 0


def lines_of(programs: list[Path], profiles: Path) -> Lines:
    """The lines of src/container in these programs, from the profiles that they have left."""
    merged = profiles / "all.profdata"
    subprocess.run(["llvm-profdata-14", "merge", "-sparse", *profiles.glob("*.profraw"), "-o", merged], check=True)
    objects = [word for program in programs[1:] for word in ("-object", program)]
    exported = subprocess.run(["llvm-cov-14", "export", "-format=lcov", f"-instr-profile={merged}", programs[0], *objects,
                               ROOT / COVERED], check=True, capture_output=True, text=True).stdout
    return parsed(exported)


def parsed(lcov: str) -> Lines:
    found: Lines = {}
    name = ""
    for line in lcov.splitlines():
        if line.startswith("SF:"):
            _, _, rest = line.partition(f"/{COVERED}")
            name = COVERED + rest
            found.setdefault(name, {})
        elif (match := re.match(r"DA:(\d+),(\d+)", line)):
            number = int(match[1])
            found[name][number] = found[name].get(number, 0) + int(match[2])
    return found


def measured(programs: dict[Path, list[str]], profiles: Path) -> tuple[Lines, bool]:
    missing = [program.name for program in programs if not program.is_file()]
    if missing:
        raise CannotMeasure(f"not built: {' '.join(missing)}; build them: scripts/build.sh --preset coverage --no-python "
                            f"--targets '{' '.join(missing)}'")
    profiles.mkdir(parents=True, exist_ok=True)
    for old in profiles.glob("*.prof*"):
        old.unlink()
    whole = all([run(program, words, profiles) for program, words in programs.items()])
    return lines_of(list(programs), profiles), whole


def share(lines: Lines) -> str:
    reached = sum(1 for counts in lines.values() for count in counts.values() if count)
    return f"{reached} of {sum(map(len, lines.values()))} lines, {percent(lines):.2f} %"


def percent(lines: Lines) -> float:
    counts = [count for of_file in lines.values() for count in of_file.values()]
    return 100 * sum(1 for count in counts if count) / max(1, len(counts))


def runs_of(numbers: list[int]) -> list[tuple[int, int]]:
    """First and last of each row of numbers without a gap."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def reasons_in(text: str) -> dict[str, list[tuple[str, str]]]:
    """By file, the words of a line and the reason. A file's name opens its rows; a row is "WORDS => REASON"; "*" is any line."""
    rows: dict[str, list[tuple[str, str]]] = collections.defaultdict(list)
    name = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith("  "):
            name = line
            rows[name] = []
        else:
            words, _, reason = line.strip().rpartition(" => ")
            rows[name].append((words, reason))
    return rows


def explained(lines: Lines, reasons: dict[str, list[tuple[str, str]]]) -> tuple[list[tuple[str, int, int, str]], list[str]]:
    """Each row of unreached lines with its reason, empty if there is none; and the reasons that nothing needs."""
    rows: list[tuple[str, int, int, str]] = []
    used: set[tuple[str, str]] = set()
    for name in sorted(lines):
        source = (ROOT / name).read_text().split("\n")
        for first, last in runs_of([number for number, count in lines[name].items() if not count]):
            text = "\n".join(source[first - 1:last])
            found = [(words, reason) for words, reason in reasons.get(name, []) if words == "*" or words in text]
            used |= {(name, words) for words, _ in found[:1]}
            rows.append((name, first, last, found[0][1] if found else ""))
    idle = [f"{name}: {words}" for name, of in reasons.items() for words, _ in of if (name, words) not in used]
    return rows, idle


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/coverage.py", description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/coverage")
    parser.add_argument("--with-tests", action="store_true", help="run the programs of tests too")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT", help="fewer lines than that are a failure")
    parser.add_argument("--explain", action="store_true", help="print unreached lines; each needs a reason")
    arguments = parser.parse_args()
    tree = arguments.build.resolve() / "tests"
    replays = {tree / f"fuzz/replay_{target}": folders(target, arguments.build.resolve()) for target in targets()}
    try:
        for target in targets():
            write_changed(target, arguments.build.resolve())
        lines, whole = measured(replays, arguments.build.resolve() / "profiles/fuzz")
        print(f"inputs of the fuzz targets reach {share(lines)}")
        if arguments.with_tests:
            of_tests, passed = measured({tree / name: [f"--gtest_filter={tests}", "--gtest_brief=1"] for name, tests in TESTS.items()},
                                        arguments.build.resolve() / "profiles/tests")
            whole = whole and passed
            print(f"the tests reach {share(of_tests)}")
    except CannotMeasure as reason:
        print(f"coverage: {reason}", file=sys.stderr)
        return 2
    rows, idle = explained(lines, reasons_in(REASONS.read_text() if REASONS.is_file() else ""))
    (arguments.build / "unreached.txt").write_text(
        "".join(f"{name}: {first}{f'-{last}' if last > first else ''}: {reason}\n" for name, first, last, reason in rows))
    if arguments.explain:
        for name, first, last, reason in rows:
            print(f"{name}: {first}-{last}: {reason or 'NO REASON'}")
            for line in (ROOT / name).read_text().split("\n")[first - 1:last]:
                print(f"    {line}")
        for words in idle:
            print(f"a reason that nothing needs: {words}")
    without = sum(not reason for *_, reason in rows)
    print(f"{len(rows)} places are not reached, {without} of them without a reason")
    return 1 if not whole or percent(lines) < arguments.least or (arguments.explain and (without or idle)) else 0


if __name__ == "__main__":
    sys.exit(main())
