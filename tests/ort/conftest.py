"""Real sessions of ONNX Runtime with the execution provider of the build."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the modules beside this file, whatever way pytest imports tests

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
LIBRARY = BUILD / "src" / "libfatctx_ort.so"


@pytest.fixture(scope="session")
def fatctx():
    """The command."""
    command = BUILD / "tools" / "fatctx"
    if not command.exists():
        pytest.skip(f"{command} is not built (scripts/build.sh)")
    return command


@pytest.fixture(scope="session")
def library():
    if not LIBRARY.exists():
        pytest.skip(f"{LIBRARY.name} is not built: no headers of ONNX Runtime (scripts/ort_setup.sh)")
    return LIBRARY
