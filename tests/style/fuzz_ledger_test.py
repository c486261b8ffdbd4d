"""docs/fuzz_ledger.tsv is readable, and docs/testing.md publishes its sums."""

import importlib.util
import re

import pytest

from checkout import ROOT, text_of

SPEC = importlib.util.spec_from_file_location("fuzz_ledger", ROOT / "scripts/fuzz_ledger.py")
fuzz_ledger = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fuzz_ledger)

ROWS = [fuzz_ledger.Row("2026-11-22", "abcdef0", "toc", 1_000, 3_600, 0),
        fuzz_ledger.Row("2026-11-23", "abcdef1", "toc", 2_000, 1_800, 1),
        fuzz_ledger.Row("2026-11-22", "abcdef0", "irpa", 5_000, 60, 0)]


def test_the_document_has_the_sums_of_the_ledger():
    rows = fuzz_ledger.parse(text_of(fuzz_ledger.LEDGER))
    document = text_of(fuzz_ledger.DOCUMENT)
    assert rows and fuzz_ledger.renewed(document, rows) == document


def test_the_ledger_names_targets_that_exist():
    targets = {path.name.removesuffix("_fuzz.cc") for path in (ROOT / "tests/fuzz").glob("*_fuzz.cc")} | {"mixed"}
    assert {row.target for row in fuzz_ledger.parse(text_of(fuzz_ledger.LEDGER))} <= targets


def test_the_table_adds_up_by_target():
    assert fuzz_ledger.table(ROWS).splitlines()[2:] == [
        "| `irpa` | 5,000 | 0.02 | 0 | 2026-11-22 | `abcdef0` |",
        "| `toc` | 3,000 | 1.50 | 1 | 2026-11-23 | `abcdef1` |",
        "| all of them | 8,000 | 1.52 | 1 | 2026-11-23 | `abcdef1` |"]


def test_runs_of_one_day_commit_and_target_are_one_row():
    run = fuzz_ledger.Row("2026-11-23", "abcdef1", "toc", 7, 2, 1)
    rows = fuzz_ledger.with_run(fuzz_ledger.parse(fuzz_ledger.HEADING + "\n" + "\n".join(row.line() for row in ROWS)), run)
    assert [(row.executions, row.cpu_seconds, row.findings) for row in rows] == [(1_000, 3_600, 0), (2_007, 1_802, 2), (5_000, 60, 0)]
    other = fuzz_ledger.Row("2026-11-24", "abcdef1", "toc", 7, 2, 1)
    assert fuzz_ledger.with_run(rows, other)[-1] is other


@pytest.mark.parametrize("line", ["2026-11-22\tabcdef0\ttoc\t1\t2", "22.11.\tabcdef0\ttoc\t1\t2\t3", "2026-11-22\tabcdef0\ttoc\t-1\t2\t3",
                                  "2026-11-22\tHEAD\ttoc\t1\t2\t3", ""])
def test_a_line_that_is_no_row_is_named(line):
    with pytest.raises(ValueError, match=re.escape("fuzz_ledger.tsv, line 2")):
        fuzz_ledger.parse(f"{fuzz_ledger.HEADING}\n{line}\n")


def test_a_wrong_heading_and_a_document_without_marks_are_named():
    with pytest.raises(ValueError, match="first line"):
        fuzz_ledger.parse("date\n")
    with pytest.raises(ValueError, match="marks"):
        fuzz_ledger.renewed("no table", ROWS)
