"""The source package of Python: pip builds it with a compiler, CMake and the packages of docs/build.md, and no network."""

import shutil

import pytest

from places import PLACE, ROOT, VERSION, inside, must

PROGRAM = """
import fatctx
fatctx.pack("m.fatctx", [fatctx.PackRecord("context_binary", "m.v2", b"program", group="m", unit="main", backend="cpu", arch="x86-64-v2",
            producer="made up")], model_name="m")
assert bytes(memoryview(fatctx.open("m.fatctx").acquire("m.v2"))) == b"program"
print(fatctx.__version__)
"""


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    """Made of the files that git knows, as a release makes it."""
    folder = tmp_path_factory.mktemp("sdist")
    tree = folder / "tree"
    tree.mkdir()
    for name in must("git", "ls-files", cwd=ROOT).splitlines():
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)
    must(ROOT / ".venv" / "bin" / "python", "-c", "import scikit_build_core.build as build; print(build.build_sdist('..'))", cwd=tree)
    return folder / f"fatctx-{VERSION}.tar.gz"


def test_it_is_small_and_has_what_a_build_reads(sdist):
    names = {name.partition("/")[2] for name in must("tar", "-tf", sdist).splitlines()}
    assert {"CMakeLists.txt", "pyproject.toml", "LICENSE", "PKG-INFO", "data/soc_table.csv", "python/fatctx/__init__.py"} <= names
    assert not [name for name in names if name.startswith(("tests/", "docs/", "build/", "."))]
    assert sdist.stat().st_size < 4 << 20


def test_pip_builds_it_where_only_the_documented_packages_are(sdist, debian_for_builds):
    wheels = PLACE / "wheels"
    if not (wheels / "list.txt").exists():
        pytest.skip(f"{wheels} is not there; scripts/packages_setup.sh fetches it")
    place = debian_for_builds / "srv" / "sdist"
    shutil.copytree(wheels, place)
    shutil.copy(sdist, place)

    for command in (["python3", "-m", "venv", "venv"],
                    ["venv/bin/python", "-m", "pip", "install", "--no-index", "--find-links", ".", sdist.name],
                    ["venv/bin/python", "-I", "-c", PROGRAM]):
        done = inside(debian_for_builds, *command, folder="/srv/sdist")
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]
    assert done.stdout.strip() == VERSION
