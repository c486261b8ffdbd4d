"""The vcpkg port, by the real client where one is: VCPKG_ROOT names its folder."""

import json
import os
import pathlib
import shutil

import pytest

from places import PLACE, ROOT, VERSION, must

PORT = ROOT / "packaging" / "vcpkg" / "fatctx"
TRIPLETS = ROOT / "tests" / "packages" / "vcpkg"
# The dependencies of the port, in the versions of Debian 12. vcpkg's own ports have nothing but scripts; they stay.
LIBRARIES = {"boost-filesystem": "1.74.0", "boost-interprocess": "1.74.0", "boost-intrusive": "1.74.0", "fmt": "9.1.0", "libsodium": "1.0.18",
             "lz4": "1.9.4", "protobuf": "3.21.12", "xxhash": "0.8.1"}


def test_the_port_says_which_archive_it_lacks(tmp_path):
    """This part needs no client: the file is read before its first function of vcpkg."""
    (tmp_path / "empty").mkdir()
    environment = {name: value for name, value in os.environ.items() if name != "FATCTX_SOURCE_ARCHIVE"}
    with pytest.raises(AssertionError, match=r"FATCTX_SOURCE_ARCHIVE names no file(.|\n)*scripts/package --source"):
        must("cmake", "-P", PORT / "portfile.cmake", cwd=tmp_path / "empty", env=environment)


def test_the_stand_ins_are_the_dependencies_of_the_port():
    asked = {name if isinstance(name, str) else name["name"] for name in json.loads((PORT / "vcpkg.json").read_text())["dependencies"]}
    assert asked == LIBRARIES.keys() | {"vcpkg-cmake", "vcpkg-cmake-config"}


def stand_ins(folder: pathlib.Path) -> pathlib.Path:
    """Ports without files: the libraries of this machine take their places, so nothing is downloaded."""
    for name, version in LIBRARIES.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "vcpkg.json").write_text(json.dumps({"name": name, "version": version}))
        (folder / name / "portfile.cmake").write_text("set(VCPKG_POLICY_EMPTY_PACKAGE enabled)\n")
    return folder


def test_a_c_and_a_cxx_program_use_the_port(source_archive, tmp_path):
    client = pathlib.Path(os.environ.get("VCPKG_ROOT", "/nowhere")) / "vcpkg"
    if not client.exists():
        pytest.skip("VCPKG_ROOT names no folder with a vcpkg in it")
    environment = dict(os.environ, FATCTX_SOURCE_ARCHIVE=str(source_archive), VCPKG_KEEP_ENV_VARS="FATCTX_SOURCE_ARCHIVE",
                       VCPKG_FORCE_SYSTEM_BINARIES="1", VCPKG_DISABLE_METRICS="1")
    installed = PLACE / "vcpkg-installed"
    shutil.rmtree(installed, ignore_errors=True)
    must(client, "install", "fatctx", f"--overlay-ports={PORT.parent}", f"--overlay-ports={stand_ins(tmp_path / 'ports')}",
         f"--overlay-triplets={TRIPLETS}", f"--x-install-root={installed}", "--binarysource=clear", env=environment)

    must("cmake", "-S", ROOT / "packaging" / "conan" / "test_package", "-B", tmp_path / "built", f"-DVCPKG_INSTALLED_DIR={installed}",
         f"-DCMAKE_TOOLCHAIN_FILE={client.parent / 'scripts' / 'buildsystems' / 'vcpkg.cmake'}")
    must("cmake", "--build", tmp_path / "built")

    assert must(tmp_path / "built" / "c_program") == f"C: fatctx {VERSION}\n"
    assert must(tmp_path / "built" / "cxx_program").startswith(f"C++: fatctx {VERSION}, ")
    assert (installed / "x64-linux" / "share" / "fatctx" / "copyright").read_text().strip()
