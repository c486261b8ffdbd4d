"""ONNX Runtime is taken from the given place; a build without it lacks the adapter and nothing else."""

import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("FATCTX_BUILD", ROOT / "build" / "release"))
FETCHED = ROOT / "build" / "onnxruntime"

NOT_BUILT = "-- ONNX Runtime adapter: not built, no headers of 1.23 or newer (scripts/ort_setup.sh fetches them)"
FOLDERS = ("src/runtime/ort/", "tools/ctx_gen/engine/", "tools/bench/ort/", "tests/ort")
SAMPLES = {"cpp_attach", "ep_context_file", "ep_context_buffer", "recreate_session"}
TARGETS = {"fatctx_onnxruntime", "fatctx_ort", "fatctx_ort_objects", "fatctx_ort_bench", "fatctx_ctx_gen", "ort_tests",
           "ort_parts_tests", "stand_in_qnn", "leaves_a_mark"} | SAMPLES | {f"sample_{name}" for name in SAMPLES}
TESTS = {"ort_tests_NOT_BUILT", "ort_parts_tests_NOT_BUILT", "samples.cpp_attach", "samples.model_to_attach"}
# Targets that must remain: without them, the test would also pass for an empty build.
KEPT = {"fatctx_cli", "fatctx_c", "fatctx_runtime", "fatctx_tools", "tools_tests", "runtime_tests", "sample_cpp_quickstart"}
# For tests that check no targets: leaves out the parts that are slow to configure.
LIBRARY_ALONE = [f"-DFATCTX_BUILD_{part}=OFF" for part in ("TOOLS", "TESTS", "BENCH")]


@pytest.fixture(scope="module", autouse=True)
def tools():
    missing = [name for name in ("cmake", "ninja", "c++") if not shutil.which(name)]
    if missing:
        pytest.skip(f"there is no {', '.join(missing)} here; scripts/apt-packages.txt lists what a build needs")


def configure(build, root, *options, environment_root=None) -> subprocess.CompletedProcess:
    """Configures with preset release; `root` is ONNXRUNTIME_ROOT."""
    environment = {name: value for name, value in os.environ.items() if name != "ONNXRUNTIME_ROOT"}
    if environment_root is not None:
        environment["ONNXRUNTIME_ROOT"] = str(environment_root)
    # -Wno-dev: a newer CMake's advice to project authors is not a warning for users.
    return subprocess.run(["cmake", "-S", str(ROOT), "--preset", "release", "-B", str(build), "-Wno-dev",
                           f"-DONNXRUNTIME_ROOT={root}", *options], capture_output=True, text=True, env=environment, timeout=300)


def must(done: subprocess.CompletedProcess) -> str:
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""  # CMake writes warnings there
    return done.stdout


def in_one_line(text: str) -> str:
    return " ".join(text.split())  # CMake wraps the words of an error


def adapter_lines(output: str) -> list[str]:
    return [line for line in output.splitlines() if re.search("onnx ?runtime", line, re.IGNORECASE)]


def headers(place, interface=23, under="include"):
    """Makes an installation, as far as CMake examines it."""
    folder = place / under
    folder.mkdir(parents=True)
    line = "" if interface is None else f"#define ORT_API_VERSION {interface}\n"
    (folder / "onnxruntime_c_api.h").write_text(f"#pragma once\n{line}")
    return place


