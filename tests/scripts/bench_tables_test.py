"""bench/tables.py puts results into the page: the goals with links, and the tables between their marks."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("tables", ROOT / "bench" / "tables.py")
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)

PAGE = """# Benchmarks
<!-- results: machine -->
old
<!-- end -->
<!-- results: goals -->
<!-- end -->
## A fresh open, of 8 records
<!-- results: open -->
old
<!-- end -->
behind
"""


def row(what: str, **more) -> dict:
    machine = {"cpu": "CPU", "cores": 2, "kernel": "Linux 1", "filesystem": "ext4", "build": "optimised build"}
    return {"what": what, "verified": "none", "cache": "warm", "size_bytes": 1, "unit": "us", "minimum": 10.0, "median": 2500.0,
            "ratio_of_minima": 1.0, "median_ratio": 1.25, "target": None, "reached": None, "machine": machine, **more}


def results() -> dict:
    rows = [row("floor | a"), row("open", target="med ratio <= 3", reached=True), row("heap", unit="bytes", minimum=2048, median=3 << 20),
            row("copy", target="min us <= 5", reached=False)]
    return {"open": {"workload": "8 records", "rows": rows}}


def test_the_page_has_the_goals_and_the_tables():
    page = tables.written(PAGE, results())
    assert "old" not in page and page.endswith("behind\n")
    assert "CPU, 2 cores, Linux 1, ext4" in page
    assert "| [A fresh open, of 8 records](#a-fresh-open-of-8-records) | open (none) | ratio ≤ 3 | 1.25 (2.5 ms) | yes |" in page
    assert "| copy (none) | min us ≤ 5 | 10 µs | no |" in page
    assert "| floor \\| a | none | 10 µs | 2.5 ms | 1.25 |  |" in page and "| heap | none | 2 KiB | 3 MiB |" in page
    assert tables.written(page, results()) == page


@pytest.mark.parametrize("check", [[], ["--check"]])
def test_a_missing_result_is_named_and_nothing_is_written(tmp_path, monkeypatch, capsys, check):
    page = tmp_path / "benchmarks.md"
    page.write_text(PAGE)
    monkeypatch.setattr(tables, "PAGE", page)
    monkeypatch.setattr("sys.argv", ["tables.py", str(tmp_path), *check])
    assert tables.main() == 1
    assert "open.json" in capsys.readouterr().err and page.read_text() == PAGE


def test_every_mark_of_the_page_is_a_result_that_a_bench_makes():
    names = {name for _, name, _ in tables.MARK.findall(tables.PAGE.read_text())} - {"goals", "machine"} - set(tables.PARTS)
    run_all = (ROOT / "bench" / "run_all").read_text().split("NAMES=(")[1].split(")")[0].split()
    assert names == set(run_all) - {"sharing"} | {"onnx_load"}
    assert json.dumps(sorted(tables.PARTS)) == '["sharing_packing", "sharing_views"]'
