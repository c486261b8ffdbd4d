"""Containers of compiled models, made by the command when a test first needs them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from vendor import Vendor

ROOT = Path(__file__).resolve().parents[2]
FATCTX = Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release")) / "tools" / "fatctx"


def run(*arguments: str | Path, code: int) -> subprocess.CompletedProcess:
    done = subprocess.run([FATCTX, *map(str, arguments)], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, f"exit {done.returncode}: {done.stderr}"
    return done


def fatctx(*arguments: str | Path, code: int = 0) -> str:
    """Runs the command and returns its standard output."""
    return run(*arguments, code=code).stdout


def complaints_of(*arguments: str | Path, code: int) -> str:
    """Runs the command and returns its standard error."""
    return run(*arguments, code=code).stderr


class Packer:
    def __init__(self, vendor: Vendor, folder: Path):
        self._vendor, self._folder = vendor, folder
        folder.mkdir(parents=True, exist_ok=True)

    def singles(self, name: str, socs: tuple[int, ...], sharing: str, out: Path | None = None) -> Path:
        """Returns a container of the binaries that were compiled one SoC at a time, in this order."""
        out = out or self._folder / f"{name}_{'-'.join(map(str, socs))}_{sharing}.fatctx"
        if not out.exists():
            flags = [flag for soc in socs for flag in ("--ep-context", self._vendor.compiled(name, soc).model)]
            fatctx("pack", "-o", out, "--name", name, "--sharing", sharing, *flags)
        return out

    def archive(self, name: str, socs: tuple[int, ...], sharing: str) -> Path:
        """Returns a container of the entries of the DLC that was compiled for all SoCs at once."""
        out = self._folder / f"{name}_{'-'.join(map(str, socs))}_{sharing}_dlc.fatctx"
        if not out.exists():
            fatctx("pack", "-o", out, "--name", name, "--sharing", sharing, "--dlc",
                   self._vendor.compiled(name, *socs).binary)
        return out
