"""The program loader_walk of this build, and what it is asked."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release" / "tests"
GOLDEN = sorted((ROOT / "tests" / "golden").rglob("*.fatctx"))
DEVICES = ["SM8650", "SM8750", "x86-64-v3", "aarch64+dotprod+i8mm", "v75"]


def walker(library: str):
    program = BUILD / f"loader_walk_{library}"
    assert program.is_file(), f"{program} is not built; scripts/build.sh makes it"
    return program


def lines_of(program, device: str, files) -> list[str]:
    done = subprocess.run([program, device, *files], capture_output=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode(errors="replace").splitlines()


def one_file(folder: pathlib.Path) -> None:
    """Writes the loader as one file into the folder, and the header under the name that the walker includes."""
    subprocess.run([ROOT / "scripts" / "loader_single", "-o", folder], check=True, stdout=subprocess.DEVNULL)
    (folder / "fatctx").mkdir()
    (folder / "fatctx" / "loader.h").write_text('#include "fatctx_loader.h"\n')
