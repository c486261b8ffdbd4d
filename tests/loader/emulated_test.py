"""The small loader on other processors, in qemu: built by Debian's cross compilers as one file, it says of every golden file
what the program of this machine says. The lanes aarch64 and s390x run everything else there."""

import pathlib
import shutil
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from walk import DEVICES, GOLDEN, ROOT, lines_of, one_file, walker  # noqa: E402

ARCHS = ["aarch64", "s390x"]  # s390x has the high byte first


@pytest.fixture(scope="module", params=ARCHS)
def emulated(request, tmp_path_factory) -> tuple[str, pathlib.Path]:
    """The name of a processor, and the walker for it."""
    arch = request.param
    compiler, runner = f"{arch}-linux-gnu-g++", f"qemu-{arch}"
    for program in (compiler, runner):
        if not shutil.which(program):
            pytest.skip(f"{program} is not here; scripts/apt-packages.txt has its package")
    folder = tmp_path_factory.mktemp(arch)
    one_file(folder)
    walk = ROOT / "tests" / "loader" / "loader_walk.c"
    subprocess.run([compiler.replace("g++", "gcc"), "-std=c99", f"-I{folder}", "-c", walk, "-o", "walk.o"], cwd=folder, check=True)
    subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-O1", "walk.o", "fatctx_loader.cc", "-o", "walk"],
                   cwd=folder, check=True)
    return arch, folder / "walk"


@pytest.mark.parametrize("device", DEVICES)
def test_it_says_the_same_of_every_golden_file(emulated, device):
    arch, program = emulated
    root = pathlib.Path(f"/usr/{arch}-linux-gnu")
    done = subprocess.run([f"qemu-{arch}", "-L", root, program, device, *GOLDEN], capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()
    said = done.stdout.decode(errors="replace").splitlines()
    assert said == lines_of(walker("c"), device, GOLDEN)
    assert sum("sum " in line for line in said) >= 15
