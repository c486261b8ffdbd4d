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
            return [shutil.which("python3.11") or "python3"] if tag == "cp311" else [newer_python()]
        suite, name = {"cp311": ("bookworm", "python3.11"), "cp312": ("trixie", "python3.13")}[tag]
        return [*self.start(suite), str(PLACE / f"arm64-{suite}" / "usr" / "bin" / name)]


def newer_python() -> str:
    """A Python that the wheel for 3.12 and all newer versions fits."""
    for name in [*os.environ.get("FATCTX_PYTHONS", "").split(), "python3.13", "python3.12", "python3.14"]:
        if shutil.which(name) and run(name, "-c", "import sys; sys.exit(sys.version_info < (3, 12))").returncode == 0:
            return name
    pytest.skip("no Python 3.12 or newer is here")


# A shell in a root: it sees no process and no network of this machine. Its mounts end with it.
ENTER = 'mount -t proc proc "$0/proc" && root=$0 && exec chroot "$root" "$@"'


def inside(root: Path, *command, folder: str = "/", **options) -> subprocess.CompletedProcess:
    return run("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", ENTER, root, "/usr/bin/env", "-i", "-C", folder,
               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/", "DEBIAN_FRONTEND=noninteractive", *command, **options)
