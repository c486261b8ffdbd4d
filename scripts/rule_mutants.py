#!/usr/bin/env python3
"""Removes every check of the reader in turn and expects a test to fail for it.

Works on a copy of the checkout. There each place that refuses a file gets a number and a switch. The tests are built
once, and then run once per place with that place switched off. A place whose removal no test notices is a survivor: it
needs a row in tests/container/*/lies_*.h, another test of those in RUNS, or a line in ACCEPTED below with the reason.

    scripts/rule_mutants.py [--build FOLDER] [--only TEXT]

Takes about an hour on two processors. Exit status: 0 no survivor, 1 survivors, 2 it could not be tried.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ["src/container/read", "src/container/check", "src/container/format"]
COPIED = ["CMakeLists.txt", "cmake", "data", "docs", "include", "samples", "src", "tests"]
# Programs and their tests. Slow ones come later: a mutant that an earlier run notices does not wait for them.
RUNS = [("container_tests", "TableOfLies.*:TensorTable.*:TensorLookup.*:Description.*:Toc.*:PartialToc.*:Header.*:Names.*:Packer.Refuses*:"
                            "RecordStream.*:Recipe*.*:WorkBudget.*"),
        ("container_tests", "Codec.*:Heap.*:ColdRecord.*:SlicedRecord.*:NewerFields.*:CostOfAFile.*:PackBytes.*:Verify.*"),
        ("runtime_tests", "NewerVersion.*:Signed.*:AppendToOpenFile.AnEarlier*")]

# Places that no test can tell from their absence, and why. A key is a part of the line or of the ones below it.
ACCEPTED: dict[str, str] = {
    "a text of the description of {}": "the words of the two checks below it, which are tried themselves",
    "the description cannot be encoded": "protobuf encodes whatever passed the checks of texts and size",
    "lz4 does not compress": "a writer's error that liblz4 never gives: its buffer has the size that it asks for",
    "size > header.size()": "liblz4 knows the size of every header that begins with the magic",
    "makes no progress": "liblz4 takes what it asks for; without the check a liblz4 that does not would never end",
    "libsodium does not start": "it starts on every machine that runs the tests",
    "the names region is empty": "an empty region has no empty name either, which the next check that looks one up says",
}

MAKER = re.compile(r"^\s*(?:\[\[nodiscard\]\] )?(?:static |inline )?Error (?:\w+::)?(\w+)\(")


def makers() -> list[str]:
    """Returns the names of the functions of these rooms that make errors."""
    return sorted({found[1] for room in ROOMS for suffix in ("*.cc", "*.h") for path in (ROOT / room).glob(suffix)
                   for line in path.read_text().split("\n") if (found := MAKER.match(line))})


REFUSAL = re.compile(rf"return (?:rules_\.)?(?:(?:{'|'.join(makers())})(?=\()|Error(?=\{{))")
FINDING = re.compile(r"^(\s*)(findings_\.add\(|hash_finding\()")


def files() -> list[str]:
    """Returns the files of these rooms that refuse something."""
    return [str(path.relative_to(ROOT)) for room in ROOMS for path in sorted((ROOT / room).glob("*.cc"))
            if mutate(path.read_text(), 0)[1]]


DECLARATION = "namespace fatctx::container { bool mutant(int place) noexcept; }\n"
SWITCH = """// Written by scripts/rule_mutants.py.
#include <cstdlib>
namespace fatctx::container {
bool mutant(int place) noexcept;
bool mutant(int place) noexcept {
  static const int off = [] {
    const char* text = std::getenv("FATCTX_MUTANT");
    return text == nullptr ? -1 : std::atoi(text);
  }();
  return place == off;
}
}  // namespace fatctx::container
"""


def body_indent(lines: list[str], index: int) -> int:
    """Returns the indentation of the statements of the function around a line."""
    for line in reversed(lines[:index]):
        if re.match(r"\S.*\{$", line) and not line.startswith(("namespace", "class", "struct")):
            return 2
        if re.match(r"  \S.*\{$", line) and not re.match(r"  (if|for|while|switch|struct|const auto)\b", line):
            return 4 if in_class(lines, index) else 2
    return 2


def in_class(lines: list[str], index: int) -> bool:
    for line in reversed(lines[:index]):
        if line.startswith("};"):
            return False
        if line.startswith("class "):
            return True
    return False


def in_makers(lines: list[str]) -> set[int]:
    """Returns the lines of functions that make errors. They refuse nothing by themselves."""
    found: set[int] = set()
    for index, line in enumerate(lines):
        if not MAKER.match(line) or line.endswith(";"):
            continue
        end = index
        if not line.endswith("}"):
            brace = line[:len(line) - len(line.lstrip())] + "}"
            end = next(i for i in range(index, len(lines)) if lines[i].startswith(brace))
        found |= set(range(index, end + 1))
    return found


def ends_lambda(lines: list[str], index: int) -> bool:
    """Returns true if the end of a lambda follows the statement that begins here."""
    end = next(i for i in range(index, len(lines)) if lines[i].rstrip().endswith(";"))
    return lines[end + 1].strip().startswith("};")


def mutate(text: str, first: int) -> tuple[str, list[str]]:
    """Returns the text with switches, and for each the line that it switches off."""
    lines = text.split("\n")
    places = []
    made = in_makers(lines)
    skip_below = {i for i, line in enumerate(lines) if re.match(r"Result<std::vector<std::byte>> build_tensor_table", line)}
    for index, line in enumerate(lines):
        if any(index > start for start in skip_below):
            break  # the writer's own checks are not mutated
        refusal = REFUSAL.search(line)
        finding = FINDING.search(line)
        if not refusal and not finding:
            continue
        if index in made:
            continue
        place = first + len(places)
        last_of_function = refusal and (ends_lambda(lines, index) or
                                        line.startswith("return", body_indent(lines, index))) and \
            not lines[index - 1].rstrip().endswith(")")
        if finding:
            lines[index] = line.replace(finding.group(2), f"if (!mutant({place})) {finding.group(2)}", 1)
        elif last_of_function:
            # There is nothing to fall through to: the refusal loses its rule instead.
            lines[index] = line.replace("return ", f"if (mutant({place})) return Error{{}};\n return ", 1)
        else:
            lines[index] = line.replace("return ", f"if (!mutant({place})) return ", 1)
        places.append(" ".join(part.strip() for part in text.split("\n")[index:index + 4]))
    body = "\n".join(lines)
    at = body.index("\nnamespace fatctx")
    return body[:at + 1] + DECLARATION + body[at + 1:], places


def run_tests(programs: Path, place: int | None) -> bool:
    """Returns true if every test passed. A crash or a run without end is a failure like any other."""
    environment = dict(os.environ)
    environment.pop("FATCTX_MUTANT", None)
    if place is not None:
        environment["FATCTX_MUTANT"] = str(place)
    try:
        return all(subprocess.run([programs / program, f"--gtest_filter={tests}", "--gtest_brief=1", "--gtest_fail_fast"],
                                  env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=300).returncode == 0 for program, tests in RUNS)
    except subprocess.TimeoutExpired:
        return False


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", type=Path, help="keep the copy and its build here (default: a temporary folder)")
    parser.add_argument("--only", default="", help="try only the places whose file or line holds this text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.build or Path(temporary)
        copy = folder / "copy"
        for name in COPIED:
            source, target = ROOT / name, copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            else:
                shutil.copy2(source, target)
        places: list[tuple[str, str]] = []
        names = files()
        for name in names:
            text, found = mutate((ROOT / name).read_text(), len(places))
            (copy / name).write_text(text)
            places += [(name, line) for line in found]
        (copy / "src/container/format/mutant_switch.cc").write_text(SWITCH)
        build = folder / "build"
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        for command in (["cmake", "-S", copy, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug",
                         "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g0", "-DFATCTX_WERROR=OFF", "-DFATCTX_BUILD_TOOLS=OFF",
                         "-DFATCTX_BUILD_BENCH=OFF", *launcher],
                        ["ninja", "-C", build, *sorted({program for program, _ in RUNS})]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                print(done.stdout[-4000:], file=sys.stderr)
                return 2
        programs = build / "tests"
        if not run_tests(programs, None):
            print("the tests fail although nothing is switched off", file=sys.stderr)
            return 2
        chosen = [i for i, (name, line) in enumerate(places) if arguments.only in name or arguments.only in line]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            survived = dict(zip(chosen, pool.map(lambda place: run_tests(programs, place), chosen)))
    survivors = 0
    for name in names:
        here = [i for i in chosen if places[i][0] == name]
        print(f"{name}: {len(here)} places, {sum(not survived[i] for i in here)} noticed")
        for i in here:
            if not survived[i]:
                continue
            reason = next((why for text, why in ACCEPTED.items() if text in places[i][1]), None)
            survivors += reason is None
            print(f"  {'SURVIVED' if reason is None else 'accepted'}: {places[i][1]}" +
                  (f" ({reason})" if reason else ""))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
