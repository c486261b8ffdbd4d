"""The command as one static program with musl: it needs nothing of the system, and says what the program of this machine
says. That of another processor runs in qemu without any files of that system."""

import json
import platform
import shutil
import sys
from pathlib import Path

import pytest

from places import GOLDEN, ROOT, must, run

HERE = ROOT / "build" / "release" / "tools" / "fatctx"


@pytest.fixture(scope="module", params=["x86_64", "aarch64"])
def program(request, tmp_path_factory) -> list[str]:
    """The words that start the program."""
    folder = tmp_path_factory.mktemp(request.param)
    file = must(ROOT / "scripts" / "static", "--arch", request.param, "-o", folder).strip().splitlines()[-1]
    if request.param == platform.machine():
        return [file]
    if not shutil.which(f"qemu-{request.param}"):
        pytest.skip(f"built; qemu-{request.param} is not here to run it")
    return [f"qemu-{request.param}", file]


def test_it_needs_nothing(program):
    assert "Requesting program interpreter" not in must("readelf", "-lW", program[-1])
    assert "NEEDED" not in must("readelf", "-dW", program[-1])
    assert Path(program[-1]).stat().st_size < 12 << 20


@pytest.mark.parametrize("words", [("info", "--json"), ("select", "--device", "SM8650", "--json"), ("verify", "--json"), ("explain", "--device", "x86-64-v3")],
                         ids=" ".join)
def test_it_says_what_the_program_of_this_machine_says(program, words):
    for file in GOLDEN:
        here, there = (run(*start, words[0], file, *words[1:]) for start in ([HERE], program))
        assert (there.returncode, there.stdout, there.stderr) == (here.returncode, here.stdout, here.stderr), file


def test_it_packs_the_same_bytes_and_appends(program, tmp_path):
    (tmp_path / "a.bin").write_bytes(bytes(range(256)) * 700)
    files = []
    for name, start in (("here", [HERE]), ("there", program)):
        out = tmp_path / name
        must(*start, "pack", "-o", out, "--name", "m", "--binary", f"{tmp_path / 'a.bin'}@htp:SM8650")
        must(*start, "append", out, "--binary", f"{tmp_path / 'a.bin'}@htp:SM8550")
        files.append(out.read_bytes())
    assert files[0] == files[1]
    told = json.loads(must(*program, "verify", tmp_path / "there", "--json"))
    assert told["findings"] == []


def test_the_cases_of_the_command(program):
    if program[0].startswith("qemu"):
        pytest.skip("they take too long in qemu; the lane aarch64 runs an eighth of them")
    built = ROOT / "build" / f"static-{platform.machine()}" / "tools" / "fatctx"
    must(sys.executable, ROOT / "tests" / "cli" / "run_cases.py", built, "--without", "push-nobody-listens")  # needs HTTP


def test_a_source_behind_http_is_refused_with_the_reason(program, tmp_path):
    done = run(*program, "fetch", "http://127.0.0.1:9/m.fatctx", "--all", "-o", tmp_path / "m.fatctx")
    assert done.returncode != 0 and "this program is static" in done.stderr
    assert not list(tmp_path.iterdir())
