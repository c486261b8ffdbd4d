"""The archive and the wheels of scripts/portable run on every Linux with glibc 2.28, on x86-64 and on aarch64."""

import json
import os
import re
import subprocess
import sys
import time
import zipfile

import pytest

from places import GOLDEN, ROOT, VERSION, loader_walk, must, run, walk_of_this_machine

CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
LIMIT = 10 * 1024 * 1024
# Libraries that are part of glibc.
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def elf_files(folder):
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink() and file.read_bytes()[:4] == b"\x7fELF":
            yield file


def check_elf(file):
    said = must("readelf", "-VdW", file)
    versions = [tuple(map(int, version.split("."))) for version in re.findall(r"Name: GLIBC_([0-9.]+)", said)]
    assert max(versions) <= (2, 28), (file, max(versions))
    assert "GLIBCXX" not in said and "CXXABI" not in said, f"{file} needs a C++ library of the system"
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", said))
    assert needed <= GLIBC | {"libonnxruntime.so.1"}, (file, needed)
    assert "TEXTREL" not in said


def test_the_archive_needs_glibc_2_28_alone(portable):
    assert portable.archive.name == f"fatctx-{VERSION}-linux-{portable.arch}.tar.gz"
    files = list(elf_files(portable.tree))
    assert {file.name for file in files} >= {"fatctx", "libfatctx_ort.so", "fatctx_ort_bench"} and len(files) == 4
    for file in files:
        check_elf(file)
        machine = re.search(r"Machine: +(.*)", must("readelf", "-h", file)).group(1)
        assert machine == {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}[portable.arch]
    assert "glibc 2.28 or newer" in (portable.tree / "README.md").read_text()
    assert "libstdc++" not in (portable.tree / "README.md").read_text()


def test_the_archive_names_all_that_is_compiled_in(portable):
    readme = (portable.tree / "README.md").read_text()
    for name in ("lz4", "xxhash", "libsodium", "protobuf", "boost1.74", "fmtlib", "cli11", "onnx", "ziglang-libcxx"):
        row = re.search(rf"\| {re.escape(name)}, compiled in \| \S+ \| \S+ \| \[text\]\((\S+)\) \|", readme)
        assert row, f"README.md has no row for {name}"
        assert len((portable.tree / row.group(1)).read_text(errors="replace")) > 500
    parts = {part["name"] for part in json.loads((portable.tree / "fatctx.spdx.json").read_text())["packages"]}
    assert parts >= {"fatctx", "lz4", "onnx", "ziglang-libunwind"}


def test_the_command_of_the_archive_packs_and_reads(portable, tmp_path):
    fatctx = [*portable.start(), portable.tree / "bin" / "fatctx"]
    (tmp_path / "weights.bin").write_bytes(bytes(range(256)) * 4096)
    (tmp_path / "a.bin").write_bytes(b"program a")
    must(*fatctx, "pack", "-o", "m.fatctx", "--name", "m", "--weights", "weights.bin", "--binary", "a.bin@cpu:x86-64-v2", "--binary",
         "a.bin@cpu:aarch64", cwd=tmp_path, env=CLEAN)
    must(*fatctx, "verify", "m.fatctx", cwd=tmp_path, env=CLEAN)
    chosen = must(*fatctx, "select", "m.fatctx", "--device", "aarch64", "--json", cwd=tmp_path, env=CLEAN)
    native = must(ROOT / "build" / "release" / "tools" / "fatctx", "select", "m.fatctx", "--device", "aarch64", "--json", cwd=tmp_path)
    assert json.loads(chosen) == json.loads(native)
    # Both kinds of processors write the same bytes as the ordinary build.
    must(ROOT / "build" / "release" / "tools" / "fatctx", "pack", "-o", "native.fatctx", "--name", "m", "--weights", "weights.bin",
         "--binary", "a.bin@cpu:x86-64-v2", "--binary", "a.bin@cpu:aarch64", cwd=tmp_path)
    assert (tmp_path / "m.fatctx").read_bytes() == (tmp_path / "native.fatctx").read_bytes()


def test_the_command_cases_hold_for_the_archive(portable):
    if portable.arch != os.uname().machine:
        pytest.skip("under emulation the cases take too long")
    assert re.search(r"(\d+) of \1 cases passed", must(sys.executable, ROOT / "tests" / "cli" / "run_cases.py", portable.tree / "bin" / "fatctx"))


def test_the_archive_compiles_sessions_with_an_onnx_runtime_of_the_user(portable, tmp_path):
    if portable.arch != os.uname().machine:
        pytest.skip("there is no ONNX Runtime for it here")
    library = next((ROOT / "build" / "onnxruntime" / "lib").glob("libonnxruntime.so.1*"), None)
    if library is None:
        pytest.skip("no ONNX Runtime is here; scripts/ort_setup.sh fetches it")
    must("sh", ROOT / "tests" / "cli" / "setup" / "external.sh", cwd=tmp_path)
    done = run(portable.tree / "bin" / "ep_weight_sharing_ctx_gen", "-e", "reference", "head.onnx", cwd=tmp_path, env=CLEAN)
    assert done.returncode == 5 and "pip install onnxruntime" in done.stderr
    must(portable.tree / "bin" / "ep_weight_sharing_ctx_gen", "-e", "reference", "head.onnx", cwd=tmp_path,
         env=CLEAN | {"FATCTX_ONNXRUNTIME": str(library)})
    must(portable.tree / "bin" / "fatctx", "verify", "head.fatctx", cwd=tmp_path, env=CLEAN)


