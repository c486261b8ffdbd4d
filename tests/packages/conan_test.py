"""The Conan recipe, by the real client: it builds from a source archive, and programs use what it made."""

import os
import re
import shutil

import pytest

from places import PLACE, ROOT, VERSION, must, run

CONAN = PLACE / "venv" / "bin" / "conan"
# The requirements of the recipe, in the versions of Debian 12.
LIBRARIES = {"boost": "1.74.0", "protobuf": "3.21.12", "xxhash": "0.8.1", "lz4": "1.9.4", "libsodium": "1.0.18", "fmt": "9.1.0"}


@pytest.fixture(scope="module")
def environment(source_archive):
    """Conan with a home of its own that knows no index, only the libraries of this machine as packages."""
    if not CONAN.exists():
        pytest.skip(f"{CONAN} is missing; scripts/packages_setup.sh installs it")
    home = PLACE / "conan-home"
    shutil.rmtree(home, ignore_errors=True)
    variables = dict(os.environ, CONAN_HOME=str(home), FATCTX_SOURCE_ARCHIVE=str(source_archive))
    if shutil.which("ccache"):
        # Conan builds in a folder with a name of chance.
        variables |= {"CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(home), "CCACHE_NOHASHDIR": "1"}
    must(CONAN, "profile", "detect", env=variables)
    profile = home / "profiles" / "default"
    profile.write_text(re.sub(r"compiler\.cppstd=.*", "compiler.cppstd=20", profile.read_text()))
    must(CONAN, "remote", "remove", "*", env=variables)
    for name, version in LIBRARIES.items():
        must(CONAN, "create", ROOT / "tests" / "packages" / "conan", "--name", name, "--version", version, env=variables)
    return variables


def test_a_c_and_a_cxx_program_use_the_package(environment, tmp_path):
    # Conan builds the test of a recipe beside it.
    recipe = shutil.copytree(ROOT / "packaging" / "conan", tmp_path / "conan")
    done = run(CONAN, "create", recipe, "--build=missing", env=environment)

    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    said = done.stdout + done.stderr
    assert f"C: fatctx {VERSION}\n" in said and re.search(rf"C\+\+: fatctx {re.escape(VERSION)}, .*cannot open", said)


def test_without_an_archive_the_recipe_says_what_to_do(environment):
    done = run(CONAN, "export", ROOT / "packaging" / "conan", env=environment | {"FATCTX_SOURCE_ARCHIVE": "/nowhere.tar.gz"})
    assert done.returncode != 0 and "FATCTX_SOURCE_ARCHIVE names no file (/nowhere.tar.gz); scripts/package --source" in done.stderr
