"""The programs of a build for another processor, and the same of this machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = sorted((ROOT / "tests" / "golden").rglob("*.fatctx"))
NATIVE = ROOT / "build" / "release"


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)


class Emulated:
    def __init__(self, arch: str):
        self.arch = arch
        self.build = ROOT / "build" / arch
        self.root = ROOT / "build" / "cross" / arch

    def start(self, *options: str) -> list[str]:
        """The words before a program; `options` are those of qemu."""
        return [f"qemu-{self.arch}", *options, "-L", str(self.root)]

    def run(self, program: str, *arguments, **options) -> subprocess.CompletedProcess:
        return run(*self.start(), self.build / program, *arguments, **options)

    def answers(self, program: str, *arguments, **options) -> list[tuple[int, str, str]]:
        """Exit code and texts of a program of that build, and of the same one here."""
        return [(done.returncode, done.stdout, done.stderr) for done in (
            self.run(program, *arguments, **options), run(NATIVE / program, *arguments, **options))]
