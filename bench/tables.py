#!/usr/bin/env python3
"""Writes the results of bench/run_all into docs/benchmarks.md, and the figure docs/benchmarks.svg.

    bench/tables.py [RESULTS] [--check]

RESULTS is the folder with the JSON of run_all (default: build/release/bench/results). The text between the marks
`<!-- results: NAME -->` and `<!-- end -->` is replaced: `goals` has the rows with a target from all results, `machine`
names it, and any other NAME is the table of NAME.json or of a part of it (PARTS). --check only says whether the page would change.
Exit status: 0 done, 1 the page would change (--check) or a result is missing, 2 usage.
"""

import argparse
import html
import json
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
FIGURE = ROOT / "docs" / "benchmarks.svg"
MARK = re.compile(r"(<!-- results: ([a-z_]+) -->\n).*?(<!-- end -->\n)", re.DOTALL)

# Parts of a result: the result, and how its rows begin.
PARTS = {
    "sharing_packing": ("sharing", ("pack ", "memory of packing")),
    "sharing_views": ("sharing", ("view", "one call", "first touch", "page faults", "read every", "heap read",
                                  "memory of the composed", "composed")),
}

# The rows of the figure: result, row, what a reader wants to know. Ratios to the floor of the same run.
PICTURE = [
    ("open", "open, select, view, close", "one of 8 records"),
    ("many_records", "4096 records: open, view of one by name, touch, close", "one of 4,096 records"),
    ("many_records", "4096 records: IREE .irpa, map, index, one by name, touch, unmap", "the same, IREE .irpa"),
    ("many_records", "4096 records: stored ZIP, map, index, one by name, touch, unmap", "the same, stored ZIP"),
    ("many_records", "4096 records: safetensors, map, index, one by name, touch, unmap", "the same, safetensors"),
    ("many_records", "65536 records: open, view of one by name, touch, close", "one of 65,536 records"),
    ("many_records", "100000 tensors: open, one by name, touch, close", "one of 100,000 tensors"),
    ("many_records", "100000 tensors: IREE .irpa, map, index, one by name, touch, unmap", "the same, IREE .irpa"),
    ("many_records", "100000 tensors: safetensors, map, index, one by name, touch, unmap", "the same, safetensors"),
]


def number(value: float, unit: str) -> str:
    if unit == "us":
        if abs(value) >= 1e6:
            return f"{value / 1e6:.2f} s"
        return f"{value / 1000:.3g} ms" if abs(value) >= 1000 else f"{value:.3g} µs"
    if unit == "bytes":
        for size, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if abs(value) >= size:
                return f"{value / size:.3g} {name}"
        return f"{value:.0f} bytes"
    if unit == "count":
        return f"{value:.0f}"
    return f"{value:.4g} {unit}"


def ratio(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.2f}"


def target_text(row: dict) -> str:
    if not row.get("target"):
        return ""
    text = row["target"].replace("med ratio", "ratio").replace("<=", "≤").replace(">=", "≥")
    return f"{text}: {'reached' if row['reached'] else 'missed'}"


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def table(result: dict, beginnings: tuple[str, ...] = ("",)) -> str:
    lines = ["| what | verified | min | median | ratio | target |", "|---|---|---:|---:|---:|---|"]
    for row in result["rows"]:
        if not row["what"].startswith(beginnings):
            continue
        lines.append(f"| {cell(row['what'])} | {row['verified']} | {number(row['minimum'], row['unit'])} "
                     f"| {number(row['median'], row['unit'])} | {ratio(row.get('median_ratio'))} | {target_text(row)} |")
    return f"{result['workload']}.\n\n" + "\n".join(lines) + "\n"


