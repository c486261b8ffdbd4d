#!/usr/bin/env python3
"""Writes the tables of ./check --lane real (build/check/real.md) into docs/real_models.md, between its two marks.

    scripts/update_real_models.py

Takes the tables of a whole run only. The sentences around the marks must be checked by a person.
"""

import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "real_models.md"
REPORTS = ROOT / "build" / "check"
BEGIN, END = "<!-- tables of ./check --lane real -->\n", "<!-- end of the tables -->\n"


def missing_parts(found: dict, listed: list[str]) -> list[str]:
    """Returns the models, and the ways of models, that the run left out."""
    ways = {one["name"]: set(one["outcomes"]) for one in found["models"]}
    return [f"{name}: {way}" for name in listed for way in ("iree", "provider", "attach", "wrap") if way not in ways.get(name, set())]


def put_between(page: str, tables: str) -> str:
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no two lines {BEGIN.strip()} and {END.strip()}")
    return head + BEGIN + "\n" + tables.strip() + "\n\n" + END + tail


def main() -> int:
    if len(sys.argv) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if not (REPORTS / "real.json").exists():
        print("build/check/real.json is not there; run ./check --lane real first", file=sys.stderr)
        return 5
    listed = re.findall(r'RealModel\("([^"]+)"', (ROOT / "tests" / "real" / "real_models.py").read_text(encoding="utf-8"))
    missing = missing_parts(json.loads((REPORTS / "real.json").read_text(encoding="utf-8")), listed)
    if missing:
        print(f"the run is not whole; it lacks {', '.join(missing)}", file=sys.stderr)
        return 1
    PAGE.write_text(put_between(PAGE.read_text(encoding="utf-8"), (REPORTS / "real.md").read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
