"""scripts/prove reports failures and skipped parts, and counts neither as passed."""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LOADER = importlib.machinery.SourceFileLoader("prove", str(ROOT / "scripts" / "prove"))
prove = importlib.util.module_from_spec(importlib.util.spec_from_loader("prove", LOADER))
sys.modules["prove"] = prove
LOADER.exec_module(prove)

SKIPPED = """[ RUN      ] Kill.AtEverySystemCall
tests/crash/kill_test.cc:130: Skipped
one process may not trace another here

[  SKIPPED ] Kill.AtEverySystemCall (0 ms)
50 kills, 99 generations acknowledged
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Kill.AtEverySystemCall
"""


def result_of(tmp_path, monkeypatch, script, **more):
    monkeypatch.setattr(prove, "ROOT", tmp_path)
    part = prove.Part("a-part", "about", ["sh", "-c", script], r"^(\d+) kills|^killed at (\d+)", "kills", **more)
    return prove.run(part, "quick", tmp_path)


def test_amounts_are_added_up(tmp_path, monkeypatch):
    assert result_of(tmp_path, monkeypatch, "echo 50 kills; echo killed at 7") == ("passed", 57)


def test_a_failure_names_its_log(tmp_path, monkeypatch):
    result, _ = result_of(tmp_path, monkeypatch, "echo 50 kills; exit 3")
    assert result == "FAILED, exit 3; see a-part.log"
    assert (tmp_path / "a-part.log").read_text() == "50 kills\n"


def test_too_little_is_a_failure(tmp_path, monkeypatch):
    result, amount = result_of(tmp_path, monkeypatch, "echo 50 kills", least=51)
    assert result.startswith("FAILED: only 50 kills, 51 at least")
    assert amount == 50
    result, _ = result_of(tmp_path, monkeypatch, "echo 50 kills", quick={"least": "60"})
    assert result.startswith("FAILED: only 50 kills, 60 at least")


def test_a_skipped_test_is_named_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "output").write_text(SKIPPED)
    result, amount = result_of(tmp_path, monkeypatch, f"cat {tmp_path}/output")
    assert result == "skipped: Kill.AtEverySystemCall: one process may not trace another here"
    assert amount == 50


def test_a_missing_command_is_a_skip(tmp_path, monkeypatch):
    assert result_of(tmp_path, monkeypatch, "true", needs="no-such-command") == ("skipped: no-such-command is not here", 0)


def test_a_missing_file_of_the_checkout_is_a_skip(tmp_path, monkeypatch):
    assert result_of(tmp_path, monkeypatch, "true", needs="some/python") == ("skipped: some/python is not here", 0)
    (tmp_path / "some").mkdir()
    (tmp_path / "some/python").touch()
    assert result_of(tmp_path, monkeypatch, "echo 50 kills", needs="some/python") == ("passed", 50)


def test_the_scale_sets_environment_and_words(monkeypatch):
    monkeypatch.delenv("TSAN_OPTIONS", raising=False)
    part = prove.Part("a-part", "", ["run", "{seconds}", "build/{preset}"], "", "", quick={"seconds": "5"},
                      release={"seconds": "60", "FATCTX_X": "9"}, preset="debug")
    environment, command = prove.environment_and_words(part, "release")
    assert command == ["run", "60", "build/debug"]
    assert environment["FATCTX_X"] == "9"
    assert "halt_on_error=1" in environment["TSAN_OPTIONS"]
    assert prove.environment_and_words(part, "quick")[1] == ["run", "5", "build/debug"]


def run_all(tmp_path, monkeypatch, parts, jobs):
    """Returns the outcome of each part, in the order in which they ended."""
    monkeypatch.setattr(prove, "ROOT", tmp_path)
    ended = []
    prove.run_all(parts, "quick", jobs, tmp_path, lambda part, result, amount, seconds: ended.append((part.name, result, amount)))
    return ended


def shell_part(name, script, **more):
    return prove.Part(name, "", ["sh", "-c", script], r"^(\d+)", "things", **more)


def test_as_many_parts_run_at_once_as_there_are_jobs(tmp_path, monkeypatch):
    """Each of the two waits for the other, and gives up if there is none."""
    meet = "touch {0}/{1}; for i in $(seq 50); do test -e {0}/{2} && echo 1 && exit; sleep 0.1; done; exit 9"
    parts = [shell_part(mine, meet.format(tmp_path, mine, other)) for mine, other in (("a", "b"), ("b", "a"))]
    assert sorted(run_all(tmp_path, monkeypatch, parts, jobs=2)) == [("a", "passed", 1), ("b", "passed", 1)]