def heading_of(page: str, name: str) -> str:
    """Returns the heading above the first mark of a result."""
    names = [name, *(part for part, (whole, _) in PARTS.items() if whole == name)]
    at = min(found for found in (page.find(f"<!-- results: {one} -->") for one in names) if found >= 0)
    return re.findall(r"^##+ (.*)$", page[:at], re.MULTILINE)[-1]


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def goals(page: str, results: dict[str, dict]) -> str:
    lines = ["| question | row | target | figure | reached |", "|---|---|---|---|---|"]
    for name, result in results.items():
        heading = heading_of(page, name)
        for row in result["rows"]:
            if not row.get("target"):
                continue
            figure = number(row["median"], row["unit"])
            if row.get("median_ratio") is not None:
                figure = f"{ratio(row['median_ratio'])} ({figure})"
            if row["target"].startswith("min "):
                figure = number(row["minimum"], row["unit"])
            text = row["target"].replace("med ratio", "ratio").replace("<=", "≤").replace(">=", "≥")
            lines.append(f"| [{heading}](#{slug(heading)}) | {cell(row['what'])} ({row['verified']}) | {text} | {figure} "
                         f"| {'yes' if row['reached'] else 'no'} |")
    return "\n".join(lines) + "\n"


def machine(results: dict[str, dict]) -> str:
    facts = next(iter(results.values()))["rows"][0]["machine"]
    return (f"{facts['cpu']}, {facts['cores']} cores, {facts['kernel']}, {facts['filesystem']}, {facts['build']}. "
            "One run of `bench/run_all` on an otherwise idle machine.\n")


def figure(results: dict[str, dict]) -> str:
    bars = []
    for name, what, label in PICTURE:
        row = next(row for row in results[name]["rows"] if row["what"] == what and row["verified"] in ("none", "nothing"))
        bars.append((label, row["median_ratio"], row["verified"] == "none"))
    step, left, width = 26, 210, 470
    most = max(value for _, value, _ in bars)

    def length(value: float) -> float:  # the fourth root: 2 and 900 are both seen
        return width * (value / most) ** 0.25

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{step * len(bars) + 60}" role="img" '
           'font-family="sans-serif" font-size="13">',
           "<title>From a path to the first byte, relative to the system calls alone</title>",
           f'<rect width="760" height="{step * len(bars) + 60}" fill="#ffffff"/>',
           '<text x="12" y="22" font-weight="bold">From a path to the first byte: times the system calls alone</text>']
    for index, (label, value, ours) in enumerate(bars):
        y = 40 + index * step
        out.append(f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{html.escape(label)}</text>')
        out.append(f'<rect x="{left}" y="{y}" width="{length(value):.1f}" height="18" fill="{"#1f6feb" if ours else "#9aa4b2"}"/>')
        out.append(f'<text x="{left + length(value) + 6:.1f}" y="{y + 14}">{ratio(value)}</text>')
    out.append(f'<text x="12" y="{52 + step * len(bars)}" fill="#555555">Blue: fatctx, which checks hashes of all that it '
               "reads. Grey: readers that check bounds. The lengths are fourth roots.</text>")
    out.append("</svg>")
    return "\n".join(out) + "\n"


def written(page: str, results: dict[str, dict]) -> str:
    def part(mark: re.Match[str]) -> str:
        name = mark.group(2)
        if name == "goals":
            text = goals(page, results)
        elif name == "machine":
            text = machine(results)
        elif name in PARTS:
            text = table(results[PARTS[name][0]], PARTS[name][1])
        else:
            text = table(results[name])
        return f"{mark.group(1)}{text}{mark.group(3)}"
    return MARK.sub(part, page)


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the results of bench/run_all into docs/benchmarks.md.")
    parser.add_argument("results", nargs="?", type=Path, default=ROOT / "build/release/bench/results")
    parser.add_argument("--check", action="store_true", help="say only whether the page would change")
    arguments = parser.parse_args()
    page = PAGE.read_text()
    names = dict.fromkeys(PARTS.get(name, (name,))[0] for _, name, _ in MARK.findall(page) if name not in ("goals", "machine"))
    try:
        results = {name: json.loads((arguments.results / f"{name}.json").read_text()) for name in names}
        new, picture = written(page, results), figure(results)
    except (OSError, KeyError, StopIteration) as error:
        print(f"bench/tables.py: a result is missing: {error}; run bench/run_all --full", file=sys.stderr)
        return 1
    if arguments.check:
        return int(new != page or not FIGURE.exists() or FIGURE.read_text() != picture)
    PAGE.write_text(new)
    FIGURE.write_text(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
