"""The wheel of scripts/wheel needs nothing of the system but the C and C++ libraries, and has its licence texts."""

import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
SYSTEM = re.compile(r"(ld-linux[-\w]*|lib(c|m|dl|rt|pthread|util|stdc\+\+|gcc_s|z))[-.]")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> pathlib.Path:
    if not (BUILD / "fatctx_libraries.cmake").exists() or not (ROOT / "build" / "python" / "build.ninja").exists():
        pytest.skip("no finished build with its Python module; scripts/build.sh makes one")
    done = subprocess.run([ROOT / "scripts" / "wheel", "--build", BUILD, "-o", tmp_path_factory.mktemp("wheel")],
                          capture_output=True, text=True)
    if done.returncode == 5:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())


PROGRAM = """
import pathlib, re, sys
folder = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(folder / "site"))
import fatctx
fatctx.pack(folder / "m.fatctx", [fatctx.PackRecord("context_binary", "m.v2", b"program", group="m", unit="main", backend="cpu",
            arch="x86-64-v2", producer="made up")], model_name="m")
assert bytes(memoryview(fatctx.open(folder / "m.fatctx").acquire("m.v2"))) == b"program"
print(fatctx.__file__)
print(*sorted(set(re.findall(r"\\S+\\.so\\S*", open("/proc/self/maps").read()))), sep="\\n")
"""


def test_a_clean_python_uses_the_wheel_and_loads_no_library_of_the_system(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    done = subprocess.run([sys.executable, "-I", "-S", "-c", PROGRAM, tmp_path], capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    imported, *mapped = done.stdout.splitlines()
    assert imported.startswith(str(tmp_path / "site"))
    inside = [file for file in mapped if file.startswith(str(tmp_path))]
    assert any("fatctx.libs/libsodium" in file for file in inside) and len(inside) >= 6
    outside = [pathlib.Path(file).name for file in mapped if file not in inside and not file.startswith(sys.base_prefix + "/lib/python")]
    assert [name for name in outside if not SYSTEM.match(name) and "python" not in name] == []


def test_every_library_in_the_wheel_has_its_licence_text(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        libraries = [name for name in names if ".libs/" in name and ".so" in name]
        texts = {pathlib.Path(name).stem: archive.read(name).decode(errors="replace")
                 for name in names if ".dist-info/licenses/libraries/" in name and name.endswith(".txt")}
        record = next(archive.read(name).decode() for name in names if name.endswith("RECORD"))
    assert len(libraries) >= 6
    sources = {re.sub(r"^lib|[\d.]+$", "", stem) for stem in texts}  # boost1.74, libsodium
    for library in libraries:
        name = pathlib.Path(library).name.removeprefix("lib")
        assert any(name.startswith(source) for source in sources), (library, sorted(texts))
    assert "Copyright" in texts["nanobind"] and "Tessil" in texts["robin_map"].title()
    assert "dist-info/licenses/libraries/robin_map.txt,sha256=" in record


def test_the_name_says_which_glibc_is_needed_and_the_page_says_it_too(wheel):
    needs = re.search(r"manylinux_2_(\d+)_", wheel.name)
    assert needs, wheel.name
    if "bookworm" not in pathlib.Path("/etc/os-release").read_text():
        pytest.skip("releases are made on Debian 12; other systems have other symbols")
    stated = re.search(r"from an ordinary build \|.*manylinux_2_(\d+)", (ROOT / "docs" / "install.md").read_text())
    assert stated and int(needs.group(1)) <= int(stated.group(1))


@pytest.mark.parametrize("arguments", [["--weel"], ["-o"]])
def test_mistakes_are_usage_errors(arguments):
    done = subprocess.run([ROOT / "scripts" / "wheel", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and "wheel: " in done.stderr