def ninja(build, tool, *arguments) -> list[str]:
    done = subprocess.run(["ninja", "-C", str(build), "-t", tool, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if not line.startswith("ninja: ")]


def targets(build) -> set[str]:
    """Returns the targets by their names in CMake's files; files and folders are left out."""
    lines = [line.partition(": ") for line in ninja(build, "targets", "all")]
    return {name for name, _, rule in lines if rule == "phony" and not re.search(r"[/.]|^cmake_object_order_depends_", name)}


def ctests(build) -> set[str]:
    done = subprocess.run(["ctest", "--test-dir", str(build), "-N"], capture_output=True, text=True)
    return set(re.findall(r"^ +Test +#\d+: (\S+)$", done.stdout, re.MULTILINE))


def commands(build) -> set[str]:
    """Returns the commands that compile and link the whole build, without its own path."""
    return {line.replace(str(build), "BUILD") for line in ninja(build, "commands", "all")}


def sources(build) -> list[tuple[pathlib.Path, list[pathlib.Path]]]:
    """Returns the compiled sources, each with the folders of this project in which its headers are searched."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        folders = [pathlib.Path(word[2:]) for word in words if word.startswith("-I")]
        file = pathlib.Path(entry["file"])
        if file.is_relative_to(ROOT):  # other files are generated, and not from C++
            found.append((file, [folder for folder in folders if folder.is_relative_to(ROOT)]))
    return found


@functools.lru_cache(maxsize=None)  # the same headers occur many times
def included(file) -> list[str]:
    return re.findall(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)', file.read_text(), re.MULTILINE)


def foreign_headers(source, folders) -> set[str]:
    """Returns the headers of ONNX Runtime that a source includes, directly or through headers of this project."""
    found, seen, waiting = set(), {source}, [source]
    while waiting:
        file = waiting.pop()
        for name in included(file):
            if re.search(r"(^|/)onnxruntime_\w+\.h$", name):
                found.add(name)
            for header in (folder / name for folder in (file.parent, *folders)):
                if header.is_file():
                    if header not in seen:
                        seen.add(header)
                        waiting.append(header)
                    break
    return found


@pytest.fixture(scope="module")
def off(tmp_path_factory):
    """Configures with OFF, which takes precedence over existing headers."""
    place = headers(tmp_path_factory.mktemp("installation"))
    build = tmp_path_factory.mktemp("off")
    assert adapter_lines(must(configure(build, place, "-DFATCTX_ONNXRUNTIME=OFF"))) == []
    return build


@pytest.fixture(scope="module")
def with_adapter(tmp_path_factory):
    if not (FETCHED / "include" / "onnxruntime_c_api.h").is_file() or not (FETCHED / "lib" / "libonnxruntime.so").exists():
        pytest.skip("headers and library of ONNX Runtime were not fetched (scripts/ort_setup.sh)")
    place = tmp_path_factory.mktemp("installation")
    for name in ("include", "lib"):
        (place / name).symlink_to(FETCHED / name)
    build = tmp_path_factory.mktemp("with_adapter")
    said = adapter_lines(must(configure(build, place, "-DFATCTX_ONNXRUNTIME=ON")))
    assert re.fullmatch(rf"-- ONNX Runtime adapter: headers of 1\.\d+ in {re.escape(str(place))}/include", said[0])
    return build


def test_off_leaves_the_adapter_out_and_keeps_the_rest(off):
    assert targets(off) & TARGETS == set() and targets(off) >= KEPT
    assert ctests(off) & TESTS == set() and "cli_cases" in ctests(off)
    names = [str(source) for source, _ in sources(off)]
    assert len(names) > 300 and [name for name in names if any(folder in name for folder in FOLDERS)] == []


def test_without_headers_the_adapter_is_left_out_with_the_reason(off, tmp_path):
    assert adapter_lines(must(configure(tmp_path / "build", tmp_path))) == [NOT_BUILT]
    assert targets(tmp_path / "build") == targets(off)
    assert ctests(tmp_path / "build") == ctests(off)


def test_headers_add_the_adapter_and_take_nothing_away(off, with_adapter):
    assert targets(with_adapter) >= TARGETS | targets(off)
    assert ctests(with_adapter) >= TESTS | ctests(off)


def test_what_remains_is_compiled_and_linked_by_the_same_commands(off, with_adapter):
    """Thus the usual build, with the adapter, shows that the build without it compiles."""
    # The command has the sessions of ctx-gen in it, or does not.
    own = {line for line in commands(off) if "fatctx_cli.dir" in line or " -o tools/fatctx " in line}
    assert len(commands(off)) > 300 and commands(off) - commands(with_adapter) - own == set() and len(own) <= 4


def test_no_source_that_remains_includes_onnx_runtime(off):
    assert {source: found for source, folders in sources(off) if (found := foreign_headers(source, folders))} == {}


@pytest.mark.parametrize("name", ["src/runtime/ort/ep/library.cc", "tools/ctx_gen/engine/ort_engine.cc", "samples/cpp_attach.cc"])
def test_a_source_that_includes_onnx_runtime_is_found(name):
    assert foreign_headers(ROOT / name, [ROOT, ROOT / "src", ROOT / "include"]) != set()


def test_on_without_headers_is_an_error_that_says_what_to_do(tmp_path):
    done = configure(tmp_path / "build", tmp_path, "-DFATCTX_ONNXRUNTIME=ON", *LIBRARY_ALONE)
    assert done.returncode != 0
    assert ("FATCTX_ONNXRUNTIME is ON, and the adapter cannot be built: no headers of 1.23 or newer (scripts/ort_setup.sh "
            "fetches them). Name an installation in ONNXRUNTIME_ROOT, or leave that empty and run scripts/setup.sh."
            ) in in_one_line(done.stderr)


def test_without_the_library_onnx_the_adapter_is_left_out_with_the_reason(tmp_path):
    """The library alone needs no onnx, with or without headers."""
    place = headers(tmp_path / "release")
    without = ["-DONNX_LIBRARY=", *LIBRARY_ALONE]
    why = "no libraries onnx and onnx_proto (scripts/apt-packages.txt has their package)"
    assert adapter_lines(must(configure(tmp_path / "build", place, *without))) == [f"-- ONNX Runtime adapter: not built, {why}"]
    assert "fatctx_ort" not in targets(tmp_path / "build")
    done = configure(tmp_path / "build", place, "-DFATCTX_ONNXRUNTIME=ON", *without)
    assert done.returncode != 0 and f"the adapter cannot be built: {why}. Name" in in_one_line(done.stderr)


def test_the_words_may_be_in_small_letters(tmp_path):
    said = must(configure(tmp_path / "build", tmp_path, "-DFATCTX_ONNXRUNTIME=auto", *LIBRARY_ALONE))
    assert adapter_lines(said) == [NOT_BUILT]
    assert adapter_lines(must(configure(tmp_path / "build", tmp_path, "-DFATCTX_ONNXRUNTIME=off", *LIBRARY_ALONE))) == []


def test_the_header_of_the_adapter_is_installed_with_it_only(tmp_path):
    for word, there in (("OFF", False), ("ON", True)):
        build, prefix = tmp_path / f"build {word}", tmp_path / f"prefix {word}"
        must(configure(build, headers(tmp_path / word), f"-DFATCTX_ONNXRUNTIME={word}", *LIBRARY_ALONE))
        # Nothing is built, so this ends with an error after the headers.
        subprocess.run(["cmake", "--install", str(build), "--prefix", str(prefix)], capture_output=True, check=False)
        assert (prefix / "include" / "fatctx" / "container.h").is_file()
        assert (prefix / "include" / "fatctx" / "onnxruntime.h").is_file() == there


def test_an_installation_is_named_to_cmake_or_in_the_environment(tmp_path):
    release = headers(tmp_path / "release", 23)
    package = headers(tmp_path / "package", 31, under="include/onnxruntime")
    found = "-- ONNX Runtime adapter: headers of 1.{} in {}"

    # One build folder: earlier results must not persist.
    said = must(configure(tmp_path / "build", release, *LIBRARY_ALONE))
    assert adapter_lines(said) == [found.format(23, release / "include")] and "fatctx_ort" in targets(tmp_path / "build")
    said = must(configure(tmp_path / "build", "", *LIBRARY_ALONE, environment_root=package))
    assert adapter_lines(said) == [found.format(31, package / "include" / "onnxruntime")]
    said = must(configure(tmp_path / "build", release, *LIBRARY_ALONE, environment_root=package))
    assert adapter_lines(said) == [found.format(23, release / "include")]
    said = must(configure(tmp_path / "build", "", *LIBRARY_ALONE, environment_root=tmp_path))
    assert adapter_lines(said) == [NOT_BUILT] and "fatctx_ort" not in targets(tmp_path / "build")


@pytest.mark.parametrize("interface, why", [(22, "those of 1.22 in {} are too old"), (9, "those of 1.9 in {} are too old"),
                                            (None, "those in {} do not say their version")])
def test_headers_that_are_too_old_are_refused_with_their_place(tmp_path, interface, why):
    place = headers(tmp_path / "old", interface)
    why = why.format(place / "include")

    assert adapter_lines(must(configure(tmp_path / "build", place, *LIBRARY_ALONE))) == [f"{NOT_BUILT}; {why}"]
    assert "fatctx_ort" not in targets(tmp_path / "build")
    done = configure(tmp_path / "build", place, "-DFATCTX_ONNXRUNTIME=ON", *LIBRARY_ALONE)
    assert done.returncode != 0
    assert f"(scripts/ort_setup.sh fetches them); {why}. Name an installation" in in_one_line(done.stderr)


def test_a_command_that_needs_onnx_runtime_says_how_to_get_it(tmp_path):
    if not (BUILD / "tools" / "fatctx").exists():
        pytest.skip(f"{BUILD} is no finished build (it lacks tools/fatctx); scripts/build.sh makes one")
    subprocess.run(["sh", str(ROOT / "tests" / "cli" / "setup" / "external.sh")], cwd=tmp_path, check=True)
    (tmp_path / "bin").mkdir()
    shutil.copy(BUILD / "tools" / "fatctx", tmp_path / "bin")  # the command is the same in a build without ONNX Runtime
    done = subprocess.run([tmp_path / "bin" / "fatctx", "bench", "load", "head.onnx"], cwd=tmp_path, capture_output=True, text=True,
                          env={**os.environ, "PATH": ""})
    assert done.returncode == 5 and done.stdout == ""
    assert done.stderr == (f"fatctx: there is no program fatctx_ort_bench beside fatctx, nor in PATH: this build has no ONNX Runtime; "
                           "run scripts/ort_setup.sh, or name an installation in ONNXRUNTIME_ROOT, and build again with "
                           "FATCTX_ONNXRUNTIME=ON (backend_library_missing)\n")
