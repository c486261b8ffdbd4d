"""Packages as they are released, built and used where nothing else of fatctx is. They are collected only in the lane that
requests them: ./check --lane packages.

Without FATCTX_PACKAGES (the folder of scripts/packages_setup.sh) this folder has no tests. A test that needs something
the set-up could not get is skipped with the reason.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

ACTIVE = "FATCTX_PACKAGES" in os.environ
collect_ignore_glob = [] if ACTIVE else ["*_test.py"]

if ACTIVE:
    sys.path.insert(0, str(Path(__file__).parent))  # the modules next to this file, with every import mode of pytest
    from places import PLACE, ROOT, must

    @pytest.fixture(scope="session")
    def debian(tmp_path_factory) -> Path:
        """A clean Debian 12 with what the packages need and nothing of fatctx."""
        packed = PLACE / "debian.tar"
        if not packed.exists():
            pytest.skip(f"{packed} is not there; scripts/packages_setup.sh makes it")
        if os.geteuid() != 0:
            pytest.skip("only root can enter a root of its own")
        folder = tmp_path_factory.mktemp("debian")
        must("tar", "-C", folder, "--numeric-owner", "-xpf", packed)
        yield folder
        shutil.rmtree(folder)

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
        """Unpacks the sources into a folder, builds the preset dist there, and returns the release archive."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        must("tar", "-C", folder, "--strip-components=1", "-xf", source_archive)
        variables = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"} | environment
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        options = dict(cwd=folder, env=variables, umask=umask)
        must("cmake", "--preset", "dist", *launcher, f"-DONNXRUNTIME_ROOT={ROOT / 'build' / 'onnxruntime'}", **options)
        must("cmake", "--build", "--preset", "dist", **options)
        return folder / must("scripts/package", "--build", "build/dist", "-o", "released", **options).strip()

    @pytest.fixture(scope="session")
    def release(source_archive) -> Path:
        """The release archive, built from the source archive."""
        return build_in(PLACE / "one", source_archive, 0o022, TZ="UTC", LC_ALL="C")

    @pytest.fixture(scope="session")
    def release_of_another_folder(source_archive, release) -> Path:
        """The same, built later, in another folder, with another clock, language and umask."""
        return build_in(PLACE / "a folder" / "whose-name-is-longer", source_archive, 0o077, TZ="Pacific/Kiritimati", LC_ALL="C.UTF-8")
