"""Containers for the tests: a small one with invented payloads, and MiniLM as IREE compiles it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

import dlc_archive  # noqa: E402
import fatctx  # noqa: E402
import minilm  # noqa: E402
from small_container import small_records  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def small_file(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("small") / "small.fatctx"
    fatctx.pack(path, small_records(), model_name="small")
    return path


@pytest.fixture()
def small(tmp_path) -> Path:
    """Returns a file for one test alone: the test may damage it, and no other test has it mapped."""
    path = tmp_path / "own.fatctx"
    fatctx.pack(path, small_records(), model_name="small")
    return path


@pytest.fixture()
def dlc(tmp_path) -> Path:
    """Returns a multi-SoC archive from a generator that shares no code with the library."""
    path = tmp_path / "model.dlc"
    path.write_bytes(dlc_archive.archive(dlc_archive.make("htp", [36, 57, 69], 100 * 4096, 30 * 4096)))
    return path


@pytest.fixture(scope="session")
def minilm_parts() -> minilm.Parts:
    cache = Path(os.environ.get("FATCTX_TEST_CACHE", ROOT / "build" / "test-cache"))
    try:
        return minilm.compiled(cache)
    except minilm.Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def minilm_file(minilm_parts, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("minilm") / "minilm.fatctx"
    fatctx.pack(path, minilm.records(minilm_parts), model_name="minilm")
    return path


@pytest.fixture()
def run_python():
    """Returns a function that runs a program in its own process and returns its output; it fails with the program's
    error."""

    def run(program: str, *arguments: str, **environment: str) -> str:
        paths = [str(Path(fatctx.__file__).parents[1]), str(Path(__file__).parent)]
        done = subprocess.run(
            [sys.executable, "-c", program, *map(str, arguments)], capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment})
        assert done.returncode == 0, f"exit {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    return run
