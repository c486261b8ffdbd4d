"""scripts/fuzz runs targets in parallel, prints the result of each, and fails if one of them finds something."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("fuzz_ledger", ROOT / "scripts/fuzz_ledger.py")
fuzz_ledger = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fuzz_ledger)
MEET = "touch {mine}; for i in $(seq 50); do test -e {other} && break; sleep 0.1; done; test -e {other} || exit 7"


@pytest.fixture
def checkout(tmp_path):
    """Makes a checkout with fuzz programs that do what a test tells them."""
    (tmp_path / "scripts").mkdir()
    for name in ("fuzz", "talk.sh", "fuzz_ledger.py"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "build/fuzz/tests/fuzz").mkdir(parents=True)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/fuzz_ledger.tsv").write_text(f"{fuzz_ledger.HEADING}\n2026-11-22\tabcdef0123\tone\t100\t7\t0\n")
    (tmp_path / "docs/testing.md").write_text(f"before\n{fuzz_ledger.BEGIN}{fuzz_ledger.END}after\n")
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)

    def target(name, script):
        (tmp_path / "tests/fuzz/seeds" / name).mkdir(parents=True)
        (tmp_path / f"tests/fuzz/{name}_fuzz.cc").touch()
        program = tmp_path / f"build/fuzz/tests/fuzz/fuzz_{name}"
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)

    def fuzz(*arguments):
        return subprocess.run([tmp_path / "scripts/fuzz", "--no-build", *arguments], capture_output=True, text=True,
                              env={**os.environ, "NO_COLOR": "1"})

    return tmp_path, target, fuzz


def test_targets_run_at_once_and_each_says_what_it_did(checkout):
    folder, target, fuzz = checkout
    for mine, other, number in (("one", "two", 11), ("two", "one", 22)):
        target(mine, MEET.format(mine=folder / mine, other=folder / other) + f"; echo stat::number_of_executed_units: {number}")
    done = fuzz("--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    for name, number in (("one", 11), ("two", 22)):
        assert f"== {name}, 60 s at most\nstat::number_of_executed_units: {number}\n" in done.stdout
    assert not list((folder / "tests/fuzz/crashes").iterdir())


def test_one_job_is_one_after_the_other(checkout):
    folder, target, fuzz = checkout
    for name in ("one", "two", "three"):
        target(name, f"mkdir {folder}/running || exit 7; sleep 0.2; rmdir {folder}/running")
    assert fuzz("--seconds", "5").returncode == 0


def test_every_folder_of_golden_files_that_a_fuzzer_gets_is_there(checkout):
    folder, target, fuzz = checkout
    target("container_bytes", f'echo "$@" > {folder}/words')
    assert fuzz().returncode == 0
    golden = [word for word in (folder / "words").read_text().split() if word.startswith("tests/golden")]
    assert golden
    assert [word for word in golden if not (ROOT / word).is_dir()] == []


def test_a_fuzzer_that_does_not_run_says_why(checkout):
    _, target, fuzz = checkout
    target("bad", "echo INFO: seeds; echo 'No such directory: there; exiting'; exit 1")
    done = fuzz()
    assert done.returncode == 1
    assert "No such directory: there; exiting\n" in done.stdout


def test_what_was_found_is_named_and_the_others_go_on(checkout):
    folder, target, fuzz = checkout
    target("bad", "echo 'ERROR: libFuzzer: deadly signal'; exit 77")
    target("worse", "echo 'SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior'")  # and continues
    target("good", f"sleep 0.5; touch {folder}/ended")
    done = fuzz("--jobs", "3")
    assert done.returncode == 1
    assert sorted(done.stderr.split("new crashes of ")[1].splitlines()[0].split()) == ["bad", "worse"]
    assert "ERROR: libFuzzer: deadly signal" in done.stdout
    assert (folder / "ended").exists()


def test_the_fuzzer_is_told_when_to_end(checkout):
    folder, target, fuzz = checkout
    target("one", f'echo "$@" > {folder}/told')
    assert fuzz("--seconds", "7", "--runs", "1000").returncode == 0
    assert {"-max_total_time=7", "-runs=1000", "build/fuzz-corpus/one"} <= set((folder / "told").read_text().split())


def ledger_rows(folder):
    """Returns target, executions and findings of each row."""
    rows = fuzz_ledger.parse((folder / "docs/fuzz_ledger.tsv").read_text())
    return [(row.target, row.executions, row.findings) for row in rows]


def test_nothing_is_counted_unless_it_is_asked_for(checkout):
    folder, target, fuzz = checkout
    target("one", "echo stat::number_of_executed_units: 11")
    assert fuzz().returncode == 0
    assert ledger_rows(folder) == [("one", 100, 0)]


def test_a_recorded_run_is_counted_with_its_time_and_findings_and_in_the_document(checkout):
    folder, target, fuzz = checkout
    target("one", "python3 -c 'import time\nwhile time.process_time() < 1.2: pass'; echo stat::number_of_executed_units: 11")
    target("bad", "echo 'ERROR: it broke'; echo 'Test unit written to x'; echo stat::number_of_executed_units: 5; exit 77")
    assert fuzz("--record", "--jobs", "2").returncode == 1
    assert sorted(ledger_rows(folder)) == [("bad", 5, 1), ("one", 11, 0), ("one", 100, 0)]
    mine = [row for row in fuzz_ledger.parse((folder / "docs/fuzz_ledger.tsv").read_text()) if row.executions == 11]
    assert mine[0].cpu_seconds in (1, 2)
    document = (folder / "docs/testing.md").read_text()
    assert document.startswith("before\n") and document.endswith("after\n")
    assert re.search(r"^\| all of them \| 116 \| 0\.00 \| 1 \|", document, re.MULTILINE)


def test_until_goes_on_from_what_the_ledger_has(checkout):
    folder, target, fuzz = checkout
    target("one", "echo stat::number_of_executed_units: 11")
    assert fuzz("--until", "130").returncode == 0
    assert ledger_rows(folder) == [("one", 100, 0), ("one", 33, 0)]
    assert fuzz("--until", "140").returncode == 0
    assert ledger_rows(folder) == [("one", 100, 0), ("one", 44, 0)]


def test_until_ends_when_something_was_found(checkout):
    folder, target, fuzz = checkout
    target("one", "echo stat::number_of_executed_units: 11; echo 'SUMMARY: it broke'; exit 77")
    assert fuzz("--until", "1000").returncode == 1
    assert ledger_rows(folder) == [("one", 100, 0), ("one", 11, 0)]


@pytest.mark.parametrize("arguments", [("--jobs", "0"), ("--until", "0"), ("--until",), ("--runs", "many"), ("--seconds", "x"), ("--target", "none"), ("--nonsense",)])
def test_usage(checkout, arguments):
    _, target, fuzz = checkout
    target("one", "exit 0")
    assert fuzz(*arguments).returncode == 2
