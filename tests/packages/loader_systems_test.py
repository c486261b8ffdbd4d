"""The small loader as one file: one line of one compiler makes a program of it for each system. Where this machine can run
it, it says what the program of this machine says."""

import shutil

import pytest

from places import PLACE, ROOT, must, run

ZIG = ROOT / "build" / "portable" / "venv" / "bin" / "python"
GOLDEN = sorted((ROOT / "tests" / "golden").rglob("*.fatctx"))
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
    (folder / "fatctx").mkdir()
    (folder / "fatctx" / "loader.h").write_text('#include "fatctx_loader.h"\n')
    return folder


@pytest.mark.parametrize("target", TARGETS)
def test_one_line_makes_a_program(one_file, target, tmp_path):
    if not ZIG.exists():
        pytest.skip("zig is not here; scripts/packages_portable_setup.sh fetches it")
    program = tmp_path / ("walk.exe" if "windows" in target else "walk")
    must(ZIG, "-m", "ziglang", "c++", "-target", target, "-std=c++20", "-Os", "-c", one_file / "fatctx_loader.cc", "-o", tmp_path / "loader.o")
    must(ZIG, "-m", "ziglang", "cc", "-target", target, "-std=c99", f"-I{one_file}", "-c", ROOT / "tests" / "loader" / "loader_walk.c", "-o",
         tmp_path / "walk.o")
    must(ZIG, "-m", "ziglang", "c++", "-target", target, tmp_path / "walk.o", tmp_path / "loader.o", "-o", program)
    runner = TARGETS[target]
    if runner is None or (runner and not shutil.which(runner[0])):
        return  # linked, and nothing here runs it
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(PLACE), "WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all"}
    done = run(*runner, program, "SM8650", *GOLDEN, env=environment)
    here = run(ROOT / "build" / "release" / "tests" / "loader_walk_c", "SM8650", *GOLDEN)
    assert done.returncode == 0, done.stderr
    assert done.stdout.replace("\r\n", "\n") == here.stdout and "sum " in here.stdout
