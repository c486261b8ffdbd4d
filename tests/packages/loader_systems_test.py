"""The small loader as one file: one line of one compiler makes a program of it for each system. Where this machine can run
it, it says what the program of this machine says."""

import re
import shutil

import pytest

from places import GOLDEN, PLACE, ROOT, ZIG, loader_walk, must, run, walk_of_this_machine

# The target, and the words before its program; None where nothing here runs it.
TARGETS = {
    "x86_64-linux-musl": [],
    "aarch64-linux-musl": ["qemu-aarch64"],
    "riscv64-linux-musl": ["qemu-riscv64"],
    "x86_64-windows-gnu": ["wine"],
    "aarch64-windows-gnu": None,
    "aarch64-macos": None,
    "x86_64-macos": None,
}


@pytest.fixture(scope="module")
def one_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loader")
    must(ROOT / "scripts" / "loader_single", "-o", folder)
    return folder / "fatctx_loader.cc"


@pytest.mark.parametrize("target", TARGETS)
def test_one_line_makes_a_program(one_file, target, tmp_path):
    if not ZIG.exists():
        pytest.skip("zig is not here; scripts/packages_portable_setup.sh fetches it")
    program = loader_walk(one_file, target, tmp_path)
    runner = TARGETS[target]
    if runner is None:
        return  # it compiles and links; nothing here runs it
    if runner and not shutil.which(runner[0]):
        pytest.skip(f"compiled and linked; {runner[0]} is not here to run it")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(PLACE), "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    done = run(*runner, program, "SM8650", *GOLDEN, env=environment)
    assert done.returncode == 0, done.stderr
    said, here = done.stdout.replace("\r\n", "\n"), walk_of_this_machine()
    if "windows" in target:  # it maps in units of 64 KiB, so it copies more
        said, here = (re.sub(r", copied \d+", ", copied", text) for text in (said, here))
    assert said == here
