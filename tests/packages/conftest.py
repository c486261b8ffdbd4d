"""Packages as they are released, built and used where nothing else of fatctx is. They are collected only in the lane that
requests them: ./check --lane packages.

Without FATCTX_PACKAGES (the folder of scripts/packages_setup.sh) this folder has no tests. A test that needs something
the set-up could not get is skipped with the reason.
"""

from __future__ import annotations

import functools
import os
import shutil
import sys
from pathlib import Path

import pytest

ACTIVE = "FATCTX_PACKAGES" in os.environ
collect_ignore_glob = [] if ACTIVE else ["*_test.py"]

if ACTIVE:
    sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest
    from places import PLACE, ROOT, Portable, must, pythons, run

    def unpacked(packed: Path, folder: Path):
        if not packed.exists():
            pytest.skip(f"{packed} is not there; scripts/packages_setup.sh makes it")
        if os.geteuid() != 0:
            pytest.skip("only root can enter a root of its own")
        must("tar", "-C", folder, "--numeric-owner", "-xpf", packed)
        yield folder
        shutil.rmtree(folder)

    @pytest.fixture(scope="session")
    def debian(tmp_path_factory) -> Path:
        """A clean Debian 12 with what the packages need and nothing of fatctx."""
        yield from unpacked(PLACE / "debian.tar", tmp_path_factory.mktemp("debian"))

    @pytest.fixture(scope="session")
    def debian_for_builds(tmp_path_factory) -> Path:
        """A Debian 12 with the packages that docs/build.md asks for, and no other."""
        yield from unpacked(PLACE / "debian-build.tar", tmp_path_factory.mktemp("debian-build"))

    @pytest.fixture(scope="session")
    def source_archive(tmp_path_factory) -> Path:
        return Path(must(ROOT / "scripts" / "package", "--source", "-o", tmp_path_factory.mktemp("source")).strip())

    @pytest.fixture(scope="session")
    def debs(source_archive) -> Path:
        """The folder of the Debian packages, built from the source archive."""
        missing = [name for name in ("dpkg-buildpackage", "dh", "dh_python3") if not shutil.which(name)]
        if missing:
            pytest.skip(f"{', '.join(missing)} is missing; scripts/packages_setup.sh installs it")
        folder = PLACE / "debs"
        shutil.rmtree(folder, ignore_errors=True)
        must(ROOT / "scripts" / "deb", "--source", source_archive, "-o", folder)
        return folder

    def build_in(folder: Path, source_archive: Path, umask: int, **environment) -> Path:
        """Unpacks the sources into a folder, makes the release there, without wheels, and returns its archive."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        must("tar", "-C", folder, "--strip-components=1", "-xf", source_archive)
        variables = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"} | environment
        for name in (".venv", "build/portable", "build/onnxruntime", "js/node_modules"):  # what the set-up scripts have fetched
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).symlink_to(ROOT / name)
        done = run("scripts/portable", "-o", "released", cwd=folder, env=variables | {"FATCTX_PYTHONS": ""}, umask=umask)
        if done.returncode == 5:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stdout + done.stderr
        return folder / done.stdout.strip()

    @functools.cache
    def portable_for(arch: str) -> Portable:
        folder = PLACE / "portable" / arch
        shutil.rmtree(folder, ignore_errors=True)
        known = pythons()
        wheels_for = [known[version] for version in ((3, 10), (3, 11), (3, 12)) if version in known]
        done = run(ROOT / "scripts" / "portable", "--arch", arch, "-o", folder, cwd=ROOT,
                   env=dict(os.environ, FATCTX_PYTHONS=" ".join(wheels_for)))
        if done.returncode == 5:
            pytest.skip(done.stderr.strip())
        assert done.returncode == 0, done.stdout + done.stderr
        return Portable(arch, folder, [Path(line) for line in done.stdout.splitlines()])

    @pytest.fixture(scope="session", params=["x86_64", "aarch64"])
    def portable(request) -> Portable:
        """Archive and wheels of scripts/portable for one kind of processor."""
        return portable_for(request.param)

    @pytest.fixture(scope="session")
    def release() -> Path:
        """The release archive of this checkout, for x86-64."""
        return portable_for("x86_64").archive

    @pytest.fixture(scope="session")
    def release_of_another_folder(source_archive, release) -> Path:
        """The same, built of the source archive, later, in another folder, with another clock, language and umask. All of
        it is compiled, also what a cache has."""
        return build_in(PLACE / "a folder" / "whose-name-is-longer", source_archive, 0o077, TZ="Pacific/Kiritimati", LC_ALL="C.UTF-8",
                        CCACHE_DISABLE="1")
