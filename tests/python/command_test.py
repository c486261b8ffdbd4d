"""The script `fatctx` of the Python package: `python -m fatctx`."""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest


def start(*arguments, path, **variables):
    environment = {name: value for name, value in os.environ.items() if name != "FATCTX_ONNXRUNTIME"}
    return subprocess.run([sys.executable, "-m", "fatctx", *arguments], capture_output=True, text=True,
                          env=environment | {"PATH": os.pathsep.join(map(str, path))} | variables)


@pytest.fixture
def shows_environment(tmp_path):
    """A folder whose program `fatctx` prints its environment."""
    (tmp_path / "bin").mkdir()
    shutil.copy(shutil.which("env"), tmp_path / "bin" / "fatctx")
    return tmp_path / "bin"


def test_a_package_without_a_program_runs_the_one_in_path(tmp_path):
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "fatctx").write_text("#!/bin/sh\nexit 99\n")  # another script of the same kind
    (tmp_path / "scripts" / "fatctx").chmod(0o755)
    (tmp_path / "bin").mkdir()
    shutil.copy(shutil.which("echo"), tmp_path / "bin" / "fatctx")
    done = start("info", "a b", path=[tmp_path / "scripts", tmp_path / "bin"])
    assert (done.returncode, done.stdout) == (0, "info a b\n")


def test_without_any_program_it_says_what_to_install(tmp_path):
    done = start("info", path=[tmp_path])
    assert done.returncode == 5 and done.stdout == ""
    assert done.stderr == ("fatctx: this Python package has no command in it; install a wheel of a release, or the command itself "
                           "(docs/install.md)\n")


def test_the_program_gets_the_compilers_and_the_onnx_runtime_of_this_python(shows_environment):
    onnxruntime = pytest.importorskip("onnxruntime")
    lines = start(path=[shows_environment]).stdout.splitlines()
    assert f"PATH={shows_environment}{os.pathsep}{sysconfig.get_path('scripts')}" in lines
    library = next(line for line in lines if line.startswith("FATCTX_ONNXRUNTIME=")).partition("=")[2]
    assert pathlib.Path(library).is_file() and library.startswith(str(pathlib.Path(onnxruntime.__file__).parent))


def test_a_runtime_that_the_user_names_is_kept(shows_environment):
    assert "FATCTX_ONNXRUNTIME=/mine.so" in start(path=[shows_environment], FATCTX_ONNXRUNTIME="/mine.so").stdout.splitlines()
