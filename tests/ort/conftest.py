"""Real sessions of ONNX Runtime: with the execution provider of this build, and with attached weights."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# The modules next to this file, with every import mode of pytest, and those of the tests of the package.
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "tests" / "python"), str(ROOT / "tests" / "cli")]

BUILD = Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
LIBRARY = BUILD / "src" / "libfatctx_ort.so"


def pytest_report_header() -> str:
    """Names the version, and refuses another one than ./check --lane versions means to test."""
    import onnxruntime

    meant = os.environ.get("FATCTX_ORT_VERSION", onnxruntime.__version__)
    if meant != onnxruntime.__version__:
        pytest.exit(f"onnxruntime {meant} was to be tested, and Python imports {onnxruntime.__version__}", returncode=1)
    return f"onnxruntime {meant}"


@pytest.fixture(scope="session")
def fatctx():
    """Returns the path of the command."""
    command = BUILD / "tools" / "fatctx"
    if not command.exists():
        pytest.skip(f"{command} is not built (scripts/build.sh)")
    return command


@pytest.fixture()
def command(fatctx, tmp_path):
    """Returns command(arguments), which runs in the folder of the test and fails unless it exits with `exits`."""

    def run(*arguments, exits: int = 0) -> subprocess.CompletedProcess:
        done = subprocess.run([fatctx, *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == exits, done.stderr
        return done

    return run


@pytest.fixture(scope="session")
def library():
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY.name} is not built: no headers of ONNX Runtime (scripts/ort_setup.sh)")
    return LIBRARY
