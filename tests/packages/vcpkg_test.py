"""The vcpkg port, by the real client where one is: VCPKG_ROOT names its folder."""

import os
import pathlib

import pytest

from places import PLACE, ROOT, VERSION, must

PORT = ROOT / "packaging" / "vcpkg" / "fatctx"


def test_the_port_says_which_archive_it_lacks(tmp_path):
    """This part needs no client: the file is read before its first function of vcpkg."""
    (tmp_path / "empty").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "FATCTX_SOURCE_ARCHIVE"}
    with pytest.raises(AssertionError, match=r"FATCTX_SOURCE_ARCHIVE names no file(.|\n)*scripts/package --source"):
        must("cmake", "-P", PORT / "portfile.cmake", cwd=tmp_path / "empty", env=environment)


def test_a_c_and_a_cxx_program_use_the_port(source_archive, tmp_path):
    client = pathlib.Path(os.environ.get("VCPKG_ROOT", "/nowhere")) / "vcpkg"
    if not client.exists():
        pytest.skip("VCPKG_ROOT names no vcpkg, and no registry of this project has the client")
    environment = dict(os.environ, FATCTX_SOURCE_ARCHIVE=str(source_archive), VCPKG_KEEP_ENV_VARS="FATCTX_SOURCE_ARCHIVE")
    installed = PLACE / "vcpkg-installed"
    must(client, "install", "fatctx", f"--overlay-ports={PORT.parent}", f"--x-install-root={installed}", env=environment)

    must("cmake", "-S", ROOT / "packaging" / "conan" / "test_package", "-B", tmp_path / "built", f"-DVCPKG_INSTALLED_DIR={installed}",
         f"-DCMAKE_TOOLCHAIN_FILE={client.parent / 'scripts' / 'buildsystems' / 'vcpkg.cmake'}")
    must("cmake", "--build", tmp_path / "built")

    assert must(tmp_path / "built" / "c_program") == f"C: fatctx {VERSION}\n"
    assert must(tmp_path / "built" / "cxx_program").startswith(f"C++: fatctx {VERSION}, ")
