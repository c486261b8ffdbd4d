"""scripts/prove says what failed and what was skipped, and neither is a pass."""

import importlib.machinery
import importlib.util
import pathlib
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


def test_a_skipped_test_is_named_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "output").write_text(SKIPPED)
    result, amount = result_of(tmp_path, monkeypatch, f"cat {tmp_path}/output")
    assert result == "skipped: Kill.AtEverySystemCall: one process may not trace another here"
    assert amount == 50


def test_a_missing_command_is_a_skip(tmp_path, monkeypatch):
    assert result_of(tmp_path, monkeypatch, "true", needs="no-such-command") == ("skipped: no-such-command is not here", 0)


def test_the_scale_sets_environment_and_words(monkeypatch):
    part = prove.Part("a-part", "", ["run", "{seconds}"], "", "", quick={"seconds": "5"},
                      release={"seconds": "60", "FATCTX_X": "9"})
    environment, command = prove.environment_and_words(part, "release")
    assert command == ["run", "60"]
    assert environment["FATCTX_X"] == "9"
    assert prove.environment_and_words(part, "quick")[1] == ["run", "5"]


def test_every_part_names_what_is_there():
    cmake = (ROOT / "tests/CMakeLists.txt").read_text() + (ROOT / "tests/sweep/CMakeLists.txt").read_text()
    names = [part.name for part in prove.PARTS]
    assert len(names) == len(set(names)) >= 10
    for part in prove.PARTS:
        for target in part.targets:
            assert target == "fatctx_cli" or target in cmake or \
                f"fatctx_test_program({target.removesuffix('_tests')})" in cmake, part.name
        if part.command[0].startswith(("scripts/", "tests/")):
            assert (ROOT / part.command[0]).is_file()
        sources = "".join(file.read_text() for file in (ROOT / "tests").glob("*/*.cc"))
        for scale in (part.quick, part.release):
            for variable in filter(str.isupper, scale):
                assert f'"{variable}"' in sources, f"nobody reads {variable}"


@pytest.mark.parametrize("arguments, code", [(["--list"], 0), (["--help"], 0), (["no-such-part"], 2), (["--scale", "x"], 2)])
def test_usage(arguments, code):
    done = subprocess.run([sys.executable, ROOT / "scripts/prove", *arguments], capture_output=True, text=True)
    assert done.returncode == code
