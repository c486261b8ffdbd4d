"""The command, as the tests of this folder run it."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release")) / "tools" / "fatctx"


@pytest.fixture()
def program() -> pathlib.Path:
    if not PROGRAM.exists():
        pytest.skip(f"{PROGRAM} is not built; scripts/build.sh does")
    return PROGRAM


@pytest.fixture()
def fatctx(program, tmp_path):
    """Returns fatctx(arguments), which runs in the folder of the test and fails unless it exits with `exits`.
    Keywords go to subprocess.run()."""

    def run(*arguments: str, exits: int = 0, **how) -> subprocess.CompletedProcess:
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False, **{"cwd": tmp_path, **how})
        assert done.returncode == exits, done.stderr
        return done

    return run