def test_one_job_is_one_part_after_the_other_and_the_longest_first(tmp_path, monkeypatch):
    alone = f"mkdir {tmp_path}/running || exit 9; sleep 0.2; rmdir {tmp_path}/running; echo 1"
    parts = [shell_part("short", alone, minutes=1), shell_part("long", alone, minutes=7), shell_part("none", alone)]
    assert run_all(tmp_path, monkeypatch, parts, jobs=1) == [(name, "passed", 1) for name in ("long", "short", "none")]


def test_a_part_that_uses_all_processors_runs_alone_and_last(tmp_path, monkeypatch):
    alone = f"mkdir {tmp_path}/running || exit 9; sleep 0.2; rmdir {tmp_path}/running; echo 1"
    shared = f"test ! -e {tmp_path}/running || exit 9; sleep 0.1; test ! -e {tmp_path}/running || exit 9; echo 1"
    parts = [shell_part("w", alone, alone=True, minutes=60), shell_part("x", shared), shell_part("y", shared),
             shell_part("z", shared), shell_part("v", alone, alone=True)]
    ended = run_all(tmp_path, monkeypatch, parts, jobs=2)
    assert {result for _, result, _ in ended} == {"passed"}
    assert [name for name, _, _ in ended[-2:]] == ["w", "v"]


def test_each_preset_is_built_once_and_nothing_for_what_is_skipped(monkeypatch):
    built = []

    class Done:
        returncode = 0

    monkeypatch.setattr(prove.subprocess, "run", lambda command, **_: built.append(command[1:]) or Done)
    parts = [prove.Part("a", "", [], "", "", targets=("one",)), prove.Part("b", "", [], "", "", targets=("two", "one")),
             prove.Part("c", "", [], "", "", targets=("one",), preset="tsan"),
             prove.Part("d", "", [], "", "", targets=("one",), preset="debug", needs="no-such-command")]
    assert prove.build(parts)
    assert built == [["--preset", "release", "--no-python", "--targets", "one two"],
                     ["--preset", "tsan", "--no-python", "--targets", "one"]]


def test_every_part_names_what_is_there():
    cmake = "".join((ROOT / "tests" / folder / "CMakeLists.txt").read_text() for folder in ("", "sweep", "fuzz"))
    presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
    names = [part.name for part in prove.PARTS]
    assert len(names) == len(set(names)) >= 10
    for part in prove.PARTS:
        assert part.preset in presets, part.name
        for target in part.targets:
            fuzzed = ROOT / f"tests/fuzz/{target.removeprefix('replay_').removeprefix('fuzz_')}_fuzz.cc"
            assert target == "fatctx_cli" or target in cmake or fuzzed.is_file() or \
                f"fatctx_test_program({target.removesuffix('_tests')})" in cmake, part.name
        for word in part.command:
            assert not word.startswith(("scripts/", "tests/")) or (ROOT / word).is_file(), word
        for option, target in zip(part.command, part.command[1:]):
            assert option != "--target" or (ROOT / f"tests/fuzz/{target}_fuzz.cc").is_file(), target
        sources = "".join(file.read_text() for pattern in ("**/*.cc", "**/*.py") for file in (ROOT / "tests").glob(pattern))
        for scale in (part.quick, part.release):
            for variable in filter(str.isupper, scale):
                assert f'"{variable}"' in sources, f"nobody reads {variable}"


def test_the_document_has_a_row_for_every_part_with_its_promises():
    document = (ROOT / "docs/testing.md").read_text()
    section = document.split("## Proofs, amounts and dates")[1].split("\n### ")[0]
    rows = re.findall(r"^\| `([a-z-]+)` \| ([\d, ]+) \| (?:[^|]+\| ){4}\d{4}-\d\d-\d\d \| `[0-9a-f]{7,10}` \|$", section, re.MULTILINE)
    assert rows == [(part.name, part.promises) for part in prove.PARTS]
    promised = document.split("## What files promise")[1].split("\n## ")[0]
    for part in prove.PARTS:
        for number in part.promises.split(", "):
            assert f"\n| {number} | " in promised, part.name


@pytest.mark.parametrize("arguments, code", [(["--list"], 0), (["--help"], 0), (["no-such-part"], 2), (["--scale", "x"], 2), (["--jobs", "0"], 2)])
def test_usage(arguments, code):
    done = subprocess.run([sys.executable, ROOT / "scripts/prove", *arguments], capture_output=True, text=True)
    assert done.returncode == code
