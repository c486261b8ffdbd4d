#!/usr/bin/env python3
"""Keeps docs/fuzz_ledger.tsv: how many inputs each fuzz target has run, and what they found.

    scripts/fuzz_ledger.py add --target NAME --executions N --cpu-seconds S --findings N
    scripts/fuzz_ledger.py total
    scripts/fuzz_ledger.py table

`add` counts a run. Runs of one day, commit and target are one row. Then it renews the table in docs/testing.md.
`total` prints the executions of all rows. `table` prints the table. scripts/fuzz --record calls `add`.
Exit status: 0 done, 1 the ledger cannot be read, 2 usage.
"""

import argparse
import dataclasses
import datetime
import fcntl
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEDGER = "docs/fuzz_ledger.tsv"
DOCUMENT = "docs/testing.md"
HEADING = "date\tcommit\ttarget\texecutions\tcpu_seconds\tfindings"
BEGIN, END = "<!-- fuzz ledger -->\n", "<!-- end of the fuzz ledger -->\n"


@dataclasses.dataclass
class Row:
    date: str
    commit: str
    target: str
    executions: int
    cpu_seconds: int
    findings: int

    def line(self) -> str:
        return "\t".join(str(value) for value in dataclasses.astuple(self))


def parse(text: str) -> list[Row]:
    """Returns the rows in the order of the file. Raises ValueError, which names the line."""
    lines = text.splitlines()
    if not lines or lines[0] != HEADING:
        raise ValueError(f"{LEDGER}: the first line is not {HEADING!r}")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        if not re.fullmatch(r"\d{4}-\d\d-\d\d\t[0-9a-f]{7,40}\+?\t[a-z0-9_]+(\t\d+){3}", line):
            raise ValueError(f"{LEDGER}, line {number}: not a date, commit, target and three numbers: {line!r}")
        date, commit, target, *numbers = line.split("\t")
        rows.append(Row(date, commit, target, *map(int, numbers)))
    return rows


def with_run(rows: list[Row], run: Row) -> list[Row]:
    """Returns the rows, with `run` counted in the row of its day, commit and target."""
    for row in rows:
        if (row.date, row.commit, row.target) == (run.date, run.commit, run.target):
            row.executions += run.executions
            row.cpu_seconds += run.cpu_seconds
            row.findings += run.findings
            return rows
    return [*rows, run]


def table(rows: list[Row]) -> str:
    """Returns one line per target, the most executions first, and their sums."""
    def line(name: str, of: list[Row]) -> str:
        seconds = sum(row.cpu_seconds for row in of)
        latest = max(of, key=lambda row: row.date)
        return (f"| {name} | {sum(row.executions for row in of):,} | {seconds / 3600:.2f} | "
                f"{sum(row.findings for row in of)} | {latest.date} | `{latest.commit}` |\n")

    targets: dict[str, list[Row]] = {}
    for row in rows:
        targets.setdefault(row.target, []).append(row)
    ordered = sorted(targets.items(), key=lambda item: (-sum(row.executions for row in item[1]), item[0]))
    return ("| target | executions | CPU hours | findings | last run | commit |\n|---|---:|---:|---:|---|---|\n" +
            "".join(line(f"`{target}`", of) for target, of in ordered) + line("all of them", rows))


def renewed(document: str, rows: list[Row]) -> str:
    """Returns the document with the current table between its two marks."""
    before, mark, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise ValueError(f"{DOCUMENT}: the marks of the fuzz ledger are missing")
    return before + mark + table(rows) + end + after


def commit() -> str:
    """Returns the commit of the checkout, with a plus sign if the product or the targets differ from it."""
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    changed = git("status", "--porcelain", "--", "src", "include", "tests/fuzz", "tools")
    return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def add(run: Row) -> None:
    """Adds a run. Several processes may do so at once."""
    with (ROOT / LEDGER).open("r+") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        rows = with_run(parse(ledger.read()), run)
        document = ROOT / DOCUMENT
        text = renewed(document.read_text(), rows)
        ledger.seek(0)
        ledger.write("".join(f"{line}\n" for line in [HEADING, *(row.line() for row in rows)]))
        ledger.truncate()
        document.write_text(text)


def number(text: str) -> int:
    if not re.fullmatch(r"\d+", text):
        raise argparse.ArgumentTypeError(f"{text} is not a whole number")
    return int(text)


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fuzz_ledger.py", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    adding = commands.add_parser("add", help="count a run")
    adding.add_argument("--target", required=True)
    for name in ("--executions", "--cpu-seconds", "--findings"):
        adding.add_argument(name, type=number, required=True)
    commands.add_parser("total", help="print the executions of all rows")
    commands.add_parser("table", help="print the table of docs/testing.md")
    arguments = parser.parse_args()
    try:
        if arguments.command == "add":
            add(Row(datetime.date.today().isoformat(), commit(), arguments.target, arguments.executions,
                    arguments.cpu_seconds, arguments.findings))
            return 0
        rows = parse((ROOT / LEDGER).read_text())
        print(table(rows) if arguments.command == "table" else sum(row.executions for row in rows),
              end="" if arguments.command == "table" else "\n")
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
