"""An installation by `cmake --install` is enough for another project, and an archive runs by itself."""

import os
import pathlib
import re
import shutil
import subprocess
import tarfile

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


# Shows S3.6.
def test_a_project_finds_the_installed_package_and_uses_it_from_cxx_and_c(tmp_path, container):
    prefix = tmp_path / "prefix"
    must("cmake", "--install", BUILD, "--prefix", prefix)
    shutil.copytree(ROOT / "tests" / "consumer", tmp_path / "consumer")  # outside the sources

    must("cmake", "-S", tmp_path / "consumer", "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={prefix}")
    must("cmake", "--build", tmp_path / "built")

    assert must(tmp_path / "built" / "consumer", container) == f"fatctx {VERSION}, 2 records\n"
    assert must(tmp_path / "built" / "c_consumer").startswith(f"fatctx {VERSION}, format ")
    assert must(prefix / "bin" / "fatctx", "info", container).startswith(f"file:        {container}\n")
    texts = [file.read_text() for file in prefix.rglob("*") if file.suffix in (".cmake", ".pc") and file.is_file()]
    assert len(texts) >= 4 and not any(str(ROOT) in text for text in texts)


def test_another_minor_version_is_not_taken(tmp_path):
    prefix = tmp_path / "prefix"
    must("cmake", "--install", BUILD, "--prefix", prefix)
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES CXX)\n"
                                             "find_package(fatctx 0.0 REQUIRED)\n")
    done = run("cmake", "-S", tmp_path, "-B", tmp_path / "built", f"-DCMAKE_PREFIX_PATH={prefix}")
    assert done.returncode != 0 and "fatctx" in done.stderr


def package(out: pathlib.Path, *flags) -> pathlib.Path:
    environment = dict(os.environ, SOURCE_DATE_EPOCH="1795392000")  # 23 November 2026
    return pathlib.Path(must(ROOT / "scripts" / "package", "--build", BUILD, "-o", out, *flags, env=environment).strip())


# Shows S3.7.
def test_an_archive_carries_its_version_and_all_shared_libraries(tmp_path, container):
    archive = package(tmp_path / "first")

    assert re.fullmatch(rf"fatctx-{re.escape(VERSION)}-linux-\w+\.tar\.gz", archive.name)
    name = archive.name.removesuffix(".tar.gz")
    with tarfile.open(archive) as tar:
        members = tar.getmembers()
        assert {member.name.split("/")[0] for member in members} == {name}
        assert {(member.uid, member.gid, member.mtime) for member in members} == {(0, 0, 1795392000)}
        tar.extractall(tmp_path / "there")
    there = tmp_path / "there" / name
    environment = {"PATH": os.environ["PATH"]}
    assert must(there / "bin" / "fatctx", "info", container, env=environment).startswith("file: ")
    used = [line.split() for line in must("ldd", there / "bin" / "fatctx", env=environment).splitlines()]
    foreign = [row[0] for row in used if len(row) > 2 and row[1] == "=>" and str(there) not in str(pathlib.Path(row[2]).resolve())]
    assert foreign and all(re.match(r"lib(c|m|dl|rt|pthread|resolv)\.so", library) for library in foreign), foreign
    assert package(tmp_path / "second").read_bytes() == archive.read_bytes()


def test_a_nightly_is_named_after_the_day(tmp_path):
    archive = package(tmp_path, "--nightly")
    assert archive.name.startswith(f"fatctx-{VERSION}-nightly.20261123-linux-")


@pytest.mark.parametrize("arguments", [["--nighty"], ["-o"]])
def test_mistakes_are_usage_errors(arguments):
    done = run(ROOT / "scripts" / "package", *arguments)
    assert done.returncode == 2 and "package: " in done.stderr
