"""Folders and commands that the tests of packages share."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = Path(os.environ.get("FATCTX_PACKAGES", ROOT / "build" / "packages"))
VERSION = re.search(r"project\(fatctx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def must(*command, **options) -> str:
    done = run(*command, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout[-8000:]}{done.stderr[-8000:]}"
    return done.stdout


# A shell in a root: it sees no process and no network of this machine. Its mounts end with it.
ENTER = 'mount -t proc proc "$0/proc" && root=$0 && exec chroot "$root" "$@"'


def inside(root: Path, *command, folder: str = "/", **options) -> subprocess.CompletedProcess:
    return run("unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", ENTER, root, "/usr/bin/env", "-i", "-C", folder,
               "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "HOME=/", "DEBIAN_FRONTEND=noninteractive", *command, **options)