def test_a_c_program_of_the_system_links_the_archive(portable, tmp_path):
    if portable.arch != os.uname().machine:
        pytest.skip("there is no compiler for it here")
    flags = must("pkg-config", "--cflags", "--libs", "fatctx", env=CLEAN | {"PKG_CONFIG_PATH": str(portable.tree / "lib" / "pkgconfig")}).split()
    must("cc", ROOT / "tests" / "consumer" / "c_only" / "c_consumer.c", *flags, f"-Wl,-rpath,{portable.tree / 'lib'}", "-o", tmp_path / "program")
    (tmp_path / "a.bin").write_bytes(b"program")
    must(portable.tree / "bin" / "fatctx", "pack", "-o", tmp_path / "m.fatctx", "--name", "m", "--binary", f"{tmp_path / 'a.bin'}@cpu:x86-64-v3")
    assert must(tmp_path / "program", tmp_path / "m.fatctx", env=CLEAN) == f"fatctx {VERSION}, 2 records\n"
    assert not list(portable.tree.rglob("*.a")) and not (portable.tree / "include" / "fatctx" / "container.h").exists()


def test_the_loader_of_the_archive_builds_with_one_line_and_opens(portable, tmp_path):
    """With the compiler of the portable builds, for both kinds of processors. The program is static."""
    source = portable.tree / "share" / "fatctx" / "loader" / "fatctx_loader.cc"
    program = loader_walk(source, f"{portable.arch}-linux-musl", tmp_path, "-static")
    assert must(*portable.start(), program, "SM8650", *GOLDEN) == walk_of_this_machine()


PROGRAM = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
import fatctx
assert fatctx.__file__.startswith(sys.argv[2]), fatctx.__file__
fatctx.pack(folder / "m.fatctx", [fatctx.PackRecord("context_binary", "m.v2", b"program", group="m", unit="main", backend="cpu",
            arch="x86-64-v2", producer="made up")], model_name="m")
assert bytes(memoryview(fatctx.open(folder / "m.fatctx").acquire("m.v2"))) == b"program"
"""


def wheel_of(portable, tag):
    found = [wheel for wheel in portable.wheels if f"-{tag}-" in wheel.name]
    if not found:
        pytest.skip(f"no Python for {tag} was here to make its wheel")
    return found[0]


@pytest.mark.parametrize("tag", ["cp310", "cp311", "cp312"])
def test_a_wheel_is_small_and_needs_glibc_2_28_alone(portable, tag, tmp_path):
    wheel = wheel_of(portable, tag)
    assert wheel.name == f"fatctx-{VERSION}-{tag}-{'abi3' if tag == 'cp312' else tag}-manylinux_2_28_{portable.arch}.whl"
    assert wheel.stat().st_size <= LIMIT, f"{wheel.name} has {wheel.stat().st_size / 1e6:.1f} MB"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
        names = archive.namelist()
    files = list(elf_files(tmp_path))
    assert {file.name.partition(".")[0] for file in files} == {"fatctx", "_core", "libfatctx_ort"}
    for file in files:
        check_elf(file)
    texts = {name.rsplit("/", 1)[1] for name in names if "/licenses/libraries/" in name}
    assert texts >= {"nanobind.txt", "robin_map.txt", "libsodium.txt", "protobuf.txt", "onnx.txt"}
    said = must(ROOT / ".venv" / "bin" / "auditwheel", "show", wheel)
    assert f"manylinux_2_28_{portable.arch}" in " ".join(said.split())


@pytest.mark.parametrize("tag", ["cp310", "cp311", "cp312"])
def test_a_wheel_works_where_nothing_else_is(portable, tag, tmp_path):
    """From the installation to the first view; without a network."""
    wheel = wheel_of(portable, tag)
    python = portable.python(tag)
    start = time.monotonic()
    if portable.arch == os.uname().machine:
        must(*python, "-m", "venv", tmp_path / "venv", env=CLEAN | {"PATH": os.environ["PATH"]})
        must(tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--no-index", "--quiet", "--disable-pip-version-check", wheel, env=CLEAN)
        site = str(tmp_path / "venv")
        python = [tmp_path / "venv" / "bin" / "python", "-I"]
        must(*python, "-c", PROGRAM, tmp_path, site, env=CLEAN)
        assert time.monotonic() - start < 60
        command = [tmp_path / "venv" / "bin" / "fatctx"]
    else:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(tmp_path / "site")
        site = str(tmp_path / "site")
        environment = CLEAN | {"PYTHONPATH": site}
        must(*python, "-S", "-c", PROGRAM, tmp_path, site, env=environment)
        (tmp_path / "site" / "fatctx" / "bin" / "fatctx").chmod(0o755)  # an unpacked archive of Python has no rights
        command = [*portable.start("bookworm"), tmp_path / "site" / "fatctx" / "bin" / "fatctx"]
    assert must(*command, "--version", env=CLEAN) == f"fatctx {VERSION}\n"
    assert "m.v2" in must(*command, "info", tmp_path / "m.fatctx", env=CLEAN)


def test_the_command_of_a_wheel_uses_the_onnx_runtime_of_its_python(portable, tmp_path):
    if portable.arch != os.uname().machine:
        pytest.skip("there is no ONNX Runtime for it here")
    with zipfile.ZipFile(wheel_of(portable, "cp311")) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "site" / "fatctx" / "bin" / "fatctx").chmod(0o755)
    must("sh", ROOT / "tests" / "cli" / "setup" / "external.sh", cwd=tmp_path)
    environment = CLEAN | {"PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([ROOT / ".venv" / "bin" / "python", "-m", "fatctx", "ctx-gen", "-e", "reference", "head.onnx"], cwd=tmp_path,
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    must(ROOT / ".venv" / "bin" / "python", "-m", "fatctx", "verify", "head.fatctx", cwd=tmp_path, env=environment)
