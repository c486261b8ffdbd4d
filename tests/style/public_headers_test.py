"""Every public header compiles alone, with both compilers."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from c_header_test import c_headers
from checkout import ROOT, cxx_files, text_of

COMPILERS = {"g++": ["g++"], "clang++": ["clang++-14", "clang++", "clang++-15", "clang++-16"]}
FLAGS = ["-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


C_HEADERS = ["fatctx/fatctx.h", *(name.removeprefix("include/") for name in c_headers())]
C_COMPILERS = ["gcc", "clang-14", "clang", "clang-15", "clang-16"]
C_FLAGS = ["-std=c99", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Wstrict-prototypes", "-Wc++-compat",
           "-Werror"]


def compile_alone(compiler: str, source: Path, *include: Path) -> subprocess.CompletedProcess:
    flags = FLAGS + [f"-I{folder}" for folder in include]
    return subprocess.run([compiler, *flags, "-x", "c++", str(source)], capture_output=True, text=True)


@pytest.fixture(scope="session", params=sorted(COMPILERS))
def compiler(request) -> str:
    for name in COMPILERS[request.param]:
        if shutil.which(name):
            return name
    pytest.skip(f"{request.param} is not installed")


@pytest.fixture(scope="session")
def generated(tmp_path_factory) -> Path:
    """Returns a version.h as CMake would make it; the values do not matter here."""
    folder = tmp_path_factory.mktemp("generated")
    for name in cxx_files("include/"):
        if name.endswith(".in"):
            target = folder / name.removeprefix("include/").removesuffix(".in")
            target.parent.mkdir(parents=True, exist_ok=True)
            text = text_of(name)
            for part in ("MAJOR", "MINOR", "PATCH"):
                text = text.replace(f"@PROJECT_VERSION_{part}@", "0")
            target.write_text(text.replace("@PROJECT_VERSION@", "0.0.0"))
            assert "@" not in target.read_text(), f"{name}: a substitution this test does not know"
    return folder


def test_every_public_header_compiles_alone(compiler, generated, tmp_path):
    headers = [name.removeprefix("include/").removesuffix(".in") for name in cxx_files("include/")]
    assert len(headers) >= 10

    def compile_header(header: str) -> str:
        source = tmp_path / (header.replace("/", "_") + ".cc")
        source.write_text(f'#include "{header}"\n#include "{header}"\n')
        result = compile_alone(compiler, source, ROOT / "include", generated)
        return "" if result.returncode == 0 else f"{header}: {result.stderr[:2000]}"

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        assert [failure for failure in pool.map(compile_header, headers) if failure] == []


def test_a_planted_header_that_leans_on_others_is_found(compiler, tmp_path):
    (tmp_path / "leans.h").write_text("#pragma once\ninline std::string leans() { return {}; }\n")
    source = tmp_path / "alone.cc"
    source.write_text('#include "leans.h"\n')
    assert compile_alone(compiler, source, tmp_path).returncode != 0

    (tmp_path / "leans.h").write_text("#pragma once\n#include <string>\ninline std::string leans() { return {}; }\n")
    assert compile_alone(compiler, source, tmp_path).returncode == 0


@pytest.mark.parametrize("name", [name for name in C_COMPILERS if shutil.which(name)] or ["gcc"])
def test_every_c_header_compiles_alone_as_c99(name, tmp_path):
    source = tmp_path / "alone.c"

    def compile_c(text: str) -> subprocess.CompletedProcess:
        source.write_text(text)
        return subprocess.run([name, *C_FLAGS, f"-I{ROOT / 'include'}", str(source)], capture_output=True, text=True)

    for header in C_HEADERS:
        result = compile_c(f'#include "{header}"\n#include "{header}"\n')
        assert result.returncode == 0, f"{header}: {result.stderr[:2000]}"
    assert compile_c(f'#include "{C_HEADERS[0]}"\nint f();\n').returncode != 0, "the flags find nothing"
