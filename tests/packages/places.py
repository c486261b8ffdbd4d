"""Folders and commands that the tests of packages share."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("FATCTX_PACKAGES", ROOT / "build" / "packages"))
VERSION = re.search(r"project\(fatctx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def must(*command, **options) -> str:
    done = run(*command, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout[-8000:]}{done.stderr[-8000:]}"
    return done.stdout


class Portable:
    """The files of scripts/portable for one kind of processor, and how programs of that kind are started."""

    def __init__(self, arch: str, folder: Path, files: list[Path]):
        self.arch = arch
        self.archive = next(file for file in files if file.name.endswith(".tar.gz"))
        self.wheels = [file for file in files if file.suffix == ".whl"]
        self.tree = folder / self.archive.name.removesuffix(".tar.gz")
        must("tar", "-C", folder, "-xf", self.archive)

    def start(self, suite: str = "bookworm") -> list[str]:
        """The words before a program: none, or qemu with the C library of a Debian for that processor."""
        if self.arch == platform.machine():
            return []
        root = PLACE / f"arm64-{suite}"
        if not root.exists() or not shutil.which(f"qemu-{self.arch}"):
            pytest.skip(f"{root} or qemu-{self.arch} is not here; scripts/packages_portable_setup.sh fetches them")
        return [f"qemu-{self.arch}", "-L", str(root)]

    def python(self, tag: str) -> list[str]:
        """A Python that a wheel with this tag is for."""
        if self.arch == platform.machine():
            return [native_python(tag)]
        if tag not in EMULATED:
            pytest.skip(f"Debian has no Python for {tag} on {self.arch}")
        suite, name = EMULATED[tag]
        return [*self.start(suite), str(PLACE / f"arm64-{suite}" / "usr" / "bin" / name)]


ZIG = ROOT / "build" / "portable" / "venv" / "bin" / "python"
GOLDEN = sorted((ROOT / "tests" / "golden").rglob("*.fatctx"))


def loader_walk(source: Path, target: str, folder: Path, *flags: str) -> Path:
    """Compiles the small loader as one file (`source`), and a C program that walks through files with it."""
    program = folder / ("walk.exe" if "windows" in target else "walk")
    compiler = [ZIG, "-m", "ziglang", "c++", "-target", target, *flags]
    must(*compiler, "-std=c++20", "-Os", "-c", source, "-o", folder / "loader.o")
    (folder / "fatctx").mkdir(exist_ok=True)
    (folder / "fatctx" / "loader.h").write_text('#include "fatctx_loader.h"\n')
    must(ZIG, "-m", "ziglang", "cc", "-target", target, "-std=c99", f"-I{folder}", f"-I{source.parent}", "-c",
         ROOT / "tests" / "loader" / "loader_walk.c", "-o", folder / "walk.o")
    must(*compiler, folder / "walk.o", folder / "loader.o", "-o", program)
    return program


def walk_of_this_machine() -> str:
    said = must(ROOT / "build" / "release" / "tests" / "loader_walk_c", "SM8650", *GOLDEN)
    assert "sum " in said
    return said


# The wheel for 3.12 fits all newer versions, so a newer one tests it.
EMULATED = {"cp311": ("bookworm", "python3.11"), "cp312": ("trixie", "python3.13")}


def pythons() -> dict[tuple[int, int], str]:
    """Pythons of this machine by version: those that FATCTX_PYTHONS names, those in PATH, those of pyenv."""
    names = [*os.environ.get("FATCTX_PYTHONS", "").split(), *(f"python3.{minor}" for minor in range(10, 15))]
    if shutil.which("pyenv"):
        names += sorted(map(str, Path(must("pyenv", "root").strip()).glob("versions/3.1[0-9].*/bin/python3.1[0-9]")))
    found = {}
    for name in filter(shutil.which, names):
        done = run(name, "-c", "import sys; print(*sys.version_info[:2], sys.executable)")
        if done.returncode == 0:
            major, minor, program = done.stdout.strip().split(" ", 2)
            found.setdefault((int(major), int(minor)), program)
    return found


def native_python(tag: str) -> str:
    wanted = (3, int(tag.removeprefix("cp3")))
    fitting = sorted(version for version in pythons() if version == wanted or (tag == "cp312" and version > wanted))
    if not fitting:
        pytest.skip(f"no Python for {tag} is here; FATCTX_PYTHONS names more of them")
    return pythons()[fitting[-1]]


# A shell in a root: it sees no process and no network of this machine. Its mounts end with it.
ENTER = 'mount -t proc proc "$0/proc" && root=$0 && exec chroot "$root" "$@"'


def inside(root: Path, *command, folder: str = "/", **options) -> subprocess.CompletedProcess:
    return run("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", ENTER, root, "/usr/bin/env", "-i", "-C", folder,
               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/", "DEBIAN_FRONTEND=noninteractive", *command, **options)
