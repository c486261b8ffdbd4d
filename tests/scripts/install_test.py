"""An installation by `cmake --install` is enough for another project, wherever it was moved, without a flag."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
VERSION = re.search(r"project\(fatctx VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def run(*command, **options) -> subprocess.CompletedProcess:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)


def must(*command, **options) -> str:
    done = run(*command, **options)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module", autouse=True)
def build():
    missing = [name for name in ("tools/fatctx", "src/libfatctx.so", "src/libfatctx_runtime.a") if not (BUILD / name).exists()]
    if missing or not shutil.which("cmake"):
        pytest.skip(f"{BUILD} is no finished build (it lacks {', '.join(missing) or 'cmake'}); scripts/build.sh makes one")


@pytest.fixture(scope="module")
def container(tmp_path_factory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("container")
    (folder / "a.bin").write_text("program")
    must(BUILD / "tools" / "fatctx", "pack", "-o", folder / "m.fatctx", "--name", "m", "--binary",
         f"{folder / 'a.bin'}@cpu:x86-64-v3")
    return folder / "m.fatctx"


@pytest.fixture(scope="module")
def prefix(tmp_path_factory) -> pathlib.Path:
    """An installation that was moved after it was made, as an archive is."""
    folder = tmp_path_factory.mktemp("installed")
    must("cmake", "--install", BUILD, "--prefix", folder / "first")
    (folder / "first").rename(folder / "moved")
    return folder / "moved"


# A stranger's shell: no flag, no path of ours.
CLEAN = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
# CMake finds none of the libraries that fatctx itself uses.
HIDDEN = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("Boost", "Protobuf", "fmt", "PkgConfig", "Threads")]


def pkg_config(prefix: pathlib.Path, *arguments) -> list[str]:
    folder = next(prefix.glob("lib*/pkgconfig"))
    return must("pkg-config", *arguments, env=CLEAN | {"PKG_CONFIG_PATH": str(folder)}).split()


def needed(program: pathlib.Path) -> set[str]:
    return set(re.findall(r"NEEDED.*\[(.*?)\]", must("readelf", "-d", program)))


# Shows S3.6.
def test_a_project_that_sets_no_flag_uses_the_cxx_interface(tmp_path, prefix, container):
    shutil.copytree(ROOT / "tests" / "consumer", tmp_path / "consumer")  # outside the sources

    must("cmake", "-S", tmp_path / "consumer", "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={prefix}", env=CLEAN)
    must("cmake", "--build", tmp_path / "built", env=CLEAN)

    assert must(tmp_path / "built" / "consumer", container, env=CLEAN) == f"fatctx {VERSION}, 2 records\n"
    assert must(tmp_path / "built" / "c_static", container, env=CLEAN) == f"fatctx {VERSION}, 2 records\n"
    assert "libfatctx.so.1" not in needed(tmp_path / "built" / "c_static")
    assert must(prefix / "bin" / "fatctx", "info", container, env=CLEAN).startswith(f"file:        {container}\n")


def test_a_project_without_cxx_is_asked_for_no_library(tmp_path, prefix, container):
    shutil.copytree(ROOT / "tests" / "consumer" / "c_only", tmp_path / "consumer")

    must("cmake", "-S", tmp_path / "consumer", "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={prefix}", *HIDDEN, env=CLEAN)
    must("cmake", "--build", tmp_path / "built", env=CLEAN)

    program = tmp_path / "built" / "c_consumer"
    assert must(program, container, env=CLEAN) == f"fatctx {VERSION}, 2 records\n"
    assert needed(program) == {"libfatctx.so.1", "libc.so.6"}


def test_a_c_program_with_the_small_loader_needs_the_c_library_alone(tmp_path, prefix, container):
    if not list(prefix.glob("lib*/libfatctx_loader.a")):
        pytest.skip("this build has no small loader")
    (tmp_path / "reader.c").write_text((ROOT / "tests" / "consumer" / "c_only" / "c_consumer.c").read_text().replace(
        "fatctx/fatctx.h", "fatctx/loader.h"))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES C CXX)\nfind_package(fatctx 0.1 REQUIRED COMPONENTS loader)\n"
        "add_executable(reader reader.c)\ntarget_link_libraries(reader PRIVATE fatctx::loader)\n"
        "target_link_options(reader PRIVATE -static-libstdc++ -static-libgcc LINKER:--gc-sections)\n")

    must("cmake", "-S", tmp_path, "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={prefix}", *HIDDEN, env=CLEAN)
    must("cmake", "--build", tmp_path / "built", env=CLEAN)

    assert must(tmp_path / "built" / "reader", container, env=CLEAN) == f"fatctx {VERSION}, 2 records\n"
    of_libc = {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
    assert needed(tmp_path / "built" / "reader") <= of_libc


def configure(folder: pathlib.Path, prefix: pathlib.Path, lines: str, *flags, languages="C CXX") -> subprocess.CompletedProcess:
    folder.mkdir()
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES {languages})\n{lines}\n")
    return run("cmake", "-S", folder, "-B", folder / "built", f"-DCMAKE_PREFIX_PATH={prefix}", *flags, env=CLEAN)


def test_components_ask_for_their_own_libraries_and_name_those_that_are_missing(tmp_path, prefix):
    project = "find_package(fatctx REQUIRED COMPONENTS {})\nif(NOT TARGET fatctx::{})\nmessage(FATAL_ERROR lost)\nendif()"
    lacking = configure(tmp_path / "cxx", prefix, project.format("cxx", "fatctx"), *HIDDEN)
    assert lacking.returncode != 0
    message = " ".join(lacking.stderr.split())
    assert "The component cxx needs threads, Boost.Filesystem-" in message and "libsodium" in message
    assert "COMPONENTS c," in message
    optional = "find_package(fatctx REQUIRED COMPONENTS c OPTIONAL_COMPONENTS cxx)\nmessage(STATUS \"c ${fatctx_c_FOUND}, cxx ${fatctx_cxx_FOUND}\")"
    assert "c TRUE, cxx FALSE" in configure(tmp_path / "optional", prefix, optional, *HIDDEN).stdout
    unknown = configure(tmp_path / "unknown", prefix, "find_package(fatctx REQUIRED COMPONENTS fortran)")
    assert unknown.returncode != 0 and "The component fortran needs a build that has it" in " ".join(unknown.stderr.split())
    for component, target in (("cxx", "fatctx"), ("cxx", "fatctx_c_static"), ("onnxruntime", "onnxruntime")):
        if component == "onnxruntime" and not list(prefix.glob("lib*/libfatctx_onnxruntime.a")):
            continue
        done = configure(tmp_path / target, prefix, project.format(component, target))
        assert done.returncode == 0, done.stderr


def test_no_package_file_names_a_folder_of_the_build_or_an_absolute_prefix(prefix):
    texts = {file.name: file.read_text() for file in prefix.rglob("*") if file.suffix in (".cmake", ".pc")}
    assert {"fatctx.pc", "fatctx-cxx.pc", "fatctxConfig.cmake", "fatctxTargets_c.cmake", "fatctxTargets_cxx.cmake"} <= set(texts)
    for name, text in texts.items():
        assert str(ROOT) not in text and str(BUILD) not in text, name
        assert name.endswith(".cmake") or not re.search(r"=/|[LI]/", text), text
    assert not re.search(r"Boost|rotobuf|PkgConfig|fmt", texts["fatctxTargets_c.cmake"])
    assert "fmt" not in texts["fatctxTargets_cxx.cmake"], "Debian has no static fmt"


def schemas_of_the_sources() -> dict[str, str]:
    files = {file.name: file.read_text() for file in (ROOT / "docs" / "schemas").glob("*.json")}
    return {**files, "manifest.json": (ROOT / "docs" / "manifest.schema.json").read_text()}


def test_the_json_schemas_are_installed(prefix):
    installed = {file.name: file.read_text() for file in (prefix / "share" / "fatctx" / "schemas").iterdir()}
    assert len(installed) > 40 and installed == schemas_of_the_sources()


def test_pkg_config_gives_all_that_a_c_program_needs(tmp_path, prefix, container):
    source = ROOT / "tests" / "consumer" / "c_only" / "c_consumer.c"
    flags = pkg_config(prefix, "--cflags", "--libs", "fatctx")
    assert os.path.realpath(flags[0].removeprefix("-I")) == str(prefix / "include")
    libraries = os.path.realpath(pkg_config(prefix, "--variable=libdir", "fatctx")[0])
    must("cc", source, *flags, f"-Wl,-rpath,{libraries}", "-o", tmp_path / "shared", env=CLEAN)
    assert must(tmp_path / "shared", container, env=CLEAN) == f"fatctx {VERSION}, 2 records\n"
    assert needed(tmp_path / "shared") == {"libfatctx.so.1", "libc.so.6"}

    must("cc", "-static", source, *pkg_config(prefix, "--static", "--cflags", "--libs", "fatctx"), "-o", tmp_path / "static", env=CLEAN)
    assert must(tmp_path / "static", container, env=CLEAN) == f"fatctx {VERSION}, 2 records\n"
    assert needed(tmp_path / "static") == set()


def test_pkg_config_gives_all_that_a_cxx_program_needs(tmp_path, prefix, container):
    source, object_file = ROOT / "tests" / "consumer" / "consumer.cc", tmp_path / "consumer.o"
    must("c++", "-std=c++20", "-c", source, *pkg_config(prefix, "--cflags", "fatctx-cxx"), "-o", object_file, env=CLEAN)
    for name, more in (("shared", []), ("static", ["--static"])):
        flags = pkg_config(prefix, *more, "--libs", "fatctx-cxx")
        must("c++", *(["-static"] if more else []), object_file, *flags, "-o", tmp_path / name, env=CLEAN)
        assert must(tmp_path / name, container, env=CLEAN) == f"fatctx {VERSION}, 2 records\n"
    assert "libfmt.so.9" not in needed(tmp_path / "shared") and needed(tmp_path / "static") == set()


def test_shared_libraries_choose_vectors_at_run_time():
    undefined = must("nm", "-D", "--undefined-only", BUILD / "src" / "libfatctx.so")
    if "FATCTX_XXHASH_DISPATCH:INTERNAL=1" not in (BUILD / "CMakeCache.txt").read_text():
        pytest.skip("this xxHash has no functions that choose")
    assert "XXH3_128bits_update_dispatch" in undefined, "the plain functions are for static programs alone"


def test_another_minor_version_is_not_taken(tmp_path, prefix):
    done = configure(tmp_path / "p", prefix, "find_package(fatctx 0.0 REQUIRED)", languages="CXX")
    assert done.returncode != 0 and "fatctx" in done.stderr
