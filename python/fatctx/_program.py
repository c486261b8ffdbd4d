"""Finds the program `fatctx`, and what it needs of this Python."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import sysconfig

MISSING = ("this Python package has no command in it; install a wheel of a release, or the command itself "
           "(docs/install.md)")


def program() -> str | None:
    """Returns the program of this package. A package that was built from a checkout has none. Then it returns the first in
    PATH, but for scripts: a script of this package starts the program."""
    own = pathlib.Path(__file__).with_name("bin") / "fatctx"
    if own.exists():
        return str(own)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        found = shutil.which("fatctx", path=folder) if folder else None
        if found and not _is_script(found):
            return found
    return None


def environment() -> dict[str, str]:
    """Returns the environment with the packages of this Python: its compilers in PATH, and its ONNX Runtime."""
    variables = dict(os.environ)
    scripts = sysconfig.get_path("scripts")
    variables["PATH"] = os.pathsep.join(filter(None, [variables.get("PATH", ""), scripts]))
    library = _runtime_library()
    if library is not None:
        variables.setdefault("FATCTX_ONNXRUNTIME", library)
    return variables


def _is_script(file: str) -> bool:
    with open(file, "rb") as opened:
        return opened.read(2) == b"#!"


def _runtime_library() -> str | None:
    """Returns the library of the package onnxruntime, without importing it."""
    spec = importlib.util.find_spec("onnxruntime")
    if spec is None or not spec.submodule_search_locations:
        return None
    for folder in spec.submodule_search_locations:
        for file in sorted(pathlib.Path(folder, "capi").glob("libonnxruntime.so.*.*")):
            return str(file)
    return None
