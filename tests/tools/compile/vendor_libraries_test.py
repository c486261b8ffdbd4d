"""Loading needs no vendor library: neither the command nor the library links one. The library can load
none by name, and the command loads only libcurl."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
PROGRAMS = {"command": BUILD / "tools" / "fatctx", "library": BUILD / "src" / "libfatctx.so"}

VENDOR = re.compile(r"qnn|snpe|genie|htp|adsprpc|cdsprpc|rpcmem|openvino|nvinfer|cudart|onnxruntime|iree|neuron", re.IGNORECASE)
LOADERS = {"dlopen", "dlmopen", "dlsym", "dlvsym", "android_dlopen_ext"}
LIBRARY_NAME = re.compile(rb"[\w./-]*(?:libQnn|libSNPE|libadsprpc|libcdsprpc|librpcmem)[\w.-]*")


def needed(dynamic_section: str) -> list[str]:
    """Returns the libraries that the system's loader loads with a program, from `readelf --dynamic`."""
    return re.findall(r"\(NEEDED\).*?\[(.+?)\]", dynamic_section)


def of_a_vendor(libraries: list[str]) -> list[str]:
    return [name for name in libraries if VENDOR.search(name)]


def loads_by_name(undefined_symbols: str) -> list[str]:
    """Returns the functions that load a library by name, from `nm --dynamic --undefined-only`."""
    return sorted({line.split()[-1].split("@")[0] for line in undefined_symbols.splitlines() if line.strip()} & LOADERS)


def tool(name: str, *arguments: object) -> str:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    return subprocess.run([name, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


@pytest.fixture(params=sorted(PROGRAMS))
def program(request) -> pathlib.Path:
    path = PROGRAMS[request.param]
    if not path.exists():
        pytest.skip(f"{path} is not built; scripts/build.sh does")
    return path


# Shows S4.11.
def test_nothing_links_a_library_of_a_vendor(program):
    libraries = needed(tool("readelf", "--dynamic", program))
    assert any(name.startswith("libc.so") for name in libraries), "the list is one of libraries"
    assert of_a_vendor(libraries) == []


def test_nothing_loads_a_library_by_name(program):
    symbols = tool("nm", "--dynamic", "--undefined-only", program)
    assert "mmap" in symbols, "the list is one of functions"
    # The command loads libcurl for `fetch`, and nothing else.
    assert loads_by_name(symbols) == (["dlopen", "dlsym"] if program == PROGRAMS["command"] else [])


def test_the_command_loads_libcurl_and_onnx_runtime_alone():
    calls = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for folder in ("src", "tools")
             for path in (ROOT / folder).rglob("*.cc")
             if re.search(r"(dlopen|load_library)\(", path.read_text(encoding="utf-8")) and "system/shared_library_" not in str(path)}
    loaded = {"tools/source/curl_library.cc": "libcurl", "tools/ctx_gen/engine/ort_library.cc": "libonnxruntime"}
    assert calls.keys() == loaded.keys()
    for path, text in calls.items():
        names = re.findall(r'"([\w.-]+\.(?:so|dylib)[\w.]*)"', text)
        assert names and all(name.startswith(loaded[path]) for name in names)


def test_the_library_does_not_know_the_name_of_a_vendors_library():
    """The command knows it: it translates a pasted line of the vendor's generator."""
    if not PROGRAMS["library"].exists():
        pytest.skip(f"{PROGRAMS['library']} is not built; scripts/build.sh does")
    text = PROGRAMS["library"].read_bytes()
    assert b"container" in text
    assert [name.decode() for name in LIBRARY_NAME.findall(text)] == []


# Shows S4.35: its only users are tools that run a compiler, and the name and the exit code of the error itself.
def test_no_layer_below_the_tools_says_that_a_library_of_a_vendor_is_missing():
    users = [path.relative_to(ROOT).as_posix() for folder in ("src", "tools", "python/src")
             for path in (ROOT / folder).rglob("*.cc") if "kBackendLibraryMissing" in path.read_text(encoding="utf-8")]
    assert "tools/compile/iree_driver.cc" in users
    below = {name for name in users if not name.startswith("tools/")}
    assert below == {"src/base/error.cc"}, "loading never answers backend_library_missing"


def test_planted_libraries_and_functions_are_found():
    section = " 0x01 (NEEDED)  Shared library: [libQnnSystem.so]\n 0x01 (NEEDED)  Shared library: [libc.so.6]\n"
    assert needed(section) == ["libQnnSystem.so", "libc.so.6"]
    assert of_a_vendor(needed(section)) == ["libQnnSystem.so"]
    assert loads_by_name("                 U mmap@GLIBC_2.2.5\n                 U dlopen@GLIBC_2.34\n") == ["dlopen"]
    assert LIBRARY_NAME.findall(b"\0/vendor/lib64/libQnnHtp.so\0") == [b"/vendor/lib64/libQnnHtp.so"]
