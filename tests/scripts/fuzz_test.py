"""scripts/fuzz runs targets side by side, shows what each has done, and fails when one has found something."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEET = "touch {mine}; for i in $(seq 50); do test -e {other} && break; sleep 0.1; done; test -e {other} || exit 7"


@pytest.fixture
def checkout(tmp_path):
    """With fuzz programs that do what a test tells them."""
    (tmp_path / "scripts").mkdir()
    for name in ("fuzz", "talk.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    (tmp_path / "build/fuzz/tests/fuzz").mkdir(parents=True)

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


def test_what_was_found_is_named_and_the_others_go_on(checkout):
    folder, target, fuzz = checkout
    target("bad", "echo 'ERROR: libFuzzer: deadly signal'; exit 77")
    target("worse", "echo 'SUMMARY: UndefinedBehaviorSanitizer: undefined-behavior'")  # and goes on
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


@pytest.mark.parametrize("arguments", [("--jobs", "0"), ("--runs", "many"), ("--seconds", "x"), ("--target", "none"), ("--nonsense",)])
def test_usage(checkout, arguments):
    _, target, fuzz = checkout
    target("one", "exit 0")
    assert fuzz(*arguments).returncode == 2
